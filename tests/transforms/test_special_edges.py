from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, to_data
from graphdep.transforms import SpecialEdges
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

kinds = st.sets(st.sampled_from(list(NodeType)), min_size=1)


@given(examples(special=True), kinds, kinds)
def test_against_loop(data, special, others):
    slow = SlowTree(data)
    expected = slow.pairs(
        lambda s, t: (
            (slow.kind[s] in special and slow.kind[t] in others)
            or (slow.kind[t] in special and slow.kind[s] in others)
        )
    )
    assert set(attended(SpecialEdges(special, others=others)(data))) == expected


def test_words_alone_have_none(example):
    assert SpecialEdges()(to_data([example])).num_edges == 0


def test_bad_node_types():
    with pytest.raises(ValueError, match="'node_types' takes some of"):
        SpecialEdges("PAD")
