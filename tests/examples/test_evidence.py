from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOML = """
title = "agreement"
task = "agreement"
metric = "test_accuracy"
rows = ["transformer", "dt"]
seeds = 1
[settings]
hidden_channels = 8
[[claims]]
name = "trees-help"
text = "t"
source = "s"
a = "dt"
b = "transformer"
expected = "better"
smallest = 0.1
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    places = ("--designs", folder, "--runs", folder / "runs", "--results", folder / "results")
    command = [sys.executable, ROOT / "examples" / "evidence.py", *places, *arguments]
    return subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)


def test_status_and_wrong_names(tmp_path):
    (tmp_path / "mini.toml").write_text(TOML)
    shown = run(tmp_path, "--status")
    assert shown.returncode == 0, shown.stderr
    assert "trees-help: not run" in shown.stdout
    assert "mini" in shown.stdout
    wrong = run(tmp_path, "--only", "maxi")
    assert wrong.returncode == 2
    assert "no design 'maxi'" in wrong.stderr
