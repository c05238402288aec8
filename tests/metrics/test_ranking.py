from __future__ import annotations

from itertools import groupby, permutations, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep.metrics import (
    RANKING,
    compare,
    pool_counts,
    pool_metrics,
    random_floor,
    ranking_metric,
    ranking_metrics,
)

KS = (1, 2, 5)
RECALLS = ("fraction", "any")
# Pools of a few scores, so that most have ties.
CANDIDATES = st.tuples(st.integers(0, 3), st.integers(0, 1))
POOLS = st.lists(st.lists(CANDIDATES, min_size=1, max_size=6), min_size=1, max_size=5)


def columns(pools):
    rows = [(score, label, number) for number, pool in enumerate(pools) for score, label in pool]
    return (np.array(column) for column in zip(*rows))


def of_order(labels, recall):
    """The metrics of labels in the order of their ranks, as they are defined."""
    ranks = [rank for rank, label in enumerate(labels, start=1) if label]
    values = {}
    for k in KS:
        hits = sum(labels[:k])
        values[f"R@{k}"] = (
            0.0 if not ranks else hits / len(ranks) if recall == "fraction" else float(hits > 0)
        )
    values["MAP"] = sum(i / rank for i, rank in enumerate(ranks, start=1)) / max(1, len(ranks))
    values["MRR"] = 1 / ranks[0] if ranks else 0.0
    values["P@1"] = float(labels[0])
    return values


def orders(pool):
    """All orders of a pool that its scores allow: labels, the best first."""
    by_score = groupby(sorted(pool, key=lambda pair: -pair[0]), key=lambda pair: pair[0])
    blocks = [list(permutations([label for _, label in block])) for _, block in by_score]
    return [[label for block in order for label in block] for order in product(*blocks)]


def slow_pool(pool, ties, recall):
    every = [of_order(labels, recall) for labels in orders(pool)]
    combine = {"mid": np.mean, "pessimistic": min, "optimistic": max}[ties]
    return {name: float(combine([values[name] for values in every])) for name in every[0]}


def slow_kept(pools, filter):
    kept = []
    for pool in pools:
        labels = {label for _, label in pool}
        if filter == "none" or (1 in labels and (filter == "negative" or 0 in labels)):
            kept.append(pool)
    return kept


@given(
    POOLS,
    st.sampled_from(["mid", "pessimistic", "optimistic"]),
    st.sampled_from(["both", "negative", "none"]),
    st.sampled_from(RECALLS),
)
def test_equals_all_orders_of_ties(pools, ties, filter, recall):
    kept = slow_kept(pools, filter)
    options = {"ks": KS, "filter": filter, "recall": recall, "sizes": "any"}
    if not kept:
        with pytest.raises(ValueError, match=rf"leaves out all of {len(pools)} pools"):
            ranking_metrics(*columns(pools), ties, **options)
        return
    slow = [slow_pool(pool, ties, recall) for pool in kept]
    each = pool_metrics(*columns(pools), ties, **options)
    mean = ranking_metrics(*columns(pools), ties, **options)
    assert list(mean) == list(each) == list(slow[0])
    for name in mean:
        expected = [values[name] for values in slow]
        assert each[name] == pytest.approx(expected)
        assert mean[name] == pytest.approx(np.mean(expected))


@settings(max_examples=30)
@given(POOLS, st.sampled_from(RECALLS))
def test_floor_is_the_mean_over_all_orders(pools, recall):
    _, labels, groups = columns(pools)
    got = random_floor(labels, groups, filter="none", recall=recall, sizes="any")
    flat = [[(0, label) for _, label in pool] for pool in pools]
    expected = [slow_pool(pool, "mid", recall) for pool in flat]
    for name, value in got.items():
        assert value == pytest.approx(np.mean([values[name] for values in expected]))


def one_right(pools, candidates=10):
    labels = np.tile(np.arange(candidates) == 0, pools)
    return labels, np.arange(pools).repeat(candidates)


def test_a_constant_model_gets_the_floor_wherever_the_right_one_stands():
    labels, groups = one_right(50)
    for score in (0.0, -3.5):
        got = ranking_metrics(np.full(labels.shape, score), labels, groups)
        assert got == random_floor(labels, groups)
    harmonic = sum(1 / rank for rank in range(1, 11)) / 10
    expected = {"R10@1": 0.1, "R10@2": 0.2, "R10@5": 0.5, "MAP": harmonic, "MRR": harmonic, "P@1": 0.1}
    assert got == pytest.approx(expected)
    assert ranking_metrics(np.zeros(500), labels, groups, "pessimistic")["R10@5"] == 0.0
    assert ranking_metrics(np.zeros(500), labels, groups, "optimistic")["R10@1"] == 1.0


