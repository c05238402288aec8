from __future__ import annotations

import os
import pickle
import random
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.parsing import ParallelParser, ParserUnavailableError, resolve_parser
from graphdep.parsing import parallel as module
from graphdep.parsing import parser as items
from graphdep.parsing.cached import ParseCache
from graphdep.parsing.parallel import in_order
from graphdep.parsing.parser import ChainParser, Parsed
from tests.kit.streams import Counted


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(items, "_CHUNK_ITEMS", 3)


class Dying(ChainParser):
    """Kills the process that it is copied to."""

    def __reduce__(self):
        return os._exit, (1,)


class Missing(ChainParser):
    def parse_items(self, items):
        raise ParserUnavailableError("no models")


class Unmoved(ChainParser):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


@pytest.mark.usefixtures("small_chunks")
def test_two_processes_give_the_results_of_one_and_fill_the_cache(tmp_path, monkeypatch):
    words = [("a", str(i % 5)) for i in range(12)]
    parser, one = resolve_parser("chain", cache=tmp_path / "parses.sqlite", workers=2), ChainParser()
    with monkeypatch.context() as patch:
        patch.setattr(ChainParser, "parse_items", lambda *_: pytest.fail("parsed here"))
        found = parser.parse_words(words)
    assert found == one.parse_words(words)
    assert len(ParseCache(tmp_path / "parses.sqlite").load(one.fingerprint, words[:5])) == 5


def test_one_chunk_starts_no_process():
    assert ParallelParser(Dying(), 4).parse(["a b"] * 1000)[0][0].head == [0, 1]


@pytest.mark.usefixtures("small_chunks")
def test_a_process_that_dies(tmp_path):
    parser = ParallelParser(Dying(), 2)
    with pytest.raises(RuntimeError, match="one of 2 parsing processes was killed"):
        parser.parse([f"text {i}" for i in range(9)])


@pytest.mark.usefixtures("small_chunks")
def test_a_parser_that_cannot_run_raises():
    parser = ParallelParser(Missing(), 2)
    with pytest.raises(ParserUnavailableError, match="no models"):
        parser.parse([f"text {i}" for i in range(9)])


def test_errors_come_before_processes_start():
    with pytest.raises(ValueError, match=r"'workers' must be at least 1 \(got 0\)"):
        resolve_parser("chain", workers=0)
    with pytest.raises(ValueError, match=r"'parser' cannot be copied to other processes: Unmoved"):
        ParallelParser(Unmoved(), 2)
    assert repr(ParallelParser(ChainParser(), 2)) == "ParallelParser(ChainParser('chain/1'), 2)"


def test_a_process_ends_with_its_parent(monkeypatch):
    called = []
    monkeypatch.setattr(module, "end_with_parent", lambda: called.append(True))
    monkeypatch.setattr(module.signal, "signal", lambda *args: None)
    monkeypatch.setattr(module, "_own", [])
    module._start(pickle.dumps(resolve_parser("chain")))
    assert called == [True]


def test_a_program_without_a_file_is_named(monkeypatch):
    assert module._why_none_starts() == ""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "<stdin>", raising=False)
    assert "this program is not in a file (<stdin>)" in module._why_none_starts()


class Slow(ChainParser):
    """Takes minutes for a chunk."""

    def parse_items(self, items):
        time.sleep(300)
        return super().parse_items(items)


@pytest.mark.usefixtures("small_chunks")
def test_an_interrupt_does_not_wait_for_chunks(monkeypatch):
    def interrupted(chunks, submit, ahead):
        submit(next(chunks))
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(module, "in_order", interrupted)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ParallelParser(Slow(), 2).parse([f"text {i}" for i in range(9)])
    assert time.monotonic() - began < 100


def done_at_once(chunk):
    future = Future()
    future.set_result([Parsed([], item) for item in chunk])
    return future


@given(st.lists(st.lists(st.text(max_size=2), max_size=3), max_size=20), st.integers(1, 5))
def test_chunks_are_in_order_and_empty_ones_are_not_submitted(parts, ahead):
    asked = []

    def submit(chunk):
        asked.append(chunk)
        return done_at_once(chunk)

    found = list(in_order(parts, submit, lambda: ahead))
    assert found == [(chunk, [Parsed([], item) for item in chunk]) for chunk in parts]
    assert asked == [chunk for chunk in parts if chunk]


@pytest.mark.parametrize("ahead", [1, 2, 7])
def test_the_number_of_chunks_in_progress_is_bounded(ahead):
    parts = Counted([[str(number)] for number in range(40)])
    times = random.Random(0)

    def work(chunk):
        sleep(times.random() / 200)
        return [Parsed([], chunk[0])]

    with ThreadPoolExecutor(4) as pool:
        results = in_order(parts, lambda chunk: pool.submit(work, chunk), lambda: ahead)
        for number, (chunk, parsed) in enumerate(results):
            assert chunk == [str(number)] == [parsed[0].failure]
            assert parts.taken - number <= ahead


def test_a_finished_chunk_is_yielded_before_more_are_read():
    parts = Counted([["a"], ["b"], ["c"]])
    assert next(in_order(parts, done_at_once, lambda: 9))[0] == ["a"]
    assert parts.taken == 1


def test_errors_come_in_order():
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
