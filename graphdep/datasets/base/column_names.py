"""The columns that a table or an object must have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from graphdep.datasets.base.raw import row_error


def check_header(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    """Raises :class:`ValueError` if a table has a column twice, or not one that it must have."""
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise row_error(path, 1, "a column is there twice", twice[0])
    check_there(path, 1, header, columns)


def check_there(path: Path, line: int, there: Iterable[str], columns: Sequence[str]) -> None:
    """Raises :class:`ValueError`, with the columns that are there, if one is not."""
    names = list(there)
    for column in columns:
        if column not in names:
            raise row_error(path, line, f"no column {column!r}; the columns are {_shown(names)}")


def _shown(names: Sequence[str]) -> str:
    """Ten names, as they are unless they would not be seen, and how many more there are."""
    shown = [name if name.isprintable() and name.strip() == name != "" else repr(name) for name in names[:10]]
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return ", ".join(name if len(name) <= 80 else f"{name[:80]}..." for name in shown) + more
