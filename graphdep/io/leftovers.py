"""Temporary files and folders that are removed, if not by the process that made them, then by a later one."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

# What tempfile puts between a prefix and a suffix.
_DRAWN = "[a-z0-9_]{8}"
# What SQLite writes beside a file.
_OF_SQLITE = ("-journal", "-wal", "-shm")


def hold(handle: int, path: str | os.PathLike[str]) -> bool:
    """Locks a temporary file or folder until the handle is closed, by a kill as well.

    Returns:
        Whether it is still there: another process may have taken it for a leftover before it was locked.
    """
    if fcntl is None:
        return True
    with suppress(OSError):  # a file system without locks, where nothing is taken for a leftover
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def remove_leftovers(folder: str | os.PathLike[str], name: str, suffix: str | None = None) -> None:
    """Removes temporary files and folders ``.NAME.xxxxxxxxSUFFIX`` that no process holds any more.

    What cannot be removed stays, and is no error.

    Args:
        folder: Where they are.
        name: What they were to become.
        suffix: How they end. (default: as the name does)
    """
    suffix = Path(name).suffix if suffix is None else suffix
    like = re.compile(rf"\.{re.escape(name)}\.{_DRAWN}{re.escape(suffix)}")
    with suppress(OSError), os.scandir(folder) as entries:
        for path in [entry.path for entry in entries if like.fullmatch(entry.name)]:
            _remove(path)


@contextmanager
def temporary_folder(name: str, parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A folder that is gone afterwards; what killed processes have left of this name goes at the start.

    Args:
        name: What its name begins with.
        parent: Where it is. (default: where the system has temporary files)
    """
    parent = tempfile.gettempdir() if parent is None else parent
    remove_leftovers(parent, name, "")
    path, handle = _new_folder(name, parent)
    try:
        yield Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _new_folder(name: str, parent: str | os.PathLike[str]) -> tuple[str, int | None]:
    while True:
        path = tempfile.mkdtemp(prefix=f".{name}.", dir=parent)
        if fcntl is None:
            return path, None
        with suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY)
            if hold(handle, path):
                return path, handle
            os.close(handle)


def _remove(path: str) -> None:
    if fcntl is None:  # nothing tells whether somebody is still writing
        return
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(handle)
            if found.st_uid != os.geteuid():
                return
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if stat.S_ISDIR(found.st_mode):
                shutil.rmtree(path, ignore_errors=True)
                return
            for ending in _OF_SQLITE:
                Path(path + ending).unlink(missing_ok=True)
            os.unlink(path)
        finally:
            os.close(handle)
