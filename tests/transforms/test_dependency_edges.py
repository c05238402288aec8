from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence, to_data
from graphdep.transforms import DependencyEdges
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

towards = st.sampled_from(["governor", "dependent", "both"])
pieces = st.sampled_from(["all", "first"])


@given(examples(), towards, pieces)
def test_against_networkx(data, towards, pieces):
    slow = SlowTree(data)
    words = set()
    for governor, dependent in slow.tree.edges:
        words |= {(dependent, governor)} if towards != "dependent" else set()
        words |= {(governor, dependent)} if towards != "governor" else set()
    got = attended(DependencyEdges(towards, pieces=pieces)(data))
    assert set(got) == slow.spread(words, pieces)


def test_all_arcs():
    deps = [[("2", "nsubj"), ("3", "nsubj:xsubj")], [("0", "root")], [("2", "xcomp"), ("3.1", "conj")]]
    empty = [("3.1", "x", *["_"] * 6, "2:conj", "_")]
    s = Sentence(["a", "b", "c"], [2, 0, 2], ["nsubj", "root", "xcomp"], deps=deps, empty=empty)
    data = to_data([s], arcs="enhanced")
    assert set(attended(DependencyEdges(arcs="all")(data))) == {
        (1, 2),
        (1, 3),
        (2, 0),
        (3, 2),
        (3, 4),
        (4, 2),
    }
    assert set(attended(DependencyEdges()(data))) == {(1, 2), (2, 0), (3, 2)}


def test_direction_is_source_to_target():
    data = to_data([Sentence(["a", "b"], [2, 0], ["nsubj", "root"])], root=False)
    assert DependencyEdges("governor")(data).edge_index.tolist() == [[0], [1]]
    assert DependencyEdges("dependent")(data).edge_index.tolist() == [[1], [0]]
    assert torch.equal(DependencyEdges("both")(data).edge_index, torch.tensor([[1, 0], [0, 1]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"towards": "up"}, "'towards' must be one of governor, dependent, both .got 'up'"),
        ({"arcs": "enhanced"}, "'arcs' must be one of"),
        ({"pieces": "last"}, "'pieces' must be one of"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        DependencyEdges(**arguments)
