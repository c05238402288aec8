"""Metrics of class labels."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from graphdep.metrics.metric import Metric

# scikit-learn and SciPy are left to the functions that need them: a task is known by its metrics, and told of
# without computing any.
SCIKIT_LEARN = f"scikit-learn {version('scikit-learn')}"


def _accuracy(prediction: np.ndarray, target: np.ndarray) -> float:
    from sklearn.metrics import accuracy_score

    return accuracy_score(target, prediction)


def _weighted_accuracy(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return weight @ (prediction == target).astype(np.float64) / weight.sum(axis=1)


def _f1(prediction: np.ndarray, target: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return f1_score(target, prediction, zero_division=0)


def _weighted_f1(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    found, true = prediction == 1, target == 1
    right, positive = (weight @ np.stack([found & true, found * 1.0 + true], axis=1)).T
    return np.divide(2 * right, positive, out=np.zeros(len(weight)), where=positive > 0)


def _macro_f1(prediction: np.ndarray, target: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return f1_score(target, prediction, average="macro", zero_division=0)


def _weighted_macro_f1(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    from scipy import sparse

    # Per class how often it is right, and how often predicted or there. One class an example makes sparse
    # tables, and there may be thousands of classes.
    labels, place = np.unique(np.concatenate([prediction, target]), return_inverse=True)
    found, true = place.reshape(2, -1)
    examples = np.arange(found.size)
    both = np.concatenate([found, true]), np.concatenate([examples, examples])
    shape = len(labels), found.size
    counts = np.ascontiguousarray(weight.T, dtype=np.float64)
    right = sparse.csr_array((2.0 * (found == true), (found, examples)), shape) @ counts
    positive = sparse.csr_array((np.ones(2 * found.size), both), shape) @ counts
    scores = np.divide(right, positive, out=np.zeros_like(right), where=positive > 0)
    return scores.sum(axis=0) / (positive > 0).sum(axis=0)


def _mcc(prediction: np.ndarray, target: np.ndarray) -> float:
    # Undefined where one side has a single label: nothing was seen.
    if np.ptp(prediction) == 0 or np.ptp(target) == 0:
        return 0.0
    from sklearn.metrics import matthews_corrcoef

    return matthews_corrcoef(target, prediction)


def _weighted_mcc(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    # For any number of classes, as scikit-learn has it: a covariance of indicators over their deviations.
    labels = np.union1d(prediction, target)
    found, true = (np.equal.outer(values, labels).astype(np.float64) for values in (prediction, target))
    right, size = weight @ (found * true).sum(axis=1), weight.sum(axis=1).astype(np.float64)
    found, true = weight @ found, weight @ true  # how often each label is predicted, and is there
    covariance = right * size - (found * true).sum(axis=1)
    scale = np.sqrt((size**2 - (found**2).sum(axis=1)) * (size**2 - (true**2).sum(axis=1)))
    return np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)


def _majority_class(train: np.ndarray, target: np.ndarray) -> np.ndarray:
    values, counts = np.unique(train, return_counts=True)
    return np.full(target.shape, values[counts.argmax()])


ACCURACY = Metric(
    "accuracy",
    _accuracy,
    lambda train, target: _accuracy(_majority_class(train, target), target),
    f"accuracy: share of right labels over the split ({SCIKIT_LEARN}); "
    "floor: the most frequent class of the training split",
    weighted=_weighted_accuracy,
)
F1 = Metric(
    "f1",
    _f1,
    lambda train, target: _f1(_majority_class(train, target), target),
    f"F1 of the positive class, label 1, over the split ({SCIKIT_LEARN}), 0 where it is "
    "neither there nor predicted; floor: the most frequent class of the training split",
    weighted=_weighted_f1,
)
MACRO_F1 = Metric(
    "macro_f1",
    _macro_f1,
    lambda train, target: _macro_f1(_majority_class(train, target), target),
    f"macro_f1: mean of the F1 of all classes that the split has or that are predicted "
    f"({SCIKIT_LEARN}), 0 where one is not there or not predicted; floor: the most frequent class of "
    "the training split",
    weighted=_weighted_macro_f1,
)
MCC = Metric(
    "mcc",
    _mcc,
    lambda train, target: 0.0,
    f"MCC: Matthews correlation coefficient over the split ({SCIKIT_LEARN}), 0 where "
    "predictions or targets have a single label; floor: 0, a constant prediction",
    weighted=_weighted_mcc,
)
