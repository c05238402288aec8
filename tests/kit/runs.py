"""What tests ask of runs: the evaluation with the places that a checkpoint names, the edges of settings."""

from __future__ import annotations

import os
from typing import Any

from torch_geometric.transforms import BaseTransform

from graphdep.training import TrainConfig, evaluate, read_checkpoint
from graphdep.training.task import family_of


def evaluate_own(
    checkpoint: str | os.PathLike[str], split: str = "test", *, settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    """:func:`~graphdep.training.evaluate` with the places and the parser that the checkpoint names."""
    config = read_checkpoint(checkpoint)["graphdep"]["config"]
    names = ("root", "parser", "train", "val", "test")
    own = {name: config[name] for name in names if config.get(name) is not None}
    return evaluate(checkpoint, split, settings={**own, **(settings or {})})


def build_edges(config: TrainConfig) -> BaseTransform:
    """The tree control and the edges of the settings."""
    return family_of(config.task).task_class.make_edges(config)
