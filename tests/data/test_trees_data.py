from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, text_data, trees_data
from graphdep.testing import assert_same_data
from tests.kit.strategies import sentences

RELATIONS, VOCAB = RelationVocab(), Vocab("abc")
TREE = Sentence(["a", "b", "c"], [2, 0, 2], ["nsubj", "root", "obj"])
GRAPH = dataclasses.replace(TREE, deps=[[("2", "nsubj"), ("3", "ref")], [("0", "root")], [("2", "obj")]])


@given(st.lists(sentences(max_words=5), min_size=1, max_size=3))
def test_without_tokens_it_is_the_node_table(trees):
    data = trees_data(trees, RELATIONS, vocab=VOCAB, max_length=1, segment=[*range(len(trees))], root=False)
    expected = to_data(trees, vocab=VOCAB, relations=RELATIONS, segment=[*range(len(trees))], root=False)
    assert_same_data(data, expected)


@given(st.lists(sentences(max_words=5), min_size=1, max_size=2), st.none() | st.integers(5, 20))
def test_with_tokens_it_is_the_input_of_an_encoder(tokens, trees, max_length):
    data = trees_data(trees, RELATIONS, tokens=tokens, max_length=max_length, segment=[0, 1], root=True)
    encoded = [EncodedUtterance.of(tree, tokens, RELATIONS) for tree in trees]
    assert_same_data(data, text_data(*encoded, tokens=tokens, max_length=max_length or 100))


@pytest.mark.parametrize("arcs", ["basic", "enhanced", "enhanced++"])
def test_arcs(tokens, arcs):
    for options, count in (({"vocab": VOCAB}, 3), ({"tokens": tokens}, 2)):  # with the arc from ROOT, or not
        data = trees_data([GRAPH], RELATIONS, arcs=arcs, **options)
        assert data.arc_index.size(1) == count + (arcs != "basic")
        assert trees_data([TREE], RELATIONS, arcs=arcs, **options).arc_index.size(1) == count


def test_copies(tokens):
    copy = ("2.1", "b", "_", "_", "_", "_", "_", "_", "2:conj:and", "CopyOf=2")
    deps = [[("2", "nsubj")], [("0", "root")], [("2.1", "obj")]]
    graph = dataclasses.replace(TREE, deps=deps, empty=[copy])
    plain = trees_data([TREE], RELATIONS, tokens=tokens)
    word, node = (
        trees_data([graph], RELATIONS, tokens=tokens, arcs="enhanced++", copies=copies)
        for copies in ("word", "node")
    )
    assert (word.num_nodes, word.arc_index.size(1)) == (plain.num_nodes, 2)  # none of a word and itself
    assert node.num_nodes > plain.num_nodes
    assert node.arc_index.size(1) == 3


def test_errors(tokens):
    for options in ({}, {"tokens": tokens}):
        with pytest.raises(ValueError, match=r"'arcs' must be one of basic, enhanced, .*\(got 'more'\)"):
            trees_data([TREE], RELATIONS, arcs="more", **options)
    for count in (0, 3):
        with pytest.raises(ValueError, match=rf"'trees' must be between 1 and 2 \(got {count}\)"):
            trees_data([TREE] * count, RELATIONS, tokens=tokens)
    for name, value in (("positions", "example"), ("y", None), ("max_lenght", 3)):
        with pytest.raises(ValueError, match=rf"'{name}' is not for 'tokens' \(got {value!r}\)"):
            trees_data([TREE], RELATIONS, tokens=tokens, **{name: value})
    with pytest.raises(ValueError, match=r"'max_length' must be at least 3 \(got 2\)"):
        trees_data([TREE], RELATIONS, tokens=tokens, max_length=2)
    with pytest.raises(ValueError, match=r"'copies' must be one of word, node \(got 'none'\)"):
        trees_data([TREE], RELATIONS, tokens=tokens, copies="none")
    with pytest.raises(ValueError, match="'sentences' is empty"):
        trees_data([], RELATIONS)
