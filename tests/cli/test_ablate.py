from __future__ import annotations

import csv
import dataclasses
import json
import os
import shutil
from unittest import mock

import pytest

from graphdep.tasks.sentences.settings import PAPER, SentenceConfig
from graphdep.training import ablation
from graphdep.training.run import folder_lock


def published_with(monkeypatch, *names):
    """Only these settings are published with the paper's scores."""
    for name, own in SentenceConfig.marks.items():
        monkeypatch.setitem(own, "published", name in names)


@pytest.fixture
def published_data(monkeypatch):
    """Accepts any data and sizes as the paper's."""
    published_with(monkeypatch)
    for task, papers in PAPER.items():
        anywhere = tuple(dataclasses.replace(paper, examples=mock.ANY) for paper in papers)
        monkeypatch.setitem(PAPER, task, anywhere)


def row_of(summary, name):
    return next(row for row in summary["rows"] if row["name"] == name)


def test_a_bound_adds_verdicts_and_mse_is_compared_with_the_paper(run, tiny, tmp_path, published_data):
    models = ["--task", "sick-r", "--models", "dt-lr,dt@chain", "--seeds", "1"]
    done = run("ablate", *models, *tiny, "--bound", 0.5, "--json")
    summary = json.loads(done.stdout)
    verdict = row_of(summary, "dt@chain")["against"]["verdict"]
    assert (summary["bound"], row_of(summary, "dt@chain")["against"]["bound"]) == (0.5, 0.5)
    table = (tmp_path / "runs" / "ablation_sick-r" / "table.md").read_text()
    assert "test_mse" in table
    assert "0.2545" in table
    assert "| smallest visible | verdict |" in table
    assert f"| {verdict} |" in table
    assert ", not over seeds: each row has one run (" in table
    assert "no effect larger than 0.5 if the 90% interval is within ±0.5, else undecided" in table
    assert "--bound 0.5" in table
    widths = {line.count("|") for line in table.splitlines() if line.startswith("|")}
    assert len(widths) == 1
    assert run("ablate", *tiny, "--bound", 0).exit_code == 2


