"""Every example runs from end to end on a tiny corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.tiny_corpora import write_tiny_dialogues, write_tiny_sick, write_tiny_sst

ROOT = Path(__file__).parents[2]
SIZES = ["--hidden-channels", "8", "--heads", "2", "--epochs", "1"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    settings = write_tiny_sick(tmp_path_factory.mktemp("corpus"))
    return ["--root", settings["root"], "--parser", settings["parser"]]


@pytest.mark.parametrize("task", ["sick-e", "sick-r"])
def test_dt_sick(task, corpus, example):
    out = example("dt_sick.py", "--task", task, *corpus, *SIZES).stdout
    assert "Epoch: 01" in out
    assert f"dt on {task}, seed 0" in out
    assert "no skill" in out.splitlines()[-1]


@pytest.mark.parametrize(
    "encoder", ["dt", "transformer", "word-average", "lstm", "tree-lstm", "tree-transformer"]
)
def test_dt_sst(encoder, tmp_path, example):
    corpus = write_tiny_sst(tmp_path)
    sizes = ["--hidden-channels", "8", "--epochs", "1"]
    where = ["--root", corpus["root"], "--parser", corpus["parser"]]
    out = example("dt_sst.py", *where, "--encoder", encoder, *sizes).stdout
    assert f"{encoder}, seed 0: accuracy" in out.splitlines()[-1]


def test_edge_ablation_runs_every_row(corpus, example):
    out = example("edge_ablation.py", *corpus, *SIZES, "--seeds", "1").stdout
    assert len(out.splitlines()) == 9
    assert "dra, random tree" in out


@pytest.mark.parametrize("edges", ["dra", "transformer"])
def test_dra_dialogue(edges, tmp_path, example):
    corpus = write_tiny_dialogues(tmp_path)
    where = ["--root", corpus["root"], "--parser", corpus["parser"]]
    out = example("dra_dialogue.py", *where, "--edges", edges, *SIZES, "--layers", "1").stdout
    assert "Epoch: 01, Loss: " in out
    assert "ann saw bob\n  -> " in out


@pytest.mark.parametrize("name", ["dt_sick.py", "dt_sst.py", "dra_dialogue.py", "edge_ablation.py"])
def test_examples_stay_short(name):
    assert len((ROOT / "examples" / name).read_text().splitlines()) <= 115
