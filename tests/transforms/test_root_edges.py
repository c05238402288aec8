from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.transforms import RootEdges
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

scopes = st.sampled_from(["utterance", "example"])


@given(examples(), scopes)
def test_against_loop(data, scope):
    slow = SlowTree(data)
    expected = slow.pairs(
        lambda s, t: (
            slow.kind[t].name == "ROOT" and (scope == "example" or slow.utterance[s] == slow.utterance[t])
        )
    )
    assert set(attended(RootEdges(scope)(data))) == expected


def test_bad_scope():
    with pytest.raises(ValueError, match="'scope' must be one of utterance, example .got 'batch'"):
        RootEdges("batch")
