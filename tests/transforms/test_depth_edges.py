from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import to_data
from graphdep.transforms import DepthEdges
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

pieces = st.sampled_from(["all", "first"])


@given(examples(), st.integers(0, 8), pieces)
def test_against_loop(data, max_sum, pieces):
    slow = SlowTree(data)
    words = {(s, t) for s in slow.tree for t in slow.tree if slow.depth[s] + slow.depth[t] <= max_sum}
    assert set(attended(DepthEdges(max_sum, pieces=pieces)(data))) == slow.spread(words, pieces)


def test_equation_4_joins_utterances(example):
    got = attended(DepthEdges(3)(to_data([example, example], root=False)))
    tops, second = {2, 11}, {0, 1, 4, 8, 9, 10, 13, 17}  # depth 1: "like"; depth 2: its dependents
    expected = {(a, b) for a in tops for b in tops | second} | {(b, a) for a in tops for b in second}
    assert set(got) == expected


@pytest.mark.parametrize("value", [-1, 2.5, True, None, "4"])
def test_bad_max_sum(value):
    with pytest.raises(ValueError, match="'max_sum' must be a whole number of at least 0"):
        DepthEdges(value)
