"""The official score of SemEval-2010 Task 8."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from graphdep.metrics.metric import Metric

_DIRECTION = re.compile(r"\(e[12],e[12]\)$")
_OTHER = "Other"


def semeval2010_macro_f1(labels: Sequence[str]) -> Metric:
    r"""The official score of `"SemEval-2010 Task 8" <https://aclanthology.org/S10-1006/>`_: macro F1 over
    the relations, direction taken into account, *Other* left out.

    .. math::
        F_r = \frac{2 c_r}{p_r + g_r} \qquad F = \frac{1}{|R|} \sum_{r \in R} F_r

    where :math:`p_r` and :math:`g_r` are how many examples are predicted to be, and are, of relation
    :math:`r` in either direction, :math:`c_r` how many are so with the right direction, and :math:`R` the
    relations that the targets have: nine in the test file. So a wrong direction is one example too many in
    :math:`p_r`, which is what *xDIRx* is in the official scorer. A number that is no label, such as -1, is
    none of the relations, predicted or there.

    Args:
        labels: The classes by their numbers, such as ``Cause-Effect(e1,e2)`` and ``Other``. Without
            directions it is the scorer's evaluation that ignores them.

    Raises:
        ValueError: If there is no relation among them.

    Example:
        >>> import numpy as np
        >>> from graphdep.metrics import semeval2010_macro_f1
        >>> metric = semeval2010_macro_f1(["A-B(e1,e2)", "A-B(e2,e1)", "Other"])
        >>> metric(np.array([0, 1, 2]), np.array([0, 0, 2]))  # 1 of 2 predicted, and of 2 that there are
        0.5
    """
    names = [None if label == _OTHER else _DIRECTION.sub("", label) for label in labels]
    relations = sorted({name for name in names if name is not None})
    if not relations:
        raise ValueError(f"'labels' has no relation (got {', '.join(labels) or 'none'})")
    # The last entry is for -1 and whatever else is no label.
    relation_of = np.array([*(-1 if name is None else relations.index(name) for name in names), -1])

    def weighted(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
        found, true = (
            np.equal.outer(relation_of[_within(numbers, len(labels))], np.arange(len(relations)))
            for numbers in (prediction, target)
        )
        right = weight @ (found * (prediction == target)[:, None]).astype(np.float64)
        predicted, there = weight @ found.astype(np.float64), weight @ true.astype(np.float64)
        scores = 2 * right / np.maximum(predicted + there, 1)
        return (scores * (there > 0)).sum(axis=1) / np.maximum((there > 0).sum(axis=1), 1)

    def compute(prediction: np.ndarray, target: np.ndarray) -> float:
        return float(weighted(prediction, target, np.ones((1, len(target))))[0])

    def floor(train: np.ndarray, target: np.ndarray) -> float:
        values, counts = np.unique(train, return_counts=True)
        return compute(np.full(target.shape, values[counts.argmax()]), target)

    directions = (
        "taking directions into account" if len(relations) < len(labels) - 1 else "without directions"
    )
    return Metric(
        "macro_f1",
        compute,
        floor,
        f"macro_f1: mean of the F1 of the relations that the split has, {directions}, Other left out, as "
        "(9+1)-way evaluation of semeval2010_task8_scorer-v1.2 (graphdep's own); floor: the most frequent "
        "class of the training split",
        weighted=weighted,
    )


def _within(numbers: np.ndarray, size: int) -> np.ndarray:
    """The numbers, with ``size`` in place of those that are no label."""
    return np.where((numbers >= 0) & (numbers < size), numbers, size)
