from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, RelationVocab, Sentence
from graphdep.alignment import EncodedUtterance, text_data
from graphdep.testing.strategies import sentences
from graphdep.truncation import truncate

RELATIONS = RelationVocab()
utterances = st.none() | sentences(max_words=8)


def encoded(tokens, sentence):
    return EncodedUtterance.of(sentence, tokens, RELATIONS)


@given(utterances)
def test_one_text(tokens, empty_rows, text):
    rows = empty_rows()
    rows.add(2, NodeType.CLS, 0, 0)
    rows.add_words(text, 0, 0)
    rows.add(3, NodeType.SEP, 0, 0)
    data = text_data(encoded(tokens, text), tokens=tokens, max_length=50)
    data.validate()
    rows.check(data)
    assert data.cut_words.tolist() == [[0, 0]]


def pair_rows(rows, first, second):
    rows.add(2, NodeType.CLS, 0, 0)
    for number, text in enumerate([first, second]):
        rows.add_words(text, number, number)
        rows.add(3, NodeType.SEP, number, number)
    return rows


@given(sentences(max_words=8), sentences(max_words=8), st.integers(9, 50))
def test_a_pair_in_little_room(tokens, empty_rows, first, second, max_length):
    data = text_data(encoded(tokens, first), encoded(tokens, second), tokens=tokens, max_length=max_length)
    cut = data.cut_words[0].tolist()
    kept = [truncate(text, len(text) - lost) for text, lost in zip((first, second), cut)]
    pair_rows(empty_rows(), *kept).check(data)
    assert data.num_nodes <= max_length
    sizes = [encoded(tokens, text).num_pieces for text in (first, second)]
    if sum(sizes) + 3 <= max_length:
        assert cut == [0, 0]
    # A text is cut only where it is longer than half of the room.
    half = (max_length - 3) // 2
    assert all(not lost or size > half for size, lost in zip(sizes, cut))
    if all(cut):  # nothing more would have fitted but a word of three pieces, in each half
        assert data.num_nodes >= max_length - 4


def test_the_longer_text_has_the_room_that_the_shorter_leaves(tokens):
    first, second = (encoded(tokens, Sentence.chain(["a"] * words)) for words in (2, 9))
    data = text_data(first, second, tokens=tokens, max_length=10)
    assert data.cut_words.tolist() == [[0, 4]]
    assert data.segment.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    data = text_data(second, first, tokens=tokens, max_length=10)
    assert data.cut_words.tolist() == [[4, 0]]


def test_something_is_left_of_each_text(tokens):
    word = encoded(tokens, Sentence.chain(["c", "a"]))
    data = text_data(word, word, tokens=tokens, max_length=5)
    assert data.input_ids.tolist() == [2, 990, 3, 990, 3]
    assert data.cut_words.tolist() == [[2, 2]]
    assert text_data(word, tokens=tokens, max_length=3).input_ids.tolist() == [2, 990, 3]


def test_errors(tokens):
    text = encoded(tokens, Sentence.chain(["a"]))
    with pytest.raises(ValueError, match=r"'max_length' must be at least 3 \(got 2\)"):
        text_data(text, tokens=tokens, max_length=2)
    with pytest.raises(ValueError, match=r"'max_length' must be at least 5 \(got 4\)"):
        text_data(text, text, tokens=tokens, max_length=4)
