from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.parsing import BundledParser
from graphdep.parsing.stanza import RawToken, whole_words


def spans(sentences):
    return [[(token.start, token.stop) for token in tokens] for tokens in sentences]


@pytest.mark.parametrize(
    ("cut", "text"),
    [
        ([[(0, 5), (5, 6)]], "cliché"),
        ([[(0, 5)], [(5, 6)]], "cliché"),
        ([[(0, 1), (1, 5), (5, 6)]], "éclaté"),
        ([[(0, 4), (4, 5)]], "cafe\u0301"),
        ([[(0, 3), (3, 8)]], "re\u0301sume\u0301"),
    ],
)
def test_a_word_cut_at_an_accent_is_whole(cut, text):
    tokens = [[RawToken(*place, text[slice(*place)]) for place in places] for places in cut]
    assert whole_words(tokens, text) == [[RawToken(0, len(text), text)]]


def test_signs_behind_such_a_word_are_a_token():
    tokens = [[RawToken(0, 5, "touch"), RawToken(5, 8, "é?!")], [RawToken(9, 11, "No")]]
    expected = [[RawToken(0, 6, "touché"), RawToken(6, 8, "?!")], [RawToken(9, 11, "No")]]
    assert whole_words(tokens, "touché?! No") == expected


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ([(0, 2), (2, 5)], "don't"),
        ([(0, 3), (3, 6)], "cannot"),
        ([(0, 4), (5, 6)], "café é"),
        ([(0, 4), (4, 6)], "José's"),
        ([(0, 1), (1, 3)], "£10"),
        ([(0, 1), (1, 2)], "東京"),
        ([(0, 2), (2, 3)], "no—"),
    ],
)
def test_other_tokens_stay(places, text):
    tokens = [[RawToken(*place, None) for place in places]]
    assert whole_words(tokens, text) == tokens


def test_multi_word_tokens_stay():
    tokens = [[RawToken(0, 3, "duü", ("du", "ü")), RawToken(3, 4, "é")]]
    assert whole_words(tokens, "duüé") == tokens


def test_what_follows_in_the_same_sentence_stays_there():
    tokens = [[RawToken(0, 3, "caf")], [RawToken(3, 4, "é"), RawToken(5, 7, "is")], [RawToken(8, 10, "No")]]
    assert spans(whole_words(tokens, "café is No")) == [[(0, 4), (5, 7)], [(8, 10)]]


@given(st.data())
def test_no_cut_in_a_word_is_left_and_nothing_is_lost(data):
    text = data.draw(st.text("abé\u0301ü 我'!", min_size=1, max_size=12))
    ends = [i for i in range(1, len(text)) if data.draw(st.booleans())] + [len(text)]
    tokens = [RawToken(start, end, None) for start, end in zip([0, *ends], ends)]
    split = data.draw(st.integers(0, len(tokens) - 1))
    whole = whole_words([part for part in (tokens[:split], tokens[split:]) if part], text)
    flat = [token for sentence in whole for token in sentence]
    assert "".join(text[token.start : token.stop] for token in flat) == text
    for before, after in pairwise(flat):
        pair = text[before.stop - 1] + text[after.start]
        assert not unicodedata.combining(pair[1])
        assert pair.isascii() or not all(character in "abéü" for character in pair)


@pytest.mark.parametrize(
    "text", ["a cliché and a café near", "we sat in a café", "résumé", "pure cliché!", "touché! Encore"]
)
def test_the_bundled_parser_leaves_accented_words_whole(text):
    [sentences] = BundledParser().tokenize([text])
    assert [word for words in sentences for word in words] == text.replace("!", " !").split()


def test_other_languages_keep_the_cuts_of_their_models(tmp_path):
    from graphdep.parsing.bundled import BUNDLED

    for file in BUNDLED.glob("en_ewt_*.pt"):
        (tmp_path / file.name.replace("en_", "pl_")).write_bytes(file.read_bytes())
    polish = BundledParser(tmp_path)
    assert not polish._engine.join_cut_words
    assert "whole-words" not in polish.fingerprint
    assert polish.tokenize(["we sat in a café"]) == [[["we", "sat", "in", "a", "caf", "é"]]]