def test_table_csv_plot_and_json(run, tiny, tmp_path, published_data):
    done = run("ablate", "--models", "transformer,dt", "--seeds", "2", *tiny, "--output", "out", "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    row = summary["rows"][1]
    values = row["metrics"]["test_accuracy"]["values"]
    assert (row["model"], row["n"], row["seeds"], len(values)) == ("dt", 2, [0, 1], 2)
    assert row["metrics"]["test_accuracy"]["mean"] == pytest.approx(sum(values) / 2)
    assert [paper["rows"]["dt"] for paper in summary["papers"]] == [{"test_accuracy": 0.8513}]
    table = (tmp_path / "out" / "table.md").read_text()
    for text in (
        "| dt |",
        "0.8513",
        "(no skill)",
        "±",
        "scikit-learn",
        "`graphdep ablate --models transformer,dt",
    ):
        assert text in table
    assert "--json" not in table
    rows = list(csv.DictReader((tmp_path / "out" / "table.csv").read_text().splitlines()))
    assert {(row["model"], row["seed"]) for row in rows} == {
        (m, s) for m in ("dt", "transformer") for s in "01"
    }
    compared = [row for row in rows if row["against"]]
    assert {(row["model"], row["metric"]) for row in compared} == {("dt", "test_accuracy")}
    against = row_of(summary, "dt")["against"]
    for name in ("difference", "smallest_visible", "p", "p_bootstrap", "p_randomisation", "p_seeds"):
        assert {float(row[name]) for row in compared} == {against[name]}
    assert [float(compared[0][name]) for name in ("low", "high")] == against["interval"]
    assert (tmp_path / "out" / "plot.png").read_bytes()[:4] == b"\x89PNG"
    assert "transformer" in done.stderr
    assert "2 seeds: only very large differences can be seen (more --seeds)\n" in done.stderr


def test_rows_are_compared_with_a_reference(run, tiny, tmp_path):
    models = ["--models", "dt,transformer", "--seeds", "2", *tiny]
    rows = json.loads(run("ablate", *models, "--json").stdout)["rows"]
    assert [row["against"] and row["against"]["row"] for row in rows] == ["transformer", None]
    assert 0 < rows[0]["against"]["p_randomisation"] <= 1
    assert 0 <= rows[0]["against"]["p_seeds"] <= 1
    difference = rows[0]["metrics"]["test_accuracy"]["mean"] - rows[1]["metrics"]["test_accuracy"]["mean"]
    assert rows[0]["against"]["difference"] == pytest.approx(difference)
    rows = json.loads(run("ablate", *models, "--reference", "dt", "--json").stdout)["rows"]
    assert [row["against"] and row["against"]["row"] for row in rows] == [None, "dt"]
    table = (tmp_path / "runs" / "ablation_sick-e" / "table.md").read_text()
    assert "difference: accuracy minus that of dt, on the seeds of both, with a 95% interval over s" in table
    header = table.splitlines()[2]
    assert "| difference [95%] | smallest visible |" in header
    assert "| verdict |" not in header
    results = [json.loads(path.read_text()) for path in (tmp_path / "runs").rglob("result.json")]
    last = sum(result["best_epoch"] == result["config"]["max_epochs"] for result in results)
    assert f"- runs that were best in their last epoch: {last} of 4;" in table
    done = run("ablate", *models, "--reference", "lstm")
    assert "'reference' must be one of dt, transformer (got 'lstm')" in done.stderr


def test_published_scores_are_only_for_the_paper_s_models_and_data(run, tiny, published_data, monkeypatch):
    done = run("ablate", "--models", "dt-lr", "--seeds", "1", "--edges", "dra", *tiny, "--json")
    summary = json.loads(done.stdout)
    assert summary["papers"] == []
    assert (summary["rows"][0]["label"], summary["title"]) == ("dt-lr", "SICK-E, edges=dra")
    published_with(monkeypatch, "hidden_channels")
    another = ["ablate", "--models", "dt", "--seeds", "1", *tiny, "--overwrite", "--json"]
    assert json.loads(run(*another).stdout)["papers"] == []
    monkeypatch.undo()
    summary = json.loads(run(*another).stdout)
    assert summary["papers"] == []


def test_an_interrupted_ablation_continues(run, tiny, tmp_path, monkeypatch):
    trained = []
    original = ablation.train

    def train(config, *args, **kwargs):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append((config.model, config.seed))
        return original(config, *args, **kwargs)

    arguments = ["ablate", "--models", "transformer,dt", "--seeds", "2", *tiny, "--json"]
    monkeypatch.setattr(ablation, "train", train)
    done = run(*arguments)
    assert done.exit_code == 130
    assert trained == [("transformer", 0), ("dt", 0)]  # a seed of every model first
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}
    assert len(files) == 2
    done = run(*arguments)
    assert [row["n"] for row in json.loads(done.stdout)["rows"]] == [2, 2]
    assert all(path.stat().st_mtime_ns == time for path, time in files.items())
    assert len(list(tmp_path.rglob("result.json"))) == 4


def test_a_finished_ablation_can_be_moved_and_copied(run, tiny, tmp_path, monkeypatch):
    """From another working directory, and in a copy."""
    tested = ("row", "score_a", "score_b", "p_randomisation", "p_seeds")

    def ablated(folder):
        arguments = ["--models", "transformer,dt", "--seeds", "1", *tiny, "--output", folder, "--json"]
        done = run("ablate", *arguments)
        assert done.exit_code == 0, done.stderr
        summary = json.loads(done.stdout)
        table = [
            (row["metrics"], row["against"] and [row["against"][k] for k in tested])
            for row in summary["rows"]
        ]
        return table, [checkpoint for row in summary["rows"] for checkpoint in row["checkpoints"]]

    table, _ = ablated("a")
    (tmp_path / "sub").mkdir()
    for folder in ("../a", "b"):
        if folder == "../a":
            monkeypatch.chdir("sub")
        else:
            monkeypatch.chdir(tmp_path)
            shutil.copytree("a", "b")
            for path in (tmp_path / "a").rglob("predictions.csv"):
                path.write_text("damaged")
        again, checkpoints = ablated(folder)
        assert again == table
        assert {os.path.dirname(os.path.dirname(checkpoint)) for checkpoint in checkpoints} == {folder}


