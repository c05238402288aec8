"""Metrics of class labels."""

from __future__ import annotations

import numpy as np
import sklearn
from sklearn.metrics import accuracy_score, f1_score

from graphdep.metrics.metric import Metric


def _accuracy(prediction: np.ndarray, target: np.ndarray) -> float:
    return accuracy_score(target, prediction)


def _weighted_accuracy(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return weight @ (prediction == target).astype(np.float64) / weight.sum(axis=1)


def _f1(prediction: np.ndarray, target: np.ndarray) -> float:
    return f1_score(target, prediction, zero_division=0)


def _weighted_f1(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    found, true = prediction == 1, target == 1
    right, positive = (weight @ np.stack([found & true, found * 1.0 + true], axis=1)).T
    return np.divide(2 * right, positive, out=np.zeros(len(weight)), where=positive > 0)


def _majority_class(train: np.ndarray, target: np.ndarray) -> np.ndarray:
    values, counts = np.unique(train, return_counts=True)
    return np.full(target.shape, values[counts.argmax()])


ACCURACY = Metric(
    "accuracy",
    _accuracy,
    lambda train, target: _accuracy(_majority_class(train, target), target),
    f"accuracy: share of right labels over the split (scikit-learn {sklearn.__version__}); "
    "floor: the most frequent class of the training split",
    weighted=_weighted_accuracy,
)
F1 = Metric(
    "f1",
    _f1,
    lambda train, target: _f1(_majority_class(train, target), target),
    f"F1 of the positive class, label 1, over the split (scikit-learn {sklearn.__version__}), 0 where it is "
    "neither there nor predicted; floor: the most frequent class of the training split",
    weighted=_weighted_f1,
)
