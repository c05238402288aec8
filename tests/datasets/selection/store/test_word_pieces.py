from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.selection import builder as word_pieces
from graphdep.datasets.selection.builder import WordPieces


class Letters:
    """A piece a letter."""

    cls_id, sep_id, eou_id, fingerprint = 0, 1, 2, "letters"

    def encode(self, words):
        return [[ord(letter) for letter in word] for word in words]


@given(st.lists(st.text("abcä", min_size=1, max_size=4), max_size=12), st.data())
def test_as_word_by_word(words, data):
    pieces = WordPieces(iter(words), Letters())
    numbers = data.draw(st.lists(st.integers(0, len(words) - 1), max_size=10)) if words else []
    ids, counts = pieces.of(np.array(numbers, dtype=np.int64))
    expected = [Letters().encode([words[number]])[0] for number in numbers]
    assert ids.tolist() == list(chain.from_iterable(expected))
    assert counts.tolist() == [len(piece) for piece in expected]
    assert ids.dtype == counts.dtype == np.int64
    assert pieces.holds(ord("b")).tolist() == ["b" in word for word in words]


@pytest.mark.parametrize("size", [1, 3])
def test_in_several_goes(monkeypatch, size):
    words = ["ab", "c", "abc", "b"]
    whole = WordPieces(words, Letters())
    monkeypatch.setattr(word_pieces, "_WORDS", size)
    parts = WordPieces(words, Letters())
    assert parts.ids.tolist() == whole.ids.tolist() == [97, 98, 99, 97, 98, 99, 98]
    assert parts.counts.tolist() == whole.counts.tolist()
