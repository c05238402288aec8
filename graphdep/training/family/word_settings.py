"""Settings of tasks on words, and what small models of words are trained with unless a run says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from graphdep.training.family.encoder_settings import EncoderSettings
from graphdep.training.family.scratch_settings import HEADED, SCRATCH_ENCODERS


@dataclass(frozen=True, kw_only=True)
class WordSettings(EncoderSettings):
    """Defaults of a :class:`TrainConfig` whose model reads states of words, for it to inherit from as well:
    two layers of 128 channels, Adam at 1e-3, gradients clipped at 1, at most 20 epochs.

    Args:
        **others: As in :class:`~graphdep.training.family.encoder_settings.EncoderSettings` and
            :class:`TrainConfig`.
    """

    edges: str | None = "dt"
    max_distance: int = 2
    min_freq: int = 2
    max_epochs: int = 20
    patience: int | None = 5
    batch_size: int = 32
    optimizer: str = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    clip: float | None = 1.0
    hidden_channels: int = 128
    num_layers: int = 2
    heads: int = 4
    ff_channels: int = 256
    dropout: float = 0.1
    max_length: int = 256

    encoders: ClassVar[Mapping[str, bool]] = SCRATCH_ENCODERS
    headed: ClassVar[tuple[str, ...]] = HEADED
