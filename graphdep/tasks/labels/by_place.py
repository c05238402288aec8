"""F1 of labels apart for where they stand: by distance to the marked word, and by length of the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphdep.metrics.scores import micro_f1
from graphdep.tasks.labels.scoring import ScoredWords

DISTANCES = (0, 1, 2, 3, 5, 9)
"""Where a range of distances in words begins; the last has no end."""
LENGTHS = (1, 11, 21, 31)
"""Where a range of lengths in words begins; the last has no end."""


def f1_by_place(
    dataset: Any, found: np.ndarray, there: np.ndarray, words: ScoredWords
) -> dict[str, list[dict[str, Any]]]:
    """Tables of micro F1 by ``distance`` of a word to the nearest marked one, and by ``length`` of its
    sentence: rows with the range, such as ``"3-4"`` and ``"9+"``, its scored words, and their F1. Spans stand
    at their first word.

    Args:
        dataset: A corpus with marks.
        found, there: Codes of the scored words (:meth:`LabelScoring.codes`).
        words: The scored words.
    """
    example, place, size = _marked(dataset)
    first, last = (np.searchsorted(example, words.example, side) for side in ("left", "right"))
    most = int((last - first).max(initial=0))
    distance = np.full(len(words.place), np.iinfo(np.int64).max)
    for number in range(most):  # of the marked words; mostly one
        here = first + number < last
        apart = np.abs(words.place[here] - place[first[here] + number])
        distance[here] = np.minimum(distance[here], apart)
    return {
        "distance": _table(distance, DISTANCES, found, there),
        "length": _table(size[words.example], LENGTHS, found, there),
    }


def _marked(dataset: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Example and place of each marked word, in the order of the examples, and the words of each example."""
    whole = dataset if dataset._indices is None else dataset.copy()
    data = whole._data
    sizes = (
        whole.slices["mark"].diff() if whole.slices is not None else data.mark.new_tensor([len(data.mark)])
    )
    number = data.example_id.repeat_interleave(sizes)
    marked = data.mark.bool() & (data.word >= 0)
    example, place = number[marked].numpy(), data.word[marked].numpy()
    size = np.zeros(int(data.example_id.max()) + 1, dtype=np.int64)
    np.maximum.at(size, number.numpy(), data.word.numpy() + 1)
    order = example.argsort(kind="stable")
    return example[order], place[order], size


def _table(
    value: np.ndarray, starts: Sequence[int], found: np.ndarray, there: np.ndarray
) -> list[dict[str, Any]]:
    ranges = np.searchsorted(starts, value, side="right") - 1
    rows = []
    for number in range(len(starts)):
        inside = ranges == number
        if inside.any():
            f1 = micro_f1(found[inside], there[inside])
            rows.append({"range": _name(starts, number), "words": int(inside.sum()), "f1": f1})
    return rows


def _name(starts: Sequence[int], number: int) -> str:
    if number + 1 == len(starts):
        return f"{starts[number]}+"
    end = starts[number + 1] - 1
    return str(end) if end == starts[number] else f"{starts[number]}-{end}"
