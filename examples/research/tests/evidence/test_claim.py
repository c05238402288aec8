from __future__ import annotations

import numpy as np
import pytest
from evidence import Claim
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from graphdep.metrics import visible_effect

numbers = st.floats(-1, 1)


def make(expected: str = "better", smallest: float = 0.02, **more: object) -> Claim:
    given = {"name": "one", "text": "trees help", "source": "ours", "a": "dt", "b": "transformer"}
    return Claim(**{**given, **more}, expected=expected, smallest=smallest)


@pytest.mark.parametrize(
    ("expected", "difference", "error", "verdict"),
    [
        ("better", 0.10, 0.01, "reproduced"),
        ("better", 0.01, 0.001, "reproduced"),  # real, if smaller than what matters
        ("better", 0.00, 0.001, "not reproduced (powered)"),
        ("better", -0.10, 0.01, "not reproduced (powered)"),
        ("better", 0.01, 0.05, "undecided (smallest visible effect 0.147)"),
        ("worse", -0.10, 0.01, "reproduced"),
        ("worse", 0.10, 0.01, "not reproduced (powered)"),
        ("equal", 0.001, 0.001, "reproduced"),
        ("equal", 0.10, 0.01, "not reproduced (powered)"),
        ("equal", 0.03, 0.01, "undecided (smallest visible effect 0.0295)"),
    ],
)
def test_verdicts(expected, difference, error, verdict):
    assert make(expected).verdict(difference, error, 20) == verdict


@given(numbers, st.floats(1e-4, 1), st.integers(1, 60), st.sampled_from(["better", "worse", "equal"]))
def test_exchanging_the_rows_exchanges_better_and_worse(difference, error, df, expected):
    other = {"better": "worse", "worse": "better", "equal": "equal"}[expected]
    assert make(expected).verdict(difference, error, df) == make(other).verdict(-difference, error, df)
    least = make(expected).verdict(-difference, error, df, maximize=False)
    assert least == make(expected).verdict(difference, error, df)


def test_against_the_tests_of_scipy():
    """Of paired differences: a t-test on two sides for a gain, two tests on one side for equality."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = rng.normal(rng.choice([0.0, 0.01, 0.03]), 0.01, size=6)
        error, bound = stats.sem(values), 0.02
        found = make("better", bound).verdict(values.mean(), error, 5)
        gain = stats.ttest_1samp(values, 0).pvalue < 0.05 and values.mean() > 0
        below = stats.ttest_1samp(values, bound, alternative="less").pvalue < 0.05
        expected = "reproduced" if gain else "not reproduced" if below else "undecided"
        assert found.startswith(expected)
        above = stats.ttest_1samp(values, -bound, alternative="greater").pvalue < 0.05
        assert (make("equal", bound).verdict(values.mean(), error, 5) == "reproduced") == (above and below)


def test_smallest_visible_effect_is_seen_in_four_cases_of_five():
    rng, error, df = np.random.default_rng(1), 0.01, 9
    effect = visible_effect(error, df)
    draws = rng.normal(effect, error * np.sqrt(df + 1), size=(4000, df + 1))
    seen = stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05
    assert abs(seen.mean() - 0.8) < 0.03


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"expected": "more"}, "claim one: 'expected' must be one of better, worse, equal \\(got 'more'\\)"),
        ({"smallest": 0}, "claim one: 'smallest' must be a number above 0 \\(got 0\\)"),
        ({"smallest": float("nan")}, "'smallest' must be a number above 0 \\(got nan\\)"),
        ({"smallest": "much"}, "'smallest' must be a number above 0 \\(got 'much'\\)"),
        ({"name": "two words"}, "a claim's 'name' must be a word \\(got 'two words'\\)"),
        ({"b": "dt"}, "claim one: 'a' and 'b' must be two rows \\(got 'dt' twice\\)"),
    ],
)
def test_errors(values, message):
    with pytest.raises(ValueError, match=message):
        make(**{"expected": "better", "smallest": 0.1, **values})
