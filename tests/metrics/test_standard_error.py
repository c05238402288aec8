"""The interval by simulation, in the model that it is made for, and beyond."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from graphdep.metrics import ACCURACY, MSE, compare
from graphdep.metrics.significance import Spread, both, run_spread, standard_error, visible_effect

TRIALS, UNITS = 2000, 120
# Standard deviations of seeds, examples and their combinations.
SPREADS = [(0.0, 1.0, 1.0), (0.1, 1.0, 1.0), (0.3, 1.0, 0.5), (0.6, 1.0, 1.0), (0.03, 1.0, 0.3)]


def errors_of(d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of differences ``[R, trials, N]``; for means the bootstrap's variance is that of a mean."""
    n = d.shape[-1]
    each, mean = d.var(axis=-1, ddof=1) / n, d.mean(axis=0).var(axis=-1, ddof=1) / n
    return standard_error(run_spread(d.mean(axis=-1), each, mean), mean, n)


def continuous(rng, runs, spread):
    seeds, examples, single = spread
    return (
        seeds * rng.normal(size=(runs, TRIALS, 1))
        + examples * rng.normal(size=(TRIALS, UNITS))
        + single * rng.normal(size=(runs, TRIALS, UNITS))
    )


def accuracy(rng, runs, spread):
    """Of two systems that are right where skill, the easiness of an example and its own noise exceed 0."""
    easy = 1.5 * rng.normal(size=(TRIALS, UNITS))
    a, b = ((1.2 + easy + continuous(rng, runs, spread) > 0).astype(np.float64) for _ in "ab")
    return a - b


@pytest.mark.parametrize("draw", [continuous, accuracy])
@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("spread", SPREADS)
def test_intervals_cover_the_true_difference(draw, runs, spread):
    d = draw(np.random.default_rng(1), runs, spread)
    error, df = errors_of(d)
    covered = np.abs(d.mean(axis=(0, 2))) <= stats.t.ppf(0.975, df) * error + 1e-12
    assert 0.93 <= covered.mean() <= 0.97


@pytest.mark.parametrize("runs", [(3, 3), (3, 5), (10, 5), (5, 1)])
def test_intervals_of_runs_that_are_not_paired(runs):
    rng, examples = np.random.default_rng(2), 1.0
    a, b = (continuous(rng, count, (0.2 if count > 1 else 0.0, examples, 1.0)) for count in runs)
    if runs[1] == 1:  # its seed is taken as given: what it does is of the examples
        b = continuous(rng, 1, (0.0, examples, 1.0))
    parts = []
    for d in (a, b):
        each, mean = d.var(axis=-1, ddof=1) / UNITS, d.mean(axis=0).var(axis=-1, ddof=1) / UNITS
        parts.append(run_spread(d.mean(axis=-1), each, mean))
    d = a.mean(axis=0) - b.mean(axis=0)
    error, df = standard_error(both(*parts), d.var(axis=-1, ddof=1) / UNITS, UNITS)
    covered = np.abs(d.mean(axis=-1)) <= stats.t.ppf(0.975, df) * error
    assert 0.93 <= covered.mean() <= 0.97


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("spread", SPREADS)
def test_the_smallest_visible_effect_is_found_four_times_of_five(runs, spread):
    d = continuous(np.random.default_rng(3), runs, spread)
    error, df = errors_of(d)
    places = np.geomspace(1, 2 * UNITS, 100)
    visible = error * np.interp(df, places, [visible_effect(1.0, place) for place in places])
    # What comparisons report varies as their errors do; of these the squares have the right mean.
    effect = np.sqrt(np.mean(visible**2))
    found = np.abs(d.mean(axis=(0, 2)) + effect) > stats.t.ppf(0.975, df) * error
    assert found.mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("df", [2, 4, 30, 1000])
def test_the_visible_effect_of_a_single_t_test(df):
    rng = np.random.default_rng(4)
    t = (visible_effect(0.1, df) / 0.1 + rng.normal(size=100_000)) / np.sqrt(rng.chisquare(df, 100_000) / df)
    assert (t > stats.t.ppf(0.975, df)).mean() == pytest.approx(0.8, abs=0.005)
    # The sum of two quantiles that one finds in textbooks is less for few degrees of freedom.
    textbook = 0.1 * (stats.t.ppf(0.975, df) + stats.t.ppf(0.8, df))
    assert visible_effect(0.1, df) == pytest.approx(textbook, rel=0.06 if df == 2 else 0.015)
    assert visible_effect(0.0, df) == 0


