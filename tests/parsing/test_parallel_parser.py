from __future__ import annotations

import os
import pickle
import sys
import threading
import time

import pytest

from graphdep.parsing import (
    BundledParser,
    ParallelParser,
    ParserUnavailableError,
    resolve_parser,
)
from graphdep.parsing import parallel as module
from graphdep.parsing import parser as items
from graphdep.parsing.cached import ParseCache
from graphdep.parsing.parser import ChainParser


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
def test_two_give_what_one_gives_and_the_cache_has_it(tmp_path):
    texts = [f"The dog number {i} saw a cat. It ran away." for i in range(7)]
    parser = resolve_parser("bundled", cache=tmp_path / "parses.sqlite", workers=2, use_gpu=False)
    one = BundledParser(use_gpu=False)
    assert parser.parse(texts) == one.parse(texts)
    assert parser.fingerprint == one.fingerprint
    assert parser.language == "en"
    assert not parser.gives_graphs
    assert "pipeline" not in vars(parser.parser.parser._engine)  # nothing was parsed here
    assert len(ParseCache(tmp_path / "parses.sqlite").load(one.fingerprint, texts)) == 7


@pytest.mark.usefixtures("small_chunks")
def test_words_and_equal_inputs():
    words = [["a", str(i % 5)] for i in range(12)]
    assert ParallelParser(ChainParser(), 2).parse_words(words) == ChainParser().parse_words(words)


def test_one_chunk_starts_no_process():
    assert ParallelParser(Dying(), 4).parse(["a b"] * 1000)[0][0].head == [0, 1]


@pytest.mark.usefixtures("small_chunks")
def test_a_process_that_dies(tmp_path):
    parser = ParallelParser(Dying(), 2)
    with pytest.raises(RuntimeError, match="one of 2 parsing processes was killed"):
        parser.parse([f"text {i}" for i in range(9)])


@pytest.mark.usefixtures("small_chunks")
def test_a_parser_that_cannot_run_says_so():
    parser = ParallelParser(Missing(), 2)
    with pytest.raises(ParserUnavailableError, match="no models"):
        parser.parse([f"text {i}" for i in range(9)])


def test_what_is_wrong_is_said_before_anything_starts():
    with pytest.raises(ValueError, match=r"'workers' must be at least 1 \(got 0\)"):
        resolve_parser("chain", workers=0)
    with pytest.raises(ValueError, match=r"'parser' cannot be copied to other processes: Unmoved"):
        ParallelParser(Unmoved(), 2)
    assert repr(ParallelParser(ChainParser(), 2)) == "ParallelParser(ChainParser('chain/1'), 2)"


def test_a_process_ends_with_the_one_that_waits_for_it(monkeypatch):
    called = []
    monkeypatch.setattr(module, "end_with_parent", lambda: called.append(True))
    monkeypatch.setattr(module.signal, "signal", lambda *args: None)
    monkeypatch.setattr(module, "_own", [])
    module._start(pickle.dumps(resolve_parser("chain")))
    assert called == [True]


def test_a_program_that_is_no_file_is_named(monkeypatch):
    assert module._why_none_starts() == ""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "<stdin>", raising=False)
    assert "this program is no file that they could be started from (<stdin>)" in module._why_none_starts()


class Slow(ChainParser):
    """Takes minutes for a chunk."""

    def parse_items(self, items):
        time.sleep(300)
        return super().parse_items(items)


@pytest.mark.usefixtures("small_chunks")
def test_who_is_interrupted_does_not_wait_for_chunks(monkeypatch):
    def interrupted(chunks, submit, ahead):
        submit(next(chunks))
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(module, "in_order", interrupted)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ParallelParser(Slow(), 2).parse([f"text {i}" for i in range(9)])
    assert time.monotonic() - began < 100
