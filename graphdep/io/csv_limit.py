"""Reading CSV files with long fields."""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
