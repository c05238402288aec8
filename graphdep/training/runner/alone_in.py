"""A folder that one process at a time works in."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from graphdep.training.runner.folder_in_use import FolderInUseError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def alone_in(folder: Path, does: str = "trains") -> Iterator[None]:
    """Makes the folder and holds its lock, which a kill frees as well.

    Args:
        folder: The folder.
        does: What another process then does in it, for the error. (default: :obj:`"trains"`)

    Raises:
        FolderInUseError: If another process is in it.
        ValueError: If the lock is a link.
        OSError: If nothing can be written to the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        # A link would lead elsewhere, and what it leads to is not ours to empty.
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        if (folder / ".lock").is_symlink():
            raise ValueError(f"{folder / '.lock'}: is a link, not the lock of a run") from None
        raise error
    with open(handle, "r+") as lock:
        if fcntl is not None and not _locks(lock):
            raise FolderInUseError(f"{folder}: another process {does} in this folder")
        yield


def _locks(lock: IO[str]) -> bool:
    """Whether the lock could be had, within a tenth of a second: :func:`is_taken` has it for a moment."""
    for _ in range(10):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.01)
    return False


def is_taken(folder: Path) -> bool:
    """Whether a process holds the lock of a folder; :obj:`False` where nothing tells (Windows)."""
    if fcntl is None:
        return False
    try:
        handle = os.open(folder / ".lock", os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(handle)
    return False
