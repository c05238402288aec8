"""CSV files: long fields, and cells that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import re
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")  # half-width and full-width
_LARGEST = 2**31 - 1  # a C long everywhere
# The limit that was there, and an entry for each thread more that reads.
_before: list[int] = []
_lock = threading.Lock()


@contextmanager
def long_fields() -> Iterator[None]:
    """Lets :mod:`csv` read fields above its limit of 131,072 characters, and sets the old limit again.

    The limit is one for all threads: the first sets it, the last one that reads sets the old one again.
    """
    with _lock:
        _before.append(csv.field_size_limit(_LARGEST))
    try:
        yield
    finally:
        with _lock:
            # The old limit is at the bottom.
            csv.field_size_limit(_before[0] if len(_before) == 1 else _LARGEST)
            _before.pop()


def guard(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: with an apostrophe where it would.

    That may be after a semicolon or a tab, too, where some spreadsheets begin another cell.
    """
    return "".join("'" + part if _is_formula(part) else part for part in re.split("([;\t])", cell))


def unguard(cell: str) -> str:
    """The cell before :func:`guard`."""
    parts = re.split("([;\t])", cell)
    return "".join(part[1:] if part[:1] == "'" and _is_formula(part) else part for part in parts)


def _is_formula(part: str) -> bool:
    # Spreadsheets may skip what cannot be seen. Apostrophes are skipped: a guarded part must still be one.
    seen = (c for c in part if c != "'" and not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf"))
    return next(seen, None) in _FORMULA
