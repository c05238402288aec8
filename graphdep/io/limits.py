"""The least and the most of every number that a user or a file can give.

More would take memory or time that no machine has, and end without a line that says which number it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

MAX_WORDS = 10_000
"""Words of a text unless others are asked for: without syntax every word sees every other."""

_LAYERS = (1, 1_000)
_CHANNELS = (1, 16_384)
_EXAMPLES = 100_000_000
_SEED = (0, 2**32 - 1)  # NumPy's largest
_FLOAT = 3e38  # float32 ends there

LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        # Data.
        "limit_train": (1, _EXAMPLES),
        "limit_eval": (1, _EXAMPLES),
        "limit_generate": (0, _EXAMPLES),
        "max_words": (1, 1_000_000),
        "max_turns": (1, 10_000),
        "max_length": (1, 100_000),
        "min_freq": (1, _EXAMPLES),
        "pieces": (261, 1_000_000),  # at least special symbols and bytes
        "pool_size": (2, 1_000_000),
        "short_context": (1, 10_000),
        "manipulated_turns": (2, 10_000),
        "cuts": (0, 10_000),
        "order_places": (2, 10_000),
        "sentences": (1, 10_000_000),
        "val_fraction": (0, 1),
        "parse_errors": (0, 1),
        "share_masked": (0, 1),
        # Edges.
        "max_distance": (0, 10_000),
        "window": (0, 10_000),
        "max_sum": (0, 10_000),
        # Models.
        "dependent_places": (1, 1_000),
        "hidden_channels": _CHANNELS,
        "head_channels": _CHANNELS,
        "relation_dim": _CHANNELS,
        "meta_channels": _CHANNELS,
        "match_channels": _CHANNELS,
        "image_words": (5, 1_000),
        "image_turns": (1, 1_000),
        "ff_channels": (1, 65_536),
        "heads": (1, 1_024),
        "num_layers": _LAYERS,
        "context_layers": _LAYERS,
        "decoder_layers": _LAYERS,
        "sia_layer": _LAYERS,
        "sia_layers": _LAYERS,
        "mlp_layers": _LAYERS,
        "freeze_layers": (0, 1_000),
        "dropout": (0, 1),
        # Training.
        "seed": _SEED,
        "val_seed": _SEED,
        "max_epochs": (1, 1_000_000),
        "val_every": (1, 1_000_000),
        "log_every": (1, 1_000_000),
        "patience": (1, 1_000_000),
        "batch_size": (1, 1_000_000),
        "batch_tokens": (1, _EXAMPLES),
        "batch_pieces": (1, _EXAMPLES),
        "lr": (0, _FLOAT),
        "head_lr": (0, _FLOAT),
        "layer_decay": (0, 1),
        "insertion_weight": (0, _FLOAT),
        "deletion_weight": (0, _FLOAT),
        "search_weight": (0, _FLOAT),
        "order_weight": (0, _FLOAT),
        "backbone_weight": (0, _FLOAT),
        "warmup_steps": (1, _EXAMPLES),
        "weight_decay": (0, _FLOAT),
        "clip": (0, _FLOAT),
        "num_workers": (0, 4 * (os.cpu_count() or 1)),
        "devices": (1, 1_000),
        "nodes": (1, 100_000),
        # Decoding.
        "beams": (1, 10_000),
        "num_return": (1, 10_000),
        "min_length": (0, 100_000),
        "length_penalty": (0, _FLOAT),
        "no_repeat_ngram": (0, 100_000),
        "temperature": (1e-6, _FLOAT),
        "top_k": (0, _EXAMPLES),
        "top_p": (0, 1),
        # Of the command line and of a call.
        "seeds": (1, 1_000),
        "workers": (1, 1_024),
        "samples": (1, 10_000_000),
        "raters": (1, 1_000),
    }
)
LARGEST_COUNT = 2**22
"""The most of anything that the configuration of a pretrained encoder counts, but for its layers."""


def check_limit(name: str, value: Any, least: float | None = None) -> None:
    """Raises :class:`ValueError`, with name and value, if a number is outside of its limits.

    Args:
        name: Its name in :data:`LIMITS`.
        value: The number.
        least: A least value in place of the table's. (default: :obj:`None`)
    """
    lowest, most = LIMITS[name]
    lowest = lowest if least is None else least
    if not value >= lowest:  # NaN is not, either
        raise ValueError(f"{name!r} must be at least {lowest} (got {value!r})")
    if value > most:
        raise ValueError(f"{name!r} must be at most {most} (got {value!r})")


def check_whole(name: str, value: Any, least: float | None = None) -> None:
    """As :func:`check_limit`, and if it is no whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name!r} must be a whole number (got {value!r})")
    check_limit(name, value, least)
