"""Helpers for tests of runs."""

from __future__ import annotations

import os
from typing import Any

from torch_geometric.transforms import BaseTransform

from graphdep.training import TrainConfig, evaluate, read_checkpoint
from graphdep.training.task import family_of

# Models and trainings of a fraction of a second.
SIZES: dict[str, Any] = {
    "hidden_channels": 8,
    "ff_channels": 8,
    "num_layers": 1,
    "heads": 2,
    "relation_dim": 4,
}
SHORT: dict[str, Any] = {"max_epochs": 1, "batch_size": 8, "lr": 0.05, "accelerator": "cpu"}


def evaluate_own(
    checkpoint: str | os.PathLike[str], split: str = "test", *, settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    """:func:`~graphdep.training.evaluate` with the paths and the parser in the checkpoint."""
    config = read_checkpoint(checkpoint)["graphdep"]["config"]
    names = ("root", "parser", "train", "val", "test")
    own = {name: config[name] for name in names if config.get(name) is not None}
    return evaluate(checkpoint, split, settings={**own, **(settings or {})})


def build_edges(config: TrainConfig) -> BaseTransform:
    """The tree control and the edges of the settings."""
    return family_of(config.task).task_class.make_edges(config)


def check_again(folder: str | os.PathLike[str], result: dict[str, Any]) -> None:
    """Asserts that the checkpoint of a run has the scores of the run."""
    splits = [split for split in ("val", "test") if f"{split}_loss" in result["metrics"]]
    for split in splits:
        again = evaluate_own(os.path.join(folder, "best.ckpt"), split)
        for kind in ("metrics", "floor"):
            assert again[kind] == {name: v for name, v in result[kind].items() if name.startswith(split)}
        tables = result.get("tables", {})
        assert again.get("tables", {}) == {name: v for name, v in tables.items() if name == split}
