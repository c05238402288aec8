"""Attention over edges, its backends, and the score terms of relations."""

from graphdep.nn.attention.dense import packed_attention
from graphdep.nn.attention.edge_attention import edge_attention
from graphdep.nn.attention.layout import Adj, AttentionLayout, attach_layout
from graphdep.nn.attention.relations import (
    EdgeTerms,
    GatedRelationScore,
    GateValues,
    RelationKeyValue,
    RelationVectors,
)

__all__ = [
    "Adj",
    "AttentionLayout",
    "EdgeTerms",
    "GateValues",
    "GatedRelationScore",
    "RelationKeyValue",
    "RelationVectors",
    "attach_layout",
    "edge_attention",
    "packed_attention",
]
