"""Random choices that are the same in every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
_SEED = 20180420


class Draw:
    """Draws with ``random()`` alone: only that is the same in every version of Python."""

    def __init__(self, source: random.Random) -> None:
        self.source = source

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.source.random() * len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return [items[i] for _, i in sorted((self.source.random(), i) for i in range(len(items)))]


def spread_rows(rows: Sequence[T], limit: int) -> list[T]:
    """Some rows in their order, one drawn from each of ``limit`` parts of like size.

    The draw has one fixed seed; rows at even distances would all have the same label where labels alternate.

    Args:
        rows: All rows.
        limit: The number of rows; all where there are no more.
    """
    count, draw = min(limit, len(rows)), Draw(random.Random(_SEED))
    bounds = [part * len(rows) // count for part in range(count + 1)] if rows else []
    return [rows[draw.pick(range(start, end))] for start, end in pairwise(bounds)]


def check_seed(seed: int) -> int:
    """Returns the seed of a draw that several splits make; :obj:`None` would be another draw for each.

    Raises:
        ValueError: If it is no whole number.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"'seed' must be a whole number (got {seed!r})")
    return seed


def drawn_part(size: int, share: float, seed: int) -> set[int]:
    """Which of ``size`` things, by number, are drawn for validation: at least one, and not all of them.

    Args:
        size: How many there are, at least 2.
        share: The share that is drawn, more than 0 and less than 1.
        seed: Of the draw.
    """
    count = min(max(1, round(size * share)), size - 1)
    return set(Draw(random.Random(seed)).shuffled(range(size))[:count])
