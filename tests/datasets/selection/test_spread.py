from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.base.rows import spread_rows
from graphdep.datasets.selection.dataset import spread
from graphdep.datasets.selection.store import Pool


def pools(*sizes: int) -> list[Pool]:
    return [
        Pool(((str(number),),), (((),) * size), (1, *[0] * (size - 1))) for number, size in enumerate(sizes)
    ]


def numbers(found) -> list[int]:
    return [int(pool.context[0][0]) for pool in found]


@given(total=st.integers(1, 60), size=st.integers(1, 10), limit=st.integers(1, 700))
def test_pools_of_one_size(total, size, limit):
    every = pools(*[size] * total)
    found = numbers(spread(lambda: every, limit))
    assert len(found) == min(total, math.ceil(limit / size))
    steps = [after - before for before, after in zip([-1, *found], found)]
    assert max(steps) - min(steps) <= 1  # as even as can be
    assert found[-1] == total - 1


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=40), limit=st.integers(1, 300))
def test_pools_of_many_sizes(sizes, limit):
    every = pools(*sizes)
    found = numbers(spread(lambda: every, limit))
    count = min(len(sizes), math.ceil(limit * len(sizes) / sum(sizes)))
    rule = [j for j in range(len(sizes)) if (j + 1) * count // len(sizes) > j * count // len(sizes)]
    assert found == rule
    assert len(found) == count
    assert limit < sum(sizes) or len(found) == len(sizes)


@pytest.mark.parametrize(("limit", "expected"), [(1, [9]), (20, [4, 9]), (25, [3, 6, 9]), (99, [*range(10)])])
def test_an_example(limit, expected):
    assert numbers(spread(lambda: pools(*[10] * 10), limit)) == expected


def test_no_pool_is_kept():
    read = 0

    def every():
        nonlocal read
        for pool in pools(*[2] * 50):
            read += 1
            yield pool

    found = spread(every, 20)
    next(found)
    assert 50 < read < 60
    assert numbers(spread(lambda: iter(()), 3)) == []


@given(total=st.integers(0, 200), limit=st.integers(1, 250))
def test_rows_are_one_of_each_part(total, limit):
    found = spread_rows(range(total), limit)
    count = min(total, limit)
    parts = [range(k * total // count, (k + 1) * total // count) for k in range(count)]
    assert all(row in part for row, part in zip(found, parts, strict=True))
    assert spread_rows(range(total), limit) == found


def test_rows_that_are_drawn_stay_the_same():
    # Written down: with others, runs on a part of a corpus could not be compared.
    assert spread_rows(range(40), 8) == ROWS_OF_40


ROWS_OF_40 = [0, 6, 10, 19, 24, 25, 31, 39]
