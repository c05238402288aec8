"""What labels of spans can be had for without a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdep.tasks.spans.learning_task import SpanTask


def span_floors(task: SpanTask, train: Any, dataset: Any, prefix: str) -> dict[str, float]:
    """Scores of the most frequent label of the training split for every example (``<prefix>_<metric>``).

    Args:
        task: Says what is scored.
        train: The training split.
        dataset: The split that is scored.
        prefix: Its name.
    """
    known, target = _targets(train), _targets(dataset)
    often = np.full_like(target, np.bincount(known[known >= 0]).argmax())
    found, there = task.codes(often), task.codes(target)
    return {f"{prefix}_{name}": metric(found, there) for name, metric in task.reported.items()}


def _targets(dataset: Any) -> np.ndarray:
    whole = dataset if dataset._indices is None else dataset.copy()
    return whole.y.numpy()
