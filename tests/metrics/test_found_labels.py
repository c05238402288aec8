"""F1 of things found, against dictionaries, scikit-learn, and resamples written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from graphdep.metrics.scores import (
    EXACT,
    NOTHING,
    SPAN,
    WORD_ACCURACY,
    WORD_F1,
    WORD_MACRO_F1,
    label_table,
    labels_of,
    macro_f1,
    micro_f1,
)

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


@given(PAIRS, st.data())
@pytest.mark.parametrize("metric", [WORD_F1, WORD_MACRO_F1, WORD_ACCURACY, EXACT], ids=lambda m: m.name)
def test_a_weight_is_so_many_copies(metric, pairs, data):
    prediction, target = columns(pairs)
    size = len(pairs)
    weights = st.lists(st.integers(0, 3), min_size=size, max_size=size).filter(any)
    weight = np.array(data.draw(st.lists(weights, min_size=1, max_size=3)))
    expected = [metric(prediction.repeat(row), target.repeat(row)) for row in weight]
    assert metric.resampled(prediction, target, weight) == pytest.approx(expected)


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
