"""From settings to the model of labels of words."""

from __future__ import annotations

from torch import Tensor

from graphdep.nn.models import TokenModel
from graphdep.tasks.labels.config import LabelConfig
from graphdep.training.family.scratch import build_encoder


def build_label_model(
    config: LabelConfig,
    num_words: int,
    num_relations: int,
    vectors: Tensor | None = None,
    *,
    num_classes: int,
) -> TokenModel:
    """Encoder and head, not trained."""
    encoder = build_encoder(config, num_words, num_relations, vectors)
    return TokenModel(encoder, num_classes, config.dropout)
