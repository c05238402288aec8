"""From settings to the models of sentences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from graphdep.nn import models as M
from graphdep.tasks.sentences.config import SentenceConfig

# Baselines: each takes num_words, hidden_channels, dropout and vectors.
_BASELINES: dict[str, Callable[..., M.TextEncoder]] = {
    "word-average": M.WordAverage,
    "lstm": M.LSTMEncoder,
    "bilstm": functools.partial(M.LSTMEncoder, bidirectional=True),
    "tree-lstm": M.TreeLSTM,
    "bitree-lstm": functools.partial(M.TreeLSTM, bidirectional=True),
    "tree-transformer": M.TreeTransformer,
}


def build_model(
    config: SentenceConfig,
    num_words: int,
    num_relations: int,
    vectors: Tensor | None = None,
    *,
    num_classes: int,
) -> M.SentenceModel | M.SentencePairModel:
    """Encoder and head, not trained."""
    encoder = build_encoder(config, num_words, num_relations, vectors)
    if config.num_texts == 1:
        head: nn.Module = M.ClassificationHead(encoder.hidden_channels, num_classes, config.dropout)
        return M.SentenceModel(encoder, head)
    head = M.RelatednessHead(encoder.hidden_channels, num_classes, config.head_channels)
    return M.SentencePairModel(encoder, head)


def build_encoder(
    config: SentenceConfig, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> M.TextEncoder:
    """The encoder alone, not trained."""
    common: dict[str, Any] = {
        "hidden_channels": config.hidden_channels,
        "dropout": config.dropout,
        "vectors": vectors,
    }
    if config.encoder != "transformer":
        sizes = {"heads": config.heads, "ff_channels": config.ff_channels}
        own = sizes if config.encoder == "tree-transformer" else {}
        return _BASELINES[config.encoder](num_words, **common, **own)
    return M.DependencyTransformer(
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
        level_embedding=config.level_embedding,
        position_embedding=config.position_embedding,
        norm_first=config.norm_first,
        **common,
    )
