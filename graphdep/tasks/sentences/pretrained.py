"""From settings to a pretrained encoder with syntax in it, and to the edges it attends along."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import nn

from graphdep.nn import attention as A
from graphdep.nn import models as M
from graphdep.tasks.sentences.config import SentenceConfig
from graphdep.tasks.sentences.edges import adds_nodes, pretrained_edges

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def build_pretrained_model(
    config: SentenceConfig, num_classes: int, num_relations: int, encoder: PretrainedEncoder
) -> M.SentenceModel:
    """The encoder with what the settings add to its layers, and a classifier of [CLS], not trained.

    Args:
        config: The settings.
        num_classes: Size of the output.
        num_relations: Number of relation ids.
        encoder: The encoder, with its weights. It is changed in place.
    """
    # First, so that all models of a seed have the same classifier: they then differ by their syntax alone.
    head = M.ClassificationHead(encoder.hidden_channels, num_classes, config.dropout, std=0.02)
    if adds_nodes(pretrained_edges(config)):
        encoder.add_relations(
            M.RelationEmbedding(
                num_relations, encoder.embedding_channels, type_embedding=config.type_embedding
            )
        )
    if config.relation_attention:
        encoder.add_terms(_terms(config, num_relations, encoder))
    if config.freeze_layers:
        encoder.freeze(config.freeze_layers)
    return M.SentenceModel(encoder, head)


def _terms(config: SentenceConfig, num_relations: int, encoder: PretrainedEncoder) -> Callable[[], nn.Module]:
    """Makes the relation terms of one layer after another."""
    size, heads = encoder.hidden_channels, encoder.heads
    unchanged = config.relation_start == "unchanged"
    if config.relation_terms == "key-value":
        start = "zero" if unchanged else "random"
        return lambda: A.RelationKeyValue(
            num_relations, heads, size // heads, scaling=config.scaling, start=start
        )
    made: list[A.GatedRelationScore] = []

    def make() -> nn.Module:
        made.append(
            A.GatedRelationScore(
                size,
                heads,
                num_relations,
                config.relation_dim,
                gate=config.gate,
                gate_state=config.gate_state,
                untyped=config.untyped,
                relation=made[0].relation if made else None,  # all layers share the vectors
                start="closed" if unchanged and config.gate != "sigmoid" else "random",
            )
        )
        return made[-1]

    return make
