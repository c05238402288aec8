"""Every choice of a run on labels of words of a corpus without trees of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from graphdep.tasks.labels.config import LabelConfig
from graphdep.tasks.labels.presets import PARSED_LABEL_MODELS
from graphdep.training.config import ModelPreset


@dataclass(frozen=True, kw_only=True)
class ParsedLabelConfig(LabelConfig, kind="parsed-labels"):
    """Settings of a run on labels of words whose trees a parser gives.

    Args:
        **others: As in :class:`LabelConfig`.
    """

    task: str = "cogs"
    trees: str = "parser"

    models: ClassVar[Mapping[str, ModelPreset]] = PARSED_LABEL_MODELS
