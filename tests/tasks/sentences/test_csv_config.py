from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from graphdep.training import (
    TrainConfig,
    ablate,
    compare_runs,
    load_splits,
    load_task,
    needs_structure,
    parse_settings,
    train,
)
from graphdep.training.table import csv_rows, markdown
from tests.kit.runs import evaluate_own

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
ROWS = [
    (f"{word} {thing}", label) for word, label in (("fine", "good"), ("dull", "bad")) for thing in "abcdefgh"
]


def write(path: Path, rows=ROWS) -> str:
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return str(path)


@pytest.fixture
def settings(tmp_path) -> dict[str, object]:
    files = {"train": write(tmp_path / "train.csv"), "root": str(tmp_path / "root")}
    columns = {"text_columns": "text", "label_column": "label"}
    return {**files, **columns, **SIZES, "parser": "chain", "accelerator": "cpu", "max_epochs": 2, "lr": 0.05}


def config(settings, **others) -> TrainConfig:
    return TrainConfig.of("dt", **{"task": "csv", **settings, **others})


def test_without_a_test_file_there_is_no_test_score(tmp_path, settings):
    result = train(config(settings), tmp_path / "run")
    assert set(result["metrics"]) == {"val_loss", "val_accuracy", "val_macro_f1"}
    assert result["data"]["examples"] == {"train": 14, "val": 2}
    lines = (tmp_path / "run" / "predictions.csv").read_text().splitlines()  # of what validates
    assert lines[0] == "example,target,prediction,target_label,prediction_label,text"
    assert len(lines) == 3
    assert train(config(settings), tmp_path / "run", resume=True) == result  # it is a finished one
    assert load_task(result["checkpoint"])[1].labels == ["bad", "good"]
    assert evaluate_own(result["checkpoint"], "val")["metrics"] == result["metrics"]
    with pytest.raises(
        ValueError, match=r"best.ckpt: its settings have no split 'test': give it \(--test FILE"
    ):
        evaluate_own(result["checkpoint"])


def test_with_a_test_file(tmp_path, settings):
    test = write(tmp_path / "test.csv", ROWS[::3])
    result = train(config(settings, test=test), tmp_path / "run")
    assert result["data"]["examples"]["test"] == 6
    later = train(config(settings), tmp_path / "other")["checkpoint"]
    scores = evaluate_own(later, settings={"test": test})["metrics"]
    assert scores == {name: value for name, value in result["metrics"].items() if name.startswith("test")}
    moved = shutil.move(test, tmp_path / "moved.csv")
    assert train(config(settings, test=str(moved)), tmp_path / "run", resume=True) == result


def test_evaluation_on_a_file_with_other_columns(tmp_path, settings):
    checkpoint = train(config(settings), tmp_path / "run")["checkpoint"]
    same = evaluate_own(checkpoint, settings={"test": settings["train"]})["metrics"]
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps({"body": text, "sort": label}) + "\n" for text, label in ROWS))
    columns = {"text_columns": "body", "label_column": "sort"}
    files = {"train": str(other), "test": str(other)}
    assert evaluate_own(checkpoint, settings={**files, **columns})["metrics"] == same
    with pytest.raises(ValueError, match=r"'text_columns' must name as many .* 1 \(got 'body, sort'\)"):
        evaluate_own(checkpoint, settings={**files, **columns, "text_columns": "body, sort"})


def test_a_checkpoint_keeps_its_classes(tmp_path, settings):
    checkpoint = train(config(settings), tmp_path / "run")["checkpoint"]
    three = write(tmp_path / "three.csv", [*ROWS, ("so what", "odd")])
    with pytest.raises(ValueError, match=r"three.csv:18: 'label' is none of the classes .*'odd'"):
        evaluate_own(checkpoint, settings={"test": three})
    fewer = write(tmp_path / "fewer.csv", ROWS[:3])
    scored = evaluate_own(checkpoint, settings={"train": fewer, "test": fewer})
    assert 0 <= scored["metrics"]["test_accuracy"] <= 1
    assert scored["floor"]["test_accuracy"] == 1.0


