"""The rows of a result table on labels of words."""

from __future__ import annotations

import dataclasses

from graphdep.training.config import ModelPreset
from graphdep.training.encoder_config import WORD_MODELS

LABEL_MODELS: dict[str, ModelPreset] = {
    name: dataclasses.replace(preset, trees="gold") for name, preset in WORD_MODELS.items()
}
"""Those on the corpus' own trees, so that they share their data; ``model@parser`` has the parser's."""
PARSED_LABEL_MODELS: dict[str, ModelPreset] = dict(WORD_MODELS)
"""Those for corpora that have no trees of their own."""
