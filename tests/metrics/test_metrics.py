from __future__ import annotations

import warnings

import numpy as np
import pytest

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
@pytest.mark.parametrize("classes", [2, 3])
def test_resamples_are_as_if_examples_were_repeated(metric, classes):
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


@pytest.mark.parametrize("metric", [MCC, PEARSON, SPEARMAN, PEARSON_SPEARMAN])
def test_no_variation_is_no_correlation_and_no_warning(metric):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metric(np.ones(4), np.arange(4.0)) == 0.0
        assert metric(np.arange(4.0), np.ones(4)) == 0.0


def test_better_is_more_or_less():
    assert ACCURACY.is_better(0.1, None)
    assert not ACCURACY.is_better(0.1, 0.1)
    assert MSE.is_better(0.1, 0.2)
    assert not MSE.is_better(0.2, 0.1)


@pytest.mark.parametrize(
    "metric", [ACCURACY, ACCURACY_F1, F1, MACRO_F1, MCC, MSE, PEARSON, PEARSON_SPEARMAN, SPEARMAN]
)
def test_signature_names_the_library_and_the_floor(metric):
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
