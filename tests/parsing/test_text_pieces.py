from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphdep.parsing.stanza import text_pieces


@given(st.text(alphabet="ab \n\t我", max_size=60), st.integers(1, 12))
def test_pieces_are_the_text_without_blank_parts(text, longest):
    end = 0
    for offset, piece in text_pieces(text, longest):
        assert piece == text[offset : offset + len(piece)]
        assert len(piece) <= longest
        assert piece.strip()
        assert not text[end:offset].strip()
        end = offset + len(piece)
    assert not text[end:].strip()


def test_a_text_that_fits_is_one_piece():
    assert list(text_pieces("a\n\nb c")) == [(0, "a\n\nb c")]
    assert list(text_pieces("")) == []
    assert list(text_pieces(" \n ")) == []


def test_cuts_at_the_largest_break_that_fits():
    assert [piece for _, piece in text_pieces("a b\n\nc d\ne f", 9)] == ["a b\n\n", "c d\ne f"]
    assert [piece for _, piece in text_pieces("a b\nc d e", 7)] == ["a b\n", "c d e"]
    assert [piece for _, piece in text_pieces("aa bb cc", 5)] == ["aa ", "bb cc"]
    assert [piece for _, piece in text_pieces("aaaaaaaa", 5)] == ["aaaaa", "aaa"]


def test_very_long_words_are_cut():
    pieces = [len(piece) for _, piece in text_pieces("ok " + "x" * 4500 + " end")]
    assert pieces == [3, 2000, 2000, 504]
