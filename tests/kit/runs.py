"""A run that is killed in the middle, and the evaluation of one with the places that its checkpoint names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphdep.training import TrainConfig, evaluate, read_checkpoint, train
from graphdep.training.family.learning_task import LearningTask


class _Killed(Exception):
    pass


def assert_resumes(config: TrainConfig, folder: Path, task: type[LearningTask]) -> dict[str, Tensor]:
    """Checks that a run that dies in its second epoch ends like one that does not: the same result, and the
    same weights in ``last.ckpt``, which it returns.

    Args:
        config: The settings, of three epochs of two batches at least.
        folder: Gets both runs.
        task: The class of the model that is trained.
    """
    whole = train(config, folder / "whole")
    with _killed(task):
        try:
            train(config, folder / "parts")
        except _Killed:
            pass
        else:
            raise AssertionError("the run was too short to be killed")
    resumed = train(config, folder / "parts", resume=True)
    for key in ("metrics", "floor", "tables", "epochs", "best_epoch"):
        assert whole.get(key) == resumed.get(key), key
    left, right = (read_checkpoint(folder / name / "last.ckpt")["state_dict"] for name in ("whole", "parts"))
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name
    return left


@contextmanager
def _killed(task: type[LearningTask]) -> Iterator[None]:
    original: Callable[..., Any] = task.training_step

    def step(self: LearningTask, batch: Any, batch_idx: int) -> Any:
        if (self.current_epoch, batch_idx) == (1, 1):
            raise _Killed
        return original(self, batch, batch_idx)

    task.training_step = step  # type: ignore[method-assign]
    try:
        yield
    finally:
        task.training_step = original  # type: ignore[method-assign]


def evaluate_own(
    checkpoint: str | os.PathLike[str], split: str = "test", *, settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    """:func:`~graphdep.training.evaluate` with the places and the parser that the checkpoint names."""
    config = read_checkpoint(checkpoint)["graphdep"]["config"]
    names = ("root", "parser", "train", "val", "test")
    own = {name: config[name] for name in names if config.get(name) is not None}
    return evaluate(checkpoint, split, settings={**own, **(settings or {})})
