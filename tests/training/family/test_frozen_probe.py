from __future__ import annotations

import numpy as np
import pytest
import torch

from graphdep.training import floors as frozen_probe
from graphdep.training.floors import fit_ridge, pair_features, predict_rows


def rows(x: torch.Tensor):
    return lambda numbers: x[torch.from_numpy(numbers)]


def literal_ridge(x: np.ndarray, y: np.ndarray, alpha: float, asked: np.ndarray) -> np.ndarray:
    """Least squares of +-1 for each class with a penalty, by the normal equations; the largest wins."""
    mean, scale = x.mean(0), x.std(0)
    own, asked, classes = (x - mean) / scale, (asked - mean) / scale, np.unique(y)
    target = np.where(y[:, None] == classes, 1.0, -1.0)
    weight = np.linalg.solve(own.T @ own + alpha * np.eye(x.shape[1]), own.T @ (target - target.mean(0)))
    return classes[(asked @ weight + target.mean(0)).argmax(1)]


def test_the_strength_that_is_right_most_often_on_the_second_split():
    rng = np.random.default_rng(0)
    x, x_val = (rng.normal(size=(n, 12)) for n in (60, 50))
    y, y_val = (
        np.round(part[:, :2].sum(1) + rng.normal(size=len(part))).clip(-1, 1) + 1 for part in (x, x_val)
    )
    y, y_val = y.astype(int), y_val.astype(int)
    model = fit_ridge(rows(torch.tensor(x)), y, rows(torch.tensor(x_val)), y_val)
    found = {a: literal_ridge(x, y, a, x_val) for a in frozen_probe._ALPHA}
    right = {a: (prediction == y_val).mean() for a, prediction in found.items()}
    assert model[-1].alpha == max(right, key=right.get)
    assert predict_rows(model, rows(torch.tensor(x_val)), 50).tolist() == found[model[-1].alpha].tolist()


def test_rows_without_a_class_are_not_learned_from(monkeypatch):
    x = torch.tensor([[0.0], [0.0], [1.0], [1.0], [0.5]])
    y = np.array([0, 0, 3, 3, -1])
    monkeypatch.setattr(frozen_probe, "_CHUNK", 2)
    assert predict_rows(fit_ridge(rows(x), y, rows(x), y), rows(x), 4).tolist() == [0, 0, 3, 3]
    one = fit_ridge(rows(x), np.array([7, -1, -1, -1, -1]), rows(x), y)
    assert predict_rows(one, rows(x), 5).tolist() == [7] * 5
    assert predict_rows(one, rows(x), 0).tolist() == []


def test_no_more_rows_than_the_limit(monkeypatch):
    asked = []

    def counted(numbers):
        asked.append(numbers.tolist())
        return torch.randn(len(numbers), 3)

    monkeypatch.setattr(frozen_probe, "LIMIT_ROWS", 4)
    fit_ridge(counted, np.array([-1, 0, 1] * 4), counted, np.zeros(6, dtype=int))
    assert asked == [[1, 4, 7, 10], [0, 1, 3, 4]]


@pytest.mark.parametrize("size", [1, 3])
def test_pairs(size):
    u, v = torch.randn(2, size), torch.randn(2, size)
    assert torch.equal(pair_features(u, v), torch.cat([u, v, (u - v).abs(), u * v], dim=1))
