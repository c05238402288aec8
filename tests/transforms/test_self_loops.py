from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.transforms import DependencyEdges, SelfLoops
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

pieces = st.sampled_from(["all", "first"])


@given(examples(), pieces)
def test_against_loop(data, pieces):
    slow = SlowTree(data)
    expected = slow.pairs(lambda s, t: slow.first[s] == slow.first[t] if pieces == "all" else s == t)
    assert set(attended(SelfLoops(pieces=pieces)(data))) == expected


@given(examples(special=True, empty=True), pieces)
def test_every_node_sees_itself(data, pieces):
    assert {(i, i) for i in range(data.num_nodes)} <= set(attended(SelfLoops(pieces=pieces)(data)))


@given(examples(), pieces)
def test_tops_fill_the_empty_rows_of_dependents(data, pieces):
    edges = DependencyEdges("dependent") | SelfLoops("tops", pieces=pieces)
    rows = [target for _, target in attended(edges(data))]
    assert set(rows) == set(range(data.num_nodes))
    slow = SlowTree(data)
    tops = {t for s, t in attended(SelfLoops("tops", pieces=pieces)(data))}
    assert tops == {i for i in range(slow.size) if not list(slow.tree.pred.get(slow.first[i], ()))}


def test_bad_arguments():
    with pytest.raises(ValueError, match="'only' must be one of all, tops .got 'words'"):
        SelfLoops("words")
