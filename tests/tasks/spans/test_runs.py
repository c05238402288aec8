"""Runs on marked spans: training, evaluation, comparison and ablation."""

from __future__ import annotations

import csv
import json
import shutil

import pytest
from typer.testing import CliRunner

import graphdep
from graphdep.cli import app
from graphdep.tasks import family_of
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.ablation import ablate
from graphdep.training.evaluation import read_predictions
from tests.kit.runs import evaluate_own
from tests.kit.tiny_corpora import tiny_span_rows, write_span_rows

TASKS = ("semeval2010", "conll04", "aspects", "spans")
SCORES = ("accuracy", "exact", "f1", "macro_f1")
SIZES = ("hidden_channels=8", "ff_channels=8", "num_layers=1", "heads=2", "relation_dim=4", "batch_size=8")
SETS = [part for text in (*SIZES, "lr=0.05", "accelerator=cpu") for part in ("--set", text)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def places(of_task):
    """Options of the command line that say where the data of a task are."""

    def places(task: str) -> list[str]:
        settings = of_task(task)
        files = [f"--set={name}={settings[name]}" for name in ("train", "test") if name in settings]
        return ["--task", task, "--root", str(settings["root"]), "--parser", "chain", *files, *SETS]

    return places


def check_again(folder, result: dict) -> None:
    """The checkpoint scores what the run says."""
    for split in ("val", "test"):
        again = evaluate_own(folder / "best.ckpt", split)
        for kind in ("metrics", "floor"):
            assert again[kind] == {k: v for k, v in result[kind].items() if k.startswith(split)}
        assert again["tables"] == {split: result["tables"][split]}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("options", [{}, {"readout": "top", "path": True}], ids=str)
def test_labels_are_learned(of_task, tmp_path, task, options):
    if task == "aspects":
        options = {**options, "path": False}
    # Of a few sentences for validation an early epoch may get all right.
    settings = {**of_task(task), "max_epochs": 20, "hidden_channels": 16, "lr": 0.03, "keep": "last"}
    result = train(TrainConfig.of("dt", **settings, **options, dropout=0.0), tmp_path / "run")
    assert result["metrics"]["test_accuracy"] > 0.9
    names = {f"{split}_{name}" for split in ("val", "test") for name in SCORES}
    assert result["metrics"].keys() == names | {"val_loss", "test_loss"}
    assert result["floor"].keys() == names | {f"{name}_lookup" for name in names}
    assert result["data"]["num_spans"]["train"] == (1 if task == "aspects" else 2)
    check_again(tmp_path / "run", result)
    target, prediction, _ = read_predictions(tmp_path / "run" / "predictions.csv")
    with open(tmp_path / "run" / "predictions.csv", newline="") as file:
        written = list(csv.DictReader(file))
    assert all("<e1>" in row["text"] and "</e1>" in row["text"] for row in written)
    if task != "spans":  # whose file has trees
        given = graphdep.load(tmp_path / "run", parser="chain").predict([row["text"] for row in written])
        assert given.tolist() == [row["prediction_label"] for row in written]
    rows = {row["label"]: row for row in result["tables"]["test"]["labels"]}
    assert sum(row["there"] for row in rows.values()) == (target != 0).sum()
    assert not {"Other", "none"} & rows.keys() or task == "spans"
    task_of, _ = load_task(tmp_path / "run" / "best.ckpt")
    for metric in task_of.metrics:
        assert metric(prediction, target) == pytest.approx(result["metrics"][f"test_{metric.name}"])


@pytest.mark.parametrize("model", ["bert", "bert-dt", "bert-g2g", "bert-dam-basic"])
def test_pretrained_encoders(roots, on_encoder, tmp_path, model):
    config = TrainConfig.of(model, task="semeval2010", root=roots["semeval2010"], **on_encoder)
    result = train(config, tmp_path)
    (note,) = (note for note in result["data"]["notes"] if note.startswith("test"))
    lost = int(note.split("; ")[-1].removeprefix("test: ").split()[0])
    assert "examples without words of a span, which are wrong" in note
    _, prediction, _ = read_predictions(tmp_path / "predictions.csv")
    assert (prediction == -2).sum() == lost > 0
    check_again(tmp_path, result)


@pytest.mark.parametrize("task", TASKS)
def test_from_the_command_line(run, places, tmp_path, task):
    done = run("train", "--max-epochs", 2, *places(task), "--output", tmp_path / "run", "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    own = [option for option in places(task) if option.startswith("--set=")]
    root = places(task)[3]
    evaluated = run(
        "evaluate",
        *("--checkpoint", tmp_path / "run" / "best.ckpt", "--root", root, *own),
        *("--set", "parser=chain", "--json"),
    )
    assert evaluated.exit_code == 0, evaluated.stderr
    again = json.loads(evaluated.stdout)
    assert again["metrics"] == {k: v for k, v in result["metrics"].items() if k.startswith("test")}
    assert again["tables"]["test"] == result["tables"]["test"]


@pytest.mark.parametrize("task", TASKS)
def test_ablation_and_comparison_from_the_command_line(run, places, tmp_path, task):
    models = ["--models", "bilstm,dt,dt@random", "--seeds", 2, "--max-epochs", 2]
    done = run("ablate", *models, *places(task), "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert not any(row["failed"] for row in summary["rows"])
    assert [row["against"] is None for row in summary["rows"]] == [True, False, False]
    folder = tmp_path / "runs" / f"ablation_{task}"
    table = (folder / "table.md").read_text()
    for text in ("| (no skill) | 0.", "| (look-up) | 0.", "| dt@random |", "macro_f1: mean of the F1"):
        assert text in table
    seeds = sorted(folder.glob(f"{task}_dt_seed*"))
    sides = ",".join(str(seed) for seed in sorted(folder.glob(f"{task}_bilstm_seed*")))
    done = run("compare", sides, ",".join(map(str, seeds)), "--samples", 50, "--json")
    assert done.exit_code == 0, done.stderr
    compared = json.loads(done.stdout)["metrics"]
    results = [json.loads((seed / "result.json").read_text())["metrics"] for seed in seeds]
    for name, row in compared.items():
        mean = sum(result[f"test_{name}"] for result in results) / len(results)
        assert row["score_b"] == pytest.approx(mean)
    assert next(iter(compared)) == family_of(task).tasks[task].metrics[0].name


def test_the_official_score_is_compared_without_direction_too(of_task, tmp_path):
    settings = {**of_task("semeval2010"), "direction": False, "max_epochs": 3}
    summary = ablate("semeval2010", ["bilstm", "dt"], [0], tmp_path, settings=settings)
    assert [row["against"] is None for row in summary["rows"]] == [True, False]
    for model in ("bilstm", "dt"):
        (folder,) = tmp_path.glob(f"semeval2010_{model}_seed0_*")
        result = json.loads((folder / "result.json").read_text())
        target, prediction, _ = read_predictions(folder / "predictions.csv")
        metric = family_of("semeval2010").tasks["semeval2010"].metrics[0]
        assert metric(prediction, target) == pytest.approx(result["metrics"]["test_macro_f1"])
        assert {row["label"] for row in result["tables"]["test"]["labels"]} == {"Cause-Effect"}


OWN_EDGES = """
from torch_geometric.transforms import Compose
from graphdep.transforms import RerootedTree, resolve

def rerooted(max_distance=2, implicit=False):
    return Compose([RerootedTree(), resolve("dt", max_distance=max_distance)])
"""


@pytest.mark.usefixtures("no_own_edges")
@pytest.mark.parametrize(
    ("task", "model", "edges"),
    [
        ("semeval2010", "transformer", "graphdep.transforms:SpanPathEdges"),
        ("semeval2010", "dt", "graphdep.transforms:SpanPathEdges"),
        ("aspects", "dt", "own_span_edges:rerooted"),
        ("semeval2010", "dt", "own_span_edges:rerooted"),
    ],
)
def test_edges_that_read_marks(run, places, tmp_path, task, model, edges):
    (tmp_path / "own_span_edges.py").write_text(OWN_EDGES)
    options = ["--model", model, "--edges", edges, "--max-epochs", 2, "--output", tmp_path / "run"]
    done = run("train", *options, *places(task), "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    root = ["--root", places(task)[3], "--set", "parser=chain"]
    done = run("evaluate", "--checkpoint", tmp_path / "run" / "best.ckpt", *root, "--edges", edges, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)["metrics"]
    assert told == {k: v for k, v in result["metrics"].items() if k.startswith("test")}


@pytest.mark.usefixtures("no_own_edges")
def test_edges_that_read_marks_on_a_pretrained_encoder(roots, on_encoder, tmp_path):
    from graphdep.transforms import SpanPathEdges, register_edges

    register_edges("way", SpanPathEdges)
    own = {**on_encoder, "max_length": 48, "root": roots["semeval2010"]}
    result = train(TrainConfig.of("bert", task="semeval2010", edges="way", **own), tmp_path)
    check_again(tmp_path, result)


def test_own_trees_and_controls(of_task, tmp_path):
    settings = {**of_task("spans"), "max_epochs": 1}
    gold = train(TrainConfig.of("dt", **settings, trees="gold"), tmp_path / "gold")
    assert gold["data"]["parser"] == "gold"
    parsed = load_splits(TrainConfig.of("dt", **settings))
    assert parsed["test"][0].governor_index.tolist() == [0, 2, 0, 4, 2]  # its own, whatever the parser
    assert "train: val is 2 of the 15 sentences" in parsed.describe()["notes"][0]
    summary = ablate(
        "spans",
        ["transformer", "dt", "dt@random", "dt@unlabelled"],
        [0],
        tmp_path / "runs",
        settings=settings,
    )
    assert [row["n"] for row in summary["rows"]] == [1, 1, 1, 1]
    bare = write_span_rows(tmp_path / "bare.jsonl", tiny_span_rows())
    with pytest.raises(ValueError, match=r"bare.jsonl:\d+: the sentence has no tree of its own"):
        load_splits(TrainConfig.of("dt", **{**settings, "trees": "gold", "train": bare}))


def test_one_span_of_ones_own(of_task, tmp_path):
    rows = tiny_span_rows(num_spans=1)
    one = write_span_rows(tmp_path / "one.jsonl", rows)
    settings = {**of_task("spans"), "train": one, "test": one, "max_epochs": 2}
    result = train(TrainConfig.of("dt", **settings), tmp_path / "run")
    assert result["data"]["num_spans"] == {"train": 1, "val": 1, "test": 1}
    check_again(tmp_path / "run", result)
    with pytest.raises(ValueError, match=r"'path' is between two spans, but examples of one.jsonl have one"):
        load_splits(TrainConfig.of("dt", **settings, path=True))
    two = write_span_rows(tmp_path / "two.jsonl", tiny_span_rows())
    with pytest.raises(
        ValueError, match=r"two.jsonl \(test\): the number of spans .* must be 1, .*\(got 2\)"
    ):
        load_splits(TrainConfig.of("dt", **{**settings, "test": two}))


def test_tables_with_tags(of_task, tmp_path):
    path = tmp_path / "own.tsv"
    rows = [f"<e1>{a}</e1> {v} <e2>{b}</e2>\t{v}" for a in "ABC" for b in "DEF" for v in ("eats", "sees")]
    path.write_text("\n".join(["body\trelation", *rows]) + "\n")
    columns = {"text_columns": "body", "label_column": "relation", "outside": "sees"}
    settings = {
        **of_task("spans"),
        "train": str(path),
        "test": str(path),
        "max_epochs": 12,
        "keep": "last",
        **columns,
    }
    result = train(TrainConfig.of("dt", **settings), tmp_path / "run")
    assert result["metrics"]["test_f1"] > 0.9
    assert [row["label"] for row in result["tables"]["test"]["labels"]] == ["eats"]
    check_again(tmp_path / "run", result)
    with pytest.raises(ValueError, match=r"'outside' must be one of the labels of training, eats, sees"):
        train(TrainConfig.of("dt", **{**settings, "outside": "none"}), tmp_path / "other")


def test_without_a_test_file_and_with_another_one(of_task, tmp_path):
    settings = {**of_task("spans"), "max_epochs": 1}
    settings.pop("test")
    result = train(TrainConfig.of("dt", **settings), tmp_path / "run")
    assert not [name for name in result["metrics"] if name.startswith("test")]
    with pytest.raises(ValueError, match=r"its settings have no split 'test': give it \(--test FILE\)"):
        evaluate_own(result["checkpoint"])
    rows = [{**row, "label": "unheard"} for row in tiny_span_rows()]
    scored = evaluate_own(
        result["checkpoint"], settings={"test": write_span_rows(tmp_path / "new.jsonl", rows)}
    )
    assert [scored["metrics"][f"test_{name}"] for name in SCORES] == [0, 0, 0, 0]
    assert scored["tables"]["test"]["labels"][0]["label"] == "(unknown)"
    bare = write_span_rows(tmp_path / "bare.jsonl", [{**row, "label": None} for row in rows])
    with pytest.raises(ValueError, match=r"train.jsonl \(test\): the examples have no labels"):
        evaluate_own(result["checkpoint"], settings={"test": bare})


def test_runs_on_other_files_of_the_same_content(of_task, tmp_path):
    config = TrainConfig.of("dt", **{**of_task("spans"), "max_epochs": 1})
    result = train(config, tmp_path / "run")
    moved = str(shutil.move(str(config.train), tmp_path / "moved.jsonl"))
    assert train(config.replace(train=moved), tmp_path / "run", resume=True) == result


def test_what_spans_attend_to(run, roots, of_task, tmp_path):
    train(TrainConfig.of("dra", **{**of_task("semeval2010"), "max_epochs": 1}), tmp_path / "run")
    attention = ["attention", "--checkpoint", tmp_path / "run" / "best.ckpt", "--parser", "chain", "--json"]
    done = run(*attention, "The <e1>dog</e1> <e2>barks</e2>")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["words"] == ["[ROOT]", "The", "dog", "barks"]
    assert "'texts' must be one text" in run(*attention, "The dog", "barks").stderr
