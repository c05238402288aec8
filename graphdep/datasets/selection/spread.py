"""Some pools or rows of a split, spread over all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from graphdep.datasets.selection.store.selection_pool import Pool

T = TypeVar("T")


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
