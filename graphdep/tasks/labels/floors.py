"""What labels of words can be had for without a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from graphdep.datasets.labels.targets import UNSCORED
from graphdep.metrics.found_labels import NOTHING
from graphdep.tasks.labels.scoring import LabelScoring, ScoredWords


def label_floors(
    scoring: LabelScoring, train: Any, dataset: Any, prefix: str, ending: str
) -> dict[str, float]:
    """Scores of two predictions: the most frequent label of the training split for every word, and for each
    word the commonest label there of what stands for it (``<prefix>_<metric>_<ending>``), or else the most
    frequent one. That is the word as it is written, or where words of the training split are marked, the way
    to it through the tree (:attr:`LabelDataset.looks_up`).

    Args:
        scoring: What labels are worth.
        train: The training split.
        dataset: The split that is scored.
        prefix: Its name.
        ending: Of the second kind of scores.
    """
    by = train.looks_up
    keys, learned = labelled_words(train, by)
    labels = learned.target
    keys, labels = keys[labels >= 0], labels[labels >= 0]
    asked, words = labelled_words(dataset, by)
    often = np.full_like(words.target, np.bincount(labels).argmax())
    looked_up = look_up(keys, labels, asked, otherwise=often)
    scores: dict[str, float] = {}
    for prediction, end in ((often, ""), (looked_up, f"_{ending}")):
        found = scoring.scores(np.where(words.place < _CUT, prediction, NOTHING), words)
        scores |= {f"{prefix}_{name}{end}": value for name, value in found.items()}
    return scores


def look_up(keys: np.ndarray, labels: np.ndarray, asked: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """The commonest label of each key that is asked for, the first of equally common ones.

    Shapes:
        - keys, labels: :math:`(N)`, what is known
        - asked, otherwise: :math:`(M)`, keys, and labels of those that are not known; output :math:`(M)`
    """
    (key, label), count = np.unique(np.stack([keys, labels]), axis=1, return_counts=True)
    order = np.lexsort((label, -count, key))
    known, first = np.unique(key[order], return_index=True)
    best = label[order][first]
    place = np.searchsorted(known, asked).clip(max=len(known) - 1)
    return np.where(known[place] == asked, best[place], otherwise)


_CUT = 1_000_000  # words from here on were cut away


def labelled_words(dataset: Any, by: str) -> tuple[np.ndarray, ScoredWords]:
    """What stands for each scored word of a split, as counting sees it, and the words; ``by`` is ``"path"``
    or ``"form"``.
    """
    whole = dataset if dataset._indices is None else dataset.copy()
    data = whole._data
    example, place = _numbered(_bounds(whole, "y"))
    key = data[f"{by}_id"]
    scored = data.y != UNSCORED
    columns = [key[scored], data.y[scored], example[scored], place[scored]]
    if "cut_y" in data:
        of, number = _numbered(_bounds(whole, "cut_y"))
        cut = [torch.zeros_like(data.cut_y), data.cut_y, of, _CUT + 2 * number]
        columns = [torch.cat(pair) for pair in zip(columns, cut)]
    key, y, example, place = (column.numpy() for column in columns)
    number, group = data.example_id.numpy()[example], data.group.numpy()[example]
    return key, ScoredWords(y, number, group, place)


def _bounds(dataset: Any, name: str) -> torch.Tensor:
    """Where the examples of a key begin, and where the last one ends; PyG has no bounds of a single one."""
    return torch.tensor([0, len(dataset._data[name])]) if dataset.slices is None else dataset.slices[name]


def _numbered(bounds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The example of each row, and its number there."""
    sizes = bounds.diff()
    example = torch.arange(len(sizes)).repeat_interleave(sizes)
    return example, torch.arange(int(sizes.sum())) - (bounds[:-1] - bounds[0])[example]
