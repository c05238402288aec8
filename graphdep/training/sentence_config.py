"""Every choice of a run on sentences or pairs of sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from graphdep.training.model_presets import MODELS, ModelPreset
from graphdep.training.train_config import DEFAULT_TASK, Choices, TrainConfig


@dataclass(frozen=True, kw_only=True)
class SentenceConfig(TrainConfig, kind="sentence"):
    """Settings of a run on sentences; the defaults are those of "Integrating Dependency Tree into
    Self-attention for Sentence Representation" where it gives them.

    Args:
        encoder: ``"transformer"``, over the edges, or a baseline that reads words or tree itself:
            ``"word-average"``, ``"lstm"``, ``"bilstm"``, ``"tree-lstm"``, ``"bitree-lstm"``,
            ``"tree-transformer"``. (default: ``"transformer"``)
        max_distance: Longest tree path that gets a relation: the infilling threshold. (default: :obj:`2`)
        labels: Tell labels of arcs apart. (default: :obj:`True`)
        directions: Tell a relation from its inverse. (default: :obj:`True`)
        hidden_channels, num_layers, heads, relation_dim, ff_channels, dropout, relation_attention, gate,
            gate_state, untyped, level_embedding, position_embedding, norm_first: Of
            :class:`~graphdep.nn.models.DependencyTransformer`. A baseline reads ``hidden_channels`` and
            ``dropout``, ``"tree-transformer"`` also ``heads`` and ``ff_channels``; the LSTMs have one layer.
        head_channels: Hidden size of the relatedness head of pairs. (default: :obj:`50`)
        **others: As in :class:`TrainConfig`.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = DEFAULT_TASK
    model: str = "dt"
    edges: str | None = "dt"
    max_distance: int = 2
    labels: bool = True
    directions: bool = True
    min_freq: int = 1
    max_epochs: int = 30
    patience: int | None = 6
    batch_size: int = 32
    optimizer: str = "adagrad"
    lr: float = 1e-3
    weight_decay: float = 0.0
    hidden_channels: int = 300
    num_layers: int = 3
    heads: int = 6
    relation_dim: int = 30
    ff_channels: int = 300
    dropout: float = 0.0
    relation_attention: bool = True
    gate: str | None = "sigmoid"
    gate_state: str = "query"
    untyped: str = "keep"
    level_embedding: bool = True
    head_channels: int = 50

    models: ClassVar[Mapping[str, ModelPreset]] = MODELS
    encoders: ClassVar[Mapping[str, bool]] = {
        "transformer": True,
        "word-average": False,
        "lstm": False,
        "bilstm": False,
        "tree-lstm": False,
        "bitree-lstm": False,
        "tree-transformer": False,
    }
    headed: ClassVar[tuple[str, ...]] = ("transformer", "tree-transformer")
    defining: ClassVar[tuple[str, ...]] = (
        *TrainConfig.defining,
        *("labels", "directions", "relation_attention", "gate", "gate_state", "untyped", "level_embedding"),
    )
    published_with: ClassVar[tuple[str, ...]] = (*TrainConfig.published_with, "relation_dim")
    choices: ClassVar[Choices] = {
        **TrainConfig.choices,
        "gate": (None, "sigmoid", "tanh"),
        "gate_state": ("query", "key"),
        "untyped": ("keep", "gate"),
    }
    at_least: ClassVar[Mapping[str, float]] = {
        **TrainConfig.at_least,
        "relation_dim": 1,
        "head_channels": 1,
    }
