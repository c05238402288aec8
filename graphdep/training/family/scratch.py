"""From settings to an encoder of words that is trained from scratch, and to its edges."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch_geometric.transforms import BaseTransform

from graphdep import transforms as T
from graphdep.nn import conv as C
from graphdep.nn import models as M
from graphdep.training.family.edges import PROBE, added_nodes
from graphdep.training.family.scratch_settings import CONVS


def _deep_lstm(num_words: int, *, hidden_channels: int, **options: Any) -> M.LSTMEncoder:
    """Two layers, two thirds of the channels a direction: about as many weights as two layers of a
    Transformer whose feed-forward part has twice the channels.
    """
    channels = 2 * (2 * hidden_channels // 3)
    sizes: dict[str, Any] = {"hidden_channels": channels, "in_channels": hidden_channels, "num_layers": 2}
    return M.LSTMEncoder(num_words, bidirectional=True, **sizes, **options)


# Baselines: each takes num_words, hidden_channels, dropout and vectors.
_BASELINES: dict[str, Callable[..., M.TextEncoder]] = {
    "word-average": M.WordAverage,
    "lstm": M.LSTMEncoder,
    "bilstm": functools.partial(M.LSTMEncoder, bidirectional=True),
    "bilstm-deep": _deep_lstm,
    "bigru": functools.partial(M.GRUEncoder, bidirectional=True),
    "tree-lstm": M.TreeLSTM,
    "bitree-lstm": functools.partial(M.TreeLSTM, bidirectional=True),
    "tree-transformer": M.TreeTransformer,
    "dt-rnn": M.DependencyTreeRNN,
}
# What single ones take besides.
_OWN = {
    "tree-transformer": ("heads", "ff_channels"),
    "word-average": ("window",),
    "dt-rnn": ("dependent_places", "places_from"),
}


def build_encoder(
    config: Any, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> M.TextEncoder:
    """The encoder of the settings, not trained.

    Args:
        config: A :class:`TrainConfig` with
            :class:`~graphdep.training.family.scratch_settings.ScratchSettings`.
        num_words, num_relations: Sizes of the vocabularies.
        vectors: Word vectors to start from, ``[num_words, dim]``. (default: :obj:`None`)
    """
    common: dict[str, Any] = {
        "hidden_channels": config.hidden_channels,
        "dropout": config.dropout,
        "vectors": vectors,
    }
    if config.encoder in CONVS:
        return M.GraphTransformer(
            num_words,
            _conv(config, num_relations),
            num_layers=config.num_layers,
            ff_channels=config.ff_channels,
            level_embedding=config.level_embedding,
            position_embedding=config.position_embedding,
            norm_first=config.norm_first,
            **common,
        )
    if config.encoder != "transformer":
        own = {name: getattr(config, name) for name in _OWN.get(config.encoder, ())}
        return _BASELINES[config.encoder](num_words, **common, **own)
    encoder = M.DependencyTransformer(
        num_words,
        num_relations,
        num_layers=config.num_layers,
        heads=config.heads,
        relation_dim=config.relation_dim,
        ff_channels=config.ff_channels,
        relation_attention=config.relation_attention,
        gate=config.gate,
        gate_state=config.gate_state,
        untyped=config.untyped,
        start=config.start,
        level_embedding=config.level_embedding,
        position_embedding=config.position_embedding,
        norm_first=config.norm_first,
        embedding_scale=config.embedding_scale,
        **common,
    )
    if config.edges is not None and added_nodes(T.resolve(config.edges)):
        size, kind = config.hidden_channels, config.type_embedding
        encoder.add_relations(M.RelationEmbedding(num_relations, size, type_embedding=kind, std=size**-0.5))
    return encoder


def _conv(config: Any, num_relations: int) -> Callable[[int], nn.Module]:
    """The attention of each layer by its number."""
    sizes = config.hidden_channels, config.hidden_channels // config.heads, config.heads

    def conv(layer: int) -> nn.Module:
        if config.encoder == "g2g":
            return C.RelationKeyValueConv(*sizes, num_relations=num_relations, dropout=config.dropout)
        if config.encoder == "gate":
            return C.GATEConv(*sizes, max_distance=max(1, config.max_distance), dropout=config.dropout)
        # LISA gives one layer a syntactic head; in the middle, as far as there is one.
        kind = C.LISAConv if layer == config.num_layers // 2 else C.AttentionConv
        return kind(*sizes, dropout=config.dropout)

    return conv


def with_types(config: Any, edges: BaseTransform) -> list[BaseTransform]:
    """The edges, and their types where the model needs and the edges lack them; settings as of
    :func:`build_encoder`.
    """
    if not config.relation_attention or "edge_type" in edges(PROBE.clone()):
        return [edges]
    types: list[BaseTransform] = [edges, T.TreePathTypes(config.max_distance)]
    if not (config.labels and config.directions):
        types.append(T.MergeTypes(labels=config.labels, directions=config.directions))
    return types
