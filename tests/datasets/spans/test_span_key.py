from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.datasets.spans.rows import MAX_ARCS, span_key
from tests.kit.strategies import sentences

TREE = Sentence(
    ["The", "old", "dog", "of", "Ann", "bites", "me"],
    [3, 3, 6, 5, 3, 0, 6],
    ["det", "amod", "nsubj", "case", "nmod", "root", "obj"],
)


def slow_key(tree: Sentence, spans) -> str:
    """By shortest paths."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(tree)))
    graph.add_edges_from((governor - 1, word) for word, governor in enumerate(tree.head) if governor)
    depth = {word: len(nx.ancestors(graph, word)) for word in graph}
    tops = [min(range(*span), key=lambda word: (depth[word], word)) for span in spans]
    if len(tops) == 1:
        return tree.form[tops[0]]
    if not nx.has_path(graph.to_undirected(), *tops):
        return "far"
    way = nx.shortest_path(graph.to_undirected(), *tops)
    arcs = [f"<{tree.deprel[a]}" if tree.head[a] - 1 == b else f">{tree.deprel[b]}" for a, b in pairwise(way)]
    return "far" if len(arcs) > MAX_ARCS else "".join(arcs)


@given(st.data(), st.booleans(), st.integers(1, 2))
def test_against_networkx(data, multiroot, number):
    tree = data.draw(sentences(max_words=9, multiroot=multiroot))
    word = st.integers(0, len(tree) - 1)
    ends = [sorted(data.draw(st.tuples(word, word))) for _ in range(number)]
    spans = [(start, stop + 1) for start, stop in ends]
    assert span_key(tree, spans) == slow_key(tree, spans)


@pytest.mark.parametrize(
    ("spans", "key"),
    [
        ([(0, 3), (6, 7)], "<nsubj>obj"),
        ([(6, 7), (0, 3)], "<obj>nsubj"),
        ([(0, 5), (4, 5)], ">nmod"),  # one in the other
        ([(0, 2), (3, 4)], "<det>nmod>case"),  # the first of two that are as near to the root
        ([(0, 1), (6, 7)], "<det<nsubj>obj"),
        ([(2, 3), (0, 3)], ""),
        ([(0, 2)], "The"),
        ([(1, 5)], "dog"),
    ],
)
def test_ways(spans, key):
    assert span_key(TREE, spans) == key


def test_far_away():
    chain = Sentence.chain([str(n) for n in range(9)])
    assert span_key(chain, [(0, 1), (MAX_ARCS, MAX_ARCS + 1)]).count(">") == MAX_ARCS
    assert span_key(chain, [(0, 1), (MAX_ARCS + 1, MAX_ARCS + 2)]) == "far"
