from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, RelationVocab, Sentence, to_data
from graphdep.nn.attention import AttentionLayout, edge_attention
from graphdep.transforms import CompleteEdges, SelfLoops, TreePathTypes
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

scopes = st.sampled_from(["utterance", "example"])
node_types = st.sets(st.sampled_from(list(NodeType)), min_size=1)


@given(examples(), scopes, node_types, st.booleans())
def test_against_loop(data, scope, node_types, implicit):
    slow = SlowTree(data)
    expected = slow.pairs(
        lambda s, t: (
            {slow.kind[s], slow.kind[t]} <= node_types
            and (scope == "example" or slow.utterance[s] == slow.utterance[t])
        )
    )
    got = CompleteEdges(scope, node_types=node_types, implicit=implicit)(data)
    assert set(attended(got)) == expected
    assert ("clique" in got) == implicit
    assert ("edge_index" in got) != implicit
    assert not implicit or got.edge_index_explicit.shape == (2, 0)


def test_long_examples_stay_small():
    data = CompleteEdges(implicit=True)(to_data([Sentence.chain(["x"] * 100_000)]))
    assert data.edge_index_explicit.numel() == 0
    assert data.clique.numel() == 100_001


def test_no_stale_clique():
    data = to_data([Sentence.chain(["x"] * 3)])
    again = SelfLoops()(CompleteEdges(implicit=True)(data))
    assert "clique" not in again
    assert "edge_index_explicit" not in again
    assert again.num_edges == 4
    implicit = CompleteEdges(implicit=True)(SelfLoops()(data))
    assert "clique" in implicit
    assert "edge_index" not in implicit


def test_node_types_by_name():
    assert repr(CompleteEdges(node_types="WORD")) == repr(CompleteEdges(node_types=[NodeType.WORD]))
    with pytest.raises(ValueError, match="'node_types' takes some of ROOT, WORD.*got .'VERB'"):
        CompleteEdges(node_types=["VERB"])
    with pytest.raises(ValueError, match="'node_types'"):
        CompleteEdges(node_types=())
    with pytest.raises(ValueError, match="'scope'"):
        CompleteEdges("batch")


@given(examples())
def test_attention_is_the_same_over_implicit_and_written_out_pairs(data):
    torch.manual_seed(0)
    query, key, value = torch.randn(3, data.num_nodes, 2, 4)
    bias = torch.randn(len(RelationVocab()), 2)
    bias[RelationVocab.NONE] = 0  # what is not written out has no relation
    results = []
    for implicit in (False, True):
        edges = TreePathTypes(2)(CompleteEdges("utterance", implicit=implicit)(data))
        layout = AttentionLayout.of(edges)
        terms = {"attn_bias": bias[layout.edge_type], "layout": layout, "backend": "reference"}
        results.append(edge_attention(query, key, value, layout.edge_index, **terms))
    torch.testing.assert_close(*results)
