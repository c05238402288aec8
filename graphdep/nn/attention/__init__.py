"""Attention over edges, its backends, and what a relation adds to a score."""

from graphdep.nn.attention.attached_layout import attach_layout
from graphdep.nn.attention.edge_attention import edge_attention
from graphdep.nn.attention.edge_terms import EdgeTerms
from graphdep.nn.attention.gated_relation_score import GatedRelationScore
from graphdep.nn.attention.layout import Adj, AttentionLayout
from graphdep.nn.attention.packed_attention import packed_attention
from graphdep.nn.attention.relation_key_value import RelationKeyValue
from graphdep.nn.attention.relation_vectors import RelationVectors

__all__ = [
    "Adj",
    "AttentionLayout",
    "EdgeTerms",
    "GatedRelationScore",
    "RelationKeyValue",
    "RelationVectors",
    "attach_layout",
    "edge_attention",
    "packed_attention",
]
