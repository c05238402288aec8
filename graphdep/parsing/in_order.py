"""Chunks that others parse at the same time, given in the order in which they came."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from graphdep.parsing.items import Chunk
from graphdep.parsing.parsed import Parsed


class _Future(Protocol):
    def done(self) -> bool: ...

    def result(self) -> list[Parsed]: ...


def in_order(
    parts: Iterable[Chunk], submit: Callable[[Chunk], _Future], ahead: Callable[[], int]
) -> Iterator[tuple[Chunk, list[Parsed]]]:
    """Hands out chunks and gives each with its parses. No more are taken from :obj:`parts` than may be under
    way, be they parsed already: the first of them is waited for, so that memory is bounded.

    Args:
        parts: The chunks. Of one without an input nothing is handed out.
        submit: Hands out a chunk.
        ahead: How many may be under way; asked for each.
    """
    waiting: deque[tuple[Chunk, _Future | None]] = deque()
    for chunk in parts:
        waiting.append((chunk, submit(chunk) if chunk else None))
        most = ahead()
        while waiting and (len(waiting) >= most or _is_done(waiting[0][1])):
            yield _result(*waiting.popleft())
    while waiting:
        yield _result(*waiting.popleft())


def _is_done(future: _Future | None) -> bool:
    return future is None or future.done()


def _result(chunk: Chunk, future: _Future | None) -> tuple[Chunk, list[Parsed]]:
    return chunk, [] if future is None else future.result()
