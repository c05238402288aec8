"""Atomic writes, archives, and text files with line-numbered errors."""

from __future__ import annotations

import csv
import difflib
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import stat
import string
import tempfile
import threading
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from reprlib import Repr
from typing import Any, BinaryIO, TypeVar

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


logger = logging.getLogger("graphdep.io")
T = TypeVar("T")

# Pattern of the random part of temporary names, here and in tempfile.
_RANDOM_PART = "[a-z0-9_]{8}"
_LETTERS = string.ascii_lowercase + string.digits + "_"
# Suffixes of SQLite's auxiliary files.
_SQLITE_SUFFIXES = ("-journal", "-wal", "-shm")


def temporary_name(name: str, suffix: str = "") -> str:
    """A name that :func:`remove_leftovers` finds. It is known before the file exists, so cleanup works after
    an interruption; the name from :func:`tempfile.mkstemp` would be lost.
    """
    return f".{name}.{''.join(secrets.choice(_LETTERS) for _ in range(8))}{suffix}"


def hold(handle: int, path: str | os.PathLike[str]) -> bool:
    """Locks a temporary file or folder until the handle is closed, at the latest when the process ends.

    Returns:
        Whether it still exists: another process may have removed it as a leftover before the lock.
    """
    if fcntl is None:
        return True
    with suppress(OSError):  # a file system without locks, where no leftovers are removed
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def remove_leftovers(folder: str | os.PathLike[str], name: str, suffix: str | None = None) -> None:
    """Removes temporary files and folders ``.NAME.xxxxxxxxSUFFIX`` that no process locks.

    Files that cannot be removed are ignored.

    Args:
        folder: The folder of the leftovers.
        name: The name of their target.
        suffix: Their suffix. (default: that of ``name``)
    """
    suffix = Path(name).suffix if suffix is None else suffix
    like = re.compile(rf"\.{re.escape(name)}\.{_RANDOM_PART}{re.escape(suffix)}")
    with suppress(OSError), os.scandir(folder) as entries:
        for path in [entry.path for entry in entries if like.fullmatch(entry.name)]:
            _remove(path)


