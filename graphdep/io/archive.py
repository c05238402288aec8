"""The zip files that torch writes: that they are there, and their checksums."""

from __future__ import annotations

import os
import zipfile
import zlib


def check_checkpoint(path: str | os.PathLike[str]) -> None:
    """Raises :class:`FileNotFoundError` if there is no such file."""
    if os.path.isdir(path):
        raise FileNotFoundError(f"{os.fspath(path)} is a folder: name its best.ckpt")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"no checkpoint at {os.fspath(path)}")


def check_archive(path: str | os.PathLike[str]) -> None:
    """Raises :class:`ValueError` if a byte of the file has changed, which torch does not look at."""
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise ValueError(f"{name}: not a checkpoint, or damaged ({str(error)[:120] or error!r})") from None
    if damaged is not None:
        raise ValueError(f"{name}: damaged checkpoint: {damaged} is not what was written")
