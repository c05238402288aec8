from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.metrics import semeval2010_macro_f1

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


@pytest.mark.parametrize(("prediction", "target", "score"), CASES)
def test_by_hand(prediction, target, score):
    assert as_the_scorer(DIRECTED, prediction, target) == pytest.approx(score)
    assert semeval2010_macro_f1(DIRECTED)(np.array(prediction), np.array(target)) == pytest.approx(score)


@pytest.mark.parametrize("labels", [DIRECTED, PLAIN])
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
