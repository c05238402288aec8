"""Whether the difference between two systems may be chance: tests over the same examples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from graphdep.io.limits import check_limit
from graphdep.metrics.metric import Metric

# Numbers of a matrix that is held at a time, so that it stays in the cache.
_CHUNK = 2**19


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same examples.

    Args:
        metric: Name of the metric.
        score_a: Score of the first system, the mean over its runs.
        score_b: Score of the second one.
        difference: First minus second; with a metric like MSE, less than zero is in favour of the first.
        interval: 95% percentile interval of the difference, by the bootstrap.
        p_bootstrap: Two-sided p of the paired bootstrap.
        p_randomisation: Two-sided p of approximate randomisation; :obj:`None` if one system has more runs.
        p_seeds: Two-sided p of Welch's t-test over the scores of the runs; :obj:`None` if a system has one.
        samples: Resamples of each test.
        n: Examples.

    Example:
        >>> from graphdep.metrics import ACCURACY, compare
        >>> target = [0, 1] * 10
        >>> comparison = compare(ACCURACY, target, a=target, b=[0] * 20, samples=1000)
        >>> comparison.difference, comparison.p_bootstrap < 0.05
        (0.5, True)
    """

    metric: str
    score_a: float
    score_b: float
    difference: float
    interval: tuple[float, float]
    p_bootstrap: float
    p_randomisation: float | None
    p_seeds: float | None
    samples: int
    n: int


