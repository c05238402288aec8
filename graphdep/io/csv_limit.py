"""Reading CSV files with long fields."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager

_LARGEST = 2**31 - 1  # a C long everywhere


@contextmanager
def long_fields() -> Iterator[None]:
    """Lets :mod:`csv` read fields above its limit of 131,072 characters, and sets the old limit again."""
    limit = csv.field_size_limit(_LARGEST)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
