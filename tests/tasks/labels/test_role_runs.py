"""Runs on roles and on agreement: training, evaluation, comparison and ablation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphdep.cli import app
from graphdep.tasks import family_of
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.build import load_pretrained
from graphdep.training.evaluation import read_predictions
from graphdep.training.table import compare_runs
from tests.kit.runs import evaluate_own

AGREEMENT = Path(__file__).parents[3] / "datasets" / "mini" / "agreement" / "raw"
SIZES = ("hidden_channels=8", "ff_channels=8", "num_layers=1", "heads=2", "relation_dim=4", "batch_size=8")
SETS = [part for text in (*SIZES, "lr=0.05", "accelerator=cpu") for part in ("--set", text)]
SCORES = ("accuracy", "f1", "macro_f1", "exact")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def check_again(folder: Path, result: dict, splits=("val", "test")) -> None:
    """The checkpoint scores what the run says."""
    for split in splits:
        again = evaluate_own(folder / "best.ckpt", split)
        for kind in ("metrics", "floor"):
            assert again[kind] == {k: v for k, v in result[kind].items() if k.startswith(split)}
        assert again["tables"] == {split: result["tables"][split]}


RUNS = [
    ("dt", {}),
    ("dt", {"crf": True}),
    ("dt", {"form": "spans"}),
    ("dt", {"form": "spans", "decode": "viterbi"}),
    ("bilstm", {"form": "spans", "crf": True}),
    ("lisa", {}),
    ("gate@noisy-40", {}),
    ("g2g", {}),
    ("bert", {"word_state": "mean"}),
    ("bert-dt", {"form": "spans", "decode": "viterbi"}),
    ("bert-g2g", {"form": "spans", "crf": True}),
]


@pytest.mark.parametrize(("model", "options"), RUNS, ids=str)
def test_a_run_on_roles(of_roles, on_encoder, tmp_path, model, options):
    own = {"task": of_roles["task"], "root": of_roles["root"], **on_encoder} if "bert" in model else of_roles
    result = train(TrainConfig.of(model, **{**own, **options, "batch_size": 8}), tmp_path)
    names = {f"{split}_{metric}" for split in ("val", "test") for metric in SCORES}
    assert result["metrics"].keys() >= names
    assert result["floor"].keys() == names | {f"{name}_lookup" for name in names}
    assert result["floor"]["test_f1"] == 0
    for split in ("val", "test"):
        rows = result["tables"][split]["labels"]
        for name in ("distance", "length"):
            parts = result["tables"][split][name]
            assert sum(part["words"] for part in parts) > 0, name
        assert {row["label"] for row in rows} <= {"ARG0", "ARG1", "ARGM-NEG"}
        right, both = (
            sum(row[a] + row[b] for row in rows) / 2 for a, b in (("right", "right"), ("there", "found"))
        )
        assert result["metrics"][f"{split}_f1"] == pytest.approx(right / both if both else 0)
    target, prediction, _ = read_predictions(tmp_path / "predictions.csv")
    (task, _) = load_task(tmp_path / "best.ckpt")
    for metric in task.metrics:
        assert metric(prediction, target) == pytest.approx(result["metrics"][f"test_{metric.name}"])
    assert (task.chain is not None) == bool({"crf", "decode"} & options.keys())
    check_again(tmp_path, result)


@pytest.mark.parametrize("form", ["heads", "spans"])
def test_roles_are_learned(of_roles, tmp_path, form):
    settings = {
        **of_roles,
        "max_epochs": 60,
        "hidden_channels": 16,
        "lr": 0.02,
        "dropout": 0.0,
        "patience": None,
    }
    result = train(TrainConfig.of("dt", **settings, form=form, crf=form == "spans"), tmp_path)
    assert result["metrics"]["test_f1"] > 0.9
    assert result["metrics"]["test_exact"] > 0.8


def test_the_best_sequence_is_a_matter_of_the_evaluation(of_roles, tmp_path):
    result = train(TrainConfig.of("dt", **{**of_roles, "form": "spans", "max_epochs": 1}), tmp_path)
    again = evaluate_own(tmp_path / "best.ckpt", settings={"decode": "viterbi"})
    assert again["floor"] == {k: v for k, v in result["floor"].items() if k.startswith("test")}
    assert again["metrics"]["test_loss"] == result["metrics"]["test_loss"]
    assert again["metrics"]["test_accuracy"] != result["metrics"]["test_accuracy"]
    told = evaluate_own(tmp_path / "best.ckpt", settings={"decode": "argmax"})["metrics"]
    assert told == {k: v for k, v in result["metrics"].items() if k.startswith("test")}


def test_rows_of_words_and_of_pieces_are_compared(of_roles, on_encoder, tmp_path):
    """Though some words of the latter are cut away."""
    shared = {"form": "spans", "max_epochs": 1, "batch_size": 8}
    configs = {
        "bilstm": TrainConfig.of("bilstm", **{**of_roles, **shared}),
        "bert": TrainConfig.of(
            "bert", **{**on_encoder, **shared}, task="propbank-ewt", root=of_roles["root"]
        ),
        "longer": TrainConfig.of(
            "bert",
            **{**on_encoder, **shared, "max_length": 48, "batch_size": 3},
            task="propbank-ewt",
            root=of_roles["root"],
        ),
        "heads": TrainConfig.of("bilstm", **{**of_roles, **shared, "form": "heads"}),
    }
    results = {name: train(config, tmp_path / name) for name, config in configs.items()}
    assert [(results[name]["data"]["cut_words"]["test"] > 0) for name in ("bert", "longer")] == [True, False]
    assert (read_predictions(tmp_path / "bert" / "predictions.csv")[1] == -2).any()
    for other in ("bert", "longer"):
        compared = compare_runs(str(tmp_path / "bilstm"), str(tmp_path / other), samples=20)
        assert compared["metrics"]["f1"]["score_b"] == pytest.approx(results[other]["metrics"]["test_f1"])
    with pytest.raises(ValueError, match="these are not the same examples"):
        compare_runs(str(tmp_path / "bilstm"), str(tmp_path / "heads"), samples=20)
    splits = {
        name: load_splits(config, pretrained=load_pretrained(config) if config.pretrained else None)
        for name, config in configs.items()
    }
    comparable = family_of("propbank-ewt").task_class.comparable
    assert comparable(splits["bilstm"], splits["bert"])
    assert not comparable(splits["bilstm"], splits["heads"])


def test_ablation_and_comparison_from_the_command_line(run, roles, tmp_path):
    models = ["--models", "bilstm,dt,dt@random", "--seeds", 2, "--max-epochs", 2]
    places = ["--root", roles, "--set", "form=spans", "--set", "crf=true"]
    done = run("ablate", "--task", "propbank-ewt", *models, *places, *SETS, "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert not any(row["failed"] for row in summary["rows"])
    assert [row["against"] is None for row in summary["rows"]] == [True, False, False]
    folder = tmp_path / "runs" / "ablation_propbank-ewt"
    table = (folder / "table.md").read_text()
    for text in (
        "| (no skill) | 0.",
        "| (look-up) | 0.",
        "| dt@random crf=True |",
        "--set form=spans",
        "labels are spans",
        "exact",
        "over seeds and the 9 sentences of the test split",
    ):
        assert text in table
    done = run(
        "compare",
        f"{folder}/propbank-ewt_bilstm_seed*",
        f"{folder}/propbank-ewt_dt_seed*",
        "--samples",
        50,
        "--json",
    )
    assert done.exit_code == 0, done.stderr
    assert {*json.loads(done.stdout)["metrics"]} == {"f1", "macro_f1"}
    assert family_of("cogs").compared("cogs") == "groups of test examples"
    assert family_of("semeval2010").compared("semeval2010") == "test examples"


def test_agreement_with_its_other_test_split(run, tmp_path):
    raw = tmp_path / "raw"
    shutil.copytree(AGREEMENT, raw)
    for name in ("train", "dev", "gen"):
        path = raw / f"tense_bracket.{name}"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:60]))
    shutil.copy(raw / "tense_bracket.dev", raw / "tense_bracket.test")
    places = ["--root", tmp_path / "agreement"]
    done = run(
        "train",
        "--task",
        "agreement",
        *("--model", "dt-nopos", "--max-epochs", 2, "--raw-from", raw),
        *("--output", tmp_path / "run"),
        *places,
        *SETS,
        "--json",
    )
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["best_epoch"] == 2  # the last one is kept
    assert result["metrics"]["test_accuracy"] == result["metrics"]["test_exact"]  # one verb a sentence
    assert {row["label"] for row in result["tables"]["test"]["labels"]} <= {"singular", "plural"}
    evaluate = ["evaluate", "--checkpoint", tmp_path / "run" / "best.ckpt", *places, "--json"]
    other = run(*evaluate, "--split", "test-indist")
    assert other.exit_code == 0, other.stderr
    told = json.loads(other.stdout)
    assert told["metrics"]["test-indist_accuracy"] == result["metrics"]["val_accuracy"]  # the same sentences
    assert told["tables"]["test-indist"] == result["tables"]["val"]
    wrong = run(*evaluate, "--split", "test-mismatched")
    assert "test-indist" in wrong.stderr
