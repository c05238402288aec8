"""Edges that PyG's ToUndirected has merged: it adds the ids of relations up."""

from __future__ import annotations

import pytest
import torch
import torch_geometric.transforms as T

from graphdep import RelationVocab, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import DRAConv, GATEConv, GatedRelationConv
from graphdep.testing import assert_same_data
from graphdep.transforms import DependencyEdges, RootEdges, SelfLoops, resolve
from tests.kit.trees import attended

RELATIONS = len(RelationVocab())


def test_edges_without_types_are_right(example):
    data = to_data([example])
    edges = T.ToUndirected()(resolve("dra")(data))
    both = attended((DependencyEdges("both") | RootEdges("utterance") | SelfLoops())(data))
    pairs = set(map(tuple, edges.edge_index.t().tolist()))
    assert pairs == set(both) | {(0, word) for word in range(10)}
    conv, x = DRAConv(8, 4, heads=2), torch.randn(10, 8)
    torch.testing.assert_close(conv(x, AttentionLayout.of(edges)), conv(x, edges.edge_index))


@pytest.mark.parametrize("name", ["dt", "dt-related"])
def test_sums_of_path_codes_are_no_relations(example, name):
    data = T.ToUndirected()(resolve(name)(to_data([example])))
    conv, x = GatedRelationConv(8, 4, heads=2, num_relations=RELATIONS), torch.randn(10, 8)
    for edges in ((data.edge_index, data.edge_type), (AttentionLayout.of(data),)):
        with pytest.raises(
            ValueError, match="'edge_type' holds relation .* such as ToUndirected, add ids up"
        ):
            conv(x, *edges)


@pytest.mark.parametrize("max_distance", [1, 2])
def test_sums_of_self_are_no_relation(example, max_distance):
    data = T.ToUndirected()(resolve("gate", max_distance=max_distance)(to_data([example])))
    with pytest.raises(ValueError, match="'edge_type' holds relation 2, which no edge has"):
        GATEConv(8, 4, max_distance=max_distance)(torch.randn(10, 8), data.edge_index, data.edge_type)


@pytest.mark.parametrize("name", ["transformer", "dt", "g2g"])
def test_implicit_edges_are_left_alone(example, name):
    data = resolve(name, implicit=True)(to_data([example]))
    assert_same_data(T.ToUndirected()(data), data)


@pytest.mark.parametrize("name", ["dt", "g2g"])
def test_reduced_to_one_of_the_two_they_stay_relations(example, name):
    """What the transform can be told to do; which of two directions it keeps is its own affair."""
    data = T.ToUndirected(reduce="min")(resolve(name)(to_data([example])))
    kept = resolve(name, directions=False)(to_data([example]))
    before, after = (
        attended(kept),
        dict(zip(map(tuple, data.edge_index.t().tolist()), data.edge_type.tolist())),
    )
    assert before == after
