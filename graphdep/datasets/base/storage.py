"""Processed examples on disk: whole, checked, and loaded without unpickling objects."""

from __future__ import annotations

import hashlib
import io
import logging
import pickle
from pathlib import Path
from typing import Any

import torch

from graphdep.io.files import atomic_path

logger = logging.getLogger("graphdep.datasets")

FORMAT = "graphdep examples 2"
_MAGIC = f"{FORMAT}\n".encode()
_START = len(_MAGIC) + hashlib.sha256().digest_size


def save_examples(payload: dict[str, Any], path: Path) -> None:
    """Writes tensors and plain values as one file, whole or not at all.

    The file is a line with the format, the SHA-256 of the rest, and the rest, so that a file that was cut
    or altered is known before anything in it is read.

    Raises:
        ValueError: If the payload holds anything but tensors, numbers, text, and lists and dicts of them.
    """
    buffer = io.BytesIO()
    torch.save(payload, buffer)
    content = buffer.getvalue()
    try:
        torch.load(io.BytesIO(content), weights_only=True)
    except pickle.UnpicklingError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"examples must hold tensors and plain values only ({reason})") from None
    with atomic_path(path) as temporary:
        temporary.write_bytes(_MAGIC + hashlib.sha256(content).digest() + content)


def load_examples(path: Path) -> dict[str, Any] | None:
    """What :func:`save_examples` wrote, or :obj:`None` if the file is missing, damaged or holds objects."""
    try:
        file = path.read_bytes()
    except FileNotFoundError:
        return None
    content = file[_START:]
    if file[: len(_MAGIC)] != _MAGIC or hashlib.sha256(content).digest() != file[len(_MAGIC) : _START]:
        logger.warning("%s is damaged (%d bytes): it is made again", path, len(file))
        return None
    try:
        return torch.load(io.BytesIO(content), weights_only=True)
    except pickle.UnpicklingError:
        logger.warning("%s holds more than tensors and plain values: it is made again", path)
        return None
    except Exception as error:  # torch raises anything, where the digest is right and the archive is not
        logger.warning("%s is damaged (%s): it is made again", path, str(error)[:100])
        return None
