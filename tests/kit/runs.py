"""The evaluation of a run with the places that its checkpoint names."""

from __future__ import annotations

import os
from typing import Any

from graphdep.training import evaluate, read_checkpoint


def evaluate_own(
    checkpoint: str | os.PathLike[str], split: str = "test", *, settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    """:func:`~graphdep.training.evaluate` with the places and the parser that the checkpoint names."""
    config = read_checkpoint(checkpoint)["graphdep"]["config"]
    names = ("root", "parser", "train", "val", "test")
    own = {name: config[name] for name in names if config.get(name) is not None}
    return evaluate(checkpoint, split, settings={**own, **(settings or {})})
