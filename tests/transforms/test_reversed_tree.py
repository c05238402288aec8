from __future__ import annotations

from hypothesis import given

from graphdep import to_data
from graphdep.testing import assert_same_data
from graphdep.transforms import ReversedTree
from tests.kit.strategies import sentences


@given(sentences())
def test_mirror(sentence):
    data, n = to_data([sentence]), len(sentence)
    got = ReversedTree()(data)
    for k in range(n):
        head = sentence.head[n - 1 - k]
        assert got.governor_index[k + 1] == (n + 1 - head if head else 0)
        assert got.deprel[k + 1] == data.deprel[n - k]
        assert got.depth[k + 1] == data.depth[n - k]
    assert_same_data(ReversedTree()(got), data)
