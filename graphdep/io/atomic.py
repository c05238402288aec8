"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path that replaces ``path`` on success and is removed on failure.

    A reader therefore sees the old file or the new one, whole, even if the process is killed half-way. A
    symbolic link stays, and the file that it points to is written.

    Raises:
        ValueError: If there is something that is no plain file: a folder, a pipe, a device.
        OSError: If nothing can be written beside it.
    """
    check_plain_file(path)
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix of the path that was asked for, since writers look at it.
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=Path(path).suffix, dir=target.parent
        )
    except OSError as error:  # of a name that nobody has asked for
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes 0600; a result file is for everybody
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)


def check_plain_file(path: str | os.PathLike[str]) -> None:
    """Raises :class:`ValueError` if there is something at ``path`` that is no plain file."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{os.fspath(path)!r} is no plain file, which could be replaced whole")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
