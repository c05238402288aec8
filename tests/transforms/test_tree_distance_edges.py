from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence, to_data
from graphdep.transforms import TreeDistanceEdges
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

distances = st.integers(0, 6)
pieces = st.sampled_from(["all", "first"])


@given(examples(), distances, pieces)
def test_against_networkx(data, distance, pieces):
    slow = SlowTree(data)
    lengths = dict(nx.all_pairs_shortest_path_length(slow.tree.to_undirected()))
    words = {(s, t) for s in lengths for t in lengths[s] if lengths[s][t] <= distance}
    words |= {(i, i) for i in range(slow.size)}
    assert set(attended(TreeDistanceEdges(distance, pieces=pieces)(data))) == slow.spread(words, pieces)


def test_longer_than_the_tree():
    data = to_data([Sentence.chain(["x"] * 5)])
    assert TreeDistanceEdges(10**9)(data).num_edges == 36


def test_chain_of_100_000_words():
    data = TreeDistanceEdges(2)(to_data([Sentence.chain(["x"] * 100_000)], root=False))
    assert data.num_edges == 100_000 + 2 * 99_999 + 2 * 99_998


def test_bad_distance():
    with pytest.raises(ValueError, match="'max_distance' must be a whole number of at least 0 .got -2"):
        TreeDistanceEdges(-2)
