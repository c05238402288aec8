"""From settings to what they add to a pretrained encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import nn
from torch_geometric.transforms import BaseTransform

from graphdep.nn import attention as A
from graphdep.nn import models as M
from graphdep.training.family.encoder_settings import EncoderSettings
from graphdep.training.family.pretrained_edges import adds_nodes

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def add_syntax(
    config: EncoderSettings, num_relations: int, encoder: PretrainedEncoder, edges: BaseTransform
) -> None:
    """Gives an encoder what the settings add to its layers, not trained, and freezes those that stay.

    Args:
        config: The settings.
        num_relations: Number of relation ids.
        encoder: The encoder, with its weights. It is changed in place.
        edges: The edges it gets, of :func:`~graphdep.training.family.pretrained_edges.pretrained_edges`.
    """
    encoder.windows = config.windows
    if adds_nodes(edges):
        encoder.add_relations(
            M.RelationEmbedding(
                num_relations, encoder.embedding_channels, type_embedding=config.type_embedding
            )
        )
    if config.relation_attention:
        encoder.add_terms(_terms(config, num_relations, encoder))
    if config.freeze_layers:
        encoder.freeze(config.freeze_layers)


def _terms(
    config: EncoderSettings, num_relations: int, encoder: PretrainedEncoder
) -> Callable[[], nn.Module]:
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
