from __future__ import annotations

import copy
import dataclasses
import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.sentence import join_sentences
from graphdep.sentence.sentence import truncate
from graphdep.sentence.tree import are_side_by_side, check_constituents, cut_constituents, parts
from tests.kit.strategies import constituents_of, sentences
from tests.kit.trees import mothers

WORDS = 5


@st.composite
def spans(draw: st.DrawFn, words: int = WORDS):
    start = draw(st.integers(0, words - 1))
    return ("X", start, draw(st.integers(start + 1, words)))


def preorder_naive(constituents) -> bool:
    """Each pair is nested or apart, and stands in the order of a walk through the tree."""
    for i, (_, a, b) in enumerate(constituents):
        for _, c, d in constituents[i + 1 :]:
            inside, right = a <= c and d <= b, b <= c
            if not (inside or right):
                return False
    return True


@given(st.lists(spans(), max_size=5))
def test_check_agrees_with_a_naive_test(constituents):
    if preorder_naive(constituents):
        check_constituents(constituents, WORDS)
    else:
        with pytest.raises(ValueError, match=r"constituent 'X' \(\d, \d\) (crosses|is not in preorder)"):
            check_constituents(constituents, WORDS)


@pytest.mark.parametrize(
    ("constituents", "message"),
    [
        ([("NP", 0, 2), ("VP", 1, 3)], r"constituent 'VP' (1, 3) crosses 'NP' (0, 2)"),
        (
            [("NP", 1, 2), ("S", 0, 3)],
            r"constituent 'S' (0, 3) is not in preorder: it stands after 'NP' (1, 2)",
        ),
        (
            [("NP", 0, 1), ("S", 0, 3)],
            r"constituent 'S' (0, 3) is not in preorder: it stands after 'NP' (0, 1)",
        ),
        ([("NP", 0, 4)], r"constituent 'NP' (0, 4) is empty or out of range 0..3"),
        ([("NP", -1, 2)], r"constituent 'NP' (-1, 2) is empty or out of range 0..3"),
        ([("NP", 1, 1)], r"constituent 'NP' (1, 1) is empty or out of range 0..3"),
        ([("", 0, 1)], "constituent 0 must have a label without white space and brackets (got '')"),
        ([("N P", 0, 1)], "constituent 0 must have a label without white space and brackets (got 'N P')"),
        ([("(NP", 0, 1)], "constituent 0 must have a label without white space and brackets (got '(NP')"),
        ([(None, 0, 1)], "constituent 0 must have a label without white space and brackets (got None)"),
        ([("NP", 0, True)], "constituent 'NP' (0, True): start and end must be whole numbers"),
        ([("NP", 0.0, 1)], "constituent 'NP' (0.0, 1): start and end must be whole numbers"),
        ("", "'constituents' must be a list of (label, start, end) (got '')"),
        ({}, "'constituents' must be a list of (label, start, end) (got {})"),
        (iter([("NP", 0, 1)]), "'constituents' must be a list of (label, start, end) (got <list_iterator"),
        ([["NP", 0, 1]], "constituent 0 must be a tuple (label, start, end) (got ['NP', 0, 1])"),
    ],
)
def test_what_is_no_tree_is_named(constituents, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        dataclasses.replace(Sentence.chain(["a", "b", "c"]), constituents=constituents)


@given(constituents_of(6))
def test_parts_against_a_loop(constituents):
    above = mothers(constituents)
    inside, top = parts(constituents, 6)
    for number, found in enumerate([*inside, top]):
        mother = number if number < len(inside) else -1
        words = []
        for word in range(6):
            around = [i for i, (_, a, b) in enumerate(constituents) if a <= word < b]
            if (around[-1] if around else -1) == mother:
                words.append(~word)
        phrases = [i for i, m in enumerate(above) if m == mother]
        expected = sorted(phrases + words, key=lambda p: constituents[p][1] if p >= 0 else ~p)
        assert found == expected


@settings(max_examples=25)
@given(st.data())
def test_copies_are_equal(sentences, data):
    sentence = data.draw(sentences())
    for other in (copy.copy(sentence), copy.deepcopy(sentence), pickle.loads(pickle.dumps(sentence))):
        assert other == sentence
    changed = dataclasses.replace(sentence, constituents=[("NEW", 0, len(sentence))])
    assert changed != sentence


@settings(max_examples=25)
@given(st.data(), st.integers(1, 8), st.sampled_from(["left", "right"]))
def test_a_cut_constituent_has_the_words_that_are_left(sentences, data, max_words, side):
    sentence = data.draw(sentences())
    cut = truncate(sentence, max_words, side)
    if sentence.constituents is None:
        assert cut.constituents is None
        return
    first = 0 if side == "right" else max(0, len(sentence) - max_words)
    kept = range(first, min(len(sentence), first + max_words))
    expected = []
    for label, start, end in sentence.constituents:
        words = [word - first for word in range(start, end) if word in kept]
        if words:
            expected.append((label, words[0], words[-1] + 1))
    assert cut.constituents == expected


def test_joined_sentences_keep_theirs_side_by_side():
    one = dataclasses.replace(Sentence.chain(["a", "b"]), constituents=[("S", 0, 2), ("NP", 1, 2)])
    other = dataclasses.replace(Sentence.chain(["c"]), constituents=[("FRAG", 0, 1)])
    joined = join_sentences([one, other, one])
    assert joined.constituents == [("S", 0, 2), ("NP", 1, 2), ("FRAG", 2, 3), ("S", 3, 5), ("NP", 4, 5)]
    assert join_sentences([Sentence.chain(["a"]), other]).constituents == [("FRAG", 1, 2)]
    assert join_sentences([Sentence.chain(["a"]), Sentence.chain(["b"])]).constituents is None


def test_cutting_all_leaves_none():
    assert cut_constituents([("S", 0, 2)], 2, 3) == []


def test_from_dict_takes_lists_as_json_has_them():
    values = {"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}
    sentence = Sentence.from_dict({**values, "constituents": [["S", 0, 2], ["NP", 0, 1]]})
    assert sentence.constituents == [("S", 0, 2), ("NP", 0, 1)]
    assert Sentence.from_dict({**values, "constituents": None}).constituents is None


def together_naive(head) -> bool:
    """Whether the words below each root, and it, follow one another."""
    tops = []
    for word in range(1, len(head) + 1):
        while head[word - 1]:
            word = head[word - 1]
        tops.append(word)
    return all([*range(min(own), max(own) + 1)] == own for own in map(tops_of(tops), {*tops}))


def tops_of(tops):
    return lambda top: [word for word, own in enumerate(tops) if own == top]


@given(sentences(max_words=8, multiroot=True))
def test_trees_side_by_side(sentence):
    assert are_side_by_side(sentence.head) == together_naive(sentence.head)


@pytest.mark.parametrize("head", [[2, 1], [9], [0, 3, 2]])
def test_what_is_no_tree_is_not_side_by_side(head):
    assert not are_side_by_side(head)
