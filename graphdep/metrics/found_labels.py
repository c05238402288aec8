"""Metrics of labels that are found or not: 0 for no finding, a code above 0 for each thing that is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sklearn

from graphdep.metrics.classification import ACCURACY
from graphdep.metrics.metric import Metric

SPAN = 100_000
"""Codes from here on are spans: this many times the number of the label, and the length in words."""
UNKNOWN_CODE = -1
"""A label that training does not have."""
NOTHING = -2
"""No prediction, as the word was cut away."""


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
    rows = []
    for label in np.union1d(labels_of(prediction), labels_of(target)):
        if label in (0, NOTHING):
            continue
        there, found = labels_of(target) == label, labels_of(prediction) == label
        right = float((there & (prediction == target) & (label != UNKNOWN_CODE)).sum())
        counts = {"there": float(there.sum()), "found": float(found.sum()), "right": right}
        shares = {
            "precision": right / counts["found"] if counts["found"] else 0.0,
            "recall": right / counts["there"] if counts["there"] else 0.0,
            "f1": 2 * right / (counts["found"] + counts["there"]),
        }
        rows.append({"label": float(label), **counts, **shares})
    return rows


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
    found, there = labels_of(prediction), labels_of(target)
    right = (prediction == target) & (target > 0)
    total, number = np.zeros(len(weight)), np.zeros(len(weight))
    for label in np.setdiff1d(np.union1d(found, there), (0, NOTHING)):
        either = weight @ ((found == label) * 1.0 + (there == label))
        hits = weight @ (right & (there == label)).astype(np.float64)
        total += np.divide(2 * hits, either, out=np.zeros(len(weight)), where=either > 0)
        number += either > 0
    return np.divide(total, number, out=np.zeros(len(weight)), where=number > 0)


_WORDS = (
    "over all scored words of the split, one by one (so do tests between systems, which do not draw whole "
    "sentences); a label that training does not have is wrong"
)
WORD_ACCURACY: Metric = replace(
    ACCURACY, signature=f"accuracy: share of right labels {_WORDS} (scikit-learn {sklearn.__version__})"
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
