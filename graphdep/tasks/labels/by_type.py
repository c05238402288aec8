"""Whole examples that are right, apart for each type of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdep.tasks.labels.scoring import ScoredWords


def exact_by_type(dataset: Any, right: np.ndarray, words: ScoredWords) -> list[dict[str, Any]]:
    """A row for each type of groups of examples: its name, their number, and the share that are right.

    Args:
        dataset: A corpus with ``type_id`` and :attr:`types`, such as :class:`~graphdep.datasets.COGS`.
        right: For each group 1 if it is right, else 0, as of :meth:`LabelScoring.exact`.
        words: The scored words.
    """
    data = (dataset if dataset._indices is None else dataset.copy())._data
    type_of = dict(zip(data.group.tolist(), data.type_id.tolist()))
    kind = np.array([type_of[group] for group in np.unique(words.group).tolist()])
    return [
        {"type": name, "examples": int((kind == number).sum()), "exact": float(right[kind == number].mean())}
        for number, name in enumerate(dataset.types)
        if (kind == number).any()
    ]
