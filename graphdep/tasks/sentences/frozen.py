"""Sentences and pairs by linear models on an encoder that is not trained."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from graphdep.datasets.base.rows import spread_rows
from graphdep.metrics import ACCURACY, MSE
from graphdep.tasks.sentences.goal import Goal
from graphdep.training.floors import frozen_vectors
from graphdep.training.splits import Splits

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder

LIMIT_TRAIN = 10_000
"""Training examples at most, spread over the split: more hardly change a linear model."""
_C = (1e-3, 1e-2, 1e-1, 1.0)
_ALPHA = (1e3, 1e2, 1e1, 1.0)


def probe_scores(
    goal: Goal, splits: Splits, names: Sequence[str], encoder: PretrainedEncoder
) -> dict[str, float]:
    """The metrics of a linear model that reads the vectors of an encoder as it is.

    Args:
        goal: Says what is predicted, and how that is scored.
        splits: The data.
        names: The splits: the one to train on, the one to choose on, and those that are scored besides.
        encoder: The encoder, as it was loaded.
    """
    x, y = {}, {}
    for name in names:
        dataset = splits.in_memory(name)
        numbers: Sequence[int] = range(len(dataset))
        if name == names[0]:
            numbers = spread_rows(numbers, LIMIT_TRAIN)
        x[name] = features(frozen_vectors(encoder, (dataset[number] for number in numbers)))
        y[name] = goal.target(splits.targets(name)[[*numbers]].double()).numpy()
    if goal.classifies:
        y = {name: target.astype(np.int64) for name, target in y.items()}
    model = fit_probe(x, y, names[0], names[1], classifies=goal.classifies)
    found = {name: model.predict(x[name]) for name in names[1:]}
    return {
        f"{name}_{metric.name}": metric(prediction, y[name])
        for name, prediction in found.items()
        for metric in goal.metrics
    }


def features(vectors: Tensor) -> np.ndarray:
    r"""What a linear model reads: of a text its vector :math:`\mathbf{u}`, of a pair
    :math:`|\mathbf{u} - \mathbf{v}|` and :math:`\mathbf{u} \odot \mathbf{v}`.

    Shapes:
        - vectors: :math:`(N, 1, C)` or :math:`(N, 2, C)`; output: :math:`(N, C)` or :math:`(N, 2C)`
    """
    if vectors.size(1) == 1:
        return vectors[:, 0].numpy()
    u, v = vectors.unbind(dim=1)
    return torch.cat([(u - v).abs(), u * v], dim=1).numpy()


def fit_probe(
    x: dict[str, np.ndarray], y: dict[str, np.ndarray], train: str, val: str, *, classifies: bool
) -> Any:
    """The logistic regression, or of numbers the ridge regression, that is best on a split.

    Features are scaled to unit variance. How strongly it is regularised is chosen by the accuracy or the mean
    squared error on :obj:`val`; of equal ones it is the strongest. One class alone is predicted always.

    Args:
        x, y: Features ``[N, F]`` and targets ``[N]`` by split.
        train, val: Names of the splits.
        classifies: Whether targets are classes.
    """
    if classifies and len(np.unique(y[train])) < 2:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="most_frequent").fit(x[train], y[train])
    metric = ACCURACY if classifies else MSE
    best, value = None, None
    for strength in _C if classifies else _ALPHA:
        own = LogisticRegression(C=strength, max_iter=2000) if classifies else Ridge(alpha=strength)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = make_pipeline(StandardScaler(), own).fit(x[train], y[train])
        score = metric(model.predict(x[val]), y[val])
        if metric.is_better(score, value):
            best, value = model, score
    return best
