"""Labels of words by a linear model on an encoder that is not trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphdep.datasets.base.rows import UNKNOWN, spread_rows
from graphdep.metrics.scores import NOTHING
from graphdep.tasks.labels.floors import labelled_words
from graphdep.tasks.labels.scoring import LabelScoring, ScoredWords
from graphdep.training.floors import LIMIT_ROWS, fit_ridge, frozen_words, pair_features, predict_rows

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def label_probe_scores(
    scoring: LabelScoring, datasets: Sequence[tuple[str, Any]], encoder: PretrainedEncoder
) -> dict[str, float]:
    """The scores of a ridge classifier that reads the states of words, and with each that of the marked word.

    Args:
        scoring: What labels are worth.
        datasets: The splits by name: the one to train on, the one to choose on, and those that are scored
            besides.
        encoder: The encoder, as it was loaded.
    """
    (_, train), *others = datasets
    words = len(train.y) / max(1, len(train))
    numbers = spread_rows(range(len(train)), max(1, int(LIMIT_ROWS / max(1.0, words))))
    read = [_Read.of(train.copy(numbers), encoder)]
    read += [_Read.of(dataset, encoder) for _, dataset in others]
    model = fit_ridge(read[0].rows, read[0].known, read[1].rows, read[1].known)
    scores: dict[str, float] = {}
    for (name, _), part in zip(others, read[1:]):
        prediction = np.where(part.cut, NOTHING, predict_rows(model, part.rows, len(part.cut)))
        found = scoring.scores(prediction, part.words)
        scores |= {f"{name}_{metric}": value for metric, value in found.items()}
    return scores


class _Read(NamedTuple):
    """The scored words of a split, with the states that stand for them."""

    words: ScoredWords
    cut: np.ndarray
    states: Tensor
    """Of all words of all examples, and a row of zeros behind them, for words that were cut away."""
    word: np.ndarray
    """The row of each scored word."""
    mark: np.ndarray | None
    """The row of the marked word of its example, where some word is marked."""

    @classmethod
    def of(cls, dataset: Any, encoder: PretrainedEncoder) -> _Read:
        _, cut, words = labelled_words(dataset, "form")
        examples = [dataset[number] for number in range(len(dataset))]
        states = frozen_words(encoder, examples)
        starts = np.cumsum([0, *map(len, states)])
        start = {int(data.example_id): int(at) for data, at in zip(examples, starts)}
        table = torch.cat([*states, torch.zeros(1, encoder.hidden_channels)])
        row = np.array([start[number] for number in words.example.tolist()], dtype=np.int64) + words.place
        mark = None
        if "mark" in dataset._data:
            last = len(table) - 1
            marked = {int(d.example_id): _marked(d, int(at), last) for d, at in zip(examples, starts)}
            mark = np.array([marked[number] for number in words.example.tolist()], dtype=np.int64)
        return cls(words, cut, table, np.where(cut, len(table) - 1, row), mark)

    @property
    def known(self) -> np.ndarray:
        """The label of each word; -1 where nothing can be learned of it."""
        return np.where(self.cut, UNKNOWN, self.words.target)

    def rows(self, numbers: np.ndarray) -> Tensor:
        """What stands for some of the scored words."""
        own = self.states[torch.from_numpy(self.word[numbers])]
        if self.mark is None:
            return own
        return pair_features(own, self.states[torch.from_numpy(self.mark[numbers])])


def _marked(data: Any, start: int, nothing: int) -> int:
    """The row of the marked word of an example; that of zeros where none is left."""
    marked = data.word[(data.mark > 0) & (data.word >= 0)]
    return start + int(marked[0]) if len(marked) else nothing
