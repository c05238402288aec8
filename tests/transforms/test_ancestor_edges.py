from __future__ import annotations

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence, to_data
from graphdep.transforms import AncestorEdges, Nodes, SelfLoops
from graphdep.transforms.edge_set import euler_tour
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

pieces = st.sampled_from(["all", "first"])


@given(examples(), pieces)
def test_against_networkx(data, pieces):
    slow = SlowTree(data)
    words = {(above, word) for word in slow.tree for above in nx.ancestors(slow.tree, word)}
    assert set(attended(AncestorEdges(pieces=pieces)(data))) == slow.spread(words, pieces)


@given(examples(), pieces)
def test_directions(data, pieces):
    down = set(attended(AncestorEdges(pieces=pieces)(data)))
    up = {(target, source) for source, target in down}
    assert set(attended(AncestorEdges("ancestor", pieces=pieces)(data))) == up
    assert set(attended(AncestorEdges("both", pieces=pieces)(data))) == down | up


def test_equation_3(example):
    """Rows of M_intra for "a hotel room": each word sees itself and its ancestors."""
    got = attended((AncestorEdges() | SelfLoops())(to_data([example], root=False)))
    rows = {i: {s for s, t in got if t == i} for i in range(9)}
    assert rows[5] == {5, 7, 4, 2}  # a: room, reserve, like
    assert rows[7] == {7, 4, 2}  # room: reserve, like
    assert rows[2] == {2}  # like, the root word


@given(examples())
def test_euler_tour(data):
    nodes, slow = Nodes(data), SlowTree(data)
    enter, leave, order = euler_tour(nodes)
    assert sorted(enter.tolist()) == list(range(slow.size))
    assert torch.equal(enter[order], torch.arange(slow.size))
    for i in slow.tree:
        below = {j for j in slow.tree if enter[i] <= enter[j] < leave[i]}
        assert below == nx.descendants(slow.tree, i) | {i}


def test_chain_of_2_000_words():
    data = AncestorEdges()(to_data([Sentence.chain(["x"] * 2000)], root=False))
    assert data.num_edges == 2000 * 1999 // 2
    assert bool((data.edge_index[0] < data.edge_index[1]).all())


def test_tour_of_100_000_words():
    enter, leave, _ = euler_tour(Nodes(to_data([Sentence.chain(["x"] * 100_000)])))
    assert torch.equal(enter, torch.arange(100_001))
    assert bool((leave == 100_001).all())


def test_wide_tree():
    head = [0] + [1] * 50_000
    data = AncestorEdges()(to_data([Sentence(["x"] * 50_001, head, ["dep"] * 50_001)], root=False))
    assert data.edge_index[0].unique().tolist() == [0]


@pytest.mark.parametrize("cycle", [[1, 0], [1, 2, 0], [0, 2, 1], [0, 2, 3, 1, 4]])
def test_cycles_are_refused(cycle, monkeypatch):
    data = to_data([Sentence.chain(["x"] * len(cycle))], root=False)
    data.governor_index = torch.tensor(cycle)
    with pytest.raises(ValueError, match="cannot have node . for its governor"):
        AncestorEdges()(data)
    monkeypatch.setattr("graphdep.transforms.nodes.check_table", lambda data: None)  # as on a GPU
    with pytest.raises(ValueError, match="'governor_index' has a cycle"):
        AncestorEdges()(data)


def test_bad_arguments():
    with pytest.raises(ValueError, match="'towards' must be one of descendant, ancestor, both .got 'up'"):
        AncestorEdges("up")
    with pytest.raises(ValueError, match="'pieces' must be one of all, first .got 'some'"):
        AncestorEdges(pieces="some")
