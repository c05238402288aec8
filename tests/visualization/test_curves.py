from __future__ import annotations

import pytest

from graphdep.visualization import plot_curves

ROWS = [
    {"epoch": 1, "train_loss": 0.9, "val_loss": None, "val_f1": None},
    {"epoch": 2, "train_loss": 0.7, "val_loss": 0.8, "val_f1": 0.3},
    {"epoch": 3, "train_loss": 0.6, "val_loss": 0.9, "val_f1": 0.4},
]


def test_lines_are_the_values():
    losses, scores = plot_curves(ROWS, metric="f1", best_epoch=3, title="a run").axes
    drawn = {line.get_label(): line.get_xydata().tolist() for line in losses.lines}
    assert drawn["train loss"] == [[1, 0.9], [2, 0.7], [3, 0.6]]
    assert drawn["val loss"] == [[2, 0.8], [3, 0.9]]
    assert scores.lines[0].get_xydata().tolist() == [[2, 0.3], [3, 0.4]]
    assert scores.lines[1].get_label() == "best epoch (3)"


def test_a_loss_is_not_drawn_twice():
    assert len(plot_curves(ROWS, metric="loss").axes) == 1
    with pytest.raises(ValueError, match="'rows' must be at least 1"):
        plot_curves([], metric="f1")
