from __future__ import annotations

import dataclasses
import logging
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stanza.models.common.doc import Document
from stanza.models.constituency.tree_reader import read_trees

from graphdep import Sentence
from graphdep.io import format_ptb, read_ptb, write_conllu, write_ptb
from graphdep.parsing import BundledParser, CachedParser, ParserUnavailableError, PtbParser, resolve_parser
from graphdep.parsing.bundled import BUNDLED
from graphdep.parsing.constituency import (
    SpanParser,
    add_constituents,
    best_spans,
    length_batches,
    span_ends,
    span_starts,
)
from graphdep.parsing.parser import ChainParser, Parsed, ParserWrapper
from graphdep.parsing.stanza import StanzaEngine, stanza_constituents

MODEL = BUNDLED / "en_ewt_constituency.pt"
# Sentences of our own with the trees of the program that the model was trained with.
EXPECTED = Path(__file__).parents[1] / "files" / "constituents.mrg"


@pytest.fixture(scope="module")
def spans():
    return SpanParser.load(MODEL)


@pytest.fixture(scope="module")
def expected():
    return read_ptb(EXPECTED)


def tagged(sentence):
    return [*zip(sentence.form, sentence.xpos)]


def test_trees_are_those_of_the_program_that_trained_it(spans, expected):
    found = spans.parse([tagged(sentence) for sentence in expected])
    assert found == [sentence.constituents for sentence in expected]
    assert [format_ptb(sentence) for sentence in expected] == EXPECTED.read_text().splitlines()


@pytest.mark.parametrize("batch_words", [1, 30])
def test_a_tree_does_not_depend_on_its_batch(spans, expected, batch_words):
    found = spans.parse([tagged(sentence) for sentence in reversed(expected)], batch_words=batch_words)
    assert found == [sentence.constituents for sentence in reversed(expected)]


def test_unknown_words_are_parsed(spans):
    [found] = spans.parse([[("我", "?"), ("\u00a0" * 30, "_"), ("x" * 500, "NN")]])
    assert found[0][1:] == (0, 3)
    assert spans.parse([]) == []


@pytest.mark.parametrize("bad", [[], [("a", "NN"), ("", "NN")]])
def test_nothing_is_refused(spans, bad):
    with pytest.raises(ValueError, match=re.escape("'sentences[1]' is empty, or has an empty word")):
        spans.parse([[("a", "NN")], bad])


class Evil:
    def __reduce__(self):
        return (print, ("run",))


def test_other_files_are_refused(tmp_path, capsys):
    path = tmp_path / "x.pt"
    for content, message in (
        (b"nonsense", "does not load"),
        (Evil(), "more than weights and plain values, which could run code"),
        ({"state": {}}, "ValueError: not a constituency model"),
    ):
        path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
        with pytest.raises(ParserUnavailableError, match=message) as error:
            SpanParser.load(path)
        assert str(path) in str(error.value)
    assert "run\n" not in capsys.readouterr().out


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ParserUnavailableError, match=r"none\.pt does not load \(FileNotFoundError"):
        SpanParser.load(tmp_path / "none.pt")


def test_too_long_sentences_are_flat_and_reported():
    parser = SpanParser.load(BUNDLED / "en_ewt_constituency.pt")
    short = dataclasses.replace(Sentence.chain(["She", "sings"]), xpos=["PRP", "VBZ"])
    long = Sentence.chain(["she"] * 4)
    one, other, none = add_constituents([Parsed([short, long]), Parsed([short]), Parsed([])], parser, 3)
    assert one.failure == "sentence of 4 words, the limit of the parser is 3"
    assert one.sentences[1].constituents == [("X", 0, 4)]
    assert one.sentences[1].comments == ["# flat_tree = sentence of 4 words, the limit of the parser is 3"]
    assert one.sentences[0].constituents == [("S", 0, 2), ("NP", 0, 1), ("VP", 1, 2)]
    assert other == Parsed([one.sentences[0]])
    assert none == Parsed([])
    assert add_constituents([Parsed([short], "a reason")], parser, 3)[0].failure == "a reason"


def best_naive(score, start: int, end: int) -> tuple[float, list[tuple[int, int]]]:
    """By trying all trees."""
    if end - start == 1:
        return score[start, end], [(start, end)]
    halves = ((best_naive(score, start, k), best_naive(score, k, end)) for k in range(start + 1, end))
    total, spans = max((left[0] + right[0], left[1] + right[1]) for left, right in halves)
    return total + score[start, end], [(start, end), *spans]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(0, 2**31))
