"""Encoders, heads and the papers' models."""

from graphdep.nn.models.dependency_transformer import DependencyTransformer
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.relatedness_head import RelatednessHead
from graphdep.nn.models.sentence_pair_model import SentencePairModel
from graphdep.nn.models.transformer_layer import TransformerLayer

__all__ = [
    "DependencyTransformer",
    "NodeEmbedding",
    "RelatednessHead",
    "SentencePairModel",
    "TransformerLayer",
]
