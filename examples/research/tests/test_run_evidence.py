from __future__ import annotations

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


def test_status_and_wrong_names(example, tmp_path):
    (tmp_path / "mini.toml").write_text(TOML)
    places = ("--designs", tmp_path, "--runs", tmp_path / "runs", "--results", tmp_path / "results")
    shown = example("run_evidence.py", *places, "--status").stdout
    assert "trees-help: not run" in shown
    assert "mini" in shown
    assert "no design 'maxi'" in example("run_evidence.py", *places, "--only", "maxi", returncode=2).stderr
