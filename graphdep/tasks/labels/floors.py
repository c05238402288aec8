"""What labels of words can be had for without a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from graphdep.datasets.base.rows import UNSCORED
from graphdep.metrics.scores import NOTHING
from graphdep.tasks.labels.scoring import LabelScoring, ScoredWords
from graphdep.training.floors import look_up


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
    keys, labels = _learned(train, by)
    asked, cut, words = labelled_words(dataset, by)
    often = np.full_like(words.target, np.bincount(labels).argmax())
    looked_up = look_up(keys, labels, asked, otherwise=often)
    scores: dict[str, float] = {}
    for prediction, end in ((often, ""), (looked_up, f"_{ending}")):
        found = scoring.scores(np.where(cut, NOTHING, prediction), words)
        scores |= {f"{prefix}_{name}{end}": value for name, value in found.items()}
    return scores


def _learned(train: Any, by: str) -> tuple[np.ndarray, np.ndarray]:
    keys, cut, words = labelled_words(train, by)
    known = (words.target >= 0) & ~cut  # what stands for words that were cut away is not kept
    return keys[known], words.target[known]


def labelled_words(dataset: Any, by: str) -> tuple[np.ndarray, np.ndarray, ScoredWords]:
    """The scored words of a split in the order of examples and words: what stands for each, as counting sees
    it, whether it was cut away, and the words; ``by`` is ``"path"`` or ``"form"``.
    """
    whole = dataset if dataset._indices is None else dataset.copy()
    data, bounds = whole._data, _bounds(whole, "y")
    key = data[f"{by}_id"]
    example, place = _numbered(bounds)
    parts = [(key, data.y, example, place)]
    if "cut_y" in data:
        example, number = _numbered(_bounds(whole, "cut_y"))
        left = bounds.diff()[example]
        parts.append((torch.zeros_like(data.cut_y), data.cut_y, example, left + number))
    key, y, example, place = (torch.cat(column) for column in zip(*parts))
    cut = torch.arange(len(y)) >= len(data.y)
    scored = (y != UNSCORED).nonzero().view(-1)
    scored = scored[example[scored].argsort(stable=True)]
    columns = (key, cut, y, data.example_id[example], data.group[example], place)
    keys, away, *words = (column[scored].numpy() for column in columns)
    return keys, away, ScoredWords(*words)


def _bounds(dataset: Any, name: str) -> torch.Tensor:
    """Where the examples of a key begin, and where the last one ends; PyG has no bounds of a single one."""
    return torch.tensor([0, len(dataset._data[name])]) if dataset.slices is None else dataset.slices[name]


def _numbered(bounds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The example of each row, and its number there."""
    sizes = bounds.diff()
    example = torch.arange(len(sizes)).repeat_interleave(sizes)
    return example, torch.arange(int(sizes.sum())) - (bounds[:-1] - bounds[0])[example]
