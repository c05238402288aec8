"""Comparisons against all resamples, other packages, and simulations of the model that they are made for."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from graphdep.metrics import ACCURACY, F1, MACRO_F1, MSE, PEARSON, SPEARMAN, Comparison, Metric, compare
from graphdep.metrics.significance import both, run_spread, standard_error, visible_effect

METRICS = [ACCURACY, F1, MACRO_F1, MSE, PEARSON, SPEARMAN]
# What is drawn and swapped is the same for all metrics: one that is a mean, and one that is not.
SLOW = {
    ACCURACY: lambda prediction, target: (prediction == target).mean(),
    F1: lambda prediction, target: 2 * (prediction & target).sum() / max(1, (prediction + target).sum()),
}
two_metrics = pytest.mark.parametrize("metric", SLOW, ids=lambda metric: metric.name)
each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)


def systems(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets, a system that is right more often and one that is right less often; all are 0 or 1."""
    rng = np.random.default_rng(seed)
    target = rng.integers(2, size=n)
    return (target, *(np.where(rng.random(n) < right, target, 1 - target) for right in (0.9, 0.7)))


@each_metric
@settings(max_examples=25)
@given(data=st.data())
def test_resampled_is_the_metric_of_repeated_examples(metric, data):
    n = data.draw(st.integers(2, 6))
    labels = {ACCURACY: [0, 1], F1: [0, 1], MACRO_F1: [-1, 0, 1, 7]}
    values = st.sampled_from(labels.get(metric, [0.1, 0.2, 1.5, 3.0, 3.7]))
    prediction, target = (np.array(data.draw(st.lists(values, min_size=n, max_size=n))) for _ in "ab")
    counts = st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)
    weight = np.array(data.draw(st.lists(counts, min_size=1, max_size=4)))
    slow = dataclasses.replace(metric, weighted=None)
    expected = [metric(prediction.repeat(count), target.repeat(count)) for count in weight]
    assert slow.resampled(prediction, target, weight) == pytest.approx(expected, abs=0)
    assert metric.resampled(prediction, target, weight) == pytest.approx(expected, abs=1e-9)


@two_metrics
def test_randomisation_against_all_swaps(metric):
    target, a, b = systems(8, seed=3)
    observed = abs(SLOW[metric](a, target) - SLOW[metric](b, target))
    differences = []
    for swap in itertools.product([False, True], repeat=8):
        first, second = np.where(swap, b, a), np.where(swap, a, b)
        differences.append(SLOW[metric](first, target) - SLOW[metric](second, target))
    exact = np.mean(np.abs(differences) >= observed - 1e-9)
    assert 0.02 < exact < 0.98
    assert compare(metric, target, a, b, samples=10_000).p_randomisation == pytest.approx(exact, abs=0.015)


@two_metrics
def test_bootstrap_against_all_resamples(metric):
    target, a, b = np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1]), np.array([1, 1, 0, 0])
    differences = []
    for places in map(list, itertools.product(range(4), repeat=4)):
        differences.append(SLOW[metric](a[places], target[places]) - SLOW[metric](b[places], target[places]))
    exact = 2 * min(np.mean(np.array(differences) <= 1e-9), np.mean(np.array(differences) >= -1e-9))
    found = compare(metric, target, a, b, samples=10_000, interval="percentile")
    assert found.p_bootstrap == pytest.approx(min(1, exact), abs=0.03)
    assert found.interval == pytest.approx(np.quantile(differences, [0.025, 0.975]), abs=0.02)
    assert found.difference == metric(a, target) - metric(b, target)
    by_t = compare(metric, target, a, b, samples=10_000)
    assert by_t.standard_error == pytest.approx(np.std(differences) * np.sqrt(4 / 3), rel=0.05)
    assert dataclasses.replace(by_t, interval=found.interval) == found


@pytest.mark.parametrize("paired", [True, False])
def test_the_percentile_interval_draws_runs_too(paired):
    # Runs without noise of the examples: what is left is a bootstrap of the runs.
    a, b = np.array([0.1, 0.5, 0.3]), np.array([0.2, 0.3, 0.1])
    runs = [np.sqrt(scores)[:, None] * np.ones(20) for scores in (a, b)]
    found = compare(MSE, np.zeros(20), *runs, samples=20_000, paired=paired, interval="percentile")
    drawn = np.array(list(itertools.product(range(3), repeat=3)))
    if paired:
        exact = (a - b)[drawn].mean(axis=1)
    else:
        exact = np.subtract.outer(a[drawn].mean(axis=1), b[drawn].mean(axis=1)).ravel()
    expected = np.quantile(exact, [0.025, 0.975], method="inverted_cdf")
    assert found.interval == pytest.approx(expected, abs=0.02)
    assert found.paired == paired


