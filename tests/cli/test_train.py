"""The commands train and needs-structure."""

from __future__ import annotations

import json
import random

import pytest
import torch

from tests.kit.trees import random_sentence


def test_a_run_as_json_and_as_a_table_and_its_evaluation(run, tiny):
    done = run("train", *tiny, "--json")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\n") == 1
    result = json.loads(done.stdout)
    keys = ["task", "model", "seed", "metrics", "epochs", "seconds_per_epoch", "parameters", "checkpoint"]
    assert set(keys) <= result.keys()
    assert "epoch   1/1" in done.stderr
    again = run("train", *tiny, "--json", "--resume")
    assert json.loads(again.stdout) == result
    assert "epoch" not in again.stderr
    assert "already finished" in again.stderr
    table = run("train", *tiny, "--resume")
    for text in ("test_accuracy", "no skill", "best.ckpt", "best: 1 (the last; more epochs may help)"):
        assert text in table.stdout
    (line,) = [line for line in table.stdout.splitlines() if line.startswith("definitions of the metrics:")]
    path = line.partition("'signature' in ")[2].partition(",")[0]
    with open(path, encoding="utf-8") as file:
        signatures = json.load(file)["signature"]
    assert not any(text in table.stdout for text in signatures.values())
    assert "scoring" in done.stderr
    again = run("evaluate", "--checkpoint", result["checkpoint"], *tiny[:4], "--split", "val", "--json")
    assert json.loads(again.stdout)["metrics"]["val_loss"] == result["metrics"]["val_loss"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "hidden_chanels=3"], "no setting 'hidden_chanels' (did you mean 'hidden_channels'?)"),
        (["--set", "heads=four"], "'heads' takes a whole number (got 'four')"),
        (["--set", "dropout=2"], "'dropout' must be at most 1"),
        (["--seed", "1", "--set", "seed=2"], "'seed' is given twice: 1, and 2 with --set"),
        (["--task", "cats"], "'task' must be one of sick-r, sick-e"),
        (["--model", "berd"], "no model 'berd' (did you mean 'bert'?)"),
        (["--edges", "drat"], "no edges 'drat' (did you mean 'dra'?)"),
        (["--parser", "nonsense"], "ptb:<file>, chain (got 'nonsense')"),
        (["--root", "~nosuchuser/x"], "no user has the home folder of '~nosuchuser/x'"),
        (["--parser", "chain", "--output", __file__], "'output' must be a folder: "),
        (["--raw-from", "nowhere", "--root", "empty"], "SICK_train.txt"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(run, arguments, message):
    done = run("train", *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("graphdep: error: ")
    assert message in lines[0]


@pytest.mark.skipif(torch.cuda.is_available() or torch.backends.mps.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_reported_before_the_data_are_read(run):
    for command in (["train"], ["ablate", "--models", "dt"]):
        done = run(
            *command, "--task", "sick-e", "--root", "empty", "--parser", "chain", "--set", "accelerator=gpu"
        )
        assert done.exit_code == 2
        assert "error: 'accelerator' cannot be 'gpu': PyTorch finds none" in done.stderr


def test_debug_shows_the_traceback(run, monkeypatch):
    monkeypatch.setenv("GRAPHDEP_DEBUG", "1")
    assert isinstance(run("train", "--task", "cats").exception, ValueError)


def test_a_nan_loss_is_an_error_of_one_line(run, tiny):
    done = run("train", *[part.replace("lr=0.05", "lr=1e30") for part in tiny], "--set", "optimizer=sgd")
    assert done.exit_code == 2
    assert "graphdep: error: the loss became nan in epoch" in done.stderr.splitlines()[-1]


def test_a_damaged_checkpoint_is_named(run, tmp_path):
    (tmp_path / "bad.ckpt").write_bytes(b"nonsense")
    done = run("evaluate", "--checkpoint", "bad.ckpt")
    assert done.exit_code == 2
    assert done.stderr.startswith("graphdep: error: bad.ckpt: not a checkpoint, or damaged")


def test_own_texts(run, tmp_path):
    rows = "".join(f"{word} {thing},{word}\n" for word in ("fine", "dull") for thing in "abcdef")
    (tmp_path / "texts.csv").write_text("body,label\n" + rows)
    columns = ["--text-columns", "body", "--label-column", "label"]
    own = ["--task", "csv", "--train", "texts.csv", *columns, "--parser", "chain", "--max-epochs", "1"]
    sizes = ["--set", "hidden_channels=12", "--set", "ff_channels=8"]
    done = run("train", *own, *sizes, "--val", "texts.csv", "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result["metrics"]) == {"val_loss", "val_accuracy", "val_macro_f1"}
    assert "test" not in result["data"]["examples"]
    printed = run("train", *own, *sizes, "--val", "texts.csv", "--resume").stdout
    assert "\nvalidation examples that choose the epoch: 12; more: --val FILE\n" in printed
    missed = [row["label"] for row in result["tables"]["val"]["labels"] if not row["found"]]
    assert missed
    assert "\nnever predicted: " + repr(missed)[1:-1] in printed
    evaluation = ["evaluate", "--checkpoint", result["checkpoint"], "--set", "test=texts.csv", "--json"]
    done = run(*evaluation)
    assert done.exit_code == 2
    again = ["--parser", "chain"]  # and no other file, which is not read
    used = "files, folders and parsers named in a checkpoint are used only if you name them"
    assert done.stderr.endswith(f": also needs {' '.join(again)}: {used}\n")
    scored = json.loads(run(*evaluation, *again).stdout)
    assert "test_accuracy" in scored["metrics"]
    printed = run(*evaluation[:-1], *again).stdout
    assert "scores without skill need the training file: --train FILE" in printed
    for row in scored["tables"]["test"]["labels"]:
        scores = [f"{row[name]:.4f}" for name in ("precision", "recall", "f1")]
        assert [row["label"], *scores, str(row["there"])] in [line.split() for line in printed.splitlines()]
    assert "needs 'label_column' (--label-column)" in run("train", *own[:6], "--parser", "chain").stderr


def test_own_labels(run, tmp_path):
    sentences = "".join(f"{name} B-PER\nsleeps O\n\n" for name in ("Ann", "Bob", "Cid", "Dan"))
    for name in ("train", "test", "other"):
        (tmp_path / f"{name}.conll").write_text(sentences)
    own = ["--task", "labels", "--train", "train.conll", "--test", "test.conll", "--parser", "chain"]
    sets = ["--set", "scheme=bio", "--set", "hidden_channels=12", "--set", "ff_channels=8"]
    done = run("train", *own, *sets, "--max-epochs", "1", "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    names = {
        f"{split}_{name}" for split in ("val", "test") for name in ("accuracy", "f1", "macro_f1", "exact")
    }
    assert names < {*result["metrics"]}
    assert {*names, "test_f1_lookup"} < {*result["floor"]}
    checkpoint = ["--checkpoint", result["checkpoint"], "--parser", "chain", "--json"]
    done = run("evaluate", *checkpoint, "--train", "train.conll", "--test", "other.conll")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)["metrics"]
    assert found == {name: value for name, value in result["metrics"].items() if name.startswith("test")}
    models = ["--models", "transformer,bilstm", "--seeds", 1, "--max-epochs", 1]
    done = run("ablate", *own, *sets, *models, "--output", "table")
    assert done.exit_code == 0, done.stderr
    assert "--train train.conll --test test.conll" in (tmp_path / "table" / "table.md").read_text()
    assert "needs 'train' (--train)" in run("train", "--task", "labels", "--max-epochs", "1").stderr


def test_only_some_tasks_take_own_files(run):
    done = run("train", "--task", "sick-e", "--train", "x.csv")
    assert done.exit_code == 2
    message = "'train' is a setting of --task csv, csv-regression, labels"
    assert message in " ".join(done.stderr.split())
    done = run("ablate", "--task", "labels", "--train", "x.conll", "--label-column", "y")
    assert "'label_column' is a setting of --task csv" in " ".join(done.stderr.split())


def test_only_some_tasks_limit_evaluation(run, tiny):
    assert "'limit_eval' is a setting of --task ubuntu" in run("train", *tiny, "--limit-eval", 3).stderr


def test_run_yaml_repeats_a_run(run, tiny, tmp_path):
    first = json.loads(run("train", *tiny, "--lr", 0.05, "--seed", 3, "--json").stdout)
    file = (tmp_path / first["checkpoint"]).with_name("run.yaml")
    again = run("train", "--config", file, "--output", "again", "--json")
    assert again.exit_code == 0, again.stderr
    again = json.loads(again.stdout)
    for key in ("metrics", "floor", "best_epoch", "config", "data"):
        assert first[key] == again[key]
    other = run("train", "--config", file, "--seed", 4, "--set", "dropout=0.5", "--output", "other", "--json")
    config = json.loads(other.stdout)["config"]
    assert (config["seed"], config["dropout"], config["lr"]) == (4, 0.5, 0.05)
    done = run("train", "--config", file, "--model", "transformer")
    assert "has the settings of model 'dt', not of 'transformer'" in done.stderr
    done = run("train", "--config", file, "--task", "sick-r")
    assert "has the settings of task 'sick-e'" in done.stderr
    assert "no file no.yaml" in run("train", "--config", "no.yaml").stderr


def test_names_in_a_file_import_nothing(run, tmp_path):
    (tmp_path / "my_edges.py").write_text("raise SystemExit('imported')")
    (tmp_path / "a.yaml").write_text("edges: my_edges:Window\n")
    done = run("train", "--config", "a.yaml")
    assert done.exit_code == 2
    assert "your own are known by graphdep.transforms.register_edges or --edges" in done.stderr


def test_loggers_and_steps(run, tiny, tmp_path):
    done = run("train", *tiny, "--logger", "paper")
    assert "'logger' must be one of none, tensorboard, wandb (got 'paper')" in done.stderr
    result = json.loads(run("train", *tiny, "--log-every", 1, "--json").stdout)
    steps = (tmp_path / result["checkpoint"]).with_name("steps.csv").read_text().splitlines()
    assert len(steps) == 1 + 3


def test_needs_structure_finds_that_trees_help(run, tmp_path):
    """The label of each word is its governor, which only the model with trees can know."""
    rng = random.Random(0)
    for name, count in {"train": 60, "val": 10, "test": 20}.items():
        with open(tmp_path / f"{name}.jsonl", "w") as file:
            for _ in range(count):
                head = random_sentence(rng, rng.randint(5, 8)).head
                words = [rng.choice("abc") for _ in head]
                labels = [words[above - 1] if above else "top" for above in head]
                deprel = ["dep" if above else "root" for above in head]
                row = {"words": words, "labels": labels, "head": list(head), "deprel": deprel}
                file.write(json.dumps(row) + "\n")
    files = [part for name in ("train", "val", "test") for part in (f"--{name}", tmp_path / f"{name}.jsonl")]
    sizes = {"hidden_channels": 16, "ff_channels": 16, "num_layers": 1, "heads": 2, "min_freq": 1}
    others = {"dropout": 0.0, "patience": "none", "relation_dim": 4, "accelerator": "cpu", "outside": ""}
    settings = [part for name, value in {**sizes, **others}.items() for part in ("--set", f"{name}={value}")]
    result = run(
        *(
            "needs-structure",
            "--task",
            "labels",
            *files,
            "--epochs",
            5,
            "--seeds",
            2,
            "--batch-size",
            12,
            "--lr",
            0.03,
        ),
        *("--bound", 0.05, "--minutes", 30, "--output", tmp_path / "runs", "--json", *settings),
    )
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["verdict"] == "yes", found["sentences"]
    assert found["bound"] == 0.05
    assert len(found["sentences"]) == 4
    names = [
        "transformer@shuffled",
        "transformer-nopos",
        "transformer",
        "dt@chain",
        "dt",
        "dt@random-labels",
    ]
    assert [row["name"] for row in found["rows"]] == names
    assert all({"name", "interval"} <= row.keys() for row in found["rows"])
