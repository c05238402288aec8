"""The loss of a split as a metric."""

from __future__ import annotations

from graphdep.metrics import Metric

LOSS = Metric(
    "loss",
    lambda prediction, target: float(prediction.mean()),
    None,
    "loss: cross entropy of masked pieces (mean over the pieces of the split) + cross entropy of relevance "
    "(mean over its samples)|dropout off|the draws of epoch 0",
    maximize=False,
    weighted=lambda prediction, target, weight: weight @ prediction / weight.sum(axis=1),
)