def test_a_difference_that_all_examples_show_alike():
    found = compare(ACCURACY, np.ones(30), np.ones(30), np.zeros(30), samples=100)
    assert found.interval == pytest.approx((1 - 0.1157, 1), abs=1e-4)  # 1 - .025 ** (1 / 30)
    assert found.p < 1e-9
    percentile = compare(ACCURACY, np.ones(30), np.ones(30), np.zeros(30), samples=9, interval="percentile")
    assert percentile.interval == found.interval


@each_metric
def test_identical_systems_and_a_clearly_better_one(metric):
    target, a, b = systems(200)
    same = compare(metric, target, b, b, samples=200)
    most = stats.binomtest(0, 200).proportion_ci(0.95).high * max(1, abs(same.score_a))
    assert same.difference == 0.0
    assert same.interval == pytest.approx((-most, most))
    assert same.p_bootstrap == same.p_randomisation == 1.0
    better = compare(metric, target, a, b, samples=999)
    assert better.p_bootstrap == 0.002  # the smallest there is: twice 1/1000
    assert better.p_randomisation == 0.001
    assert better.p < 0.001
    low, high = better.interval
    assert low < better.difference < high
    assert high < 0 if metric is MSE else low > 0


@two_metrics
@settings(max_examples=10)
@given(st.integers(0, 1000), st.integers(2, 30))
def test_swapping_the_systems_negates_the_difference_and_keeps_p(metric, seed, n):
    target, a, b = systems(n, seed)
    one, other = (compare(metric, target, *pair, samples=20, seed=seed) for pair in ((a, b), (b, a)))
    assert (other.difference, other.p, other.df) == (-one.difference, pytest.approx(one.p), one.df)
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]), abs=1e-12)
    assert (other.p_bootstrap, other.p_randomisation) == (one.p_bootstrap, one.p_randomisation)


def test_the_seed_decides():
    target, a, b = systems(60)
    first = compare(ACCURACY, target, a, b, samples=300, seed=1)
    assert first == compare(ACCURACY, target, a, b, samples=300, seed=1)
    assert first.interval != compare(ACCURACY, target, a, b, samples=300, seed=2).interval or (
        first.p_randomisation != compare(ACCURACY, target, a, b, samples=300, seed=2).p_randomisation
    )


def test_more_samples_than_are_held_at_a_time(monkeypatch):
    from graphdep.metrics import significance as _resamples

    target, a, b = systems(50)
    whole = compare(ACCURACY, target, a, b, samples=4000)
    monkeypatch.setattr(_resamples, "_CHUNK", 333)
    parts = compare(ACCURACY, target, a, b, samples=4000)
    assert parts.p_bootstrap == pytest.approx(whole.p_bootstrap, abs=0.03)
    assert parts.interval == pytest.approx(whole.interval, abs=0.03)


def test_runs_count_with_their_mean():
    target, a, b = systems(100)
    _, c, d = systems(100, seed=1)
    several = compare(SPEARMAN, target, np.stack([a, c]), np.stack([b, d]), samples=200)
    assert several.score_a == pytest.approx((SPEARMAN(a, target) + SPEARMAN(c, target)) / 2)
    # Copies of a run are that run: also in every resample.
    copies = compare(MSE, target, np.stack([a, a, a]), np.stack([b, b, b]), samples=200)
    single = compare(MSE, target, a, b, samples=200)
    assert copies.interval == pytest.approx(single.interval, abs=1e-12)
    assert copies.p_randomisation == single.p_randomisation
    assert (copies.over, single.over) == ("seeds and examples", "examples")
    uneven = compare(MSE, target, np.stack([a, a, a]), b, samples=200)
    assert uneven.p_randomisation is None
    assert uneven.interval == pytest.approx(single.interval, abs=1e-12)
    assert (uneven.over, uneven.paired) == ("seeds of a and examples", False)
    assert compare(MSE, target, a, np.stack([b, b]), samples=20).over == "seeds of b and examples"


def test_runs_are_swapped_together():
    # Two runs with opposite errors: their mean MSE is the same whatever is swapped, as long as both are.
    target, errors = np.zeros(12), np.arange(12.0)
    a, b = np.stack([errors, errors[::-1]]), np.stack([errors[::-1], errors])
    assert compare(MSE, target, a, b, samples=100).p_randomisation == 1.0