def test_the_variance_has_no_bias_and_no_part_twice():
    # Eq. 1 without its maxima, over many draws, is the variance that the mean of the draws has.
    d = continuous(np.random.default_rng(5), 4, (0.1, 1.0, 1.0))
    a, v = d.mean(axis=-1).var(axis=0, ddof=1) / 4, d.mean(axis=0).var(axis=-1, ddof=1) / UNITS
    c = (d.var(axis=-1, ddof=1).mean(axis=0) / UNITS - v) / 3
    true = 0.01 / 4 + 1 / UNITS + 1 / (4 * UNITS)
    assert (a + v - c).mean() == pytest.approx(true, rel=0.02)
    assert (a + v).mean() == pytest.approx(true + 1 / (4 * UNITS), rel=0.02)
    assert d.mean(axis=(0, 2)).var() == pytest.approx(true, rel=0.1)


def test_the_degrees_of_freedom_of_three_runs():
    # Eq. 2: what R runs show counts (R + 1) / (R - 1) times.
    parts = (np.array(value) for value in (1.0, 2.0, 0.0))
    error, df = standard_error(Spread(*parts), np.array(1.0), 11)
    assert error == pytest.approx(np.sqrt(2))
    assert df == pytest.approx((2 + 1) ** 2 / (2**2 / 2 + 1**2 / 10))


@pytest.mark.parametrize("runs", [(4, 4), (4, 3), (1, 1), (4, 1)])
def test_compare_computes_it_from_its_resamples(runs):
    rng = np.random.default_rng(6)
    target = rng.integers(2, size=UNITS)
    sides = [
        np.where(rng.random(UNITS) + 0.1 * rng.normal(size=(count, UNITS)) < 0.8, target, 1 - target)
        for count in runs
    ]
    right = [(side == target).astype(np.float64)[:, None] for side in sides]
    if runs[0] == runs[1]:
        expected = errors_of(right[0] - right[1])
    else:
        parts = [
            run_spread(
                d.mean(axis=-1), d.var(axis=-1, ddof=1) / UNITS, d.mean(axis=0).var(axis=-1, ddof=1) / UNITS
            )
            for d in right
        ]
        d = right[0].mean(axis=0) - right[1].mean(axis=0)
        expected = standard_error(both(*parts), d.var(axis=-1, ddof=1) / UNITS, UNITS)
    found = compare(ACCURACY, target, *sides, samples=8000)
    assert found.standard_error == pytest.approx(float(expected[0][0]), rel=0.03)
    assert found.df == pytest.approx(float(expected[1][0]), rel=0.1)
    assert found.smallest_visible == visible_effect(found.standard_error, found.df)


def test_seeds_without_noise_of_examples_are_a_paired_t_test_or_welchs():
    target, a, b = np.zeros(40), np.array([0.5, 0.4, 0.6, 0.45]), np.array([0.52, 0.35, 0.4, 0.38])
    runs = [np.sqrt(scores)[:, None] * np.ones(40) for scores in (a, b)]
    found, known = compare(MSE, target, *runs, samples=20), stats.ttest_rel(a, b)
    assert found.standard_error == pytest.approx(np.std(a - b, ddof=1) / 2)
    assert (found.p, found.df, found.over) == (
        pytest.approx(known.pvalue),
        pytest.approx(3),
        "seeds and examples",
    )
    assert found.interval == pytest.approx(tuple(known.confidence_interval(0.95)))
    for first, second in ((a, b), (a, b[:3])):
        known = stats.ttest_ind(first, second, equal_var=False)
        runs = [np.sqrt(scores)[:, None] * np.ones(40) for scores in (first, second)]
        found = compare(MSE, target, *runs, samples=20, paired=False)
        assert (found.p, found.df) == (pytest.approx(known.pvalue), pytest.approx(known.df))
        assert found.interval == pytest.approx(tuple(known.confidence_interval(0.95)))
        assert found.p_seeds == pytest.approx(known.pvalue)


def test_examples_of_one_run_are_a_paired_t_test():
    rng = np.random.default_rng(7)
    target, a, b = rng.normal(size=(3, 60))
    found = compare(MSE, target, a, b, samples=20_000)
    known = stats.ttest_rel((a - target) ** 2, (b - target) ** 2)
    assert (found.over, found.df) == ("examples", 59)
    assert found.p == pytest.approx(known.pvalue, rel=0.05)
    assert found.interval == pytest.approx(tuple(known.confidence_interval(0.95)), rel=0.03)


def test_two_runs_that_are_opposites():
    # The mean over the runs has no noise of the examples at all, single runs have much.
    target, errors = np.zeros(50), np.linspace(0, 1, 50)
    a = np.stack([np.sqrt(errors), np.sqrt(errors[::-1])])
    found = compare(MSE, target, a, np.zeros((2, 50)), samples=500)
    share = stats.binomtest(0, 50).proportion_ci(0.95).high  # what 50 examples do not exclude
    assert found.standard_error * stats.t.ppf(0.975, found.df) == pytest.approx(share)
    assert found.p < 1e-9
