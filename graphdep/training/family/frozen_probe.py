"""A linear model of classes on what a pretrained encoder gives before it is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

LIMIT_ROWS = 20_000
"""Rows to learn from at most, and to choose on: more hardly change a linear model."""
_ALPHA = (1e4, 1e3, 1e2, 1e1)
_CHUNK = 20_000

Rows = Callable[[np.ndarray], Tensor]
"""Gives the features of some rows by their numbers: ``[n] -> [n, F]``."""


def fit_ridge(train: Rows, y: np.ndarray, val: Rows, y_val: np.ndarray) -> Any:
    """The ridge classifier of ``y`` that is right most often on a second split.

    Features are scaled to unit variance, and least squares are solved exactly, which many classes cost no
    more. Of equally good strengths of regularisation it is the strongest. One class alone is predicted
    always.

    Args:
        train: Features of the rows to learn from, of which at most :data:`LIMIT_ROWS` are taken, evenly
            spread.
        y: Their classes; a row of class -1, which has none, is not taken.
        val, y_val: Of the split to choose on, in the same way; a row of class -1 is always wrong.
    """
    rows, rows_val = _spread(np.flatnonzero(y >= 0)), _spread(np.arange(len(y_val)))
    x, x_val = (part(numbers).numpy() for part, numbers in ((train, rows), (val, rows_val)))
    if len(np.unique(y[rows])) < 2:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="most_frequent").fit(x, y[rows])
    best, most = None, -1.0
    for alpha in _ALPHA:
        model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=alpha)).fit(x, y[rows])
        right = float((model.predict(x_val) == y_val[rows_val]).mean()) if len(rows_val) else 0.0
        if right > most:
            best, most = model, right
    return best


def predict_rows(model: Any, rows: Rows, count: int) -> np.ndarray:
    """The class of each of ``count`` rows, whose features are not all in memory at a time."""
    found = [model.predict(rows(numbers).numpy()) for numbers in _chunks(count)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found]).astype(np.int64)


def pair_features(u: Tensor, v: Tensor) -> Tensor:
    r""":math:`\mathbf{u}, \mathbf{v}, |\mathbf{u} - \mathbf{v}|, \mathbf{u} \odot \mathbf{v}` of two vectors
    a row, ``[n, 4C]``.
    """
    return torch.cat([u, v, (u - v).abs(), u * v], dim=1)


def _spread(numbers: np.ndarray) -> np.ndarray:
    if len(numbers) <= LIMIT_ROWS:
        return numbers
    return numbers[np.arange(LIMIT_ROWS) * len(numbers) // LIMIT_ROWS]


def _chunks(count: int) -> Iterator[np.ndarray]:
    return (np.arange(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK))
