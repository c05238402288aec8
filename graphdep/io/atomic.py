"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphdep.io.leftovers import hold, remove_leftovers, temporary_name


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path that replaces ``path`` on success and is removed on failure.

    A reader therefore sees the old file or the new one, whole, even if the process is killed half-way. What
    a killed one has left is removed when the file is written again. A symbolic link stays, and the file that
    it points to is written.

    Raises:
        ValueError: If there is something that is no plain file: a folder, a pipe, a device.
        OSError: If nothing can be written beside it.
    """
    check_plain_file(path)
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix of the path that was asked for, since writers look at it.
    suffix = Path(path).suffix
    remove_leftovers(target.parent, target.name, suffix)
    temporary, handle = target.with_name(temporary_name(target.name, suffix)), None
    try:
        try:
            handle = _new_file(temporary)
        except OSError as error:  # of a name that nobody has asked for
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        yield temporary
        os.chmod(temporary, file_mode(target))
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # a full disk: which one?
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def file_mode(target: Path) -> int:
    """Who may read and write a file: those who may already; of a new one, which was made for nobody else,
    everybody whom the umask lets.
    """
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return 0o666 & ~_umask()


def _new_file(path: Path) -> int:
    """Makes an empty file, and gives the handle that holds it while it is written."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        if hold(handle, path):
            return handle
        os.close(handle)  # another process has taken it for a leftover before it was held


def check_plain_file(path: str | os.PathLike[str]) -> None:
    """Raises :class:`ValueError` if there is something at ``path`` that is no plain file."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{os.fspath(path)!r} is no plain file, which could be replaced whole")


def _umask() -> int:
    # Python asks by setting it, and for that moment what other threads write is open to all.
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(int(line.split()[1], 8) for line in file if line.startswith("Umask:"))
    except (OSError, StopIteration):  # not Linux, or one before 4.7
        mask = os.umask(0)
        os.umask(mask)
        return mask
