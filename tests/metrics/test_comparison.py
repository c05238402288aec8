from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from graphdep.metrics import ACCURACY, MSE, Comparison, compare

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


def test_equivalence_against_scipy_on_paired_runs():
    # MSE of predictions that are all off by the same: no noise of examples, R seeds.
    target, a = np.zeros(30), np.array([0.5, 0.4, 0.6, 0.45])
    b = np.array([0.5, 0.45, 0.5, 0.5])
    runs = [np.sqrt(scores)[:, None] * np.ones(30) for scores in (a, b)]
    found = compare(MSE, target, *runs, samples=50)
    edges = [
        stats.ttest_1samp(a - b, end, alternative=side).pvalue
        for end, side in ((-0.15, "greater"), (0.15, "less"))
    ]
    assert max(edges) < 0.05
    assert found.equivalent(0.15)
    assert not found.equivalent(0.05)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("maximize", [True, False])
def test_the_verdict_knows_which_way_is_better(sign, maximize):
    interval = (0.01, 0.03) if sign > 0 else (-0.03, -0.01)
    found = dataclasses.replace(FOUND, interval=interval, maximize=maximize)
    assert found.verdict() == found.verdict(0.5) == ("better" if (sign > 0) == maximize else "worse")


def test_the_verdict_of_no_difference():
    assert FOUND.verdict() == "undecided (smallest visible effect 0.0286)"
    assert FOUND.verdict(0.02) == FOUND.verdict()
    assert FOUND.verdict(0.05) == "no effect larger than 0.05"
    same = compare(ACCURACY, [0, 1, 0], [0, 1, 1], [0, 1, 1], samples=10)
    assert same.p == 1.0
    assert not same.equivalent(0.001)  # three examples do not show that
    assert same.verdict() == same.verdict(10.0) == "the same predictions"
    other = compare(ACCURACY, [0, 1, 0], [[0, 1, 1], [0, 1, 1]], [[0, 1, 1], [1, 1, 0]], samples=10)
    assert (other.difference, other.identical) == (0.0, False)


@pytest.mark.parametrize("bound", [0, -0.1, float("nan"), float("inf"), "0.1", True])
def test_a_bound_is_a_number_above_zero(bound):
    for method in (FOUND.equivalent, FOUND.verdict):
        with pytest.raises(ValueError, match=r"'bound' must be a finite number above 0 \(got"):
            method(bound)
