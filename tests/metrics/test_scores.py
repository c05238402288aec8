"""Scores of labels, numbers and perplexities, against formulas, counting and other packages."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from graphdep.metrics import (
    ACCURACY,
    ACCURACY_F1,
    F1,
    MACRO_F1,
    MCC,
    MSE,
    MSE_OF_NUMBERS,
    PEARSON,
    PEARSON_SPEARMAN,
    SPEARMAN,
    mean_metric,
    semeval2010_macro_f1,
)
from graphdep.metrics.scores import (
    EXACT,
    NOTHING,
    PERPLEXITY,
    PERPLEXITY_RESPONSES,
    PERPLEXITY_WORDS,
    SPAN,
    WORD_ACCURACY,
    WORD_F1,
    WORD_MACRO_F1,
    label_table,
    labels_of,
    macro_f1,
    micro_f1,
    unigram_losses,
)


def test_accuracy_and_its_floor():
    target = np.array([0, 0, 1, 2])
    assert ACCURACY(np.array([0, 1, 1, 1]), target) == 0.5
    assert ACCURACY.floor(np.array([1, 1, 0]), target) == 0.25  # class 1 is the training split's majority


def test_f1_of_label_1_and_its_floor():
    target = np.array([1, 1, 1, 0, 0])
    assert F1(np.array([1, 0, 1, 1, 0]), target) == pytest.approx(2 / 3)  # 2 right of 3 found, 2 of 3 there
    assert F1(np.zeros(5), target) == F1(np.zeros(5), np.zeros(5)) == 0.0
    assert F1.floor(np.array([1, 1, 0]), target) == pytest.approx(2 * 0.6 / 1.6)  # all are predicted to be 1
    assert F1.floor(np.array([0, 1, 0]), target) == 0.0


def test_mcc_equals_its_formula():
    prediction, target = np.array([1, 1, 1, 0, 0, 1]), np.array([1, 1, 0, 0, 1, 1])
    tp, tn, fp, fn = 3, 1, 1, 1
    expected = (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert MCC(prediction, target) == pytest.approx(expected)
    assert MCC(target, target) == pytest.approx(1.0)
    assert MCC(1 - target, target) == pytest.approx(-1.0)
    assert MCC(prediction, target) == pytest.approx(np.corrcoef(prediction, target)[0, 1])
    assert MCC.floor(target, target) == 0.0


def test_macro_f1_is_the_mean_of_the_classes():
    prediction, target = np.array([0, 0, 1, 3]), np.array([0, 1, 1, 2])
    assert MACRO_F1(prediction, target) == pytest.approx((2 / 3 + 2 / 3 + 0 + 0) / 4)
    assert MACRO_F1.floor(np.array([1, 1, 0]), target) == pytest.approx((0 + 2 / 3 + 0) / 3)


def test_combined_metrics_are_means():
    prediction, target = np.array([1, 0, 1, 1, 0]), np.array([1, 1, 1, 0, 0])
    assert ACCURACY_F1(prediction, target) == pytest.approx((0.6 + 2 / 3) / 2)
    train = np.array([1, 1, 0])
    assert ACCURACY_F1.floor(train, target) == pytest.approx((0.6 + 2 * 0.6 / 1.6) / 2)
    a, b = np.random.default_rng(1).random((2, 20))
    assert PEARSON_SPEARMAN(a, b) == pytest.approx((PEARSON(a, b) + SPEARMAN(a, b)) / 2)
    with pytest.raises(ValueError, match="'both' must be of metrics .* maximised \\(got accuracy and mse\\)"):
        mean_metric("both", ACCURACY, MSE)


@pytest.mark.parametrize("metric", [MCC, ACCURACY_F1, PEARSON_SPEARMAN])
def test_resamples_are_as_if_examples_were_repeated(metric):
    classes = 3
    rng = np.random.default_rng(classes)
    prediction, target = rng.integers(classes, size=(2, 30))
    if metric is ACCURACY_F1:  # F1 is of two classes
        prediction, target = prediction % 2, target % 2
    weight = np.array([np.bincount(draw, minlength=30) for draw in rng.integers(30, size=(20, 30))])
    weight[0] = 0
    weight[0, 3] = 30  # a single label is there, and a single one is predicted
    slow = [metric(prediction.repeat(count), target.repeat(count)) for count in weight]
    np.testing.assert_allclose(metric.resampled(prediction, target, weight), slow, atol=1e-12)


def test_relatedness_equals_the_formulas():
    rng = np.random.default_rng(0)
    a, b = rng.random(50), rng.random(50)
    assert MSE(a, b) == pytest.approx(((a - b) ** 2).mean())
    assert PEARSON(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert SPEARMAN(a, b) == pytest.approx(np.corrcoef(a.argsort().argsort(), b.argsort().argsort())[0, 1])


def test_floors_of_relatedness():
    train, target = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0])
    assert MSE.floor(train, target) == 2.0
    assert PEARSON.floor(train, target) == SPEARMAN.floor(train, target) == 0.0


def test_no_variation_is_no_correlation_and_no_warning():
    for metric in (MCC, PEARSON, SPEARMAN, PEARSON_SPEARMAN):
        assert metric(np.ones(4), np.arange(4.0)) == 0.0
        assert metric(np.arange(4.0), np.ones(4)) == 0.0


def test_better_is_more_or_less():
    assert ACCURACY.is_better(0.1, None)
    assert not ACCURACY.is_better(0.1, 0.1)
    assert MSE.is_better(0.1, 0.2)
    assert not MSE.is_better(0.2, 0.1)


def test_signature_names_the_library_and_the_floor():
    for metric in (ACCURACY, ACCURACY_F1, F1, MACRO_F1, MCC, MSE, PEARSON, PEARSON_SPEARMAN, SPEARMAN):
        assert "floor" in metric.signature
        assert "scikit-learn" in metric.signature or "SciPy" in metric.signature


def test_sizes_must_agree():
    with pytest.raises(ValueError, match=r"mse: .*got \(2,\) and \(3,\)"):
        MSE(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="accuracy: .*vectors of one size > 0"):
        ACCURACY(np.ones(0), np.ones(0))


def test_the_mean_squared_error_of_labels_of_any_scale():
    a, b = np.random.default_rng(1).random((2, 20))
    assert MSE_OF_NUMBERS(a, b) == MSE(a, b)
    assert MSE_OF_NUMBERS.name == MSE.name
    assert "1-5 scale" in MSE.signature
    assert "1-5" not in MSE_OF_NUMBERS.signature


# No finding, labels, spans of labels 1 and 2 with their lengths.
CODES = (0, 1, 2, 3, SPAN + 1, SPAN + 2, 2 * SPAN + 1)
FOUND, THERE = st.sampled_from((NOTHING, *CODES)), st.sampled_from((-1, *CODES))
PAIRS = st.lists(st.tuples(FOUND, THERE), min_size=1, max_size=12)


def columns(pairs):
    prediction, target = zip(*pairs)
    return np.array(prediction), np.array(target)


def label_of(code: int) -> int:
    return code // SPAN if code >= SPAN else code


def slow_counts(pairs) -> dict[int, list[int]]:
    """How often each label is there, found, and right: word by word."""
    counts: dict[int, list[int]] = {}
    for found, there in pairs:
        if there != 0:
            counts.setdefault(label_of(there), [0, 0, 0])[0] += 1
        if found > 0:
            counts.setdefault(label_of(found), [0, 0, 0])[1] += 1
        if found == there and there > 0:
            counts[label_of(there)][2] += 1
    return counts


def slow_f1(there: int, found: int, right: int) -> float:
    return 2 * right / (there + found) if there + found else 0.0


@settings(max_examples=30)
@given(PAIRS)
def test_f1_and_the_table_by_counting(pairs):
    counts = slow_counts(pairs)
    rows = label_table(*columns(pairs))
    assert [row["label"] for row in rows] == sorted(counts)
    assert [[row[name] for name in ("there", "found", "right")] for row in rows] == [
        counts[label] for label in sorted(counts)
    ]
    for row in rows:
        there, found, right = counts[row["label"]]
        assert row["precision"] == (right / found if found else 0)
        assert row["recall"] == (right / there if there else 0)
        assert row["f1"] == slow_f1(there, found, right)
    assert micro_f1(*columns(pairs)) == pytest.approx(slow_f1(*np.sum([*counts.values(), [0] * 3], axis=0)))
    each = [slow_f1(*own) for own in counts.values()]
    assert macro_f1(*columns(pairs)) == pytest.approx(sum(each) / len(each) if each else 0)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_scikit_learn_without_the_label_of_no_finding(pairs):
    prediction, target = columns(pairs)
    labels = sorted({*prediction, *target} - {0})
    for average, metric in (("micro", micro_f1), ("macro", macro_f1)):
        expected = (
            f1_score(target, prediction, labels=labels, average=average, zero_division=0) if labels else 0
        )
        assert metric(prediction, target) == pytest.approx(expected)


def test_where_every_word_has_a_label_micro_f1_is_accuracy():
    prediction, target = np.array([1, 2, 3, 1]), np.array([1, 3, 3, -1])
    assert micro_f1(prediction, target) == WORD_ACCURACY(prediction, target) == 0.5


def test_a_label_that_training_lacks_is_there_and_never_found():
    rows = label_table(np.array([1, 0]), np.array([-1, -1]))
    assert [(row["label"], row["there"], row["found"], row["right"]) for row in rows] == [
        (-1, 2, 0, 0),
        (1, 0, 1, 0),
    ]
    assert micro_f1(np.array([1, 0]), np.array([-1, -1])) == 0


def test_words_without_a_prediction_find_nothing():
    prediction, target = np.array([NOTHING, NOTHING, 1]), np.array([1, 0, 1])
    assert micro_f1(prediction, target) == pytest.approx(2 / 3)
    assert [row["label"] for row in label_table(prediction, target)] == [1]
    assert WORD_ACCURACY(prediction, target) == pytest.approx(1 / 3)


def test_nothing_there_and_nothing_found():
    nothing = np.zeros(3, dtype=int)
    assert micro_f1(nothing, nothing) == macro_f1(nothing, nothing) == 0
    assert label_table(nothing, nothing) == []


@settings(max_examples=30)
@given(PAIRS, st.data())
def test_a_weight_is_so_many_copies(pairs, data):
    prediction, target = columns(pairs)
    size = len(pairs)
    weights = st.lists(st.integers(0, 3), min_size=size, max_size=size).filter(any)
    weight = np.array(data.draw(st.lists(weights, min_size=1, max_size=3)))
    for metric in (WORD_F1, WORD_MACRO_F1, WORD_ACCURACY, EXACT):
        expected = [metric(prediction.repeat(row), target.repeat(row)) for row in weight]
        assert metric.resampled(prediction, target, weight) == pytest.approx(expected), metric.name


def test_labels_of_codes():
    codes = np.array([NOTHING, -1, 0, 1, SPAN - 1, SPAN + 1, 3 * SPAN + 17])
    assert labels_of(codes).tolist() == [NOTHING, -1, 0, 1, SPAN - 1, 1, 3]


def test_many_labels_take_no_time():
    """As lemmas do: a loop over them with a look at all words each would take minutes."""
    codes = np.arange(1, 60_001)
    turned = np.where(codes % 2, codes, np.roll(codes, 1))
    right = (codes == turned).mean()
    assert 0.4 < right < 0.6
    assert micro_f1(turned, codes) == pytest.approx(right)
    weight = np.ones((2, len(codes)), dtype=np.int64)
    assert WORD_MACRO_F1.resampled(turned, codes, weight) == pytest.approx(macro_f1(turned, codes))


RESPONSES = st.lists(st.lists(st.floats(0, 20), min_size=1, max_size=5), min_size=1, max_size=6)
ALL = (PERPLEXITY, PERPLEXITY_RESPONSES)


def sums(responses):
    return np.array([sum(losses) for losses in responses]), np.array([len(losses) for losses in responses])


def test_computed_by_hand():
    # Probabilities: 1/2 1/4 and the end 1/8; then the end alone, 1/2.
    responses = [np.log([2.0, 4.0, 8.0]), np.log([2.0])]
    assert PERPLEXITY(*sums(responses)) == pytest.approx(2 ** (7 / 4))
    assert PERPLEXITY_RESPONSES(*sums(responses)) == pytest.approx(2 ** ((6 / 3 + 1 / 1) / 2))


@settings(max_examples=30)
@given(responses=RESPONSES)
def test_equals_loops(responses):
    every = [loss for losses in responses for loss in losses]
    means = [sum(losses) / len(losses) for losses in responses]
    for metric, losses in zip(ALL, (every, means)):
        expected = math.exp(sum(losses) / len(losses))
        assert metric(*sums(responses)) == pytest.approx(expected, rel=1e-6)


@settings(max_examples=30)
@given(responses=RESPONSES, seed=st.integers(0, 100))
def test_resampled_is_the_metric_of_the_sample(responses, seed):
    loss, tokens = sums(responses)
    sample = np.random.default_rng(seed).integers(0, len(loss), (4, len(loss)))
    weight = np.stack([np.bincount(row, minlength=len(loss)) for row in sample])
    for metric in ALL:
        expected = [metric(loss[row], tokens[row]) for row in sample]
        assert metric.resampled(loss, tokens, weight) == pytest.approx(expected, rel=1e-6)


def test_a_huge_loss_is_infinite_and_nothing_warns():
    assert PERPLEXITY_WORDS(np.array([1e4, 1.0]), np.array([1, 1])) == math.inf


def test_unigrams():
    losses = unigram_losses(np.array([3, 3, 1]), np.array([3, 0]), num_words=4)  # counts 1 2 1 3 of 7
    assert losses == pytest.approx([-math.log(3 / 7), -math.log(1 / 7)])


def test_less_is_better():
    assert all(metric.is_better(1.0, 2.0) for metric in (*ALL, PERPLEXITY_WORDS))


DIRECTED = [
    "Cause-Effect(e1,e2)",
    "Cause-Effect(e2,e1)",
    "Message-Topic(e1,e2)",
    "Message-Topic(e2,e1)",
    "Other",
]
PLAIN = ["Cause-Effect", "Message-Topic", "Other"]
C12, C21, M12, M21, OTHER = range(5)


def as_the_scorer(labels: list[str], prediction: list[int], target: list[int]) -> float:
    """The steps of the published scorer for its third evaluation, with its counts of wrong directions."""
    proposed: Counter[str] = Counter()
    answer: Counter[str] = Counter()
    right: Counter[str] = Counter()
    wrong_direction: Counter[str] = Counter()
    for p, t in zip(prediction, target):
        p_label, t_label = (labels[n] if n >= 0 else "Skipped" for n in (p, t))
        p_name, t_name = (label.partition("(")[0] for label in (p_label, t_label))
        answer[t_name] += 1
        if p == t:
            proposed[p_name] += 1
            right[t_name] += 1
        elif p_name == t_name:
            wrong_direction[t_name] += 1
        else:
            proposed[p_name] += 1
    names = [name for name in answer if name not in ("Other", "Skipped")]
    total = 0.0
    for name in names:
        precision = 100 * right[name] / (proposed[name] + wrong_direction[name]) if proposed[name] else 0
        recall = 100 * right[name] / answer[name]
        total += 2 * precision * recall / (precision + recall) if precision + recall else 0
    return total / len(names) / 100 if names else 0.0


CASES = [
    # All right; all Other; nothing but wrong directions.
    ([C12, M21, OTHER], [C12, M21, OTHER], 1.0),
    ([OTHER, OTHER, OTHER], [C12, M21, OTHER], 0.0),
    ([C21, M12], [C12, M21], 0.0),
    # Cause-Effect: P = 2 / (3 + 1), R = 2 / 4, F1 = 50.00; Message-Topic: P = 1 / 1, R = 1 / 2, F1 = 66.67.
    ([C12, C12, C21, OTHER, C12, M12, OTHER], [C12, C12, C12, C21, M12, M12, OTHER], 0.5 * (0.5 + 2 / 3)),
    # A relation that is predicted and not there counts in no mean: C-E: P = 1 / 1, R = 1 / 1.
    ([C12, M12], [C12, OTHER], 1.0),
    # Other for a relation costs recall, a relation for Other precision: P = 1 / 2, R = 1 / 2.
    ([C12, OTHER, C21], [C12, C12, OTHER], 0.5),
]


def test_by_hand():
    for prediction, target, score in CASES:
        assert as_the_scorer(DIRECTED, prediction, target) == pytest.approx(score)
        assert semeval2010_macro_f1(DIRECTED)(np.array(prediction), np.array(target)) == pytest.approx(score)


@pytest.mark.parametrize("labels", [DIRECTED, PLAIN])
@settings(max_examples=30)
@given(data=st.data())
def test_against_the_scorer(labels, data):
    numbers = st.integers(-1, len(labels) - 1)
    pairs = data.draw(st.lists(st.tuples(numbers, numbers.filter(lambda n: n >= 0)), min_size=1, max_size=20))
    prediction, target = (np.array(column) for column in zip(*pairs))
    metric = semeval2010_macro_f1(labels)
    assert metric(prediction, target) == pytest.approx(as_the_scorer(labels, prediction, target))
    weight = np.array(
        data.draw(
            st.lists(
                st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)).filter(any),
                min_size=1,
                max_size=3,
            )
        )
    )
    slow = [metric(prediction.repeat(row), target.repeat(row)) for row in weight]
    np.testing.assert_allclose(metric.resampled(prediction, target, weight), slow)


def test_an_unknown_target_is_no_relation():
    metric = semeval2010_macro_f1(DIRECTED)
    assert metric(np.array([C12, C12]), np.array([C12, -1])) == pytest.approx(2 / 3)
    assert metric(np.array([C12, M12]), np.array([C12, -1])) == 1
    assert metric(np.array([OTHER]), np.array([-1])) == 0


def test_floor_and_signature():
    metric = semeval2010_macro_f1(DIRECTED)
    train, target = np.array([C12, C12, OTHER]), np.array([C12, M12])
    assert metric.floor(train, target) == pytest.approx(0.5 * 2 / 3)
    assert metric.name == "macro_f1"
    assert "taking directions into account" in metric.signature
    assert "without directions" in semeval2010_macro_f1(PLAIN).signature
    with pytest.raises(ValueError, match=r"'labels' has no relation \(got Other\)"):
        semeval2010_macro_f1(["Other"])
