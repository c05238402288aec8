"""What labels of spans can be had for without a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdep.metrics.scores import NOTHING
from graphdep.tasks.spans.learning_task import SpanTask
from graphdep.training.floors import look_up


def span_floors(task: SpanTask, train: Any, dataset: Any, prefix: str, ending: str) -> dict[str, float]:
    """Scores of two predictions: the most frequent label of the training split for every example, and for
    each example the commonest label there of what stands for its spans, or else the most frequent one
    (``<prefix>_<metric>_<ending>``). That is the way through the tree from one to the other, or of a span
    that is alone the form of its top word (:func:`~graphdep.datasets.spans.rows.span_key`). An example
    that has lost a span is wrong here, too.

    Args:
        task: Says what is scored.
        train: The training split.
        dataset: The split that is scored.
        prefix: Its name.
        ending: Of the second kind of scores.
    """
    keys, labels, _ = _columns(train)
    keys, labels = keys[labels >= 0], labels[labels >= 0]
    asked, target, lost = _columns(dataset)
    often = np.full_like(target, np.bincount(labels).argmax())
    looked_up = look_up(keys, labels, asked, otherwise=often)
    scores: dict[str, float] = {}
    for prediction, end in ((often, ""), (looked_up, f"_{ending}")):
        found = task.scores(np.where(lost, NOTHING, prediction), target)
        scores |= {f"{prefix}_{name}{end}": value for name, value in found.items()}
    return scores


def _columns(dataset: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What stands for each example of a split, its label, and whether it has lost a span."""
    whole = dataset if dataset._indices is None else dataset.copy()
    return whole.key_id.numpy(), whole.y.numpy(), whole.lost.numpy() > 0
