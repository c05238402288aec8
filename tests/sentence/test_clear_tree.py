from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphdep.sentence import check_tree
from graphdep.sentence.clear import ClearTree
from tests.kit.strategies import sentences


@given(sentences(max_words=8), st.data())
def test_moves_keep_a_tree_and_its_lists_of_dependents(sentence, data):
    tree = ClearTree.of(sentence)
    for _ in range(3):
        word = data.draw(st.sampled_from(tree.words))
        if tree.head[word]:
            above, label = tree.head[tree.head[word]], tree.label[tree.head[word]]
            governor = tree.head[word]
            tree.lift(word)
            assert (tree.head[word], tree.label[word], tree.head[governor]) == (above, label, word)
            assert tree.dependents(governor) == []
        check_tree(tree.head[1:])
        for each in range(len(tree.head)):
            assert tree.dependents(each) == [w for w in tree.words if tree.head[w] == each]
    order = tree.from_above()
    assert sorted(order) == [*tree.words]
    assert all(tree.head[w] == 0 or order.index(tree.head[w]) < order.index(w) for w in tree.words)


def test_what_stays_with_the_lowered_word():
    tree = ClearTree(["a"] * 4, ["a"] * 4, [""] * 4, [0, 1, 1, 1], ["root", "x", "y", "z"])
    tree.lift(2, 3)
    assert tree.head[1:] == [2, 0, 1, 2]
    assert tree.root == 2


def test_kinds_by_tag():
    tags = ["NNS", "PRP$", "VBZ", "MD", "JJR", "WRB", "TO", "NOUN", "AUX", "ADP", ",", ""]
    tree = ClearTree(tags, tags, tags, [0, *[1] * 11], tags)
    kinds = ["nominal", "nominal", "verb", "verb", "adjective", "adverb", "preposition"]
    assert [tree.kind(word) for word in tree.words] == [*kinds, "nominal", "verb", "preposition", "", ""]