def test_a_metric_of_ones_own():
    worst = Metric("worst", lambda p, t: float(np.abs(p - t).max()), lambda train, t: 0.0, "", maximize=False)
    target, a, b = systems(20)
    assert compare(worst, target, a, target, samples=50).score_a == 1.0
    assert compare(worst, target, a, b, samples=50).difference == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": np.ones(3)}, r"'a' must be of shape \[runs, 4\] \(got \[1, 3\]\)"),
        ({"b": np.ones((0, 4))}, r"'b' is empty: there must be at least one run"),
        (
            {"b": np.array([1, 1, 1, np.nan])},
            r"'b' must be finite numbers \(got float64 \[ 1.  1.  1. nan\]\)",
        ),
        ({"a": ["1"] * 4}, r"'a' must be finite numbers \(got <U1"),
        (
            {"target": np.ones((2, 2))},
            r"'target' must be of shape \[examples\] \(got \[2, 2\]\)",
        ),
        (
            {"target": [1], "a": [1], "b": [1]},
            r"'target' must have at least two examples \(got 1\)",
        ),
        ({"samples": 0}, r"'samples' must be a whole number of at least 2 \(got 0\)"),
        ({"samples": 10.0}, r"'samples' must be a whole number of at least 2 \(got 10.0\)"),
        ({"samples": 1}, r"'samples' must be a whole number of at least 2 \(got 1\)"),
        ({"interval": "bca"}, r"'interval' must be one of t, percentile \(got 'bca'\)"),
        ({"a": np.ones((2, 4)), "paired": True}, r"'b' must be of shape \[2, 4\] \(got \[1, 4\]\)"),
        ({"groups": [1, 1, 2]}, r"'groups' must be of shape \[4\] \(got \[3\]\)"),
        ({"groups": [0.5, 1.0, 2.0, 3.0]}, r"'groups' must be whole numbers or strings \(got float64\)"),
        ({"groups": [7] * 4}, r"'groups' must have at least two different groups"),
        ({"samples": True}, r"'samples' must be a whole number of at least 2 \(got True\)"),
    ],
)
def test_errors(change, message):
    arguments = {"target": np.ones(4), "a": np.ones(4), "b": np.ones(4)} | change
    with pytest.raises(ValueError, match=message):
        compare(MSE, **arguments)


def test_a_score_that_is_not_finite():
    target, a, b = systems(20)
    infinite = Metric("odd", lambda p, t: np.inf if (p == a).all() else 0.0, lambda train, t: 0.0, "")
    with pytest.raises(ValueError, match=r"odd: the score of a run is not finite \(got inf\)"):
        compare(infinite, target, a, b, samples=5)
    undefined = dataclasses.replace(
        infinite, compute=lambda p, t: 0.0, weighted=lambda p, t, weight: np.full(len(weight), np.nan)
    )
    with pytest.raises(ValueError, match=r"odd: the score of a resample is not finite \(got nan\)"):
        compare(undefined, target, a, b, samples=5)


def test_lists_and_small_types_are_arrays():
    target, a, b = systems(20)
    expected = compare(MSE, target, a, b, samples=20)
    assert compare(MSE, target.tolist(), a.tolist(), [b.tolist()], samples=np.int64(20)) == expected
    assert compare(MSE, *(x.astype(np.uint8) for x in (target, a, b)), samples=20) == expected
    assert compare(MSE, *(x.astype(bool) for x in (target, a, b)), samples=20) == expected


def test_seeds_are_compared_by_welch():
    rng = np.random.default_rng(0)
    target = rng.integers(2, size=200)
    a, b = (np.where(rng.random((3, 200)) < skill, target, 1 - target) for skill in (0.9, 0.6))
    found = compare(ACCURACY, target, a, b, samples=20)
    scores = [[(run == target).mean() for run in runs] for runs in (a, b)]
    assert found.p_seeds == pytest.approx(stats.ttest_ind(*scores, equal_var=False).pvalue)
    assert compare(ACCURACY, target, a, a, samples=20).p_seeds == 1.0
    assert compare(ACCURACY, target, a[0], b, samples=20).p_seeds is None
    same = np.stack([a[0], a[0]])
    assert compare(ACCURACY, target, same, same, samples=20).p_seeds == 1.0
    assert compare(ACCURACY, target, same, np.stack([b[0], b[0]]), samples=20).p_seeds == 0.0


