from __future__ import annotations

import json
import time
from types import ModuleType

import pytest


def test_parts_are_without_those_inside(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100))
    monkeypatch.setattr(time, "process_time", lambda: float(next(now)))
    clock = bench.Clock()
    clock.turn()
    clock.running = True
    clock.timed("edges", clock.timed("layout", lambda: None))()
    clock.turn()
    # Five looks at a clock that goes on by a second each.
    assert clock.seconds == {"rest": 2, "edges": 2, "layout": 1}


def test_a_run_is_taken_apart(bench: ModuleType, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--raw-from", "datasets/mini", "--root", str(tmp_path / "root"), "--only", "dt", "--steps", "2"]
    args += ["--parser", "chain", "--batch-size", "8", "--limit", "60", "--output", str(tmp_path / "s.json")]
    bench.CONFIGS["dt"]["raw_from"] = "raw"
    bench.main(args)
    seconds = json.loads((tmp_path / "s.json").read_text())["seconds"]["dt"]
    assert set(seconds) == set(bench.PARTS)
    assert min(seconds["model"], seconds["backward"], seconds["edges"], seconds["optimizer"]) > 0
    assert seconds["clip"] == 0
    assert "| dt |" in capsys.readouterr().out
