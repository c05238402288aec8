"""What labels of words can be had for without a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdep.datasets.labels.targets import UNSCORED
from graphdep.metrics import Metric


def label_floors(
    metrics: tuple[Metric, ...], train: Any, dataset: Any, prefix: str, ending: str
) -> dict[str, float]:
    """Scores of two predictions: the most frequent label of the training split for every word, and for each
    word its commonest label there (``<prefix>_<metric>_<ending>``), or else the most frequent one.

    Args:
        metrics: The metrics.
        train: The training split.
        dataset: The split that is scored.
        prefix: Its name.
        ending: Of the second kind of scores.
    """
    words, labels = labelled_words(train)
    words, labels = words[labels >= 0], labels[labels >= 0]
    asked, target = labelled_words(dataset)
    often = np.full_like(target, np.bincount(labels).argmax())
    looked_up = look_up(words, labels, asked, otherwise=often)
    floors = {f"{prefix}_{metric.name}": metric(often, target) for metric in metrics}
    return floors | {f"{prefix}_{metric.name}_{ending}": metric(looked_up, target) for metric in metrics}


def look_up(words: np.ndarray, labels: np.ndarray, asked: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """The commonest label of each word that is asked for, the first of equally common ones.

    Shapes:
        - words, labels: :math:`(N)`, what is known
        - asked, otherwise: :math:`(M)`, words, and labels of those that are not known; output :math:`(M)`
    """
    (word, label), count = np.unique(np.stack([words, labels]), axis=1, return_counts=True)
    order = np.lexsort((label, -count, word))
    known, first = np.unique(word[order], return_index=True)
    best = label[order][first]
    place = np.searchsorted(known, asked).clip(max=len(known) - 1)
    return np.where(known[place] == asked, best[place], otherwise)


def labelled_words(dataset: Any) -> tuple[np.ndarray, np.ndarray]:
    """The scored words of a split by what is written, and their labels."""
    data = (dataset if dataset._indices is None else dataset.copy())._data
    scored = data.y != UNSCORED
    return data.form_id[scored].numpy(), data.y[scored].numpy()
