"""Labels of marked spans by a linear model on an encoder that is not trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphdep.datasets.base.rows import UNKNOWN, spread_rows
from graphdep.metrics.scores import NOTHING
from graphdep.tasks.spans.learning_task import SpanTask
from graphdep.training.floors import LIMIT_ROWS, fit_ridge, frozen_words, pair_features, predict_rows

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def span_probe_scores(
    task: SpanTask, datasets: Sequence[tuple[str, Any]], encoder: PretrainedEncoder
) -> dict[str, float]:
    """The scores of a ridge classifier that reads the mean state of the words of each span.

    Args:
        task: Says what is scored.
        datasets: The splits by name: the one to train on, the one to choose on, and those that are scored
            besides.
        encoder: The encoder, as it was loaded.
    """
    (_, train), *others = datasets
    read = [_Read.of(train.copy(spread_rows(range(len(train)), LIMIT_ROWS)), encoder)]
    read += [_Read.of(dataset, encoder) for _, dataset in others]
    model = fit_ridge(read[0].rows, read[0].known, read[1].rows, read[1].known)
    scores: dict[str, float] = {}
    for (name, _), part in zip(others, read[1:]):
        prediction = np.where(part.lost, NOTHING, predict_rows(model, part.rows, len(part.lost)))
        scores |= {f"{name}_{metric}": v for metric, v in task.scores(prediction, part.target).items()}
    return scores


class _Read(NamedTuple):
    """The examples of a split, with a vector for each span."""

    spans: Tensor
    """``[N, spans, C]``; zeros where a span has no word left."""
    target: np.ndarray
    lost: np.ndarray

    @classmethod
    def of(cls, dataset: Any, encoder: PretrainedEncoder) -> _Read:
        examples = [dataset[number] for number in range(len(dataset))]
        spans = [
            torch.stack([_mean(x, data, span) for span in range(1, dataset.num_spans + 1)])
            for data, x in zip(examples, frozen_words(encoder, examples))
        ]
        y, lost = (torch.cat([data[key] for data in examples]).numpy() for key in ("y", "lost"))
        return cls(torch.stack(spans), y, lost > 0)

    @property
    def known(self) -> np.ndarray:
        """The class of each example; -1 where nothing can be learned of it."""
        return np.where(self.lost, UNKNOWN, self.target)

    def rows(self, numbers: np.ndarray) -> Tensor:
        """What stands for some of the examples."""
        some = self.spans[torch.from_numpy(numbers)]
        return some[:, 0] if some.size(1) == 1 else pair_features(*some.unbind(dim=1))


def _mean(x: Tensor, data: Any, span: int) -> Tensor:
    """Over the states ``[W, C]`` of the words of a span."""
    words = data.word[(data.mark == span) & (data.word >= 0)].unique()
    return x[words].mean(dim=0) if len(words) else x.new_zeros(x.size(1))
