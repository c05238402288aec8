"""Some pools or rows of a split, spread over all of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from graphdep.datasets.base.draw import Draw
from graphdep.datasets.selection.selection_pool import Pool

T = TypeVar("T")
_SEED = 20180420


def spread(read: Callable[[], Iterable[Pool]], limit: int) -> Iterator[Pool]:
    r"""Some pools, evenly spread, so that no part of a split, such as its oldest logs, stands for all of it.

    Of :math:`T` pools these are :math:`n`, those whose number :math:`j`, from 0, has

    .. math::
        \lfloor (j + 1) \cdot n / T \rfloor > \lfloor j \cdot n / T \rfloor

    Of pools of one size, :math:`n` is the least number that has ``limit`` pairs; of pools of several sizes
    the least that has them if each had the mean size, and so there may be a few pairs less. No pool is kept
    in memory.

    Args:
        read: Gives all pools, the same ones in the same order whenever it is called; called twice.
        limit: The number of pairs.
    """
    pools = pairs = 0
    for pool in read():
        pools, pairs = pools + 1, pairs + len(pool.candidates)
    count = min(pools, -(-limit * pools // max(1, pairs)))
    for number, pool in enumerate(read()):
        if (number + 1) * count // pools > number * count // pools:
            yield pool


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