def test_against_all_trees(lengths, seed):
    longest = max(lengths)
    begin = span_starts(longest)
    scores = torch.randn(len(lengths), begin[-1], generator=torch.Generator().manual_seed(seed))
    for row, length, spans in zip(scores, lengths, best_spans(scores, torch.tensor(lengths))):
        score = {
            (start, start + width): float(row[begin[width - 1] + start])
            for width in range(1, length + 1)
            for start in range(length - width + 1)
        }
        total, expected = best_naive(score, 0, length)
        assert sorted(spans) == sorted(expected)
        assert len(spans) == 2 * length - 1
        assert abs(sum(score[span] for span in spans) - total) < 1e-4


def test_spans_lie_side_by_side_by_width():
    starts, ends = span_ends(3)
    assert [*zip(starts.tolist(), ends.tolist())] == [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 3)]
    assert span_starts(3) == [0, 3, 5, 6]


@given(st.lists(st.integers(1, 40)), st.integers(1, 100))
def test_batches_have_each_sentence_once_and_are_bounded(lengths, max_words):
    batches = [*length_batches(lengths, max_words)]
    assert sorted(number for batch in batches for number in batch) == [*range(len(lengths))]
    assert [lengths[number] for batch in batches for number in batch] == sorted(lengths)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(8, *(lengths[n] for n in batch)) <= max_words


WORDS = ["The", "dog", "slept", "."]
PHRASES = [("S", 0, 4), ("NP", 0, 2), ("VP", 2, 3)]


@pytest.fixture(scope="module")
def parser():
    return resolve_parser("bundled", constituents=True, use_gpu=False)


def test_bundled_from_words_and_from_raw_text(parser):
    assert parser.gives_constituents
    [sentence] = parser.parse_words([WORDS])
    assert sentence.constituents == PHRASES
    assert (sentence.head, sentence.xpos) == ([2, 3, 0, 3], ["DT", "NN", "VBD", "."])
    [[raw], []] = parser.parse(["The dog slept.", " "])
    assert raw.constituents == PHRASES
    [plain] = BundledParser(use_gpu=False).parse_words([WORDS])
    assert plain == dataclasses.replace(sentence, constituents=None)


def test_a_sentence_that_is_too_long_is_flat_and_counted(caplog):
    parser = BundledParser(constituents=True, max_words=4, use_gpu=False)
    with caplog.at_level(logging.WARNING):
        short, long = parser.parse_words([WORDS, [*WORDS, "Again"]])
    assert short.constituents == PHRASES
    assert long.constituents == [("X", 0, 5)]
    assert long.comments == [
        "# chain_tree = sentence of 5 words, the limit of the parser is 4",
        "# flat_tree = sentence of 5 words, the limit of the parser is 4",
    ]
    assert parser.failures == 1
    assert "1 of 2 texts got a chain tree and flat constituents instead of a parse" in caplog.text


def test_an_error_gives_a_flat_tree(parser, monkeypatch):
    broken = BundledParser(constituents=True, use_gpu=False)
    monkeypatch.setattr(broken._engine, "parse_words", lambda words: 1 / 0)
    [sentence] = broken.parse_words([WORDS])
    assert sentence.constituents == [("X", 0, 4)]
    assert broken.failures == 1


def test_the_key_of_the_cache_has_the_model(parser, tmp_path, monkeypatch):
    plain = BundledParser(use_gpu=False)
    assert parser.fingerprint.startswith(f"{plain.fingerprint}/constituents-")
    cached = CachedParser(parser, tmp_path / "parses.sqlite")
    assert cached.gives_constituents
    [before] = cached.parse_words([WORDS])
    monkeypatch.setattr(parser._engine, "parse_words", lambda words: 1 / 0)
    assert cached.parse_words([WORDS]) == [before]
    assert CachedParser(plain, tmp_path / "parses.sqlite").parse_words([WORDS])[0].constituents is None
    folder = tmp_path / "models"
    shutil.copytree(BUNDLED, folder)
    with open(folder / "en_ewt_constituency.pt", "ab") as file:
        file.write(b"\0")
    changed = BundledParser(folder, constituents=True)
    assert changed.fingerprint != parser.fingerprint
    with pytest.raises(ParserUnavailableError, match=r"en_ewt_constituency\.pt differs from its checksum"):
        changed.parse_words([WORDS])
    (folder / "en_ewt_constituency.pt").unlink()
    with pytest.raises(ParserUnavailableError, match="model files are missing"):
        BundledParser(folder, constituents=True)


