"""How far long work is, told by whoever does it to whoever has asked for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

# Seconds before the first line, and between two lines.
_FIRST, _NEXT = 2.0, 10.0
_say: ContextVar[Callable[[str], None] | None] = ContextVar("say", default=None)


@contextmanager
def telling(say: Callable[[str], None]) -> Iterator[None]:
    """Within it, :func:`told` says how far work is.

    Args:
        say: Takes a line.
    """
    token = _say.set(say)
    try:
        yield
    finally:
        _say.reset(token)


def told(items: Sequence[T], what: str) -> Iterator[T]:
    """The items, with a line where all of them take more than two seconds, and one every ten seconds then;
    without any outside of :func:`telling`.

    Args:
        items: Parts of the work, about equally large.
        what: What is done with all of them.

    Example:
        >>> from graphdep.io.progress import told
        >>> [*told("abc", "spelling")]
        ['a', 'b', 'c']
    """
    say, due = _say.get(), time.monotonic() + _FIRST
    for number, item in enumerate(items):
        if say is not None and time.monotonic() > due:
            due = time.monotonic() + _NEXT
            say(f"{what}: {number / len(items):.0%}")
        yield item
