"""Every example runs from end to end on a tiny corpus."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphdep.testing.tiny_corpus import write_tiny_dialogues, write_tiny_sick, write_tiny_sst

ROOT = Path(__file__).parents[2]
SIZES = ["--hidden-channels", "8", "--heads", "2", "--epochs", "1"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    settings = write_tiny_sick(tmp_path_factory.mktemp("corpus"))
    return ["--root", settings["root"], "--parser", settings["parser"]]


def run(name: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("task", ["sick-e", "sick-r"])
def test_dt_sick(task, corpus):
    out = run("dt_sick.py", "--task", task, *corpus, *SIZES)
    assert "Epoch: 01" in out
    assert f"dt on {task}, seed 0" in out
    assert "no skill" in out.splitlines()[-1]


@pytest.mark.parametrize(
    "encoder", ["dt", "transformer", "word-average", "lstm", "tree-lstm", "tree-transformer"]
)
def test_dt_sst(encoder, tmp_path):
    corpus = write_tiny_sst(tmp_path)
    sizes = ["--hidden-channels", "8", "--epochs", "1"]
    out = run(
        "dt_sst.py", "--root", corpus["root"], "--parser", corpus["parser"], "--encoder", encoder, *sizes
    )
    assert f"{encoder}, seed 0: accuracy" in out.splitlines()[-1]


def test_edge_ablation_runs_every_row(corpus):
    out = run("edge_ablation.py", *corpus, *SIZES, "--seeds", "1")
    assert len(out.splitlines()) == 9
    assert "dra, random tree" in out


@pytest.mark.parametrize("edges", ["dra", "transformer"])
def test_dra_dialogue(edges, tmp_path):
    corpus = write_tiny_dialogues(tmp_path)
    out = run(
        *("dra_dialogue.py", "--root", corpus["root"], "--parser", corpus["parser"]),
        *("--edges", edges, *SIZES, "--layers", "1"),
    )
    assert "Epoch: 01, Loss: " in out
    assert "ann saw bob\n  -> " in out


@pytest.mark.parametrize("name", ["dt_sick.py", "dt_sst.py", "dra_dialogue.py", "edge_ablation.py"])
def test_examples_stay_short(name):
    assert len((ROOT / "examples" / name).read_text().splitlines()) <= 110
