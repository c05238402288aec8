"""From settings to a pretrained encoder with syntax in it, and to the edges it attends along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphdep.nn import models as M
from graphdep.tasks.sentences.build import with_head
from graphdep.tasks.sentences.config import SentenceConfig
from graphdep.training.build import add_syntax, pretrained_edges

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def build_pretrained_model(
    config: SentenceConfig, num_classes: int, num_relations: int, encoder: PretrainedEncoder
) -> M.SentenceModel:
    """The encoder with what the settings add to its layers, and a classifier of [CLS], not trained; or, if it
    is frozen, as it is, with the head that models trained from scratch have.

    Args:
        config: The settings.
        num_classes: Size of the output.
        num_relations: Number of relation ids.
        encoder: The encoder, with its weights. It is changed in place.
    """
    if config.frozen:
        return with_head(config, M.FrozenEncoder(encoder), num_classes)
    # First, so that all models of a seed have the same classifier: they then differ by their syntax alone.
    head = M.ClassificationHead(encoder.hidden_channels, num_classes, config.dropout, std=0.02)
    add_syntax(config, num_relations, encoder, pretrained_edges(config))
    return M.SentenceModel(encoder, head)