def test_brackets_of_a_file(tmp_path):
    one = dataclasses.replace(
        Sentence.chain(["He", "did", "n't"]), xpos=["A", "B", "C"], constituents=[("S", 0, 3)]
    )
    two = dataclasses.replace(Sentence.chain(WORDS), constituents=[("VP", 1, 2)])
    write_ptb([one, two], tmp_path / "x.mrg")
    parser = resolve_parser(f"ptb:{tmp_path / 'x.mrg'}", constituents=True)
    assert isinstance(parser, PtbParser)
    [first, second] = parser.parse(["He didn't The dog slept."])[0]
    assert (first.form, first.constituents) == (one.form, one.constituents)
    assert first.xpos == ["A", "B", "C"]
    assert second.xpos == ["DT", "NN", "VBD", "."]  # the file has none
    assert second.head == [2, 3, 0, 3]
    assert parser.parse_words([one.form]) == [first]
    chain = resolve_parser(f"ptb:{tmp_path / 'x.mrg'}", dependencies="chain")
    assert chain.parse_words([one.form]) == [one]
    assert chain.fingerprint.endswith("/chain/1") or "chain" in chain.fingerprint
    with pytest.raises(ValueError, match=r"no sentence of .*x\.mrg has the words 'He'"):
        parser.parse_words([["He"]])
    with pytest.raises(
        ValueError, match=r"no sentence or run of sentences of .*x\.mrg has the text 'He did'"
    ):
        parser.parse(["He did"])
    with pytest.raises(ValueError, match=r"'dependencies' must be .*'nope'"):
        resolve_parser(f"ptb:{tmp_path / 'x.mrg'}", dependencies="nope")


class Fails(ChainParser):
    def parse_sentences(self, sentences):
        return [Parsed([Sentence.chain(words)], "no model", False) for words in sentences]


def test_what_a_file_has_is_not_reported_flat(tmp_path, caplog):
    quoted = dataclasses.replace(Sentence.chain(["``", "Go", "''"]), constituents=[("S", 0, 3)])
    write_ptb([quoted], tmp_path / "x.mrg")
    parser = PtbParser(tmp_path / "x.mrg", dependencies=Fails())
    [[sentence]] = ParserWrapper(parser).parse(['"Go"'])
    assert sentence.constituents == quoted.constituents
    assert "1 of 1 texts got a chain tree instead of a parse (the first: no model)" in caplog.text


def test_conllu_files_may_have_constituents(tmp_path):
    path = tmp_path / "x.conllu"
    whole = dataclasses.replace(Sentence.chain(["a"]), constituents=[])
    write_conllu([whole], path)
    parser = resolve_parser(f"conllu:{path}", constituents=True)
    assert parser.parse_words([["a"]]) == [whole]
    write_conllu([whole, Sentence.chain(["b"])], path, overwrite=True)
    with pytest.raises(ValueError, match=r"parser 'conllu:.*' has no constituents: use 'bundled'"):
        resolve_parser(f"conllu:{path}", constituents=True)
    assert resolve_parser(f"conllu:{path}").parse_words([["a"]]) == [whole]


def test_parsers_without_constituents_are_refused():
    for parser in ("chain", "corenlp", BundledParser()):
        with pytest.raises(ValueError, match="has no constituents"):
            resolve_parser(parser, constituents=True)


# stanza's own models are not at hand: its trees are.
def test_trees_of_stanza():
    [tree] = read_trees("(ROOT (S (NP (DT The) (NN dog)) (VP (VBD slept)) (. .)))")
    assert stanza_constituents(tree) == PHRASES
    [bare] = read_trees("(ROOT (UH Yes))")
    assert stanza_constituents(bare) == []
    [deep] = read_trees("(ROOT (X (X (X (UH Yes)) (UH no)) (X (UH so))))")
    assert stanza_constituents(deep) == [("X", 0, 3), ("X", 0, 2), ("X", 0, 1), ("X", 2, 3)]
    with pytest.raises(ValueError, match="no tree"):
        stanza_constituents(None)


def test_a_pipeline_of_stanza(parser, monkeypatch):
    real, asked = parser._engine.pipeline, []

    def process(document, processors):
        asked.append(processors)
        document = real.process(document, processors.replace(",constituency", ""))
        for sentence in document.sentences if isinstance(document, Document) else ():
            if len(sentence.words) == 4:
                [sentence.constituency] = read_trees("(ROOT (S (NP (DT x) (NN x)) (VP (VBD x)) (. x)))")
        return document

    engine = StanzaEngine(lambda: SimpleNamespace(process=process), max_words=4, constituents=True)
    monkeypatch.setattr("graphdep.parsing.stanza_shortcuts.take_shortcuts", lambda pipeline: None)
    good, long, none = engine.parse_words([WORDS, ["a"] * 5, ["a"]])
    assert asked == ["pos,lemma,depparse,constituency"]
    assert (good.sentences[0].constituents, good.failure) == (PHRASES, None)
    assert long.sentences[0].constituents == [("X", 0, 5)]
    assert (none.sentences[0].constituents, none.failure) == (
        [("X", 0, 1)],
        "stanza returned no constituents: no tree",
    )


def test_functions_are_kept_or_not(tmp_path):
    with pytest.raises(ValueError, match=r"'functions' must be one of True, False \(got 'no'\)"):
        PtbParser(tmp_path / "x.mrg", functions="no")
