"""Metrics of class labels."""

from __future__ import annotations

import numpy as np
import sklearn
from sklearn.metrics import accuracy_score

from graphdep.metrics.metric import Metric


def _accuracy(prediction: np.ndarray, target: np.ndarray) -> float:
    return accuracy_score(target, prediction)


def _majority_class(train: np.ndarray, target: np.ndarray) -> float:
    values, counts = np.unique(train, return_counts=True)
    return float(np.mean(target == values[counts.argmax()]))


ACCURACY = Metric(
    "accuracy",
    _accuracy,
    _majority_class,
    f"accuracy: share of right labels over the split (scikit-learn {sklearn.__version__}); "
    "floor: the most frequent class of the training split",
)
