"""Digests of model files, for fingerprints."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache


def files_digest(paths: Iterable[str | os.PathLike[str]]) -> str:
    """Twelve hexadecimal digits that change when the content of any of the files does.

    A file is read again only if its size or its time stamp changed.
    """
    digest = hashlib.sha256()
    for path in paths:
        digest.update(file_digest(path))
    return digest.hexdigest()[:12]


def file_digest(path: str | os.PathLike[str]) -> bytes:
    """The SHA-256 of a file, which is read again only if its size or its time stamp changed."""
    stat = os.stat(path)
    return _file_digest(os.fspath(path), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=256)
def _file_digest(path: str, size: int, mtime_ns: int) -> bytes:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()
