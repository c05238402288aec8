"""Raw files: copied whole from a local folder, and read with file, line and value in every error."""

from __future__ import annotations

import csv
import filecmp
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from graphdep.io.files import atomic_path, long_fields
from graphdep.io.limits import MAX_WORDS
from graphdep.parsing.parser import WordLimit

# Unicode's category Cc without the tab.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_MARK = b"\xef\xbb\xbf"


def to_copy(source: Path, target: Path, *, overwrite: bool = False) -> bool:
    """Whether ``target`` does not have the content of ``source`` yet.

    Raises:
        ValueError: If another file of that name is there and :obj:`overwrite` is off.
    """
    if not target.exists():
        return True
    if filecmp.cmp(source, target, shallow=False):
        return False
    if not overwrite:
        raise ValueError(
            f"'raw_from' has {source}, which differs from {target}: delete {target} or use another 'root' "
            "(delete it, or force_reload=True in Python, to replace it)"
        )
    return True


def copy_raw(source: Path, target: Path) -> None:
    """Copies a file, whole or not at all."""
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)


def row_error(path: Path, line: int, message: str, value: str | None = None) -> ValueError:
    """The error of a damaged row: ``path:line: message (got value)``."""
    shown = "" if value is None else f" (got {value if len(value) <= 80 else value[:77] + '...'!r})"
    return ValueError(f"{path}:{line}: {message}{shown}")


def check_words(path: Path, line: int, name: str, text: str) -> None:
    """Raises :class:`ValueError` if a text of a corpus is longer than any, which would take all memory."""
    if not WordLimit().holds(text):
        raise row_error(path, line, f"{name} has more than {MAX_WORDS} words", text)


def read_table(
    path: Path,
    columns: Sequence[str],
    *,
    header: bool = True,
    repairs: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a tab-separated UTF-8 file, each with its line number.

    A byte-order mark and CRLF are accepted. There is no quoting.

    Args:
        path: The file.
        columns: Their names.
        header: Whether the first line has the names, and not a row. (default: :obj:`True`)
        repairs: What to read in place of known damaged characters of a corpus. (default: none)

    Raises:
        ValueError: If the file has no rows, the header is another one, a row has more or fewer columns,
            or a line is not UTF-8 or holds control characters.
    """
    lines = read_lines(path, repairs=repairs)
    if header:
        _, first = next(lines)
        _check_header(path, first, columns)
    empty = True
    for number, text in lines:
        empty = False
        row = text.split("\t")
        if len(row) != len(columns):
            raise row_error(path, number, f"{len(row)} tab-separated columns instead of {len(columns)}", text)
        yield number, row
    if empty:
        raise row_error(path, 1, "no row below the header")


def read_lines(
    path: Path, *, repairs: Mapping[str, str] | None = None, control: str | None = None
) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, each with its number; no more than one is in memory.

    A byte-order mark and CRLF are accepted.

    Args:
        path: The file.
        repairs: What to read in place of known damaged characters of a corpus. (default: none)
        control: What to read in place of a control character; :obj:`None` refuses them.
            (default: :obj:`None`)

    Raises:
        ValueError: If the file is empty, or a line is not UTF-8 or holds control characters.
    """
    empty = True
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            line = line.removeprefix(_MARK) if number == 1 else line
            if line:
                empty = False
                yield number, _decode(path, number, line.removesuffix(b"\n"), repairs or {}, control)
    if empty:
        raise row_error(path, 1, "the file is empty")


def read_csv(path: Path) -> list[tuple[int, list[str]]]:
    """The rows of a comma-separated UTF-8 file, each with the line on which it starts: a quoted field may
    have several. A blank line is a row without fields.

    Raises:
        ValueError: If quotes are wrong, or as :func:`read_lines`.
    """
    lines = [text for _, text in read_lines(path)]
    reader, line, rows = csv.reader((text + "\n" for text in lines), strict=True), 1, []
    try:
        with long_fields():
            for row in reader:
                rows.append((line, row))
                line = reader.line_num + 1
    except csv.Error as error:
        raise row_error(path, line, f"bad quotes ({error})", lines[line - 1]) from None
    return rows


def _check_header(path: Path, first: str, columns: Sequence[str]) -> None:
    if first.split("\t") != list(columns):
        raise row_error(path, 1, f"the header must be {' '.join(columns)}, separated by tabs", first)


def _decode(path: Path, number: int, line: bytes, repairs: Mapping[str, str], control: str | None) -> str:
    try:
        text = line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        bad = line[error.start : error.start + 4].hex(" ")
        raise row_error(path, number, f"not UTF-8 at byte {error.start}", bad) from None
    for damaged, right in repairs.items():
        text = text.replace(damaged, right)
    if control is not None:
        return _CONTROL.sub(control, text)
    found = _CONTROL.search(text)
    if found:
        raise row_error(path, number, "a control character", found[0])
    return text
