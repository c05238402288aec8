from __future__ import annotations

import pytest
import torch

from graphdep.tasks import ACCEPTABILITY, DUPLICATE, ENTAILMENT, RELATEDNESS, SIMILARITY
from graphdep.tasks.sentences.settings import expected_grade, kl_divergence


def test_kl_divergence_equals_its_formula():
    logits = torch.randn(3, 5)
    y = torch.tensor([[0, 0, 0.3, 0.7, 0], [1.0, 0, 0, 0, 0], [0, 0, 0, 0, 1.0]])
    expected = 0.0
    for p, q in zip(y, logits.softmax(-1)):
        expected += sum(float(a * (a / b).log()) for a, b in zip(p, q) if a > 0) / 3
    assert float(kl_divergence(logits, y)) == pytest.approx(expected, rel=1e-5)


def test_prediction_is_the_mean_grade():
    assert expected_grade(torch.tensor([[0, 0, 0.3, 0.7, 0]])).item() == pytest.approx(3.7)
    logits = torch.full((1, 5), 0.0)
    assert RELATEDNESS.predict(logits).item() == pytest.approx(3.0)


def test_scores_cover_the_whole_split():
    y = torch.tensor([0, 1, 2, 1])
    scores = ENTAILMENT.score(torch.eye(3)[[0, 1, 2, 2]] * 9, y, "test")
    assert scores["test_accuracy"] == 0.75
    assert scores.keys() == {"test_loss", "test_accuracy"}
    assert ENTAILMENT.floor(y, torch.tensor([0, 1]), "val") == {"val_accuracy": 0.5}


def test_what_is_compared_is_what_the_metrics_see():
    y = torch.tensor([[1.0, 0, 0, 0, 0], [0, 0.5, 0.5, 0, 0]])
    logits = torch.randn(2, 5)
    target, prediction = RELATEDNESS.compared(logits, y)
    assert target.dtype == prediction.dtype == "float64"
    assert target.tolist() == [1.0, 2.5]
    mse = ((prediction - target) ** 2).mean()
    assert RELATEDNESS.score(logits, y, "val")["val_mse"] == pytest.approx(mse, rel=1e-12)


def test_perfect_predictions_of_relatedness():
    y = torch.tensor([[1.0, 0, 0, 0, 0], [0, 0, 0, 0, 1.0], [0, 0.5, 0.5, 0, 0]])
    scores = RELATEDNESS.score(y.clamp(min=1e-12).log(), y, "val")
    assert scores["val_mse"] == pytest.approx(0.0, abs=1e-9)
    assert scores["val_pearson"] == pytest.approx(1.0)
    assert scores["val_loss"] == pytest.approx(0.0, abs=1e-6)


def test_a_regression_has_one_output():
    output, y = torch.tensor([[0.5], [4.0], [2.0], [7.0]], requires_grad=True), torch.tensor([1.0, 3, 2.5, 5])
    loss = SIMILARITY.loss(output, y)
    assert loss.item() == pytest.approx((0.25 + 1 + 0.25 + 4) / 4)
    loss.backward()
    assert output.grad.flatten().tolist() == pytest.approx([2 * d / 4 for d in (-0.5, 1, -0.5, 2)])
    target, prediction = SIMILARITY.compared(output.detach(), y)
    assert (prediction.tolist(), target.tolist()) == ([0.5, 4, 2, 7], [1, 3, 2.5, 5])
    scores = SIMILARITY.score(output.detach(), y, "val")
    assert scores["val_spearman"] == pytest.approx(1.0)
    assert scores["val_pearson_spearman"] == pytest.approx((1 + scores["val_pearson"]) / 2)
    assert SIMILARITY.floor(y, y, "val") == dict.fromkeys(list(scores)[1:], 0.0)


def test_goals_of_glue():
    y = torch.tensor([0, 1, 1, 1])
    logits = torch.eye(2)[[0, 1, 1, 0]] * 9
    assert ACCEPTABILITY.score(logits, y, "test")["test_mcc"] == pytest.approx(1 / 3**0.5)
    scores = DUPLICATE.score(logits, y, "test")
    assert scores["test_accuracy_f1"] == pytest.approx((0.75 + 0.8) / 2)
    assert list(scores)[1] == "test_f1"