@contextmanager
def temporary_folder(name: str, parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A folder that is removed afterwards; leftovers of killed processes are removed at the start.

    Args:
        name: Prefix of its name.
        parent: Its parent folder. (default: the system's folder for temporary files)
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
    """Makes a folder and returns the handle that locks it."""
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
    if fcntl is None:  # without locks, another process may still be writing
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
            for ending in _SQLITE_SUFFIXES:
                Path(path + ending).unlink(missing_ok=True)
            os.unlink(path)
        finally:
            os.close(handle)


@contextmanager
def atomic_path(path: str | os.PathLike[str], *, typed: bool = False) -> Iterator[Path]:
    """Yields a temporary path that replaces ``path`` on success and is removed on failure.

    Readers see either the old file or the complete new one, even if the process is killed. The next write to
    the same file removes leftovers of killed processes.

    Args:
        path: The file.
        typed: Whether a user named the file: a symbolic link is then followed, and its target is written.
            Otherwise the link is replaced, since it could point anywhere. (default: :obj:`False`)

    Raises:
        ValueError: If ``path`` is not a regular file: a folder, a pipe, a device.
        OSError: If its folder is not writable.
    """
    check_plain_file(path)
    target = Path(os.path.realpath(path) if typed else os.path.abspath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    # Keep the suffix of the requested path, since writers depend on it.
    suffix = Path(path).suffix
    remove_leftovers(target.parent, target.name, suffix)
    temporary, handle = target.with_name(temporary_name(target.name, suffix)), None
    try:
        try:
            handle = _new_file(temporary)
        except OSError as error:  # the error has the temporary name
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        yield temporary
        os.chmod(temporary, file_mode(target))
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # name the full disk
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def file_mode(target: Path) -> int:
    """Permissions of the target if it exists and is not a link, else the umask's default."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFLNK
    return 0o666 & ~_umask() if stat.S_ISLNK(mode) else stat.S_IMODE(mode)


def _new_file(path: Path) -> int:
    """Makes an empty file and returns the handle that locks it during the write."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        if hold(handle, path):
            return handle
        os.close(handle)  # another process removed it as a leftover before the lock


_SECONDS_TO_WARN = 2.0  # seconds before the warning


@contextmanager
def open_to_read(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a file for reading bytes; a pipe without a writer is logged after a while.

    Raises:
        ValueError: If it is a device other than a terminal, which may be endless.
        OSError: If it cannot be opened.
    """
    name = os.fspath(path)
    said = threading.Timer(_SECONDS_TO_WARN, logger.warning, ("waiting for a writer of the pipe %s", name))
    said.daemon = True
    if os.path.exists(path) and not os.path.isfile(path):
        said.start()
    try:
        with open(path, "rb") as file:
            said.cancel()
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty():
                raise ValueError(f"{name}: a device instead of a file or a pipe")
            yield file
    finally:
        said.cancel()


def check_read_again(path: str | os.PathLike[str]) -> None:
    """Raises :class:`ValueError` if the path is not a regular file; a pipe, for example, is empty when it is
    read again.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{os.fspath(path)}: must be a regular file, since it is read more than once")


def check_folder(name: str, path: str | os.PathLike[str]) -> None:
    """Raises :class:`ValueError`, with the argument's name, if the path or a parent of it is a file."""
    there = next(place for place in (Path(path), *Path(path).absolute().parents) if place.exists())
    if not there.is_dir():
        raise ValueError(f"{name!r} must be a folder: {str(there)!r} is a file (got {os.fspath(path)!r})")


def home_path(path: str | os.PathLike[str]) -> Path:
    """The path, with ``~`` or ``~user`` expanded to the user's home folder.

    Raises:
        ValueError: If there is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ValueError(f"no user has the home folder of {os.fspath(path)!r}") from None


def check_plain_file(path: str | os.PathLike[str]) -> None:
    """Raises :class:`ValueError` if ``path`` exists and is not a regular file."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{os.fspath(path)!r} is not a regular file, so it cannot be replaced atomically")


def check_replaced(
    folder: str | os.PathLike[str],
    names: Iterable[str],
    own: Container[str] = (),
    *,
    overwrite: bool = False,
    about: str = "",
    of: str = "",
) -> None:
    """Checks before the work that no file will be lost: the same rule for everything that is written.

    Args:
        folder: The target folder.
        names: Names of the files to write.
        own: Names of files from an earlier run of the same work, which may be replaced. (default: none)
        overwrite: Replace other files, too. (default: :obj:`False`)
        about: Words on the existing files for the message. (default: none)
        of: The content of a page or picture, see :func:`drawing`: an unchanged one of it is replaced.
            (default: none)

    Raises:
        ValueError: If one of the files exists, is not empty and not in :obj:`own`, or is not a regular file.
    """
    for name in names:
        path = Path(folder, name)
        check_plain_file(path)
        if overwrite or name in own or not os.path.lexists(path):
            continue
        if path.is_symlink() or (path.stat().st_size and not _is_signed(path, of)):
            raise ValueError(
                f"{path} exists{about} and would be replaced: choose another place, or --overwrite (in "
                "Python overwrite=True)"
            )


CHECKSUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S+)")


def write_checksums(folder: Path, names: Iterable[str]) -> None:
    """Writes ``SHA256SUMS``, as the command sha256sum does, of these files of a folder."""
    lines = [f"{file_digest(folder / name)}  {name}\n" for name in sorted(names)]
    with atomic_path(folder / CHECKSUMS) as path:
        path.write_text("".join(lines), encoding="utf-8")


def read_checksums(path: Path) -> dict[str, str]:
    """The digests by name that :func:`write_checksums` wrote.

    Raises:
        LineError: If a line is another one.
    """
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise LineError("no digest and name of a file", path, number, line)
        found[match[2]] = match[1]
    return found


def unchanged_files(folder: Path) -> set[str]:
    """The names of the files in a folder that are as its ``SHA256SUMS`` says; none where there is none."""
    try:
        known = read_checksums(folder / CHECKSUMS)
        return {CHECKSUMS, *(name for name in known if file_digest(folder / name) == known[name])}
    except (OSError, ValueError):
        return set()


_SIGNED = re.compile(rb"graphdep sha256 ([0-9a-f]{64})(?: -->\n|\n|.{8}IEND.{4})\Z", re.DOTALL)


def _sign(path: Path, suffix: str, of: str) -> None:
    """Adds the digest of a page or picture, and of what it shows, to its end, in a comment."""
    content, end = path.read_bytes(), b""
    if suffix == ".png":  # a chunk before the last one, with its size before and its checksum behind
        content, end = content[:-12], content[-12:]
        content += (len(b"graphdep sha256 ") + 64 + len(b"Comment\0")).to_bytes(4) + b"tEXtComment\0"
    else:
        content += b"%" if suffix == ".pdf" else b"<!-- "
    mark = b"graphdep sha256 " + _digest_of(content, of)
    if suffix == ".png":
        end = zlib.crc32(b"tEXtComment\0" + mark).to_bytes(4) + end
    else:
        end = b"\n" if suffix == ".pdf" else b" -->\n"
    path.write_bytes(content + mark + end)


def _digest_of(content: bytes, of: str) -> bytes:
    return hashlib.sha256(content + of.encode(errors="backslashreplace")).hexdigest().encode()


def _is_signed(path: Path, of: str) -> bool:
    """Whether a file is as :func:`_sign` left it."""
    if path.suffix.lower() not in (".html", ".svg", ".pdf", ".png"):
        return False
    content = path.read_bytes()
    found = _SIGNED.search(content, max(0, len(content) - 100))
    return found is not None and _digest_of(content[: found.start()], of) == found[1]


@contextmanager
def typed_path(path: str | os.PathLike[str], *, overwrite: bool = False, of: str = "") -> Iterator[Path]:
    """:func:`atomic_path` of a file that a user named, after :func:`check_replaced`."""
    check_replaced(Path(path).parent, [Path(path).name], overwrite=overwrite, of=of)
    with atomic_path(path, typed=True) as temporary:
        yield temporary


@contextmanager
def drawing(path: str | os.PathLike[str], *, of: str, overwrite: bool = False) -> Iterator[Path]:
    """:func:`typed_path` of a page or picture, with a digest at its end, which replaces only an unchanged one
    of the same ``of``: a command with its arguments, or a description.
    """
    with typed_path(path, overwrite=overwrite, of=of) as temporary:
        yield temporary
        _sign(temporary, Path(path).suffix.lower(), of)


def _umask() -> int:
    # Python can read the umask only by setting it, which would briefly open other threads' files to all.
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(int(line.split()[1], 8) for line in file if line.startswith("Umask:"))
    except (OSError, StopIteration):  # not Linux, or one before 4.7
        mask = os.umask(0)
        os.umask(mask)
        return mask


BEST = "best.ckpt"
LAST = "last.ckpt"
MODEL_CONFIG, MODEL_WEIGHTS = "config.json", "model.safetensors"
"""Files in the folder of an exported model."""


def find_checkpoint(path: str | os.PathLike[str]) -> Path:
    """The checkpoint of a path: a file, an exported folder, or the best checkpoint of a run."""
    found = home_path(path)
    if found.is_file():
        return found
    if not found.is_dir():
        check_read_again(found)
        raise FileNotFoundError(f"no checkpoint at {os.fspath(path)}{_near(found)}")
    if (found / BEST).is_file():
        return found / BEST
    if (found / MODEL_WEIGHTS).is_file() or (found / MODEL_CONFIG).is_file():
        return found
    raise FileNotFoundError(f"{os.fspath(path)} is a folder without a {BEST}{_runs(found)}")


def _near(path: Path) -> str:
    """The name that is like the first part of a path that does not exist, or else the runs beside it."""
    missing = next(one for one in (*reversed(path.parents), path) if not os.path.exists(one))
    try:
        near = difflib.get_close_matches(missing.name, sorted(os.listdir(missing.parent)), n=1)
    except OSError:  # the parent is a file, or cannot be read
        return ""
    return f" (did you mean {near[0]!r}?)" if near else _runs(missing.parent)


def _runs(folder: Path) -> str:
    runs = sorted(str(best.parent) for best in folder.glob(f"*/{BEST}"))
    return f": name one of the runs {', '.join(runs[:5])}{' ...' * (len(runs) > 5)}" if runs else ""


def check_archive(path: str | os.PathLike[str]) -> None:
    """Raises :class:`ValueError` if a byte of the file has changed, which torch does not check."""
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            # torch never compresses: a compressed file of 1 MB could take hours to unpack.
            packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist())
            damaged = None if packed else archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        why = f"not a checkpoint, or damaged ({str(error)[:120] or error!r})"
    else:
        if not packed and damaged is None:
            return
        why = f"damaged checkpoint: {damaged} has changed since it was written"
        why = "not a checkpoint, or damaged (its entries are compressed)" if packed else why
    raise ValueError(f"{name}: {why}")


# Limits how much of a list or mapping is read, to the size of a message.
_BRIEF = Repr()
_BRIEF.maxlevel, _BRIEF.maxstring, _BRIEF.maxother, _BRIEF.maxlong = 4, 100, 100, 100
_BRIEF.maxlist = _BRIEF.maxtuple = _BRIEF.maxdict = _BRIEF.maxset = _BRIEF.maxfrozenset = 40


def brief(value: object, size: int = 80) -> str:
    """A value for a message: its ``repr``, shortened.

    Args:
        value: The value.
        size: Largest number of characters of a string, or of another value's ``repr``. (default: :obj:`80`)

    Example:
        >>> from graphdep.io.files import brief
        >>> brief(0.5), brief("dt"), brief("very " * 100, 12)
        ('0.5', "'dt'", "'very very...'")
    """
    if isinstance(value, str):
        return repr(value if len(value) <= size else f"{value[: size - 3]}...")
    text = _BRIEF.repr(value) if isinstance(value, Sized) else repr(value)
    return text if len(text) <= size else f"{text[: size - 3]}..."


def _shortened(message: str) -> str:
    """A message that may quote a whole line, without its middle."""
    return message if len(message) <= 1_000 else f"{message[:800]} ... {message[-200:]}"


class LineError(ValueError):
    """An error in a line of a file.

    Args:
        message: The problem.
        path: The file.
        line: Line number, from 1.
        value: The offending value.
    """

    def __init__(self, message: str, path: str | os.PathLike[str], line: int, value: str = "") -> None:
        got = f" (got {brief(value)})" if value else ""
        super().__init__(f"{path}:{line}: {_shortened(message)}{got}")
        self.message, self.path, self.line, self.value = message, path, line, value


def place_error(place: str, message: str, value: object = None) -> ValueError:
    """An error that names the place and the value: ``place: message (got value)``, or ``(got part in
    value)`` of a message that has a part of it.
    """
    message = _shortened(message)
    if value is not None:
        text = brief(value)
        in_part = " (got " in message and message.endswith(")")
        message = f"{message[:-1]} in {text})" if in_part else f"{message} (got {text})"
    return ValueError(f"{place}: {message}" if place else message)


@contextmanager
def placed(place: str, what: str = "", value: object = None) -> Iterator[None]:
    """Adds the place to a :class:`ValueError` that is raised inside."""
    try:
        yield
    except ValueError as error:
        raise place_error(place, f"{what}{error}", value) from None


_LISTED = 5


class SeveralErrors(ValueError):
    """The first five of several errors, and the number of the others."""

    def __init__(self, errors: Sequence[ValueError]) -> None:
        more = f"; and {len(errors) - _LISTED} more" if len(errors) > _LISTED else ""
        super().__init__("; ".join(map(str, errors[:_LISTED])) + more)
        self.errors = errors

    def __reduce__(self) -> tuple[Any, ...]:
        return ValueError, (str(self),)


def each(read: Callable[[Any], T], items: Iterable[Any]) -> list[T]:
    """``read(item)`` of each item, such as a row or a file; the errors of all items are raised together."""
    values: list[T] = []
    errors: dict[str, ValueError] = {}
    for item in items:
        try:
            values.append(read(item))
        except ValueError as error:
            found = error.errors if isinstance(error, SeveralErrors) else [error]
            errors |= {str(one): one.with_traceback(None) if errors else one for one in found}
    if errors:
        raise SeveralErrors([*errors.values()]) if len(errors) > 1 else errors.popitem()[1]
    return values


def check_line(right: object, message: str, path: str | os.PathLike[str], line: int, value: str = "") -> None:
    """Raises a :class:`LineError` with the message unless ``right`` is true."""
    if not right:
        raise LineError(message, path, line, value)


def decoded_lines(
    lines: Iterable[bytes], path: str | os.PathLike[str], error: type[LineError] = LineError
) -> Iterator[tuple[int, str]]:
    """Number and text of each UTF-8 line, without its line break; accepts a byte-order mark and CRLF.

    Args:
        lines: The lines of a file opened for reading bytes.
        path: The file, for errors.
        error: Class of the error for a line that is not UTF-8. (default: :class:`LineError`)
    """
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        yield number, decoded(line, path, number, error).removesuffix("\n").removesuffix("\r")


def decoded(
    line: bytes, path: str | os.PathLike[str], number: int, error: type[LineError] = LineError
) -> str:
    """The text of a UTF-8 line or of a part of it; see :func:`decoded_lines`."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as wrong:
        bad = line[wrong.start : wrong.start + 4].hex(" ")
        excel = " (in Excel: CSV UTF-8)" if os.fspath(path).lower().endswith(".csv") else ""
        message = f"not UTF-8 at byte {wrong.start} (got {bad!r}): save it as UTF-8{excel}"
        raise error(message, path, number) from None


# Unicode category Cc without the tab.
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")


def without_control(
    lines: Iterable[tuple[int, str]], path: str | os.PathLike[str]
) -> Iterator[tuple[int, str]]:
    """Numbered lines with a space for each control character; the number of replacements is logged."""
    changed, first = 0, 0
    for number, text in lines:
        text, count = CONTROL.subn(" ", text)
        changed, first = changed + count, first or number * bool(count)
        yield number, text
    if changed:
        what = f"{changed} control character{'s' * (changed > 1)} read as a blank, the first on line {first}"
        log_once(os.fspath(path), what)


@cache
def log_once(path: str, what: str) -> None:
    """Logs a note on a file once per process."""
    logger.warning("%s: %s", path, what)


def file_digest(path: str | os.PathLike[str]) -> str:
    """Hexadecimal SHA-256 digest of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")  # half-width and full-width
_LARGEST = 2**31 - 1  # fits a C long on every platform
# The original limit, followed by one entry for each further reading thread.
_csv_limits: list[int] = []
_lock = threading.Lock()


@contextmanager
def long_fields() -> Iterator[None]:
    """Lets :mod:`csv` read fields above its limit of 131,072 characters, and restores the limit afterwards.

    All threads share the limit: the first reader raises it, the last one restores it.
    """
    with _lock:
        _csv_limits.append(csv.field_size_limit(_LARGEST))
    try:
        yield
    finally:
        with _lock:
            # The original limit is the first entry.
            csv.field_size_limit(_csv_limits[0] if len(_csv_limits) == 1 else _LARGEST)
            _csv_limits.pop()


def guard(cell: str) -> str:
    """A cell that spreadsheets do not evaluate: with an apostrophe before anything like a formula.

    A formula may also follow a semicolon or a tab, where some spreadsheets begin another cell.
    """
    return "".join("'" + part if _is_formula(part) else part for part in re.split("([;\t])", cell))


def unguard(cell: str) -> str:
    """The cell before :func:`guard`."""
    parts = re.split("([;\t])", cell)
    return "".join(part[1:] if part[:1] == "'" and _is_formula(part) else part for part in parts)


def _is_formula(part: str) -> bool:
    # Spreadsheets may skip invisible characters. A guarded part must still be detected: skip apostrophes.
    seen = (c for c in part if c != "'" and not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf"))
    return next(seen, None) in _FORMULA


@contextmanager
def disk_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Converts safetensors' error for a full disk into an :class:`OSError` with the file name.

    Safetensors raises a class of its own, with the system's error number in the text.
    """
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), os.fspath(path)) from None


def has_half_character(text: str) -> bool:
    """Whether a text has an unpaired surrogate, which JSON can contain but UTF-8 cannot encode."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An ``object_pairs_hook`` of :func:`json.loads` that refuses repeated keys, which would lose a value."""
    value = dict(pairs)
    if len(value) < len(pairs):
        key, count = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {key!r} occurs {count} times")
    return value


def json_value(line: str, place: str) -> Any:
    """The value of a JSON line or of a whole JSON file."""
    try:
        value = json.loads(line, object_pairs_hook=unique_keys)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        why = "half a character, which no file can hold"
    except (ValueError, RecursionError) as error:
        why = f"no JSON: {error}" if line.strip() else "a blank line, where an object must be"
        if isinstance(error, json.JSONDecodeError) and error.lineno > 1:  # a value that spans several lines
            place = f"{place}:{error.lineno}"
    else:
        return value
    raise place_error(place, why, line)
