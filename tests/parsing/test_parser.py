from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from graphdep import Sentence
from graphdep.parsing import Parser, ParserUnavailableError, resolve_parser
from graphdep.parsing import parser as items
from graphdep.parsing.parser import ChainParser, Parsed, Words, chunks


class WordByWord(Parser):
    """Splits at white space; fails on what holds "bad"; keeps what it was asked."""

    fingerprint = "test"

    def __init__(self, **options: bool) -> None:
        super().__init__(**options)
        self.asked: list[str | Words] = []

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        self.asked += texts
        if any("bad" in text for text in texts):
            raise RuntimeError("bad text")
        if any("gone" in text for text in texts):
            raise ParserUnavailableError("no server")
        return [Parsed([Sentence.chain(t.split())] if t.split() else []) for t in texts]

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        self.asked += sentences
        return [Parsed([Sentence.chain(words)]) for words in sentences]


def test_each_text_has_its_own_list_in_order():
    result = WordByWord().parse(["a b", "", "c", " \n"])
    assert [[sentence.form for sentence in text] for text in result] == [[["a", "b"]], [], [["c"]], []]


def test_no_texts_are_no_work():
    parser = WordByWord()
    assert parser.parse([]) == []
    assert parser.parse_words([]) == []
    assert parser.asked == []


def test_equal_texts_are_parsed_once():
    parser = WordByWord()
    assert len(parser.parse(["a", "b", "a", "a"])) == 4
    assert parser.asked == ["a", "b"]
    assert len(parser.parse_words([["x", "y"], ["x", "y"]])) == 2
    assert parser.asked[2:] == [("x", "y")]


def test_a_text_that_fails_gets_a_chain_and_is_counted_and_reported(caplog):
    parser = WordByWord()
    with caplog.at_level(logging.WARNING, logger="graphdep"):
        result = parser.parse(["good one", "a bad one", "another"])
    assert result[1][0].form == ["a", "bad", "one"]
    assert result[1][0].head == [0, 1, 2]
    assert result[1][0].comments == ["# chain_tree = RuntimeError: bad text"]
    assert result[0][0].comments == []
    assert parser.failures == 1
    assert "1 of 3 texts got a chain tree" in caplog.text
    assert "bad text" in caplog.text
    parser.parse(["a bad one", "a bad one"])
    assert parser.failures == 3


def test_a_parser_that_cannot_run_is_an_error():
    with pytest.raises(ParserUnavailableError, match="no server"):
        WordByWord().parse(["a", "gone"])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a text", "'texts' must be a list"),
        (["a", None], r"'texts\[1\]' must be a string"),
    ],
)
def test_wrong_texts_are_named(texts, message):
    with pytest.raises(TypeError, match=message):
        WordByWord().parse(texts)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a text", "'words' must be a list"),
        ([["a"], "b c"], r"'words\[1\]' must be a list"),
        ([["a"], []], r"'words\[1\]' is empty"),
        ([["a", ""]], r"'words\[0\]' is empty, or has an empty word"),
        ([["a", 7]], r"'words\[0\]\[1\]' must be a string .* int 7"),
    ],
)
def test_wrong_words_are_named(words, message):
    with pytest.raises((TypeError, ValueError), match=message):
        WordByWord().parse_words(words)


def test_the_progress_bar_is_on_stderr_and_off_by_default(capsys):
    WordByWord().parse(["a", "b"])
    assert capsys.readouterr().err == ""
    WordByWord(progress=True).parse(["a", "b"])
    captured = capsys.readouterr()
    assert "2/2" in captured.err
    assert captured.out == ""


def test_chunks_are_bounded_and_complete():
    items = ["x" * 60_000, "y" * 60_000, "z" * 500_000, *[str(i) for i in range(600)]]
    parts = list(chunks(items))
    assert [item for part in parts for item in part] == items
    assert [len(part) for part in parts] == [1, 1, 1, 256, 256, 88]
    assert [len(part) for part in chunks([("ab",) * 40_000, ("c",)])] == [1, 1]


class Counted:
    """A stream that counts what has been taken of it."""

    def __init__(self, texts):
        self.texts, self.taken = texts, 0

    def __iter__(self):
        for text in self.texts:
            self.taken += 1
            yield text


@pytest.mark.parametrize(("workers", "most"), [(1, 3 + 1), (2, 3 * 4 * 2 + 1)])
@pytest.mark.parametrize("cached", [False, True])
def test_a_stream_is_parsed_in_order_with_few_shards_in_memory(monkeypatch, tmp_path, workers, most, cached):
    """Once with nothing in the cache, and once with all of it there."""
    monkeypatch.setattr(items, "_CHUNK_ITEMS", 3)
    texts = [f"text {number % 50} of these" for number in range(120)]
    expected = ChainParser().parse(texts)
    parser = resolve_parser("chain", workers=workers, cache=tmp_path / "parses.sqlite" if cached else None)
    for _ in range(1 + cached):
        stream, seen = Counted(texts), 0
        for number, sentences in enumerate(parser.iter_parse(stream)):
            assert sentences == expected[number]
            seen = max(seen, stream.taken - number)
        assert number == 119
        assert seen <= most


def test_a_stream_counts_and_reports_what_failed_as_a_call_does(caplog):
    texts = ["a", "bad", "b", "bad"]
    one, stream = WordByWord(), WordByWord()
    expected = one.parse(texts)
    said = [record.getMessage() for record in caplog.records]
    caplog.clear()
    assert list(stream.iter_parse(iter(texts))) == expected
    assert [record.getMessage() for record in caplog.records] == said
    assert stream.failures == one.failures == 2


def test_wrong_texts_of_a_stream_are_named_when_they_come():
    with pytest.raises(TypeError, match="'texts' must be strings"):
        WordByWord().iter_parse("a text")
    with pytest.raises(TypeError, match=r"'texts\[1\]' must be a string \(got int 7\)"):
        list(WordByWord().iter_parse(iter(["a", 7])))


def test_how_far_a_stream_is(capsys):
    texts = ["a"] * 300
    list(WordByWord().iter_parse(iter(texts)))
    assert capsys.readouterr().err == "parsing: 256 texts\nparsing: 300 texts\n"
    list(WordByWord().iter_parse(iter(texts), total=300))
    assert "parsing: 256 of 300 texts\n" in capsys.readouterr().err
    list(WordByWord().iter_parse(iter(texts[:63]), total=63))
    assert capsys.readouterr().err == ""