def compare(
    metric: Metric,
    target: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    r"""Tests the difference :math:`d` between two systems' scores, over the choice of examples.

    The paired bootstrap, from "Statistical Significance Tests for Machine Translation Evaluation", draws the
    examples with replacement, the same for both systems. The paper's share of resamples in which one system
    wins is one-sided; here p is twice the smaller tail, so that both tests ask the same question:

    .. math::
        p = \min\Big(1, 2 \cdot \frac{\min(\#\{d^* \le 0\}, \#\{d^* \ge 0\}) + 1}{S + 1}\Big)

    Approximate randomisation, from "Computer-Intensive Methods for Testing Hypotheses: An Introduction",
    swaps the two systems' predictions of each example with probability one half:

    .. math::
        p = \frac{\#\{|d^*| \ge |d|\} + 1}{S + 1}

    With several runs of a system its score is the mean over them. A resample has the same examples for all
    runs, and the predictions of an example are swapped in all runs together, run :math:`r` of the one with
    run :math:`r` of the other. The runs themselves are not resampled: these p are about these runs, and say
    nothing about what other seeds would give; two seeds of one model often differ by them. That question is
    Welch's t-test over the scores of the runs, which in turn takes the test examples as given.

    Args:
        metric: The metric. One without :obj:`weighted` is computed resample by resample: use fewer samples.
        target: Targets.
        a, b: Predictions of the two systems.
        samples: Resamples of each test. (default: :obj:`10_000`)
        seed: Seed of the resamples. (default: :obj:`0`)

    Shapes:
        - target: :math:`(N)`, two examples at least
        - a, b: :math:`(N)` or :math:`(runs, N)`; the numbers of runs may differ, but then there is no
          randomisation test

    Raises:
        ValueError: If shapes do not fit, a value or a score is not finite, or :obj:`samples` is no whole
            number of at least 1.
    """
    target = _numbers("target", target)
    if target.ndim != 1 or target.size < 2:
        raise ValueError(f"'target' must be a vector of at least 2 examples (got shape {target.shape})")
    runs_a, runs_b = _runs("a", a, target), _runs("b", b, target)
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 1:
        raise ValueError(f"'samples' must be a whole number of at least 1 (got {samples!r})")
    samples = int(samples)
    check_limit("samples", samples)
    scores = [[metric(run, target) for run in runs] for runs in (runs_a, runs_b)]
    _check_scores(metric, "of a run", [*scores[0], *scores[1]])
    score_a, score_b = (float(np.mean(values)) for values in scores)
    difference = score_a - score_b
    # Sums in another order round differently; such differences are ties.
    slack = 1e-10 * max(abs(score_a), abs(score_b))
    rng = np.random.default_rng(seed)
    drawn = _bootstrap(metric, target, runs_a, runs_b, samples, rng)
    _check_scores(metric, "of a resample", drawn)
    tail = min(np.count_nonzero(drawn <= slack), np.count_nonzero(drawn >= -slack))
    low, high = np.quantile(drawn, [0.025, 0.975])
    p_randomisation = None
    if len(runs_a) == len(runs_b):
        swapped = _randomisation(metric, target, runs_a, runs_b, samples, rng)
        _check_scores(metric, "of a resample", swapped)
        p_randomisation = _share(np.count_nonzero(np.abs(swapped) >= abs(difference) - slack), samples)
    return Comparison(
        metric=metric.name,
        score_a=score_a,
        score_b=score_b,
        difference=difference,
        interval=(float(low), float(high)),
        p_bootstrap=min(1.0, 2 * _share(tail, samples)),
        p_randomisation=p_randomisation,
        p_seeds=_welch(*scores),
        samples=samples,
        n=target.size,
    )


def _numbers(name: str, values: ArrayLike) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueError(f"'{name}' must be finite numbers (got {array.dtype} {array})")
    # The difference of two small or unsigned whole numbers would wrap around.
    return array if array.dtype.kind == "f" else array.astype(np.int64)


def _check_scores(metric: Metric, which: str, scores: list[float] | np.ndarray) -> None:
    wrong = np.asarray(scores)[~np.isfinite(scores)]
    if wrong.size:
        raise ValueError(f"{metric.name}: the score {which} is not finite (got {wrong[0]})")


def _runs(name: str, values: ArrayLike, target: np.ndarray) -> np.ndarray:
    predictions = _numbers(name, values)
    if predictions.ndim not in (1, 2) or predictions.shape[-1] != target.size or not predictions.size:
        raise ValueError(
            f"'{name}' must have shape ({target.size},) or (runs, {target.size}), as 'target' has "
            f"{target.size} examples (got {predictions.shape})"
        )
    return np.atleast_2d(predictions)


def _welch(a: list[float], b: list[float]) -> float | None:
    if min(len(a), len(b)) < 2:
        return None
    if len({*a, *b}) == 1:
        return 1.0
    if np.ptp(a) == np.ptp(b) == 0:  # each without any spread, and not the same
        return 0.0
    # From the moments: given the values, SciPy warns where one side has no spread.
    moments = (value for side in (a, b) for value in (np.mean(side), np.std(side, ddof=1), len(side)))
    return float(stats.ttest_ind_from_stats(*moments, equal_var=False).pvalue)


def _share(count: int | np.integer, samples: int) -> float:
    # What was observed counts as one more sample, so that p is never zero.
    return (int(count) + 1) / (samples + 1)


# SciPy's bootstrap and permutation_test give a metric the resampled examples. As weights over the examples
# that there are, most metrics need no more than a matrix product.
def _bootstrap(
    metric: Metric, target: np.ndarray, a: np.ndarray, b: np.ndarray, samples: int, rng: np.random.Generator
) -> np.ndarray:
    """Differences ``[samples]`` over examples drawn with replacement."""
    n, differences = target.size, []
    for rows in _chunks(samples, n):
        places = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        weight = np.bincount(places.ravel(), minlength=rows * n).reshape(rows, n)
        score_a, score_b = (
            np.mean([metric.resampled(run, target, weight) for run in runs], axis=0) for runs in (a, b)
        )
        differences.append(score_a - score_b)
    return np.concatenate(differences)


def _randomisation(
    metric: Metric, target: np.ndarray, a: np.ndarray, b: np.ndarray, samples: int, rng: np.random.Generator
) -> np.ndarray:
    """Differences ``[samples]`` after swapping the systems' predictions of random examples."""
    n, differences = target.size, []
    both, pooled = np.tile(target, 2), np.concatenate([a, b], axis=1)
    for rows in _chunks(samples, 2 * n):
        swap = rng.integers(2, size=(rows, n))
        first, second = np.hstack([1 - swap, swap]), np.hstack([swap, 1 - swap])
        differences.append(
            np.mean(
                [metric.resampled(run, both, first) - metric.resampled(run, both, second) for run in pooled],
                axis=0,
            )
        )
    return np.concatenate(differences)


def _chunks(samples: int, size: int) -> list[int]:
    rows = max(1, _CHUNK // size)
    return [min(rows, samples - start) for start in range(0, samples, rows)]
