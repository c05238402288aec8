from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import closing

import pytest

from graphdep import Sentence
from graphdep.parsing import CachedParser, Parser
from graphdep.parsing import cached as parse_cache
from graphdep.parsing.parser import Parsed, Words, chain_sentence

FULL = Sentence(
    ["a", "b"],
    [2, 0],
    ["det", "root"],
    lemma=["a", "b"],
    misc=["_", "SpaceAfter=No"],
    deps=[[("2", "det"), ("2.1", "x")], [("0", "root")]],
    comments=["# text = ab"],
    multiword=[("1-2", "ab", "_", "_", "_", "_", "_", "_", "_", "_")],
    empty=[("2.1", "b", "_", "_", "_", "_", "_", "_", "0:root", "CopyOf=2")],
    constituents=[("NP", 0, 2), ("NP", 1, 2)],
)


class Counting(Parser):
    """Counts what it is asked; "long" is too long for it, "bad" an error."""

    def __init__(self, fingerprint: str = "counting/1") -> None:
        super().__init__()
        self.name = fingerprint
        self.asked: list[str | Words] = []

    @property
    def fingerprint(self) -> str:
        return self.name

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        if any("bad" in text for text in texts):
            raise RuntimeError("bad text")
        self.asked += texts
        if "kill me" in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        return [self._parsed(text) for text in texts]

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        self.asked += sentences
        return [Parsed([Sentence.chain(words)]) for words in sentences]

    def _parsed(self, text: str) -> Parsed:
        if "long" in text:
            return Parsed([chain_sentence(text.split(), "too long")], "too long")
        return Parsed([FULL, Sentence.chain(text.split())] if text.strip() else [])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder with spaces" / "parses.sqlite"


def test_stored_texts_are_not_parsed_again(path):
    texts = ["one", "", "two three", "\ud800", "one"]
    first = CachedParser(Counting(), path).parse(texts)
    again = Counting()
    assert CachedParser(again, path).parse([*texts, "four"])[:5] == first
    assert again.asked == ["four"]
    assert first[0][0] == FULL
    assert [file.name for file in path.parent.iterdir()] == ["parses.sqlite"]


def test_texts_words_and_parsers_are_separate(path):
    CachedParser(Counting(), path).parse(["one"])
    parser = Counting()
    cached = CachedParser(parser, path)
    assert cached.parse_words([["one"], ["two", "words"], ["two words"]])[1].form == ["two", "words"]
    assert parser.asked == [("one",), ("two", "words"), ("two words",)]
    other = Counting("counting/2")
    CachedParser(other, path).parse(["one"])
    assert other.asked == ["one"]
    assert cached.fingerprint == "counting/1"


def test_failures_are_counted_again_and_errors_are_tried_again(path):
    first = CachedParser(Counting(), path)
    first.parse(["one", "a long one", "a bad one"])
    assert first.failures == 2
    parser = Counting()
    second = CachedParser(parser, path)
    sentences = second.parse(["one", "a long one", "a bad one"])
    assert second.failures == 2
    assert parser.asked == []
    assert sentences[1][0].comments == ["# chain_tree = too long"]
    parser.parse_texts = lambda texts: [Parsed([FULL]) for _ in texts]  # the error has gone
    third = CachedParser(parser, path)
    assert third.parse(["a bad one"]) == [[FULL]]
    assert third.failures == 0


def test_a_killed_run_keeps_its_chunks_and_goes_on(path):
    texts = [f"text {i}" for i in range(300)] + ["kill me"]

    def run() -> None:
        CachedParser(Counting(), path).parse(texts)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    parser = Counting()
    CachedParser(parser, path).parse(texts[:-1])
    assert parser.asked == texts[256:-1]


def test_two_processes_at_once(path):
    def run(start: int) -> None:
        for i in range(start, start + 20):
            assert CachedParser(Counting(), path).parse([f"text {i}"])

    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=run, args=(start,)) for start in (0, 10, 20)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    parser = Counting()
    CachedParser(parser, path).parse([f"text {i}" for i in range(40)])
    assert parser.asked == []


def test_an_unreadable_row_is_parsed_again(path, caplog):
    for data in [b"", b"garbage", None, 7]:
        CachedParser(Counting(), path).parse(["one", "two"])
        with sqlite3.connect(path) as database:
            database.execute("UPDATE parses SET sentences = ?", [b"x" if data is None else data])
        database.close()
        parser = Counting()
        assert CachedParser(parser, path).parse(["one"])[0][0] == FULL
        assert parser.asked == ["one"]
        assert "unreadable row" in caplog.text
        again = Counting()
        CachedParser(again, path).parse(["one"])
        assert again.asked == []


def test_words_of_another_sentence_are_rejected(path):
    CachedParser(Counting(), path).parse_words([["a", "b"], ["c"]])
    with sqlite3.connect(path) as database:
        (data,) = database.execute("SELECT sentences FROM parses").fetchone()
        database.execute("UPDATE parses SET sentences = ?", [data])
    database.close()
    sentences = CachedParser(Counting(), path).parse_words([["a", "b"], ["c"]])
    assert [sentence.form for sentence in sentences] == [["a", "b"], ["c"]]


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to look at. " * 50)
    with pytest.raises(ValueError, match=r"'cache': .*notes\.txt is damaged or not a parse cache"):
        CachedParser(Counting(), path)
    assert path.read_text().startswith("not a database")
    with pytest.raises(ValueError, match="must be a file"):
        CachedParser(Counting(), tmp_path)