@two_metrics
@settings(max_examples=10)
@given(st.integers(0, 1000), st.integers(2, 30))
def test_groups_of_one_example_each_are_no_groups(metric, seed, n):
    target, a, b = systems(n, seed)
    names = np.random.default_rng(seed).permutation(n)
    one, other = (compare(metric, target, a, b, samples=20, groups=groups) for groups in (None, names))
    assert one == other
    assert other.units == n


@two_metrics
def test_groups_are_drawn_and_swapped_as_a_whole(metric):
    target, a, b = systems(12, seed=3)
    groups = np.array([5, 5, 2, 2, 2, 2, 9, 9, 9, 5, 7, 7])
    places = [np.flatnonzero(groups == group) for group in (5, 2, 9, 7)]
    drawn, swapped = [], []
    for chosen in itertools.product(range(4), repeat=4):
        rows = np.concatenate([places[group] for group in chosen])
        drawn.append(SLOW[metric](a[rows], target[rows]) - SLOW[metric](b[rows], target[rows]))
    for swap in itertools.product([False, True], repeat=4):
        rows = np.isin(groups, np.array([5, 2, 9, 7])[list(swap)])
        first, second = np.where(rows, b, a), np.where(rows, a, b)
        swapped.append(SLOW[metric](first, target) - SLOW[metric](second, target))
    found = compare(metric, target, a, b, samples=5000, groups=groups)
    assert (found.n, found.units, found.df) == (12, 4, 3)
    assert found.standard_error == pytest.approx(np.std(drawn) * np.sqrt(4 / 3), rel=0.05)
    exact = np.mean(np.abs(swapped) >= abs(found.difference) - 1e-9)
    assert found.p_randomisation == pytest.approx(exact, abs=0.02)
    assert compare(metric, target, a, b, samples=5000, groups=groups.astype(str)) == found


def test_copies_of_examples_are_no_evidence_where_they_are_of_one_group():
    target, a, b = systems(80)
    single = compare(ACCURACY, target, a, b, samples=2000)
    copies = compare(ACCURACY, *(x.repeat(5) for x in (target, a, b)), samples=2000)
    grouped = compare(
        ACCURACY, *(x.repeat(5) for x in (target, a, b)), samples=2000, groups=np.arange(80).repeat(5)
    )
    assert copies.standard_error < 0.5 * single.standard_error
    assert dataclasses.replace(grouped, n=80) == single


