"""The user's own texts: rows of a CSV, TSV, JSON-lines or Parquet file, by the names of their columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphdep.datasets.base.column_names import check_header, check_there
from graphdep.datasets.base.parquet import read_parquet
from graphdep.datasets.base.raw import read_csv, read_lines, row_error
from graphdep.io.files import json_value

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
OBJECTS = (".jsonl", ".parquet")
"""Files whose values have kinds: texts, numbers, lists."""
Label = str | int | float | bool
# Numbers become 32-bit floats, whose largest this is.
_MAX_NUMBER = (2 - 2**-23) * 2.0**127


class TextRow(NamedTuple):
    """A row, and the line on which it starts; of a Parquet file the number of the row, from 1."""

    path: Path
    line: int
    values: dict[str, Any]

    def text(self, column: str) -> str:
        """The text in a column.

        Raises:
            ValueError: If it is none or has no word, with file, line and value.
        """
        value = self.values[column]
        if not isinstance(value, str):
            raise self._error(f"{column!r} must be a text", value)
        if not value.strip():
            raise self._error(f"{column!r} is empty: a text has at least one word", value)
        return value.strip()

    def label(self, column: str) -> Label:
        """The name of a class: a text, of a table without white space around it, or of an object a number or
        truth value.

        Raises:
            ValueError: If there is none, with file, line and value.
        """
        value = self.values[column]
        if not isinstance(value, (str, int, float)) or value != value:  # NaN is no name
            raise self._error(f"{column!r} must be the name of a class", value)
        if isinstance(value, str) and not value.strip():
            raise self._error(f"{column!r} is empty", value)
        if isinstance(value, str) and self.path.suffix.lower() not in OBJECTS:
            return value.strip()
        return value

    def number(self, column: str) -> float:
        """The number in a column.

        Raises:
            ValueError: If there is none, or it is not finite as a 32-bit float, with file, line and value.
        """
        value = self.values[column]
        try:
            number = math.nan if isinstance(value, bool) or "_" in str(value) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        except OverflowError:  # a whole number of JSON may have any size
            number = math.inf
        if math.isnan(number):
            raise self._error(f"{column!r} must be a number", value)
        if abs(number) > _MAX_NUMBER:
            raise self._error(f"{column!r} must be a number of at most {_MAX_NUMBER:.4g} either way", value)
        return number

    def _error(self, message: str, value: object) -> ValueError:
        return row_error(self.path, self.line, message, value if isinstance(value, str) else repr(value))


def check_suffix(name: str, path: Path) -> None:
    """Raises :class:`ValueError` if the name of a file says none of the known formats."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{name!r} must end in {', '.join(SUFFIXES)} (got {str(path)!r})")


def read_text_rows(path: Path, columns: Sequence[str]) -> list[TextRow]:
    """The rows of a file, in UTF-8 where it is a text; its suffix says what it is.

    ============  ========================================================================================
    ``.csv``      a header and rows, separated by commas; fields may be quoted
    ``.tsv``      a header and rows, separated by tabs, without quoting: a quotation mark is part of a text
    ``.jsonl``    an object a line, with at least the columns that are asked for
    ``.parquet``  a table of texts, numbers, truth values and lists; needs the extra ``[parquet]``
    ============  ========================================================================================

    Args:
        path: The file.
        columns: The columns that every row must have, among others.

    Raises:
        ValueError: If a column is missing, a row has more or fewer columns than the header, a line is blank,
            there is no row, or something is wrong with the file itself, with file, line and value.
        OSError: If the file cannot be read.
        ImportError: If pyarrow is needed and is not there.
    """
    check_suffix("path", path)
    rows = list(_rows(path, columns))
    if not rows:
        raise row_error(path, 1, "no row below the header")
    return rows


def column_names(path: Path) -> list[str]:
    """The names of a file's columns: of a table its header, of objects the keys of the first one."""
    if path.suffix.lower() in OBJECTS:
        return [*next(iter(_rows(path, ()))).values]
    rows: Iterable[tuple[int, list[str]]] = read_csv(path) if path.suffix.lower() == ".csv" else _tabs(path)
    return next(iter(rows))[1]


def rows_of_lines(source: Path, lines: Sequence[str], columns: Sequence[str]) -> list[TextRow]:
    """Lines of text as rows, of several columns with tabs between them.

    Raises:
        ValueError: If a line has another number of texts, with its place.
    """
    rows = []
    for number, line in enumerate(lines, start=1):
        cells = line.split("\t") if len(columns) > 1 else [line]
        if len(cells) != len(columns):
            message = f"{len(columns)} texts with a tab between them are asked for"
            raise row_error(source, number, message, line)
        rows.append(TextRow(source, number, dict(zip(columns, cells))))
    return rows


def check_columns(path: Path, columns: Sequence[str]) -> None:
    """Raises what :func:`read_text_rows` does, as far as the first row tells it."""
    next(_rows(path, columns), None)


def _rows(path: Path, columns: Sequence[str]) -> Iterator[TextRow]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return (TextRow(path, number, row) for number, row in read_parquet(path, columns))
    return _objects(path, columns) if suffix == ".jsonl" else _table(path, columns)


def _objects(path: Path, columns: Sequence[str]) -> Iterator[TextRow]:
    for line, text in read_lines(path):
        value = json_value(text, f"{path}:{line}")
        if not isinstance(value, dict):
            raise row_error(path, line, "no object", text)
        check_there(path, line, value, columns)
        yield TextRow(path, line, value)


def _table(path: Path, columns: Sequence[str]) -> Iterator[TextRow]:
    quoted = path.suffix.lower() == ".csv"
    rows: Iterable[tuple[int, list[str]]] = read_csv(path) if quoted else _tabs(path)
    rows = iter(rows)
    _, header = next(rows)
    check_header(path, header, columns)
    for line, cells in rows:
        if len(cells) != len(header):
            what = f"{len(cells)} columns instead of {len(header)}" if cells else "a blank line"
            raise row_error(path, line, what, ("," if quoted else "\t").join(cells))
        yield TextRow(path, line, dict(zip(header, cells)))


def _tabs(path: Path) -> Iterator[tuple[int, list[str]]]:
    for line, text in read_lines(path):
        yield line, text.split("\t") if text else []
