from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import to_data
from graphdep.transforms import RelationEdges, RelationNodes
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

directions = st.sampled_from(["both", "to_relation", "to_word", "none"])
pieces = st.sampled_from(["all", "first"])


@given(examples(), directions, pieces)
def test_against_loop(data, direction, pieces):
    data = RelationNodes()(data)
    slow = SlowTree(data)
    words = {(node, node) for node in data.arc_node_index.tolist()}
    for node, arc in zip(data.arc_node_index.tolist(), data.arc_index.t().tolist()):
        for word in arc:
            words |= {(word, node)} if direction in ("both", "to_relation") else set()
            words |= {(node, word)} if direction in ("both", "to_word") else set()
    assert set(attended(RelationEdges(direction, pieces=pieces)(data))) == slow.spread(words, pieces)


def test_needs_relation_nodes(example):
    with pytest.raises(ValueError, match=r"put RelationNodes\(\) before Relation"):
        RelationEdges()(to_data([example]))
    with pytest.raises(ValueError, match="'direction' must be one of"):
        RelationEdges("up")
