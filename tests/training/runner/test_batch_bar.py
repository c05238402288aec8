from __future__ import annotations

import io

from rich.console import Console

from graphdep.training import TrainConfig, train


def test_validation_and_scoring_have_bars_of_their_own(tmp_path, tiny):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    train(TrainConfig.of("dt", **{**tiny, "max_epochs": 1}), tmp_path, console=console)
    for what in ("epoch 1/1", "validation", "scoring test"):
        assert what in shown.getvalue()
    assert "scoring val" not in shown.getvalue()  # the validation has scored it


def test_where_nobody_looks_there_is_none(tmp_path, tiny):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, quiet=True)
    train(TrainConfig.of("dt", **{**tiny, "max_epochs": 1}), tmp_path, console=console)
    assert shown.getvalue() == ""