def test_many_seeds_and_words_take_seconds():
    rng = np.random.default_rng(0)
    target = rng.integers(40, size=10_000)
    a, b = (np.where(rng.random((5, 10_000)) < skill, target, 0) for skill in (0.8, 0.78))
    start = time.process_time()
    found = compare(ACCURACY, target, a, b, samples=500, groups=np.arange(10_000) // 20)
    assert time.process_time() - start < 3  # a third on the machine that this was written on
    assert found.units == 500


FOUND = Comparison(
    metric="accuracy",
    score_a=0.75,
    score_b=0.74,
    difference=0.01,
    interval=(-0.01, 0.03),
    smallest_visible=0.0286,
    p=0.3,
    standard_error=0.01,
    df=30.0,
    over="seeds and examples",
    paired=True,
    p_bootstrap=0.2,
    p_randomisation=None,
    p_seeds=None,
    samples=100,
    n=400,
    units=400,
)


def test_equivalence_is_two_one_sided_tests():
    rng = np.random.default_rng(0)
    for _ in range(40):
        d, error, df, bound = rng.normal(), rng.random(), rng.integers(2, 40), 3 * rng.random() + 0.01
        # Each test asks whether the difference is beyond one end of the bound.
        p = max(stats.t.sf((d + bound) / error, df), stats.t.cdf((d - bound) / error, df))
        found = dataclasses.replace(FOUND, difference=d, standard_error=error, df=float(df))
        assert found.equivalent(bound) == (p < 0.05)


def test_the_verdict_knows_which_way_is_better():
    for interval, maximize in itertools.product(((0.01, 0.03), (-0.03, -0.01)), (True, False)):
        found = dataclasses.replace(FOUND, interval=interval, maximize=maximize)
        better = (interval[0] > 0) == maximize
        assert found.verdict() == found.verdict(0.5) == ("better" if better else "worse")


def test_the_verdict_of_no_difference():
    assert FOUND.verdict() == "undecided (smallest visible effect 0.0286)"
    assert FOUND.verdict(0.02) == FOUND.verdict()
    assert FOUND.verdict(0.05) == "no effect larger than 0.05"
    few = compare(ACCURACY, [0, 1, 0, 1], [0, 1, 0, 1], [1, 1, 0, 0], samples=100)  # of no accuracy above 1
    assert (few.smallest_visible, few.verdict()) == (None, "undecided (no effect is visible)")
    same = compare(ACCURACY, [0, 1, 0], [0, 1, 1], [0, 1, 1], samples=10)
    assert same.p == 1.0
    assert not same.equivalent(0.001)  # three examples do not show that
    assert same.verdict() == same.verdict(10.0) == "the same predictions"
    other = compare(ACCURACY, [0, 1, 0], [[0, 1, 1], [0, 1, 1]], [[0, 1, 1], [1, 1, 0]], samples=10)
    assert (other.difference, other.identical) == (0.0, False)


def test_a_bound_is_a_number_above_zero():
    for bound in (0, -0.1, float("nan"), float("inf"), "0.1", True):
        for method in (FOUND.equivalent, FOUND.verdict):
            with pytest.raises(ValueError, match=r"'bound' must be a finite number above 0 \(got"):
                method(bound)


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
@pytest.mark.parametrize("runs", [3, 10])
def test_intervals_cover_the_true_difference(draw, runs):
    for spread in SPREADS:
        d = draw(np.random.default_rng(1), runs, spread)
        error, df = errors_of(d)
        covered = np.abs(d.mean(axis=(0, 2))) <= stats.t.ppf(0.975, df) * error + 1e-12
        assert 0.93 <= covered.mean() <= 0.97, spread


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


@pytest.mark.parametrize(("runs", "spread"), [*zip((3, 5, 10, 3, 10), SPREADS)])
def test_the_smallest_visible_effect_is_found_four_times_of_five(runs, spread):
    d = continuous(np.random.default_rng(3), runs, spread)
    error, df = errors_of(d)
    places = np.geomspace(1, 2 * UNITS, 50)
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


def slow_error(systems: list[np.ndarray], paired: bool) -> tuple[float, float]:
    """Eqs. 1 and 2 of :func:`compare` number by number, of what each run gets on each example ``[R, N]``."""
    n = systems[0].shape[1]
    if paired:
        systems = [systems[0] - systems[1]]
    means = [[float(np.mean(column)) for column in system.T] for system in systems]
    of_examples = statistics.variance([a - b for a, b in zip(*means)] if len(means) > 1 else means[0]) / n
    a = c = welch = 0.0
    for system, mean in zip(systems, means):
        runs = len(system)
        if runs > 1:
            own = statistics.variance([float(np.mean(run)) for run in system]) / runs
            each = statistics.fmean(statistics.variance(map(float, run)) / n for run in system)
            a, c = a + own, c + (each - statistics.variance(mean) / n) / (runs - 1)
            welch += own**2 / (runs - 1)
    error = math.sqrt(max(a + of_examples - c, a, of_examples))
    if a <= c or not welch:
        return error, n - 1
    df = a**2 / welch
    b = (df + 2) / df * a  # (R + 1) / (R - 1) of it where df is R - 1
    weight = b**2 / df + of_examples**2 / (n - 1)
    found = max(b + of_examples - c, b, of_examples) ** 2 / weight
    return error, min(max(found, min(df, n - 1)), df + n - 1)


@given(
    st.integers(0, 2**32),
    st.integers(2, 30),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([0.0, 0.1, 1.0]),
)
def test_errors_and_degrees_of_freedom_are_those_of_the_formula(seed, n, runs, seeds, single):
    rng = np.random.default_rng(seed)
    systems = [
        rng.normal(size=n) + seeds * rng.normal(size=(r, 1)) + single * rng.normal(size=(r, n)) for r in runs
    ]
    for paired in {False, runs[0] == runs[1]}:
        parts = [systems[0] - systems[1]] if paired else systems
        spreads = [
            run_spread(d.mean(axis=-1), d.var(axis=-1, ddof=1) / n, d.mean(axis=0).var(ddof=1) / n)
            for d in parts
        ]
        mean = systems[0].mean(axis=0) - systems[1].mean(axis=0)
        found = standard_error(spreads[0] if paired else both(*spreads), np.asarray(mean.var(ddof=1) / n), n)
        assert [float(value) for value in found] == pytest.approx(slow_error(systems, paired))


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


def test_a_visible_effect_needs_degrees_of_freedom():
    with pytest.raises(ValueError, match=r"'df' must be above 0 \(got 0\)"):
        visible_effect(0.1, 0)
