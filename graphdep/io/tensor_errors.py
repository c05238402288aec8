"""Errors of the disk while tensors are written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def disk_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Makes an :class:`OSError` with the name of the file of what safetensors says of a full disk.

    Its own class is none of an error of the system, and has its number in the text.
    """
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), os.fspath(path)) from None
