"""The standard error of a difference between systems whose seeds and test examples might have been others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import optimize, stats


class Spread(NamedTuple):
    """What makes up the variance of a mean over runs; numbers, or arrays of many comparisons at once."""

    seeds: np.ndarray
    """Variance of the mean over the runs that the runs show."""
    df: np.ndarray
    """Its degrees of freedom; 0 for a single run."""
    shared: np.ndarray
    """The part of it that the variance over the examples has, too: what single runs do on single examples."""


def run_spread(scores: np.ndarray, each: np.ndarray, mean: np.ndarray) -> Spread:
    """The spread of a system's runs, or of paired differences.

    Shapes:
        - scores: :math:`(R, ...)`
        - each: :math:`(R, ...)`, the variance of each score over the examples
        - mean: :math:`(...)`, the variance of their mean over the examples
    """
    runs, zero = len(scores), np.zeros(scores.shape[1:])
    if runs == 1:
        return Spread(zero, zero, zero)
    shared = (each.mean(axis=0) - mean) / (runs - 1)
    return Spread(scores.var(axis=0, ddof=1) / runs, zero + runs - 1, shared)


def both(a: Spread, b: Spread) -> Spread:
    """The spread of a difference of systems whose runs are not paired; the degrees of freedom are Welch's."""
    seeds, weight = a.seeds + b.seeds, _share(a.seeds**2, a.df) + _share(b.seeds**2, b.df)
    return Spread(seeds, _share(seeds**2, weight, np.maximum(a.df, b.df)), a.shared + b.shared)


def standard_error(spread: Spread, examples: np.ndarray, units: int) -> tuple[np.ndarray, np.ndarray]:
    """The standard error over seeds and examples, and its degrees of freedom: Eqs. 2-3 of :func:`compare`.

    Args:
        spread: That of the runs.
        examples: Variance of the difference of the means over runs, over the choice of the examples.
        units: How many examples, or groups of them, there are.
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
    """The smallest difference that a two-sided t-test finds with this power, by the noncentral t: infinite
    for an infinite error.

    Args:
        standard_error: Of the difference.
        df: Its degrees of freedom, above 0.
        power: The share of cases in which it is found. (default: :obj:`0.8`)
        level: Of the test. (default: :obj:`0.05`)

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
    """``part / whole``, and ``default`` where the whole is 0."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.divide(part, whole, out=np.array(np.broadcast_to(default, part.shape)), where=whole > 0)