def test_a_failed_run_does_not_affect_the_others(run, tiny, tmp_path, monkeypatch):
    original = ablation.train

    def train(config, *args, **kwargs):
        if config.model == "dt" and config.seed == 1:
            raise RuntimeError("out of luck")
        return original(config, *args, **kwargs)

    monkeypatch.setattr(ablation, "train", train)
    done = run("ablate", "--models", "dt,transformer", "--seeds", "2", *tiny, "--json")
    assert done.exit_code == 1
    rows = json.loads(done.stdout)["rows"]
    assert [row["n"] for row in rows] == [1, 2]
    assert rows[0]["failed"] == {"1": "RuntimeError: out of luck"}
    assert rows[0]["metrics"]["test_accuracy"]["std"] is None
    assert "FAILED dt seed 1" in (tmp_path / "runs" / "ablation_sick-e" / "table.md").read_text()


def test_a_table_of_failed_runs_and_repeated_options(run, tiny, monkeypatch):
    def train(*args, **kwargs):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(ablation, "train", train)
    done = run("ablate", "--models", "dt", "--models", "transformer,dt@chain", "--seeds", 1, *tiny, "--json")
    assert done.exit_code == 1
    rows = json.loads(done.stdout)["rows"]
    assert [(row["name"], row["n"]) for row in rows] == [("dt", 0), ("transformer", 0), ("dt@chain", 0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "dt,berd"], "no model 'berd'"),
        (["--models", "dt,dt"], "'models' must name at least one, each once (got ['dt', 'dt'])"),
        (["--models", ","], "'models' must name at least one"),
        (["--task", "cats"], "'task' must be one of"),
        (["--model", "dt"], "`ablate` takes --models A,B,..., not --model"),
        (["--seeds", 10**9], "'seeds' must be at most 1000 (got 1000000000)"),
        (["--seed", 10**20], "'seed' must be at most 4294967295"),
        (["--set", f"num_workers={10**9}"], "'num_workers' must be at most"),
    ],
)
def test_errors(run, arguments, message):
    done = run("ablate", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_rows_of_a_file(run, tiny, tmp_path):
    rows = "rows: [transformer, {model: dt, lr: 0.02, name: slow}]\nseeds: 1\nreference: slow\ntask: sick-e\n"
    (tmp_path / "rows.yaml").write_text(rows)
    done = run("ablate", "--config", "rows.yaml", *tiny, "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [(row["name"], row["n"]) for row in summary["rows"]] == [("transformer", 1), ("slow", 1)]
    assert summary["rows"][0]["against"]["row"] == "slow"
    assert "--config rows.yaml" in summary["command"]
    configs = [json.loads(path.read_text())["config"] for path in tmp_path.rglob("result.json")]
    assert {(config["model"], config["lr"]) for config in configs} == {("transformer", 0.05), ("dt", 0.02)}
    done = run("ablate", "--config", "rows.yaml", "--seeds", 2, *tiny, "--json")
    assert [row["n"] for row in json.loads(done.stdout)["rows"]] == [2, 2]
    done = run("ablate", "--config", "rows.yaml", "--models", "dt", *tiny)
    assert "rows.yaml has rows: leave out --models" in done.stderr


def test_only_one_process_at_a_time_makes_a_table(run, tiny, tmp_path, monkeypatch):
    """Two would overwrite each other's table, and report each other's runs as failed."""
    given = ("ablate", "--models", "word-average", "--seeds", "1", *tiny, "--output", "out")
    assert run(*given).exit_code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("table.*")}
    with folder_lock(tmp_path / "out"), monkeypatch.context() as patched:
        patched.setattr(ablation, "load_splits", lambda *args: pytest.fail("data were loaded"))
        done = run(*given, "--models", "dt")
    assert done.exit_code == 2
    assert "out: another process makes a table in this folder" in done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").glob("table.*")} == before
