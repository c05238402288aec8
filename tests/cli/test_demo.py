from __future__ import annotations

import json
import re
import sys

import pytest
from rich.console import Console

from graphdep.cli import demo
from graphdep.datasets.mini.mini_agreement import agreement_files
from tests.kit.tiny_corpora import write_tiny_dialogues, write_tiny_sick


@pytest.fixture
def quick(monkeypatch, tmp_path):
    settings = write_tiny_sick(tmp_path / "datasets" / "mini")
    small = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2}
    monkeypatch.setattr(demo, "SETTINGS", {**demo.SETTINGS, **small, "parser": settings["parser"]})
    monkeypatch.setattr(demo, "AGREEMENT_SETTINGS", {**demo.AGREEMENT_SETTINGS, **small})
    raw = tmp_path / "datasets" / "mini" / "agreement" / "raw"
    raw.mkdir(parents=True)
    for name, content in agreement_files().items():
        (raw / name).write_bytes(b"".join(content.splitlines(keepends=True)[:24]))
    talking = {"hidden_channels": 8, "parser": write_tiny_dialogues(tmp_path / "datasets" / "mini")["parser"]}
    monkeypatch.setattr(demo, "DIALOGUE_SETTINGS", {**demo.DIALOGUE_SETTINGS, **talking})
    monkeypatch.setattr(demo, "PARSER", "chain")  # the bundled one takes seconds to load


def test_the_whole_demo(run, quick, tmp_path):
    done = run("demo", "--seeds", "1", "--max-epochs", "1", "--json")
    assert done.exit_code == 0, done.stderr
    for text in ("1. Parsing", "<-root- ROOT", "dt@random", "no skill", "attention.png", "(reference: "):
        assert text in done.stderr
    output = tmp_path / "runs" / "demo"
    plots = ("plot.png", "agreement/plot.png")
    page = (output / "explorer.html").resolve()
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert f"Explore the trained model in a browser: {page}" in done.stderr
    for name in ("tree.png", "edges_dra.png", "edges_dt.png", "attention.png", *plots):
        assert (output / name).read_bytes()[:4] == b"\x89PNG"
    assert (output / "table.md").exists()
    assert (output / "agreement" / "table.md").exists()
    agreement, pairs = (", ".join(names) for names in (demo.AGREEMENT_MODELS, demo.MODELS))
    assert done.stderr.index(f"3. Agreement, 1 seed: {agreement}") < done.stderr.index(f"1 seed: {pairs}")
    seen = re.search(r"of its subject \(validation accuracy: transformer (\d\.\d\d), dt", done.stderr)
    assert 0 <= float(seen[1]) <= 1
    summary = json.loads(done.stdout)
    assert [row["model"] for row in summary["rows"]] == list(demo.MODELS)
    assert summary["papers"] == []
    assert [row["model"] for row in summary["agreement"]["rows"]] == list(demo.AGREEMENT_MODELS)
    assert all(
        row["metrics"].keys() >= {"val_accuracy", "test_accuracy"} for row in summary["agreement"]["rows"]
    )


def test_a_failed_run_is_reported(quick, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(demo, "AGREEMENT_SETTINGS", {**demo.AGREEMENT_SETTINGS, "lr": 1e30})
    summary = demo.train_agreement(tmp_path / "datasets" / "mini", tmp_path, 1, 1)
    demo.show(summary, tmp_path / "agreement", Console(), False)
    assert "- FAILED transformer seed 0: " in capsys.readouterr().out


def test_corpus_is_generated_outside_a_clone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = demo.mini_root(tmp_path / "out")
    assert root == tmp_path / "out" / "mini"
    assert (root / "raw" / "SICK_train.txt").read_text().startswith("pair_ID\t")
    assert (root / "agreement" / "raw" / "tense_bracket.gen").is_file()


def test_next_commands_are_printed_as_this_one_was_started(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    assert demo.program() == "graphdep"
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("sys.argv", [".venv/bin/graphdep", "demo"])
    assert demo.program() == ".venv/bin/graphdep"
    monkeypatch.setattr("sys.argv", ["graphdep/__main__.py", "demo"])
    assert demo.program() == f"{sys.executable} -m graphdep"
