"""The rows of a result table on labels of words."""

from __future__ import annotations

from graphdep.training.family.model_preset import ModelPreset
from graphdep.training.family.word_models import WORD_MODELS, on_own_trees

LABEL_MODELS: dict[str, ModelPreset] = on_own_trees(WORD_MODELS)
PARSED_LABEL_MODELS: dict[str, ModelPreset] = dict(WORD_MODELS)
"""Those for corpora that have no trees of their own."""
