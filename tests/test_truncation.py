from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.testing.strategies import sentences
from graphdep.truncation import truncate


def chain_up(sentence: Sentence, word: int) -> list[int]:
    """The governors of a word (counted from 1), nearest first, without 0."""
    path = []
    while sentence.head[word - 1] != 0:
        word = sentence.head[word - 1]
        path.append(word)
    return path


@given(sentences(max_words=12), st.integers(1, 14))
def test_truncate_gives_one_tree_of_the_first_words(sentence, max_words):
    cut = truncate(sentence, max_words)  # a Sentence checks that it is one tree
    if len(sentence) <= max_words:
        assert cut is sentence
        return
    assert cut.form == sentence.form[:max_words]
    assert cut.head.count(0) == 1
    orphans = [w for w in range(1, max_words + 1) if all(a > max_words for a in chain_up(sentence, w))]
    for word in range(1, max_words + 1):
        kept = [ancestor for ancestor in chain_up(sentence, word) if ancestor <= max_words]
        if kept:
            assert cut.head[word - 1] == kept[0]
        else:
            assert cut.head[word - 1] == (0 if word == orphans[0] else orphans[0])
        is_new_root = cut.head[word - 1] == 0 and sentence.head[word - 1] != 0
        assert cut.deprel[word - 1] == ("root" if is_new_root else sentence.deprel[word - 1])


@given(sentences(max_words=12), st.integers(1, 12), st.integers(1, 12))
def test_truncate_twice_is_truncate_to_the_fewer_where_the_root_is_kept(sentence, first, second):
    if sentence.head.index(0) < min(first, second):
        assert truncate(truncate(sentence, first), second) == truncate(sentence, min(first, second))


@given(sentences(max_words=10, multiroot=True), st.integers(1, 10))
def test_truncate_keeps_roots_of_several(sentence, max_words):
    cut = truncate(sentence, max_words)
    roots = [word for word, head in enumerate(sentence.head[:max_words]) if head == 0]
    assert [word for word, head in enumerate(cut.head) if head == 0] == (roots or cut_roots(cut))


def cut_roots(cut: Sentence) -> list[int]:
    return [cut.head.index(0)]


def test_truncate_cuts_the_other_columns():
    sentence = Sentence(
        ["He", "did", "n't", "see", "her", "go"],
        [4, 4, 4, 0, 4, 4],
        ["nsubj", "aux", "advmod", "root", "obj", "xcomp"],
        lemma=["he", "do", "not", "see", "she", "go"],
        upos=["PRON", "AUX", "PART", "VERB", "PRON", "VERB"],
        misc=["_", "_", "_", "_", "_", "SpaceAfter=No"],
        comments=["# sent_id = 7", "# text = He didn't see her go"],
        multiword=[("2-3", "didn't", *["_"] * 8)],
    )
    cut = truncate(sentence, 3)
    assert (cut.head, cut.deprel) == ([0, 1, 1], ["root", "aux", "advmod"])
    assert (cut.lemma, cut.upos, cut.xpos) == (["he", "do", "not"], ["PRON", "AUX", "PART"], None)
    assert cut.comments == ["# sent_id = 7"]
    assert cut.multiword == sentence.multiword
    assert cut.text == "He didn't"
    half = truncate(sentence, 2)
    assert half.multiword == []
    assert half.text == "He did"


def test_truncate_enhanced_arcs():
    sentence = Sentence(
        ["She", "sang", "and", "he", "danced"],
        [2, 0, 5, 5, 2],
        ["nsubj", "root", "cc", "nsubj", "conj"],
        deps=[
            [("2", "nsubj"), ("5", "nsubj")],
            [("0", "root")],
            [("5.1", "cc")],
            [("5", "nsubj"), ("2.1", "dep")],
            [("2", "conj")],
        ],
        empty=[
            ("2.1", "x", *["_"] * 6, "2:dep|5:dep", "_"),
            ("5.1", "y", *["_"] * 6, "5:dep", "_"),
        ],
    )
    cut = truncate(sentence, 4)
    assert cut.head == [2, 0, 2, 2]
    assert cut.deps == [
        [("2", "nsubj")],
        [("0", "root")],
        [("2", "cc")],  # nothing was left
        [("2.1", "dep"), ("2", "nsubj")],  # it moved
    ]
    assert [(row[0], row[8]) for row in cut.empty] == [("2.1", "2:dep")]
    assert truncate(sentence, 1).deps == [[("0", "root")]]


def test_truncate_long_chain():
    assert truncate(Sentence.chain(["a"] * 5000), 4999).head == list(range(4999))
    backwards = Sentence(["a"] * 5000, [*range(2, 5001), 0], ["dep"] * 5000)
    assert truncate(backwards, 3).head == [2, 3, 0]


def test_truncate_errors():
    with pytest.raises(ValueError, match=r"'max_words' must be at least 1 \(got 0\)"):
        truncate(Sentence.chain(["a"]), 0)
