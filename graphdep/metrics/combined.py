"""Means of two metrics of the same predictions."""

from __future__ import annotations

import numpy as np

from graphdep.metrics.classification import ACCURACY, F1
from graphdep.metrics.metric import Metric
from graphdep.metrics.relatedness import PEARSON, SPEARMAN


def mean_metric(name: str, first: Metric, second: Metric) -> Metric:
    """The mean of two metrics, and of their floors.

    Args:
        name: Its key in results.
        first, second: The metrics; more is better in both, and both have a floor.

    Raises:
        ValueError: If one of them has no floor, or less is better.
    """
    pair = (first, second)
    floors = [metric.floor for metric in pair if metric.floor is not None and metric.maximize]
    if len(floors) != len(pair):
        names = " and ".join(metric.name for metric in pair)
        raise ValueError(f"{name!r} must be of metrics with a floor that are maximised (got {names})")
    return Metric(
        name,
        lambda prediction, target: float(np.mean([metric.compute(prediction, target) for metric in pair])),
        lambda train, target: float(np.mean([floor(train, target) for floor in floors])),
        f"mean of {first.name} and {second.name}, GLUE's own score; {first.signature}; {second.signature}",
        weighted=lambda prediction, target, weight: np.mean(
            [metric.resampled(prediction, target, weight) for metric in pair], axis=0
        ),
    )


ACCURACY_F1 = mean_metric("accuracy_f1", ACCURACY, F1)
PEARSON_SPEARMAN = mean_metric("pearson_spearman", PEARSON, SPEARMAN)
