"""Attention over edges, its backends, and what a relation adds to a score."""

from graphdep.nn.attention.edge_attention import edge_attention
from graphdep.nn.attention.gated_relation_score import GatedRelationScore
from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.attention.packed_attention import packed_attention

__all__ = ["AttentionLayout", "GatedRelationScore", "edge_attention", "packed_attention"]
