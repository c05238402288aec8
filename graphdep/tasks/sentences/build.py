"""From settings to the models of sentences."""

from __future__ import annotations

from torch import Tensor, nn

from graphdep.nn import models as M
from graphdep.tasks.sentences.config import SentenceConfig
from graphdep.tasks.sentences.tree_build import build_tree_encoder
from graphdep.tasks.sentences.tree_settings import TREE_ENCODERS
from graphdep.training.build import build_encoder


def build_model(
    config: SentenceConfig,
    num_words: int,
    num_relations: int,
    vectors: Tensor | None = None,
    *,
    num_classes: int,
) -> M.SentenceModel | M.SentencePairModel:
    """Encoder and head, not trained."""
    if config.encoder in TREE_ENCODERS:
        encoder = build_tree_encoder(config, num_words, vectors)
    else:
        encoder = build_encoder(config, num_words, num_relations, vectors)
    return with_head(config, encoder, num_classes)


def with_head(
    config: SentenceConfig, encoder: M.TextEncoder, num_classes: int
) -> M.SentenceModel | M.SentencePairModel:
    """The encoder with the head of those that give each text a vector: a classifier, or of pairs a
    comparison.
    """
    if config.num_texts == 1:
        head: nn.Module = M.ClassificationHead(encoder.hidden_channels, num_classes, config.dropout)
        return M.SentenceModel(encoder, head)
    head = M.RelatednessHead(encoder.hidden_channels, num_classes, config.head_channels)
    return M.SentencePairModel(encoder, head)