def test_three_classes_and_pairs(tmp_path, settings):
    path = tmp_path / "pairs.jsonl"
    rows = [{"a": f"one {i}", "b": "two", "y": i % 3} for i in range(12)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = config(settings, train=str(path), text_columns="a, b", label_column="y")
    assert own.num_texts == 2
    result = train(own, tmp_path / "run")
    task, state = load_task(result["checkpoint"])
    assert task.model.head.lin_out.out_features == 3
    assert state.labels == [0, 1, 2]


def test_regression(tmp_path, settings):
    numbers = write(tmp_path / "numbers.csv", [(text, str(i / 4)) for i, (text, _) in enumerate(ROWS)])
    own = config(settings, task="csv-regression", train=numbers, test=numbers, val_fraction=0.3)
    result = train(own, tmp_path / "run")
    assert {"test_mse", "test_pearson", "test_spearman"} < set(result["metrics"])
    assert result["floor"]["test_mse"] > 0
    assert load_task(result["checkpoint"])[1].labels is None
    assert evaluate_own(result["checkpoint"])["metrics"]["test_mse"] == result["metrics"]["test_mse"]


def test_the_validation_texts_are_those_of_their_seed(settings):
    digests = {
        (seed, val_seed): load_splits(config(settings, seed=seed, val_seed=val_seed)).digest()
        for seed in (0, 1)
        for val_seed in (0, 1)
    }
    assert digests[0, 0] == digests[1, 0] != digests[0, 1]


@pytest.mark.parametrize("split", ["test", "val"])
def test_an_ablation_is_of_the_test_file_or_of_what_validates(tmp_path, settings, split):
    given = {"test": write(tmp_path / "test.csv", ROWS[::2])} if split == "test" else {"val_fraction": 0.4}
    models, own = ["transformer", "word-average"], {**settings, **given, "max_epochs": 1}
    summary = ablate("csv", models, [0], tmp_path / "runs", settings=own)
    assert [row["n"] for row in summary["rows"]] == [1, 1]
    assert summary["compared"] == split
    against = summary["rows"][1]["against"]
    scores = [row["metrics"][f"{split}_{against['metric']}"]["values"] for row in summary["rows"]]
    assert against["difference"] == pytest.approx(scores[1][0] - scores[0][0])
    report = markdown(summary)
    assert ("so that they are too good" in report) == (split == "val")
    assert ("(validation)" in report.splitlines()[0]) == (split == "val")
    assert f"{split}_accuracy" in report.splitlines()[2]
    assert f"{split}_accuracy" in csv_rows(summary)
    folders = [str(Path(row["checkpoints"][0]).parent) for row in summary["rows"]]
    assert compare_runs(*folders)["n"] == against["n"]


def test_what_needs_a_test_file_says_how_to_give_it(tmp_path, settings):
    with pytest.raises(ValueError, match=r"a test split, which 'csv' has none of here: give it \(--test"):
        needs_structure("csv", tmp_path / "runs", settings=settings)


@pytest.mark.parametrize("name", ["train", "text_columns", "label_column"])
def test_what_is_not_given_is_named(settings, name):
    option = name.replace("_", "-")
    with pytest.raises(ValueError, match=rf"task 'csv' needs '{name}' \(--{option}\), which is not given"):
        config({key: value for key, value in settings.items() if key != name})


def test_settings_are_those_of_the_task(settings):
    assert parse_settings(["val_fraction=0.2", "test=none"], "csv") == {"val_fraction": 0.2, "test": None}
    with pytest.raises(ValueError, match="unknown setting 'text_columns'"):
        TrainConfig.of("dt", task="sst", text_columns="text")
    with pytest.raises(ValueError, match=r"'raw_from' is for corpora, not for task 'csv' \(got 'x'\)"):
        config(settings, raw_from="x")
    assert config(settings).splits == ("train", "val")
    assert config(settings, test="x.csv").splits == TrainConfig.of("dt").splits == ("train", "val", "test")
    assert config(settings, train="elsewhere.csv").differences(config(settings)) == []


def test_family_is_that_of_sentences(settings):
    own = config(settings)
    assert (own.kind, own.family) == ("csv", "sentence")
    assert TrainConfig.of(task="dailydialog").family == "dialogue"
