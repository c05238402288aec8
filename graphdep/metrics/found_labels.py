"""Metrics of labels that are found or not: 0 for no finding, a code above 0 for each thing that is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphdep.metrics.classification import ACCURACY, SCIKIT_LEARN
from graphdep.metrics.metric import Metric

SPAN = 1_000_000
"""Codes from here on are spans: this many times the number of the label, and the length in words."""
NOTHING = -2
"""No prediction, as the word was cut away."""
_NO_LABELS = (0, NOTHING)


def micro_f1(prediction: np.ndarray, target: np.ndarray) -> float:
    """Of all things found and there: 2 right / (found + there); 0 where there are none."""
    right, either = _counts(prediction, target)
    return float(2 * right.sum() / either.sum()) if either.any() else 0.0


def macro_f1(prediction: np.ndarray, target: np.ndarray) -> float:
    """Mean of the F1 of all labels that are found or there; 0 where there are none."""
    scores = [row["f1"] for row in label_table(prediction, target)]
    return float(np.mean(scores)) if scores else 0.0


def label_table(prediction: np.ndarray, target: np.ndarray) -> list[dict[str, float]]:
    """For each label its number, how often it is there, found and right, and precision, recall and F1."""
    labels, found, there = _places(prediction, target)
    right = there[(prediction == target) & (target > 0)]
    counts = [np.bincount(places, minlength=len(labels)).tolist() for places in (there, found, right)]
    return [_row(label, *own) for label, own in zip(labels.tolist(), zip(*counts)) if label not in _NO_LABELS]


def _row(label: int, there: int, found: int, right: int) -> dict[str, float]:
    return {
        "label": label,
        "there": there,
        "found": found,
        "right": right,
        "precision": right / found if found else 0.0,
        "recall": right / there if there else 0.0,
        "f1": 2 * right / (found + there),
    }


def labels_of(codes: np.ndarray) -> np.ndarray:
    """The numbers of the labels of codes."""
    return np.where(codes >= SPAN, codes // SPAN, codes)


def _counts(prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    right = (prediction == target) & (target > 0)
    return right.astype(np.float64), (prediction > 0) * 1.0 + (target != 0)


def _weighted_micro_f1(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    right, either = (weight @ np.stack(_counts(prediction, target), axis=1)).T
    return np.divide(2 * right, either, out=np.zeros(len(weight)), where=either > 0)


def _weighted_macro_f1(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    from scipy import sparse

    # One label a word makes sparse tables, and there may be thousands of labels.
    labels, found, there = _places(prediction, target)
    words, kept = np.arange(target.size), ~np.isin(labels, _NO_LABELS)
    both = np.concatenate([found, there]), np.concatenate([words, words])
    shape, counts = (len(labels), target.size), np.ascontiguousarray(weight.T, dtype=np.float64)
    hits = 2.0 * ((prediction == target) & (target > 0))
    right = sparse.csr_array((hits, (there, words)), shape)[kept] @ counts
    either = sparse.csr_array((np.ones(2 * target.size), both), shape)[kept] @ counts
    total = np.divide(right, either, out=np.zeros_like(right), where=either > 0).sum(axis=0)
    number = (either > 0).sum(axis=0)
    return np.divide(total, number, out=np.zeros(len(weight)), where=number > 0)


def _places(prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The numbers of all labels that are found or there, and the place among them of each that is found, and
    of each that is there.
    """
    codes = np.concatenate([labels_of(prediction), labels_of(target)])
    labels, places = np.unique(codes, return_inverse=True)
    found, there = places.reshape(2, -1)
    return labels, found, there


_WORDS = (
    "over all scored words of the split, one by one (comparisons of systems draw whole sentences); a label "
    "that training does not have is wrong"
)
WORD_ACCURACY: Metric = replace(
    ACCURACY, signature=f"accuracy: share of right labels {_WORDS} ({SCIKIT_LEARN})"
)
WORD_F1 = Metric(
    "f1",
    micro_f1,
    None,
    f"f1: micro-averaged F1 of all labels but that of no finding, {_WORDS}",
    weighted=_weighted_micro_f1,
)
WORD_MACRO_F1 = Metric(
    "macro_f1",
    macro_f1,
    None,
    "macro_f1: mean of the F1 of all labels, but that of no finding, that the split has or that are "
    f"predicted, {_WORDS}",
    weighted=_weighted_macro_f1,
)
EXACT: Metric = replace(
    ACCURACY,
    name="exact",
    signature="exact: share of the examples whose scored words are all right; examples of one group, such as "
    "the predicates of a sentence, count as one",
)
