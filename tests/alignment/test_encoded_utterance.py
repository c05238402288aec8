from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import RelationVocab, Sentence
from graphdep.alignment import EncodedUtterance
from graphdep.testing.strategies import sentences
from graphdep.truncation import truncate

RELATIONS = RelationVocab()
COLUMNS = ("input_ids", "counts", "head", "deprel", "depth")


def assert_same(left: EncodedUtterance, right: EncodedUtterance) -> None:
    for name in COLUMNS:
        a, b = getattr(left, name), getattr(right, name)
        assert a.dtype == b.dtype == np.int64, name
        assert a.tolist() == b.tolist(), name


@given(sentences(multiroot=True))
def test_of_a_sentence(tokens, sentence):
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS)
    pieces = tokens.encode(sentence.form)
    assert utterance.input_ids.tolist() == [piece for ids in pieces for piece in ids]
    assert utterance.counts.tolist() == [len(ids) for ids in pieces]
    assert utterance.head.tolist() == [head - 1 if head else w for w, head in enumerate(sentence.head)]
    assert utterance.deprel.tolist() == [RELATIONS[label] for label in sentence.deprel]
    assert utterance.depth.tolist() == sentence.depth
    assert (utterance.num_words, utterance.num_pieces) == (len(sentence), sum(map(len, pieces)))


def test_of_nothing(tokens):
    utterance = EncodedUtterance.of(None, tokens, RELATIONS)
    assert (utterance.num_words, utterance.num_pieces) == (0, 0)
    assert all(getattr(utterance, name).dtype == np.int64 for name in COLUMNS)
    assert utterance.cut(0) is utterance


def test_depth_of_a_long_chain(tokens):
    chain = EncodedUtterance.of(Sentence.chain(["a"] * 5000), tokens, RELATIONS)
    assert chain.depth.tolist() == list(range(1, 5001))


@given(sentences(max_words=10, multiroot=True), st.integers(0, 24), st.sampled_from(["right", "left"]))
def test_cut_is_truncation_to_the_words_that_fit(tokens, sentence, max_pieces, side):
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS)
    cut = utterance.cut(max_pieces, side)
    counts = [*utterance.counts]
    while sum(counts) > max_pieces:
        counts.pop(-1 if side == "right" else 0)
    if len(counts) == len(sentence):
        assert cut is utterance
    else:
        kept = truncate(sentence, len(counts), side) if counts else None
        assert_same(cut, EncodedUtterance.of(kept, tokens, RELATIONS))


def test_cut_leaves_its_utterance_as_it_was(tokens):
    sentence = Sentence(["a", "b", "c"], [2, 3, 0], ["det", "nsubj", "root"])
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS)
    assert utterance.cut(3).deprel.tolist() == [RELATIONS["det"], RELATIONS["root"]]
    assert_same(utterance, EncodedUtterance.of(sentence, tokens, RELATIONS))


def test_the_new_root_has_the_relation_root_in_every_vocabulary(tokens):
    relations = RelationVocab(["strange"])
    sentence = Sentence(["a", "a"], [2, 0], ["strange", "root"])
    cut = EncodedUtterance.of(sentence, tokens, relations).cut(1)
    assert [relations.label(number) for number in cut.deprel] == ["root"]


def test_cut_errors(tokens):
    utterance = EncodedUtterance.of(Sentence.chain(["a"]), tokens, RELATIONS)
    with pytest.raises(ValueError, match=r"'max_pieces' must be at least 0 \(got -1\)"):
        utterance.cut(-1)
    with pytest.raises(ValueError, match=r"'side' must be 'right' or 'left' \(got 'top'\)"):
        utterance.cut(1, "top")
