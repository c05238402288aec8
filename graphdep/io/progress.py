"""Progress of long work, from the loop that does it to the caller that shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

# Seconds before the first line, and between two lines.
_FIRST, _NEXT = 2.0, 10.0
_show: ContextVar[Callable[[str], None] | None] = ContextVar("show", default=None)


@contextmanager
def showing_progress(show: Callable[[str], None]) -> Iterator[None]:
    """A context in which :func:`with_progress` reports.

    Args:
        show: Called with each line.
    """
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)


def with_progress(items: Sequence[T], what: str) -> Iterator[T]:
    """Iterates over the items, and reports a line after two seconds and then every ten; silent outside of
    :func:`showing_progress`.

    Args:
        items: Parts of the work, about equally large.
        what: The work, as in "reading texts".

    Example:
        >>> from graphdep.io.progress import with_progress
        >>> [*with_progress("abc", "spelling")]
        ['a', 'b', 'c']
    """
    show, due = _show.get(), time.monotonic() + _FIRST
    for number, item in enumerate(items):
        if show is not None and time.monotonic() > due:
            due = time.monotonic() + _NEXT
            show(f"{what}: {number / len(items):.0%}")
        yield item
