"""From settings to the encoders that go through trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from graphdep.nn import models as M
from graphdep.tasks.sentences.tree_settings import TREE_ENCODERS

_CLASSES: dict[str, Callable[..., M.TextEncoder]] = {
    "tree-lstm-ct": M.BinaryTreeLSTM,
    "rntn": M.RNTN,
    "bitree-lstm-ct": M.BiTreeLSTM,
    "dc-treelstm": M.DCTreeLSTM,
    "taghypertreelstm": M.TagHyperTreeLSTM,
    "use": M.UniversalEncoder,
    "tree-transformer-ct": M.ConstituencyTreeTransformer,
    "tree-transformer-dt": M.DependencyTreeTransformer,
}


def build_tree_encoder(config: Any, num_words: int, vectors: Tensor | None = None) -> M.TextEncoder:
    """The encoder of the settings, not trained.

    Args:
        config: A :class:`SentenceConfig` with one of :data:`TREE_ENCODERS`.
        num_words: Size of the vocabulary.
        vectors: Word vectors to start from, ``[num_words, dim]``. (default: :obj:`None`)
    """
    own = {name: getattr(config, name) for name in TREE_ENCODERS[config.encoder]}
    return _CLASSES[config.encoder](
        num_words, hidden_channels=config.hidden_channels, dropout=config.dropout, vectors=vectors, **own
    )
