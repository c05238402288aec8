from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from graphdep.io import format_ptb, read_ptb
from graphdep.parsing import ParserUnavailableError
from graphdep.parsing.bundled import BUNDLED
from graphdep.parsing.constituency import SpanParser

MODEL = BUNDLED / "en_ewt_constituency.pt"
# Sentences of our own with the trees of the program that the model was trained with.
EXPECTED = Path(__file__).parents[2] / "files" / "constituents.mrg"


@pytest.fixture(scope="module")
def parser():
    return SpanParser.load(MODEL)


@pytest.fixture(scope="module")
def expected():
    return read_ptb(EXPECTED)


def tagged(sentence):
    return [*zip(sentence.form, sentence.xpos)]


def test_trees_are_those_of_the_program_that_trained_it(parser, expected):
    found = parser.parse([tagged(sentence) for sentence in expected])
    assert found == [sentence.constituents for sentence in expected]
    assert [format_ptb(sentence) for sentence in expected] == EXPECTED.read_text().splitlines()


@pytest.mark.parametrize("batch_words", [1, 30, 10_000])
def test_a_tree_does_not_depend_on_its_batch(parser, expected, batch_words):
    found = parser.parse([tagged(sentence) for sentence in reversed(expected)], batch_words=batch_words)
    assert found == [sentence.constituents for sentence in reversed(expected)]


def test_what_is_not_known_is_parsed(parser):
    [found] = parser.parse([[("我", "?"), ("\u00a0" * 30, "_"), ("x" * 500, "NN")]])
    assert found[0][1:] == (0, 3)
    assert parser.parse([]) == []


@pytest.mark.parametrize("bad", [[], [("a", "NN"), ("", "NN")]])
def test_nothing_is_refused(parser, bad):
    with pytest.raises(ValueError, match=re.escape("'sentences[1]' is empty, or has an empty word")):
        parser.parse([[("a", "NN")], bad])


def test_it_draws_no_random_numbers():
    before = torch.get_rng_state()
    SpanParser.load(MODEL).parse([[("a", "NN")]])
    assert torch.equal(torch.get_rng_state(), before)


class Evil:
    def __reduce__(self):
        return (print, ("run",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"nonsense", "does not load"),
        (None, "more than weights and plain values, which could run code of its own"),
        ({"state": {}}, "ValueError: no model of spans"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path, capsys, content, message):
    path = tmp_path / "x.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content or Evil(), path)
    with pytest.raises(ParserUnavailableError, match=message) as error:
        SpanParser.load(path)
    assert str(path) in str(error.value)
    assert "run\n" not in capsys.readouterr().out


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ParserUnavailableError, match=r"none\.pt does not load \(FileNotFoundError"):
        SpanParser.load(tmp_path / "none.pt")
