"""The analyses of trained dialogue models, on tiny ones."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from graphdep.nn.models import DialogueModel
from graphdep.training import TrainConfig, train
from graphdep.transforms import EdgeConstructor
from tests.kit.tiny_corpora import write_tiny_dialogues

RESEARCH = Path(__file__).parents[1]
SIZES = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 1, "context_layers": 1}
SIZES |= {"decoder_layers": 1, "max_epochs": 1, "min_freq": 1, "max_length": 5, "accelerator": "cpu"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    corpus = write_tiny_dialogues(folder / "corpus")
    for model in ("transformer-dra", "dialogbert"):
        train(TrainConfig.of(model, task="dailydialog", **corpus, **SIZES), folder / model)
    return {model: folder / model for model in ("transformer-dra", "dialogbert")}


@pytest.fixture
def run(example: Callable) -> Callable:
    """Runs a script in this process; gives what it printed."""
    return lambda *arguments: example(*arguments).stdout


def checkpoints(runs: dict[str, Path]) -> list[object]:
    return [part for folder in runs.values() for part in ("--checkpoint", folder / "best.ckpt")]


def test_parsing_errors(run, runs, tmp_path):
    corpus = runs["transformer-dra"].parent / "corpus"
    own = ["--root", corpus, "--parser", f"conllu:{corpus / 'dialogues.conllu'}"]
    dra = ["--checkpoint", runs["transformer-dra"] / "best.ckpt", *own]
    run("parsing_errors.py", *dra, "--errors", 0, 1, "--output", tmp_path)
    with open(tmp_path / "errors.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    right = json.loads((runs["transformer-dra"] / "result.json").read_text())["metrics"]
    assert [(row["model"], row["errors"]) for row in rows] == [
        ("transformer-dra", "0.0"),
        ("transformer-dra", "1.0"),
    ]
    assert float(rows[0]["perplexity"]) == right["val_perplexity"] != float(rows[1]["perplexity"])
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")


def test_running_time(run, runs, tmp_path):
    out = run("running_time.py", *checkpoints(runs), "--limit", 2, "--output", tmp_path / "times.json")
    result = json.loads((tmp_path / "times.json").read_text())
    assert [row["model"] for row in result["rows"]] == ["transformer-dra", "dialogbert"]
    for row in result["rows"]:
        assert row["total"] == row["pre"] + row["gen"]
        assert row["gen"] > 0
        assert 0 <= row["tokens"] <= SIZES["max_length"]
    assert len(out.strip().splitlines()) >= 4


def test_edges_are_made_before_the_response(run, runs, tmp_path, monkeypatch):
    now = 0.0

    def takes(seconds, call):
        def timed(*args, **kwargs):
            nonlocal now
            now += seconds
            return call(*args, **kwargs)

        return timed

    monkeypatch.setattr("time.perf_counter", lambda: now)
    monkeypatch.setattr(EdgeConstructor, "forward", takes(1, EdgeConstructor.forward))
    monkeypatch.setattr(DialogueModel, "generate", takes(10, DialogueModel.generate))
    dra = ["--checkpoint", runs["transformer-dra"] / "best.ckpt"]
    run("running_time.py", *dra, "--limit", 2, "--output", tmp_path / "times.json")
    (row,) = json.loads((tmp_path / "times.json").read_text())["rows"]
    assert (row["pre"] >= 1, row["gen"]) == (True, 10)


def test_sample_responses(run, example, runs, tmp_path):
    files = [
        part
        for name, folder in runs.items()
        for part in ("--responses", f"{name}={folder}/responses-test.jsonl")
    ]
    out = run("sample_responses.py", *files, "--count", 2)
    assert out.count("### Context") == 2
    assert (
        out.count("| transformer-dra |") == out.count("| dialogbert |") == out.count("| (reference) |") == 2
    )
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"context": ["x"], "response": "y"}) + "\n")
    done = example("sample_responses.py", *files, "--responses", f"other={other}", returncode=1)
    assert "the contexts of other are not those of transformer-dra" in done.stderr
