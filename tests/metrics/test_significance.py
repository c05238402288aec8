from __future__ import annotations

import dataclasses
import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from graphdep.metrics import ACCURACY, F1, MACRO_F1, MSE, PEARSON, SPEARMAN, Metric, compare

METRICS = [ACCURACY, F1, MACRO_F1, MSE, PEARSON, SPEARMAN]
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


@each_metric
def test_randomisation_against_all_swaps(metric):
    target, a, b = systems(8, seed=3)
    observed = abs(metric(a, target) - metric(b, target))
    differences = []
    for swap in itertools.product([False, True], repeat=8):
        first, second = np.where(swap, b, a), np.where(swap, a, b)
        differences.append(metric(first, target) - metric(second, target))
    exact = np.mean(np.abs(differences) >= observed - 1e-9)
    assert 0.02 < exact < 0.98
    assert compare(metric, target, a, b, samples=10_000).p_randomisation == pytest.approx(exact, abs=0.015)


@each_metric
def test_bootstrap_against_all_resamples(metric):
    target, a, b = np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1]), np.array([1, 1, 0, 0])
    differences = []
    for places in map(list, itertools.product(range(4), repeat=4)):
        differences.append(metric(a[places], target[places]) - metric(b[places], target[places]))
    exact = 2 * min(np.mean(np.array(differences) <= 1e-9), np.mean(np.array(differences) >= -1e-9))
    found = compare(metric, target, a, b, samples=10_000, interval="percentile")
    assert found.p_bootstrap == pytest.approx(min(1, exact), abs=0.03)
    assert found.interval == pytest.approx(np.quantile(differences, [0.025, 0.975]), abs=0.02)
    assert found.difference == metric(a, target) - metric(b, target)
    by_t = compare(metric, target, a, b, samples=10_000)
    assert by_t.standard_error == pytest.approx(np.std(differences) * np.sqrt(4 / 3), rel=0.05)
    assert dataclasses.replace(by_t, interval=found.interval) == found


@pytest.mark.parametrize("metric", [ACCURACY, MSE], ids=lambda metric: metric.name)
def test_one_run_against_scipys_bootstrap(metric):
    target, a, b = systems(150, seed=2)

    def difference(target, a, b, axis):
        scores = [(x == target) if metric is ACCURACY else (x - target) ** 2 for x in (a, b)]
        return scores[0].mean(axis=axis) - scores[1].mean(axis=axis)

    def known(method):
        rng = np.random.default_rng(0)
        return stats.bootstrap((target, a, b), difference, paired=True, method=method, rng=rng)

    found = compare(metric, target, a, b, samples=5000, interval="percentile")
    percentile = known("percentile")
    assert found.interval == pytest.approx(tuple(percentile.confidence_interval), abs=0.01)
    assert found.standard_error == pytest.approx(percentile.standard_error, rel=0.05)
    # With many examples it does not matter much which kind of interval it is.
    found = compare(metric, target, a, b, samples=5000)
    assert found.interval == pytest.approx(tuple(known("BCa").confidence_interval), abs=0.02)


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
    assert found.interval == pytest.approx((1 - 0.1157, 1 + 0.1157), abs=1e-4)  # 1 - .025 ** (1 / 30)
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


@each_metric
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
        ({"a": np.ones(3)}, r"'a' must have shape \(4,\) or \(runs, 4\), .*\(got \(3,\)\)"),
        ({"b": np.ones((0, 4))}, r"'b' must have shape .*\(got \(0, 4\)\)"),
        (
            {"b": np.array([1, 1, 1, np.nan])},
            r"'b' must be finite numbers \(got float64 \[ 1.  1.  1. nan\]\)",
        ),
        ({"a": ["1"] * 4}, r"'a' must be finite numbers \(got <U1"),
        (
            {"target": np.ones((2, 2))},
            r"'target' must be a vector of at least 2 examples \(got shape \(2, 2\)",
        ),
        (
            {"target": [1], "a": [1], "b": [1]},
            r"'target' must be a vector of at least 2 .*\(got shape \(1,\)",
        ),
        ({"samples": 0}, r"'samples' must be a whole number of at least 2 \(got 0\)"),
        ({"samples": 10.0}, r"'samples' must be a whole number of at least 2 \(got 10.0\)"),
        ({"samples": 1}, r"'samples' must be a whole number of at least 2 \(got 1\)"),
        ({"interval": "bca"}, r"'interval' must be one of t, percentile \(got 'bca'\)"),
        ({"a": np.ones((2, 4)), "paired": True}, r"'paired' runs must be as many of each \(got 2 and 1\)"),
        ({"groups": [1, 1, 2]}, r"'groups' must be 4 whole numbers or texts, one an example \(got int64"),
        ({"groups": [0.5, 1.0, 2.0, 3.0]}, r"'groups' must be 4 whole numbers or texts.*\(got float64"),
        ({"groups": [7] * 4}, r"'groups' must be at least 2 different ones \(got .*7.* for all examples\)"),
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


@each_metric
@settings(max_examples=10)
@given(st.integers(0, 1000), st.integers(2, 30))
def test_groups_of_one_example_each_are_no_groups(metric, seed, n):
    target, a, b = systems(n, seed)
    names = np.random.default_rng(seed).permutation(n)
    one, other = (compare(metric, target, a, b, samples=20, groups=groups) for groups in (None, names))
    assert one == other
    assert other.units == n


@each_metric
def test_groups_are_drawn_and_swapped_as_a_whole(metric):
    target, a, b = systems(12, seed=3)
    groups = np.array([5, 5, 2, 2, 2, 2, 9, 9, 9, 5, 7, 7])
    places = [np.flatnonzero(groups == group) for group in (5, 2, 9, 7)]
    drawn, swapped = [], []
    for chosen in itertools.product(range(4), repeat=4):
        rows = np.concatenate([places[group] for group in chosen])
        drawn.append(metric(a[rows], target[rows]) - metric(b[rows], target[rows]))
    for swap in itertools.product([False, True], repeat=4):
        rows = np.isin(groups, np.array([5, 2, 9, 7])[list(swap)])
        first, second = np.where(rows, b, a), np.where(rows, a, b)
        swapped.append(metric(first, target) - metric(second, target))
    found = compare(metric, target, a, b, samples=10_000, groups=groups)
    assert (found.n, found.units, found.df) == (12, 4, 3)
    assert found.standard_error == pytest.approx(np.std(drawn) * np.sqrt(4 / 3), rel=0.05)
    exact = np.mean(np.abs(swapped) >= abs(found.difference) - 1e-9)
    assert found.p_randomisation == pytest.approx(exact, abs=0.02)
    assert compare(metric, target, a, b, samples=10_000, groups=groups.astype(str)) == found


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
    target = rng.integers(40, size=30_000)
    a, b = (np.where(rng.random((5, 30_000)) < skill, target, 0) for skill in (0.8, 0.78))
    start = time.process_time()
    found = compare(ACCURACY, target, a, b, samples=500, groups=np.arange(30_000) // 20)
    assert time.process_time() - start < 6  # 1 on the machine that this was written on
    assert found.units == 1500
