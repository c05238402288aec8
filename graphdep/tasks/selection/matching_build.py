"""From settings to the models that match each utterance with the response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from graphdep.nn import models as M
from graphdep.tasks.selection.matching_settings import MATCHING_ENCODERS
from graphdep.vocab import UNK_ID

_CLASSES: dict[str, Callable[..., M.MatchingModel]] = {
    "smn": M.SMN,
    "dua": M.DUA,
    "dam-2018": M.DeepAttentionMatching,
    "ioi": M.IOI,
}
# Names of settings that are other ones of the classes.
_ARGUMENTS = {
    "image_words": "max_words",
    "image_turns": "max_turns",
    "matching_form": "form",
    "block_objective": "objective",
}


def build_matching_model(config: Any, num_words: int, vectors: Tensor | None = None) -> M.MatchingModel:
    """The model of the settings, not trained.

    Args:
        config: A :class:`SelectionConfig` with one of :data:`MATCHING_ENCODERS`.
        num_words: Size of the vocabulary.
        vectors: Word vectors to start from, ``[num_words, dim]``, of which that of [UNK], which no file has,
            is set to 0: see :class:`MatchingModel`. (default: :obj:`None`)
    """
    if vectors is not None:
        vectors = vectors.clone()
        vectors[UNK_ID] = 0
    own = {_ARGUMENTS.get(name, name): getattr(config, name) for name in MATCHING_ENCODERS[config.encoder]}
    return _CLASSES[config.encoder](
        num_words, hidden_channels=config.hidden_channels, dropout=config.dropout, vectors=vectors, **own
    )
