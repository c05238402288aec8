"""Metrics of graded relatedness."""

from __future__ import annotations

import numpy as np
import scipy
import sklearn
from scipy import stats
from sklearn.metrics import mean_squared_error

from graphdep.metrics.metric import Compute, Metric


def _mse(prediction: np.ndarray, target: np.ndarray) -> float:
    return mean_squared_error(target, prediction)


def _mean_predictor(train: np.ndarray, target: np.ndarray) -> float:
    return _mse(np.full(target.shape, train.mean(dtype=np.float64)), target)


def _correlation(measure: Compute) -> Compute:
    def compute(prediction: np.ndarray, target: np.ndarray) -> float:
        # Undefined where one side does not vary: nothing was seen, and NaN would spoil comparisons.
        if np.ptp(prediction) == 0 or np.ptp(target) == 0:
            return 0.0
        return measure(prediction.astype(np.float64), target.astype(np.float64))

    return compute


def _zero(train: np.ndarray, target: np.ndarray) -> float:
    return 0.0


_CONSTANT = "0 where predictions or targets do not vary; floor: 0, a constant prediction"

MSE = Metric(
    "mse",
    _mse,
    _mean_predictor,
    f"MSE: mean squared error on the 1-5 scale (scikit-learn {sklearn.__version__}); "
    "floor: the mean score of the training split",
    maximize=False,
)
PEARSON = Metric(
    "pearson",
    _correlation(lambda a, b: stats.pearsonr(a, b)[0]),
    _zero,
    f"Pearson's r over the split (SciPy {scipy.__version__}), {_CONSTANT}",
)
SPEARMAN = Metric(
    "spearman",
    _correlation(lambda a, b: stats.spearmanr(a, b)[0]),
    _zero,
    f"Spearman's rho over the split (SciPy {scipy.__version__}), {_CONSTANT}",
)
