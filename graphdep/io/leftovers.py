"""Temporary files and folders that are removed, if not by the process that made them, then by a later one."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import string
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

# What stands between a prefix and a suffix, here and in names that tempfile gives.
_DRAWN = "[a-z0-9_]{8}"
_LETTERS = string.ascii_lowercase + string.digits + "_"
# What SQLite writes beside a file.
_OF_SQLITE = ("-journal", "-wal", "-shm")


def temporary_name(name: str, suffix: str = "") -> str:
    """A name that :func:`remove_leftovers` finds. It is known before there is a file of it, so that one who
    is interrupted while making the file can still remove it: of :func:`tempfile.mkstemp`'s the name is lost.
    """
    return f".{name}.{''.join(secrets.choice(_LETTERS) for _ in range(8))}{suffix}"


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
    path, handle = Path(parent, temporary_name(name)), None
    try:
        handle = _new_folder(path)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _new_folder(path: Path) -> int | None:
    """Makes a folder, and gives the handle that holds it."""
    while True:
        path.mkdir(0o700)
        if fcntl is None:
            return None
        with suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY)
            if hold(handle, path):
                return handle
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