def douban():
    """1,000 pools of ten: 280 without a right candidate, 53 with nothing else, and on average 1.93 right
    ones in the other 667.
    """
    right = np.where(np.arange(667) < 620, 2, 1)
    positives = np.concatenate([np.zeros(280, int), np.full(53, 10), right])
    return (np.arange(10) < positives[:, None]).ravel().astype(int), np.arange(1000).repeat(10)


def test_regimes_of_douban():
    labels, groups = douban()
    assert pool_counts(labels, groups) == {"pools": 1000, "no_positive": 280, "no_negative": 53}
    both = random_floor(labels, groups)
    assert both["R10@1"] == pytest.approx(0.1)
    assert both["P@1"] == pytest.approx(0.193, abs=5e-4)
    assert random_floor(labels, groups, recall="any")["R10@1"] == pytest.approx(both["P@1"])
    negative, none = (random_floor(labels, groups, filter=name) for name in ("negative", "none"))
    assert negative["P@1"] == pytest.approx(0.2524, abs=5e-4)
    for name in both:
        # A pool of right candidates alone has 1 in all but recall by fraction.
        perfect = {"R10@1": 0.1, "R10@2": 0.2, "R10@5": 0.5}.get(name, 1.0)
        assert negative[name] == pytest.approx((667 * both[name] + 53 * perfect) / 720)
        assert none[name] == pytest.approx(negative[name] * 720 / 1000)


def test_pools_of_one_candidate():
    with pytest.raises(
        ValueError, match=r"filter='both' leaves out all of 1 pools: 0 have .*, 1 no negative"
    ):
        ranking_metrics([0.3], [1], [0])
    got = ranking_metrics([0.3, 0.2], [1, 0], [0, 1], filter="none")
    assert got == dict.fromkeys(("R1@1", "R1@2", "R1@5", "MAP", "MRR", "P@1"), 0.5)


def test_a_pool_may_lie_scattered_and_have_any_number_or_name():
    scores, labels = np.array([0.1, 0.9, 0.8, 0.2]), np.array([1, 0, 1, 0])
    expected = {"R2@1": [0.0, 1.0], "MAP": [0.5, 1.0], "MRR": [0.5, 1.0], "P@1": [0.0, 1.0]}
    for groups in (np.array([-5, -5, 900, 900]), ["a", "a", "b", "b"]):
        got = pool_metrics(scores, labels, groups, ks=[1])
        assert {name: value.tolist() for name, value in got.items()} == expected
    got = pool_metrics(scores[[0, 2, 1, 3]], labels[[0, 2, 1, 3]], [0, 1, 0, 1], ks=[1])
    assert {name: value.tolist() for name, value in got.items()} == expected


def test_tensors():
    labels, groups = torch.tensor([1.0, 0.0, 1.0, 0.0]), torch.tensor([0, 0, 1, 1])
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.uint8):
        scores = torch.tensor([3, 1, 2, 2]).to(dtype).requires_grad_(dtype.is_floating_point)
        assert ranking_metrics(scores, labels, groups, ks=(1,))["R2@1"] == 0.75


def test_whole_numbers_are_not_rounded():
    assert ranking_metrics([2**53 + 1, 2**53], [0, 1], [0, 0], ks=(1,))["R2@1"] == 0.0


def test_more_is_better_at_both_ends_of_int64():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    assert ranking_metrics(np.array([low, high]), [0, 1], [0, 0])["MRR"] == 1.0


def test_a_large_tie():
    labels = np.zeros(5000, dtype=int)
    labels[:50] = 1
    got = random_floor(labels, np.zeros(5000, dtype=int), recall="any", ks=(1, 100))
    assert got["R5000@1"] == got["P@1"] == pytest.approx(0.01)
    missed = np.prod([(4950 - i) / (5000 - i) for i in range(100)])
    assert got["R5000@100"] == pytest.approx(1 - missed)