def test_other_databases_and_other_versions_are_refused(tmp_path, path):
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as database:
        database.execute("CREATE TABLE parses (x)")
    database.close()
    with pytest.raises(ValueError, match="is another database, not a parse cache"):
        CachedParser(Counting(), foreign)
    CachedParser(Counting(), path)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(ValueError, match="has version 99"):
        CachedParser(Counting(), path)


def test_a_cache_cut_in_half_is_refused(path):
    CachedParser(Counting(), path).parse([f"text {i} " * 20 for i in range(200)])
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match="damaged"):
        CachedParser(Counting(), path).parse([f"text {i} " * 20 for i in range(200)])


def test_without_write_access_it_parses_with_a_warning(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    cached = CachedParser(Counting(), tmp_path / "file" / "parses.sqlite")
    assert cached.parse(["one"])[0][0] == FULL
    assert cached.parse(["two"])[0][0] == FULL
    assert caplog.text.count("cannot be used") == 1


def test_a_cache_that_is_locked_or_read_only_is_still_read(path, caplog, monkeypatch):
    CachedParser(Counting(), path).parse(["one"])
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda p, **o: connect(f"file:{p}?mode=ro", uri=True, **o))
    parser = Counting()
    cached = CachedParser(parser, path)
    assert len(cached.parse(["one", "two"])) == 2
    assert parser.asked == ["two"]
    assert "readonly" in caplog.text


def test_a_lock_that_stays_is_waited_for_once(path, caplog, monkeypatch):
    monkeypatch.setattr(parse_cache, "_BUSY_SECONDS", 0.3)
    CachedParser(Counting(), path).parse(["one"])
    waits = []
    connect = sqlite3.connect

    def watched(place, *, timeout, **options):
        waits.append(timeout)
        return connect(place, timeout=timeout, **options)

    cached = CachedParser(Counting(), path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(sqlite3, "connect", watched)
    assert len(cached.parse([f"text {i}" for i in range(600)])) == 600
    holder.close()
    assert waits[0] == 0.3
    assert set(waits[1:]) == {0.1}
    assert caplog.text.count("another process has held it for 0.3 seconds") == 1


def test_a_damaged_schema_is_refused(path):
    """SQLite's message then has its bytes, of which Python cannot make a text."""
    CachedParser(Counting(), path).parse(["one"])
    path.write_bytes(
        path.read_bytes().replace(b"failure TEXT", b"failure \xc3EXT").replace(b"CREATE", b"CR\xc3ATE")
    )
    with pytest.raises(ValueError, match="is damaged or not a parse cache"):
        CachedParser(Counting(), path).parse(["one"])


def test_a_damaged_index_finds_no_parse(path, caplog, monkeypatch):
    """A bit of an index leads to a row of another key."""
    CachedParser(Counting(), path).parse(["one"])
    select = parse_cache._select
    monkeypatch.setattr(
        parse_cache,
        "_select",
        lambda *args, **given: [("raw", "x", *row[2:]) for row in select(*args, **given)],
    )
    parser = Counting()
    assert CachedParser(parser, path).parse(["one"])[0][0] == FULL
    assert parser.asked == ["one"]
    assert "unreadable row" in caplog.text


class Dropping(Counting):
    """Gives nothing for texts without a word."""

    def parse_texts(self, texts):
        return [self._parsed(text) for text in texts if text != "..."]


def test_a_parser_that_drops_a_text_stores_nothing(path):
    """Else what follows would be kept as the parse of what was dropped."""
    parser = CachedParser(Dropping(), path)
    message = r"Dropping\('counting/1'\) returned 2 parses for 3 texts"
    with pytest.raises(RuntimeError, match=message):
        parser.parse(["a b", "...", "c d"])
    with pytest.raises(RuntimeError, match=message):
        [*parser.iter_parse(["a b", "...", "c d"])]
    with pytest.raises(RuntimeError, match=message):
        Dropping().parse(["a b", "...", "c d"])
    assert parser.known(["a b", "...", "c d"]) == {}


def test_a_row_that_would_fill_the_memory_is_parsed_again(tmp_path, monkeypatch):
    monkeypatch.setattr(parse_cache, "_LARGEST", 10_000)
    cache = parse_cache.ParseCache(tmp_path / "parses.sqlite")
    cache.store("f", {"it rains": Parsed([Sentence.chain(["it", "rains"])], None)})
    assert cache.load("f", ["it rains"])
    bomb = zlib.compress(b"[" + b" " * 100_000 + b"]")
    with closing(sqlite3.connect(cache.path)) as database:
        database.execute("UPDATE parses SET sentences = ?", (bomb,))
        database.commit()
    assert cache.load("f", ["it rains"]) == {}
