"""Confidence intervals and significance tests for two systems."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from graphdep.io.limits import check_choice, check_count, check_limit, check_shape, check_some
from graphdep.metrics.metric import Metric, check_groups

# Entries of a matrix in memory at a time: 16 MiB, with a few copies.
_CHUNK = 2**21


# SciPy's bootstrap and permutation_test pass resampled examples to a metric. With weights over the original
# examples instead, most metrics need only a matrix product.
class Resamples:
    """Resamples of the examples of two systems.

    Args:
        metric: The metric.
        target: Targets ``[N]``.
        a, b: Predictions of the systems' runs ``[runs, N]``.
        unit: The group of each example, numbered by first occurrence, ``[N]``; :obj:`None` if each example is
            its own group.
        samples: Number of resamples.
    """

    def __init__(
        self,
        metric: Metric,
        target: np.ndarray,
        a: np.ndarray,
        b: np.ndarray,
        unit: np.ndarray | None,
        samples: int,
    ) -> None:
        self.metric, self.target, self.a, self.b, self.unit = metric, target, a, b, unit
        self.samples, self.units = samples, target.size if unit is None else int(unit.max()) + 1

    def bootstrap(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the runs, ``[runs_a, samples]`` and ``[runs_b, samples]``, on units drawn with
        replacement; all runs share the draws.
        """
        n, scores = self.units, []
        for rows in self._chunks(self.target.size):
            places = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
            weight = self._of_examples(np.bincount(places.ravel(), minlength=rows * n).reshape(rows, n))
            scores.append(
                [self.metric.resampled(run, self.target, weight) for runs in (self.a, self.b) for run in runs]
            )
        joined = np.concatenate(scores, axis=1)
        return joined[: len(self.a)], joined[len(self.a) :]

    def randomisation(self, rng: np.random.Generator) -> np.ndarray:
        """Differences ``[samples]`` after swapping the systems' predictions on random units."""
        both, pooled = np.tile(self.target, 2), np.concatenate([self.a, self.b], axis=1)
        differences = []
        for rows in self._chunks(both.size):
            swap = self._of_examples(rng.integers(2, size=(rows, self.units)))
            first, second = np.hstack([1 - swap, swap]), np.hstack([swap, 1 - swap])
            found = [
                self.metric.resampled(run, both, first) - self.metric.resampled(run, both, second)
                for run in pooled
            ]
            differences.append(np.mean(found, axis=0))
        return np.concatenate(differences)

    def _of_examples(self, weight: np.ndarray) -> np.ndarray:
        # Converted to floats, for the matrix products, once and not for every run.
        weight = weight.astype(np.float64)
        return weight if self.unit is None else weight[:, self.unit]

    def _chunks(self, size: int) -> Iterator[int]:
        rows = max(1, _CHUNK // size)
        return (min(rows, self.samples - start) for start in range(0, self.samples, rows))


def units_of(groups: np.ndarray) -> np.ndarray:
    """The number of each group ``[N]``, by first occurrence, from 0."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[first.argsort()] = np.arange(len(first))
    return number[place]


class Spread(NamedTuple):
    """The components of the variance of a mean over runs; numbers, or arrays for several comparisons."""

    seeds: np.ndarray
    """Variance of the mean over the runs, estimated from the runs."""
    df: np.ndarray
    """Its degrees of freedom; 0 for a single run."""
    shared: np.ndarray
    """Its overlap with the variance over examples: the interaction of runs and examples."""


def run_spread(scores: np.ndarray, each: np.ndarray, mean: np.ndarray) -> Spread:
    """The spread of a system's runs, or of paired differences.

    Shapes:
        - scores: :math:`(R, ...)`
        - each: :math:`(R, ...)`, the variance of each score over the examples
        - mean: :math:`(...)`, the variance of the mean score over the examples
    """
    runs, zero = len(scores), np.zeros(scores.shape[1:])
    if runs == 1:
        return Spread(zero, zero, zero)
    shared = (each.mean(axis=0) - mean) / (runs - 1)
    return Spread(scores.var(axis=0, ddof=1) / runs, zero + runs - 1, shared)


def both(a: Spread, b: Spread) -> Spread:
    """The spread of a difference between systems with unpaired runs, with Welch's degrees of freedom."""
    seeds, weight = a.seeds + b.seeds, _share(a.seeds**2, a.df) + _share(b.seeds**2, b.df)
    return Spread(seeds, _share(seeds**2, weight, np.maximum(a.df, b.df)), a.shared + b.shared)


def standard_error(spread: Spread, examples: np.ndarray, units: int) -> tuple[np.ndarray, np.ndarray]:
    """The standard error over seeds and examples, and its degrees of freedom: Eqs. 2-3 of :func:`compare`.

    Args:
        spread: The spread of the runs.
        examples: Variance, over the choice of examples, of the difference of the means over runs.
        units: Number of examples, or of their groups.
    """
    a, df, shared = spread
    variance = np.maximum(a + examples - shared, np.maximum(a, examples))
    large = a * np.divide(df + 2, df, out=np.ones_like(df), where=df > 0)
    total = np.maximum(large + examples - shared, np.maximum(large, examples))
    weight = _share(large**2, df) + examples**2 / (units - 1)
    found = _share(total**2, weight, np.full_like(weight, units - 1))
    seen = (df > 0) & (a > shared)
    lowest, highest = np.minimum(df, units - 1), df + units - 1
    return np.sqrt(variance), np.where(seen, np.clip(found, lowest, highest), units - 1.0)


def visible_effect(standard_error: float, df: float, power: float = 0.8, level: float = 0.05) -> float:
    """The smallest difference that a two-sided t-test detects with this power, by the noncentral t
    distribution; infinite for an infinite error.

    Args:
        standard_error: Standard error of the difference.
        df: Its degrees of freedom, above 0.
        power: The probability of detecting it. (default: :obj:`0.8`)
        level: Significance level of the test. (default: :obj:`0.05`)

    Raises:
        ValueError: If :obj:`df` is not above 0.
    """
    if not df > 0:
        raise ValueError(f"'df' must be above 0 (got {df})")
    critical = float(stats.t.ppf(1 - level / 2, df))
    start = critical + float(stats.t.ppf(power, df))

    def missing(shift: float) -> float:
        return float(stats.nct.sf(critical, df, shift)) - power

    return standard_error * float(optimize.brentq(missing, start / 2, 2 * start))


def _share(part: np.ndarray, whole: np.ndarray, default: np.ndarray | float = 0.0) -> np.ndarray:
    """``part / whole``, or ``default`` if the whole is 0."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.divide(part, whole, out=np.array(np.broadcast_to(default, part.shape)), where=whole > 0)


SAME_PREDICTIONS = (
    "the same predictions: two systems that compute the same, as with edges that do not reach what is read "
    "(with one layer, all but those to the node that is read), are not shown to be equal in anything else"
)
"""Explanation of the verdict ``"the same predictions"``."""


@dataclass(frozen=True)
class Comparison:
    r"""The result of :func:`compare` for two systems on the same examples.

    Args:
        metric: Name of the metric.
        score_a: Score of the first system, the mean over its runs.
        score_b: Score of the second one.
        difference: First minus second; for a metric like MSE, a negative difference favours the first.
        interval: 95% interval of the difference, cut off at the largest difference that the metric allows.
        smallest_visible: The smallest true difference that comparisons of this size and spread detect in four
            cases of five (power 80%, two-sided 5%), by the noncentral t distribution: :math:`(t_{.975, \nu} +
            t_{.8, \nu}) \cdot \mathrm{SE}`, plus 5% for :math:`\nu = 2`. For three seeds it is a rough
            estimate. :obj:`None` if it exceeds the largest difference that the metric allows: no effect is
            visible.
        p: Two-sided p-value of no difference, by the same t distribution as the interval.
        standard_error: Standard error of the difference.
        df: Degrees of freedom of its t distribution.
        over: The sources of variation: ``"seeds and examples"``, ``"examples"`` if each system has one run,
            or ``"seeds of a and examples"`` (or ``b``) if only the other system has one run.
        paired: Whether run r of one system belongs to run r of the other.
        p_bootstrap: Two-sided p-value of the paired bootstrap over the examples, given these runs.
        p_randomisation: Two-sided p-value of approximate randomisation over the examples, given these runs;
            :obj:`None` if the numbers of runs differ.
        p_seeds: Two-sided p-value of Welch's t-test over the scores of the runs, given these examples;
            :obj:`None` if a system has a single run.
        samples: Number of resamples.
        n: Number of examples.
        units: Number of resampled units: examples, or groups of examples.
        maximize: Whether higher is better. (default: :obj:`True`)
        identical: Whether the predictions of each pair of runs are equal. (default: :obj:`False`)

    Example:
        >>> from graphdep.metrics import ACCURACY, compare
        >>> target = [0, 1] * 100
        >>> comparison = compare(ACCURACY, target, a=target, b=[0] * 200, samples=1000)
        >>> comparison.difference, comparison.p < 0.001, comparison.over
        (0.5, True, 'examples')
        >>> comparison.verdict(), comparison.equivalent(0.6), comparison.equivalent(0.5)
        ('better', True, False)
    """

    metric: str
    score_a: float
    score_b: float
    difference: float
    interval: tuple[float, float]
    smallest_visible: float | None
    p: float
    standard_error: float
    df: float
    over: str
    paired: bool
    p_bootstrap: float
    p_randomisation: float | None
    p_seeds: float | None
    samples: int
    n: int
    units: int
    maximize: bool = True
    identical: bool = False

    def equivalent(self, bound: float) -> bool:
        r"""Whether the effect is at most a bound that was chosen before the runs.

        Two one-sided tests at 5%, from "A Comparison of the Two One-Sided Tests Procedure and the Power
        Approach for Assessing the Equivalence of Average Bioavailability": the 90% interval lies within the
        bound,

        .. math::
            |d| + t_{.95, \nu} \cdot \mathrm{SE} < \mathrm{bound}

        Args:
            bound: The smallest effect of interest, in units of the metric, above 0.

        Raises:
            ValueError: If the bound is not a finite number above 0.
        """
        check_bound(bound)
        return abs(self.difference) + float(stats.t.ppf(0.95, self.df)) * self.standard_error < bound

    def verdict(self, bound: float | None = None) -> str:
        """The conclusion about the first system.

        ``"better"`` or ``"worse"`` if the 95% interval excludes 0, whatever the bound; else ``"no effect
        larger than BOUND"`` if :meth:`equivalent`; else ``"undecided (smallest visible effect X)"``. If all
        predictions are equal, for example because both models compute the same, it is ``"the same
        predictions"``, which does not rule out an effect.

        Args:
            bound: See :meth:`equivalent`. (default: :obj:`None`, for no equivalence test)
        """
        if bound is not None:
            check_bound(bound)
        if self.identical:
            return SAME_PREDICTIONS.partition(":")[0]
        low, high = self.interval
        if low > 0 or high < 0:
            return "better" if (low > 0) == self.maximize else "worse"
        if bound is not None and self.equivalent(bound):
            return f"no effect larger than {bound:g}"
        if self.smallest_visible is None:
            return "undecided (no effect is visible)"
        return f"undecided (smallest visible effect {self.smallest_visible:.3g})"


def check_bound(bound: float) -> None:
    """Raises :class:`ValueError` unless ``bound`` is a finite number above 0."""
    number = isinstance(bound, (int, float)) and not isinstance(bound, bool)
    if not number or not math.isfinite(bound) or bound <= 0:
        raise ValueError(f"'bound' must be a finite number above 0 (got {bound!r})")


INTERVALS = ("t", "percentile")


def compare(
    metric: Metric,
    target: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    samples: int = 10_000,
    seed: int = 0,
    groups: ArrayLike | None = None,
    paired: bool | None = None,
    interval: str = "t",
) -> Comparison:
    r"""The difference :math:`d` of two systems' scores, with an interval over both seeds and examples.

    With :math:`R` paired runs of each system, :math:`d_r` is the difference of run :math:`r`, and :math:`d`
    the mean of these. Seeds and examples are crossed, since all runs have the same examples. As in "The
    MultiBERTs: BERT Reproductions for Robustness Analysis" (https://arxiv.org/abs/2106.16163), :math:`S`
    resamples draw the :math:`n` examples with replacement, the same for all runs and both systems. A star
    marks scores of resamples:

    .. math::
        A = \frac{\mathrm{Var}_r(d_r)}{R}, \quad
        V = \mathrm{Var}^*(d^*), \quad
        C = \frac{1}{R - 1} \Big( \frac{1}{R} \sum_r \mathrm{Var}^*(d_r^*) - V \Big)

    .. math::
        \mathrm{SE}^2 = \max(A + V - C, A, V) \tag{1}

    :math:`C` is counted in both :math:`A` and :math:`V`: in a model :math:`d_{ri} = \mu + s_r + e_i +
    g_{ri}`, the variance of :math:`d` is :math:`\sigma_s^2 / R + \sigma_e^2 / n + \sigma_g^2 / (R n)`, and
    :math:`C` estimates the last part (:math:`\mathrm{Var}^*` includes the factor :math:`n / (n - 1)`). The
    interval, cut off at ±:obj:`metric.max_difference`, is

    .. math::
        d \pm t_{.975, \nu} \cdot \mathrm{SE}, \quad
        \nu = \frac{\max(B + V - C, B, V)^2}{B^2 / (R - 1) + V^2 / (n - 1)}, \quad
        B = \frac{R + 1}{R - 1} A \tag{2}

    if :math:`A > C`, else :math:`\nu = n - 1`. These are Satterthwaite's degrees of freedom with :math:`B`
    instead of :math:`A`: with few seeds :math:`A` is often too small, which would shorten the interval twice.
    In simulations with 3, 5 and 10 seeds, intervals cover the true difference in 93 to 97% of all cases, with
    :math:`B = A` down to 91.5%; with 2 seeds only 89 to 97%.

    For unpaired runs, :math:`A` and :math:`C` are sums over the two systems, and Welch's degrees of freedom
    replace :math:`R - 1`. A single run gives no variance over seeds, and the interval does not include it
    (:attr:`Comparison.over`).

    If all resamples are equal, as with equal predictions, an error of zero would claim more than :math:`n`
    examples can show. The error is then that of a share with 0 of :math:`n` observations, whose interval ends
    at :math:`1 - .025^{1/n}`, about :math:`3.7 / n` (Clopper and Pearson, 1934), times the largest of 1 and
    the two scores.

    With :obj:`interval="percentile"`, the interval is from the 2.5% to the 97.5% quantile of the paper's
    multi-bootstrap, which also draws runs. It has no degrees of freedom and is too short for few seeds: the
    variance of a mean over 3 runs drawn with replacement is 2/3 of the right value.

    Three p-values condition on the runs or on the examples. The paired bootstrap, from "Statistical
    Significance Tests for Machine Translation Evaluation", is over the examples, given these runs. The
    paper's share of resamples that one system wins is one-sided; here p is twice the smaller tail:

    .. math::
        p = \min\Big(1, 2 \cdot \frac{\min(\#\{d^* \le 0\}, \#\{d^* \ge 0\}) + 1}{S + 1}\Big)

    Approximate randomisation, from "Computer-Intensive Methods for Testing Hypotheses: An Introduction",
    swaps the two systems' predictions of each example with probability one half, in all runs at once:

    .. math::
        p = \frac{\#\{|d^*| \ge |d|\} + 1}{S + 1}

    Welch's t-test over the scores of the runs is given these examples.

    Args:
        metric: The metric. Without :obj:`weighted` it is computed resample by resample: use fewer samples.
        target: Targets.
        a, b: Predictions of the two systems.
        samples: Number of resamples, at least two. (default: :obj:`10_000`)
        seed: Seed of the resamples. (default: :obj:`0`)
        groups: The group of each example, such as the sentence of a word, as whole numbers or strings; groups
            are then drawn and swapped as a whole, and :math:`n` is their number. (default: :obj:`None`, each
            example is its own group)
        paired: Whether the runs are paired. (default: :obj:`None`, if equally many)
        interval: ``"t"`` or ``"percentile"``. (default: ``"t"``)

    Shapes:
        - target, groups: :math:`(N)`, at least two examples, from at least two groups
        - a, b: :math:`(N)` or :math:`(runs, N)`; the numbers of runs may differ, but then there is no
          randomisation test

    Raises:
        ValueError: If shapes do not fit, a value or a score is not finite, :obj:`samples` is not a whole
            number >= 2 or :obj:`seed` not one >= 0, runs to be paired differ in number, or :obj:`interval` is
            unknown.
    """
    target = _numbers("target", target)
    check_shape("target", target, "examples")
    if target.size < 2:
        raise ValueError(f"'target' must have at least two examples (got {target.size})")
    runs_a, runs_b = _runs("a", a, target), _runs("b", b, target)
    check_count("seed", seed)
    samples = int(check_count("samples", samples, 2))
    check_limit("samples", samples)
    check_choice("interval", interval, INTERVALS)
    if paired:
        check_shape("b", runs_b, *runs_a.shape)
    paired = len(runs_a) == len(runs_b) if paired is None else bool(paired)
    resamples = Resamples(metric, target, runs_a, runs_b, _units(groups, target), samples)
    scores_a, scores_b = (np.array([metric(run, target) for run in runs]) for runs in (runs_a, runs_b))
    _check_scores(metric, "of a run", np.concatenate([scores_a, scores_b]))
    score_a, score_b = float(scores_a.mean()), float(scores_b.mean())
    difference = score_a - score_b
    # Another order of summation rounds differently; differences of that size are ties.
    slack = 1e-10 * max(abs(score_a), abs(score_b))
    rng = np.random.default_rng(seed)
    drawn_a, drawn_b = resamples.bootstrap(rng)
    _check_scores(metric, "of a resample", np.concatenate([drawn_a.ravel(), drawn_b.ravel()]))
    drawn = drawn_a.mean(axis=0) - drawn_b.mean(axis=0)
    tail = min(np.count_nonzero(drawn <= slack), np.count_nonzero(drawn >= -slack))
    p_randomisation = None
    if len(runs_a) == len(runs_b):
        swapped = resamples.randomisation(rng)
        _check_scores(metric, "of a resample", swapped)
        p_randomisation = _share_of_samples(
            np.count_nonzero(np.abs(swapped) >= abs(difference) - slack), samples
        )
    error, df = _error(scores_a, scores_b, drawn_a, drawn_b, resamples.units, paired)
    spread = error > slack
    if not spread:
        error = _zero_variance_error(resamples.units, df) * max(1.0, abs(score_a), abs(score_b))
    half = float(stats.t.ppf(0.975, df)) * error
    low, high = difference - half, difference + half
    if interval == "percentile" and spread:
        low, high = np.quantile(_multi_bootstrap(drawn_a, drawn_b, paired, rng), [0.025, 0.975])
    visible, most = visible_effect(error, df), metric.max_difference
    low, high = np.clip((low, high), -most, most)
    return Comparison(
        metric=metric.name,
        score_a=score_a,
        score_b=score_b,
        difference=difference,
        interval=(float(low), float(high)),
        smallest_visible=None if visible > most else visible,
        p=2 * float(stats.t.sf(abs(difference) / error, df)),
        standard_error=error,
        df=df,
        over=_variation(len(runs_a), len(runs_b)),
        paired=paired,
        p_bootstrap=min(1.0, 2 * _share_of_samples(tail, samples)),
        p_randomisation=p_randomisation,
        p_seeds=_welch(scores_a, scores_b),
        samples=samples,
        n=target.size,
        units=resamples.units,
        maximize=metric.maximize,
        identical=np.array_equal(runs_a, runs_b),
    )


def _error(
    scores_a: np.ndarray,
    scores_b: np.ndarray,
    drawn_a: np.ndarray,
    drawn_b: np.ndarray,
    units: int,
    paired: bool,
) -> tuple[float, float]:
    """The standard error of the difference and its degrees of freedom."""

    def variance(drawn: np.ndarray) -> np.ndarray:
        # A sample of n with replacement has (n - 1) / n of the variance.
        return drawn.var(axis=-1, ddof=1) * units / (units - 1)

    def spread(scores: np.ndarray, drawn: np.ndarray) -> Spread:
        return run_spread(scores, variance(drawn), variance(drawn.mean(axis=0)))

    if paired:
        found = spread(scores_a - scores_b, drawn_a - drawn_b)
    else:
        found = both(spread(scores_a, drawn_a), spread(scores_b, drawn_b))
    error, df = standard_error(found, variance(drawn_a.mean(axis=0) - drawn_b.mean(axis=0)), units)
    return float(error), float(df)


def _multi_bootstrap(
    drawn_a: np.ndarray, drawn_b: np.ndarray, paired: bool, rng: np.random.Generator
) -> np.ndarray:
    """Differences ``[samples]`` of resamples that also draw the runs."""
    runs = [rng.integers(len(drawn_a), size=drawn_a.shape)]
    runs.append(runs[0] if paired else rng.integers(len(drawn_b), size=drawn_b.shape))
    means = [np.take_along_axis(d, r, 0).mean(axis=0) for d, r in zip((drawn_a, drawn_b), runs)]
    return means[0] - means[1]


def _zero_variance_error(units: int, df: float) -> float:
    """The error of a share with equal units, whose 95% interval is Clopper's and Pearson's."""
    return (1 - 0.025 ** (1 / units)) / float(stats.t.ppf(0.975, df))


def _variation(runs_a: int, runs_b: int) -> str:
    seeds = {(False, False): "", (True, False): "seeds of a and ", (False, True): "seeds of b and "}
    return seeds.get((runs_a > 1, runs_b > 1), "seeds and ") + "examples"


def _units(groups: ArrayLike | None, target: np.ndarray) -> np.ndarray | None:
    if groups is None:
        return None
    array = np.asarray(groups)
    check_groups(array, target.size)
    found = units_of(array)
    if not found.max():
        raise ValueError(f"'groups' must have at least two different groups (got {array[0]!r} alone)")
    return None if found.max() == target.size - 1 else found


def _numbers(name: str, values: ArrayLike) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueError(f"'{name}' must be finite numbers (got {array.dtype} {array})")
    # Small or unsigned integers would wrap around in a difference.
    return array if array.dtype.kind == "f" else array.astype(np.int64)


def _check_scores(metric: Metric, which: str, scores: np.ndarray) -> None:
    wrong = scores[~np.isfinite(scores)]
    if wrong.size:
        raise ValueError(f"{metric.name}: the score {which} is not finite (got {wrong[0]})")


def _runs(name: str, values: ArrayLike, target: np.ndarray) -> np.ndarray:
    predictions = np.atleast_2d(_numbers(name, values))
    check_shape(name, predictions, "runs", target.size)
    check_some(name, predictions, "run")
    return predictions


def _welch(a: np.ndarray, b: np.ndarray) -> float | None:
    if min(len(a), len(b)) < 2:
        return None
    if len({*a.tolist(), *b.tolist()}) == 1:
        return 1.0
    if np.ptp(a) == np.ptp(b) == 0:  # both constant, with different values
        return 0.0
    # From the moments: given the values, SciPy warns if one side is constant.
    moments = (value for side in (a, b) for value in (np.mean(side), np.std(side, ddof=1), len(side)))
    return float(stats.ttest_ind_from_stats(*moments, equal_var=False).pvalue)


def _share_of_samples(count: int | np.integer, samples: int) -> float:
    # The observed result counts as one more sample, so that p is never zero.
    return (int(count) + 1) / (samples + 1)
