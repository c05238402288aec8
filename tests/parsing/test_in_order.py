from __future__ import annotations

import random
from concurrent.futures import Future, ThreadPoolExecutor
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.parsing.parallel import in_order
from graphdep.parsing.parser import Parsed


class Counting:
    """A stream that counts what has been taken of it."""

    def __init__(self, parts):
        self.parts, self.taken = parts, 0

    def __iter__(self):
        for part in self.parts:
            self.taken += 1
            yield part


def done_at_once(chunk):
    future = Future()
    future.set_result([Parsed([], item) for item in chunk])
    return future


@given(st.lists(st.lists(st.text(max_size=2), max_size=3), max_size=20), st.integers(1, 5))
def test_all_are_given_in_order_and_empty_ones_are_not_handed_out(parts, ahead):
    asked = []

    def submit(chunk):
        asked.append(chunk)
        return done_at_once(chunk)

    found = list(in_order(parts, submit, lambda: ahead))
    assert found == [(chunk, [Parsed([], item) for item in chunk]) for chunk in parts]
    assert asked == [chunk for chunk in parts if chunk]


@pytest.mark.parametrize("ahead", [1, 2, 7])
def test_no_more_are_taken_than_may_be_under_way_whichever_is_done_first(ahead):
    parts = Counting([[str(number)] for number in range(40)])
    times = random.Random(0)

    def work(chunk):
        sleep(times.random() / 200)
        return [Parsed([], chunk[0])]

    with ThreadPoolExecutor(4) as pool:
        results = in_order(parts, lambda chunk: pool.submit(work, chunk), lambda: ahead)
        for number, (chunk, parsed) in enumerate(results):
            assert chunk == [str(number)] == [parsed[0].failure]
            assert parts.taken - number <= ahead


def test_one_that_is_done_is_given_before_more_are_taken():
    parts = Counting([["a"], ["b"], ["c"]])
    assert next(in_order(parts, done_at_once, lambda: 9))[0] == ["a"]
    assert parts.taken == 1


def test_an_error_comes_when_its_turn_comes():
    def submit(chunk):
        future = done_at_once(chunk)
        if chunk == ["b"]:
            future = Future()
            future.set_exception(RuntimeError("killed"))
        return future

    results = in_order([["a"], ["b"], ["c"]], submit, lambda: 3)
    assert next(results)[0] == ["a"]
    with pytest.raises(RuntimeError, match="killed"):
        next(results)
