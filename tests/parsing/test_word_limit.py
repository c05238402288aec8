from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.parsing.parser import WordLimit


def words(text: str) -> list[str]:
    """The slow and obvious way."""
    found: list[str] = []
    run = False
    for character in text:
        alone = re.fullmatch(
            "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]", character
        )
        letter = re.fullmatch(r"\w", character) and not alone
        if letter and run and len(found[-1]) < 100:
            found[-1] += character
        elif not character.isspace():
            found.append(character)
        run = bool(letter)
    return found


TEXTS = st.text(st.sampled_from("ab1 \t\n.,'我カé\u0301_😀") | st.characters(), max_size=30)


@given(TEXTS, st.integers(1, 12))
def test_the_first_words_are_kept(text, most):
    expected, limit = words(text), WordLimit(most, truncate=True)
    assert limit.holds(text) == (len(expected) <= most)
    cut = limit.text(text, "x")
    assert text.startswith(cut)
    assert words(cut) == expected[:most]
    assert limit.text(cut, "x") == cut
    if len(expected) <= most:
        assert cut == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("word " * 10_000, 10_000),
        ("Don't go.", 5),
        ("我喜欢茶。", 5),
        ("a" * 100, 1),
        ("a" * 101, 2),
        ("...", 3),
        (" \t\n" * 50, 0),
        ("snake_case", 1),
    ],
)
def test_what_counts_as_a_word(text, count):
    assert WordLimit(max(1, count)).holds(text)
    if count > 1:
        assert not WordLimit(count - 1).holds(text)


def test_more_words_are_an_error_with_its_place():
    message = (
        "'texts[7]' has more than max_words=10000 words: allow more, or read the first ones with truncate"
    )
    for call in (WordLimit().text, WordLimit().check):
        assert call("word " * 10_000, "'texts[7]'") in (None, "word " * 10_000)
        with pytest.raises(ValueError, match=re.escape(message)):
            call("word " * 10_001, "'texts[7]'")
    WordLimit(truncate=True).check("word " * 10_001, "x")


def test_a_tree_is_cut_or_refused():
    tree = Sentence.chain(["a", "b", "c"])
    assert WordLimit(3).tree(tree, "x") is tree
    assert WordLimit(2, truncate=True).tree(tree, "x").form == ["a", "b"]
    with pytest.raises(ValueError, match="'x' has more than max_words=2 words"):
        WordLimit(2).tree(tree, "'x'")


@pytest.mark.parametrize("value", [0, 1_000_001, True])
def test_the_limit_has_limits(value):
    with pytest.raises(ValueError, match="'max_words' must be"):
        WordLimit(value)
    with pytest.raises(ValueError, match="'truncate' must be one of True, False"):
        WordLimit(1, truncate="no")
