from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import RelationVocab, Sentence, to_data
from graphdep.transforms import CompleteEdges, DependencyEdges, RootEdges, SelfLoops, TreePathTypes
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

distances = st.integers(0, 4)
pieces = st.sampled_from(["all", "first"])
edges = st.sampled_from(
    [
        CompleteEdges("utterance", implicit=True),
        CompleteEdges("example"),
        DependencyEdges("both") | SelfLoops(),
        CompleteEdges("example", node_types=["WORD"], implicit=True) | RootEdges() | SelfLoops(),
    ]
)


def slow_type(slow, s, t, distance, self_type, pieces):
    i, j = (t, s) if pieces == "first" else (slow.first[t], slow.first[s])
    if i == j:
        return RelationVocab.SELF if self_type else RelationVocab.NONE
    path = slow.path(i, j)
    if path is None or sum(path) > distance:
        return RelationVocab.NONE
    if path == (1, 0):
        return int(slow.data.deprel[i])
    if path == (0, 1):
        return int(RelationVocab.inverse(slow.data.deprel[j]))
    return RelationVocab.path(*path)


@given(examples(), edges, distances, st.booleans(), pieces)
def test_against_networkx(data, edges, distance, self_type, pieces):
    before = edges(data)
    slow = SlowTree(data)
    got = attended(TreePathTypes(distance, self_type=self_type, pieces=pieces)(before))
    assert got == {(s, t): slow_type(slow, s, t, distance, self_type, pieces) for s, t in attended(before)}


def test_only_related_pairs_of_a_clique_are_written_out():
    data = TreePathTypes(1)(
        CompleteEdges("utterance", implicit=True)(to_data([Sentence.chain(["x"] * 5)] * 2))
    )
    assert data.num_edges == 2 * (6 + 5 + 5)
    assert (data.edge_type != RelationVocab.NONE).all()
    assert data.clique.tolist() == [0] * 6 + [1] * 6


def test_relation_matrix_of_a_sentence():
    r"""Section 2.3 of the paper: arc labels next to each other, distances to the common ancestor beyond."""
    relations = RelationVocab()
    data = to_data(
        [Sentence(["the", "little", "girl", "smiles"], [3, 3, 4, 0], ["det", "amod", "nsubj", "root"])]
    )
    data = TreePathTypes(2)(CompleteEdges("utterance")(data))
    matrix = [["[NONE]"] * 5 for _ in range(5)]
    for (s, t), kind in attended(data).items():
        matrix[t][s] = relations.label(kind)
    assert matrix == [
        ["[SELF]", "[NONE]", "[NONE]", "path(0,2)", "root^-1"],
        ["[NONE]", "[SELF]", "path(1,1)", "det", "path(2,0)"],
        ["[NONE]", "path(1,1)", "[SELF]", "amod", "path(2,0)"],
        ["path(2,0)", "det^-1", "amod^-1", "[SELF]", "nsubj"],
        ["root", "path(0,2)", "path(0,2)", "nsubj^-1", "[SELF]"],
    ]


def test_chain_of_100_000_words():
    data = TreePathTypes(3)(
        CompleteEdges("utterance", implicit=True)(to_data([Sentence.chain(["x"] * 100_000)]))
    )
    n = 100_001
    assert data.num_edges == n + 2 * sum(n - k for k in (1, 2, 3))


def test_edges_in_any_order_and_other_edge_keys():
    data = to_data([Sentence.chain(["x", "y"])])
    data.edge_index = torch.tensor([[2, 0, 2], [1, 1, 1]])
    data.edge_weight = torch.ones(3)
    got = TreePathTypes()(data)
    assert got.edge_index.tolist() == [[0, 2], [1, 1]]
    assert "edge_weight" not in got
    assert "edge_weight" in data


def test_bad_arguments():
    with pytest.raises(ValueError, match="'max_distance' must be between 0 and 8 .got 9"):
        TreePathTypes(9)
    with pytest.raises(ValueError, match="'max_distance' must be a whole number of at least 0 .got -1"):
        TreePathTypes(-1)
    with pytest.raises(ValueError, match="'pieces'"):
        TreePathTypes(pieces="none")
    with pytest.raises(ValueError, match="put a transform that builds them before it"):
        TreePathTypes()(to_data([Sentence.chain(["x"])]))
