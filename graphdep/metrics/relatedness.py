"""Metrics of graded relatedness."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import numpy as np

from graphdep.metrics.classification import SCIKIT_LEARN
from graphdep.metrics.metric import Compute, Metric

_SCIPY = f"SciPy {version('scipy')}"


def _mse(prediction: np.ndarray, target: np.ndarray) -> float:
    from sklearn.metrics import mean_squared_error

    return mean_squared_error(target, prediction)


def _weighted_mse(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return weight @ (prediction - target) ** 2 / weight.sum(axis=1)


def _mean_predictor(train: np.ndarray, target: np.ndarray) -> float:
    return _mse(np.full(target.shape, train.mean(dtype=np.float64)), target)


def _correlation(measure: Compute) -> Compute:
    def compute(prediction: np.ndarray, target: np.ndarray) -> float:
        # Undefined where one side does not vary: nothing was seen, and NaN would spoil comparisons.
        if np.ptp(prediction) == 0 or np.ptp(target) == 0:
            return 0.0
        return measure(prediction.astype(np.float64), target.astype(np.float64))

    return compute


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    from scipy import stats

    return stats.pearsonr(x, y)[0]


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    from scipy import stats

    return stats.spearmanr(x, y)[0]


def _weighted_pearson(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    # Centred first: sums of squares far from zero would cancel.
    x, y = prediction - prediction.mean(dtype=np.float64), target - target.mean(dtype=np.float64)
    sums = weight @ np.stack([x, y, x * x, y * y, x * y], axis=1) / weight.sum(axis=1, keepdims=True)
    mean_x, mean_y, xx, yy, xy = sums.T
    # What rounding leaves of no variance is no variance.
    var_x, var_y = xx - mean_x**2, yy - mean_y**2
    var_x[var_x <= 1e-12 * xx], var_y[var_y <= 1e-12 * yy] = 0.0, 0.0
    return _ratio(xy - mean_x * mean_y, var_x, var_y)


def _weighted_spearman(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    x, y = _ranks(prediction, weight), _ranks(target, weight)
    xx, yy, xy = (np.einsum("sn,sn,sn->s", weight, *pair) for pair in ((x, x), (y, y), (x, y)))
    return _ratio(xy, xx, yy)


def _ranks(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Ranks of the values ``[N]`` in each resample ``[S, N]``: ties share their middle, the mean is zero."""
    order = values.argsort()
    below = np.zeros((len(weight), values.size + 1), dtype=np.int64)
    weight.take(order, axis=1).cumsum(axis=1, out=below[:, 1:])
    first, last = (np.searchsorted(values, values, side, sorter=order) for side in ("left", "right"))
    return (below.take(first, axis=1) + below.take(last, axis=1) - below[:, -1:]) / 2


def _ratio(covariance: np.ndarray, var_x: np.ndarray, var_y: np.ndarray) -> np.ndarray:
    scale = np.sqrt(var_x * var_y)
    return np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)


def _zero(train: np.ndarray, target: np.ndarray) -> float:
    return 0.0


_CONSTANT = "0 where predictions or targets do not vary; floor: 0, a constant prediction"

MSE = Metric(
    "mse",
    _mse,
    _mean_predictor,
    f"MSE: mean squared error on the 1-5 scale ({SCIKIT_LEARN}); floor: the mean score of the training split",
    maximize=False,
    weighted=_weighted_mse,
)
# Of labels on a scale that nobody knows beforehand.
MSE_OF_NUMBERS = replace(
    MSE,
    signature=f"MSE: mean squared error, on the scale of the labels squared "
    f"({SCIKIT_LEARN}); floor: the mean label of the training split",
)
PEARSON = Metric(
    "pearson",
    _correlation(_pearson),
    _zero,
    f"Pearson's r over the split ({_SCIPY}), {_CONSTANT}",
    weighted=_weighted_pearson,
)
SPEARMAN = Metric(
    "spearman",
    _correlation(_spearman),
    _zero,
    f"Spearman's rho over the split ({_SCIPY}), {_CONSTANT}",
    weighted=_weighted_spearman,
)