def test_prefix():
    labels, groups = one_right(2)
    assert list(ranking_metrics(labels, labels, groups, prefix="test")) == [
        *("test_R10@1", "test_R10@2", "test_R10@5", "test_MAP", "test_MRR", "test_P@1")
    ]
    assert next(iter(random_floor(labels, groups, ks=(3,), prefix="val"))) == "val_R10@3"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_must_be_finite(bad):
    scores = np.zeros(30)
    scores[17] = bad
    labels, groups = one_right(3)
    with pytest.raises(ValueError, match=rf"'scores' must be finite \(got {bad} for pair 17, pool 41\)"):
        ranking_metrics(scores, labels, groups + 40)
    # Also in a pool that is left out.
    with pytest.raises(ValueError, match="pool 41"):
        ranking_metrics(scores, labels & (groups != 1), groups + 40)


def test_bad_values():
    labels, groups = one_right(2)
    scores = np.zeros(20)
    with pytest.raises(ValueError, match=r"'labels' is empty: there must be at least one pair"):
        ranking_metrics([], [], [])
    for wrong, got in (
        (scores[1:], "19 of float64"),
        (["a"] * 20, "20 of <U1"),
        (scores + 1j, "20 of complex"),
    ):
        with pytest.raises(ValueError, match=f"'scores' must be a number for each of 20 'labels' .got {got}"):
            ranking_metrics(wrong, labels, groups)
    with pytest.raises(ValueError, match=r"'scores' must be of shape \[pairs\] \(got \[2, 10\]\)"):
        ranking_metrics(scores.reshape(2, 10), labels, groups)
    with pytest.raises(ValueError, match=r"'labels' must be 0 or 1 \(got .*2"):
        ranking_metrics(scores, labels * 2, groups)
    with pytest.raises(ValueError, match=r"'labels' must be 0 or 1 \(got .*nan"):
        ranking_metrics(scores, np.where(labels, np.nan, 0), groups)
    with pytest.raises(ValueError, match=r"'labels' must be 0 or 1 \(got .*'0'"):
        ranking_metrics(scores, ["0"] * 20, groups)
    with pytest.raises(ValueError, match=r"'groups' must be whole numbers or strings \(got float64\)"):
        ranking_metrics(scores, labels, groups / 2)
    with pytest.raises(ValueError, match=r"'ks' must be a whole number of at least 1 \(got 0\)"):
        ranking_metrics(scores, labels, groups, ks=(1, 0))
    with pytest.raises(ValueError, match="'filter' must be one of both, negative, none .got 'all'"):
        random_floor(labels, groups, filter="all")
    for option in ("ties", "recall", "sizes"):
        with pytest.raises(ValueError, match=f"'{option}' must be one of .*got 'some'"):
            ranking_metrics(scores, labels, groups, **{option: "some"})


def test_pools_of_different_sizes_must_be_asked_for():
    scores, labels, groups = [1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [3, 3, 4, 4, 4]
    with pytest.raises(ValueError, match="pools differ in size: 3 has 2 candidates, 4 has 3"):
        ranking_metrics(scores, labels, groups)
    got = ranking_metrics(scores, labels, groups, sizes="any", ks=(1, 2))
    assert got == pytest.approx({"R@1": 0.5, "R@2": 0.75, "MAP": 17 / 24, "MRR": 17 / 24, "P@1": 0.5})
    # Only pools that count are compared.
    assert "R2@1" in ranking_metrics(scores, [1, 0, 0, 0, 0], groups)


@pytest.mark.parametrize("name", RANKING)
def test_metric_objects(name):
    rng = np.random.default_rng(0)
    labels, groups = one_right(40)
    scores, zeros = rng.integers(0, 5, 400), np.zeros(400)
    value, target = (pool_metrics(column, labels, groups)[name] for column in (scores, zeros))
    metric = RANKING[name]
    assert metric(value, target) == ranking_metrics(scores, labels, groups)[name]
    assert metric.floor(target[:3], target) == random_floor(labels, groups)[name]
    weight = rng.integers(0, 3, (4, 40))
    expected = [metric(value.repeat(count), target.repeat(count)) for count in weight]
    assert metric.resampled(value, target, weight) == pytest.approx(expected)
    assert name in metric.signature
    assert "ties=mid" in metric.signature
    assert metric.is_better(0.2, 0.1)
    assert compare(metric, target, value, value, samples=10).difference == 0.0


def test_a_metric_of_pools_of_two():
    metric = ranking_metric("R2@1", filter="negative")
    assert metric.name == "R2@1"
    assert "filter=negative|recall=fraction" in metric.signature
    with pytest.raises(ValueError, match="'recall' must be one of fraction, any"):
        ranking_metric("R2@1", recall="all")
