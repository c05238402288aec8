"""The words that everybody types."""

from __future__ import annotations

import json

import pytest

from graphdep.cli.options import EDGE_NAMES, task_of
from graphdep.tasks import families
from graphdep.training.settings import USUAL_WORDS
from graphdep.transforms.presets import edge_names


def test_the_help_has_the_names_of_all_edges():
    names, _, own = EDGE_NAMES.partition(", or your own")
    assert own
    assert tuple(names.split(", ")) == edge_names()


def test_the_usual_settings_are_options(run, tiny):
    usual = ["--epochs", 1, "--lr", 0.01, "--batch-size", 4, "--encoder", "bilstm"]
    kept = [part for part in tiny if not part.startswith(("lr=", "batch_size="))]
    words = [part for n, part in enumerate(kept) if part != "--set" or "=" in kept[n + 1]]
    words = words[: words.index("--max-epochs")] + words[words.index("--max-epochs") + 2 :]
    done = run("train", "--model", "bilstm", *words, *usual, "--json")
    assert done.exit_code == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    assert [config[name] for name in ("max_epochs", "lr", "batch_size", "encoder")] == [1, 0.01, 4, "bilstm"]


@pytest.mark.parametrize("command", ["train", "ablate", "needs-structure"])
@pytest.mark.parametrize(
    ("option", "value", "setting"),
    [
        ("--lr", "0.1", "lr=0.2"),
        ("--epochs", "3", "max_epochs=4"),
        ("--batch-size", "3", "batch_size=4"),
        ("--encoder", "lstm", "encoder=bilstm"),
    ],
)
def test_both_ways_with_different_values_are_an_error(run, command, option, value, setting):
    done = run(command, option, value, "--set", setting)
    assert done.exit_code == 2
    assert f"{setting.partition('=')[0]!r} is given twice" in done.stderr


def test_a_setting_that_is_typed_as_an_option_gets_a_hint(run):
    def asked(option: str) -> str:
        done = run("train", option, "3")
        assert done.exit_code == 2
        return " ".join(done.stderr.replace("│", " ").split())

    assert "No such option: --learning-rate (did you mean --lr?)" in asked("--learning-rate")
    assert "(did you mean --epochs?)" in asked("--num-train-epochs")
    assert "(settings go through --set: --set hidden_channels=VALUE)" in asked("--hidden-channels")
    assert "--model" in asked("--mdel")
    assert "--set" not in asked("--nonsense")


@pytest.mark.parametrize("command", ["ablate", "needs-structure"])
def test_seeds_are_how_many(run, command):
    done = run(command, "--seeds", "0,1,2")
    assert done.exit_code == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "'--seeds': a number says how many runs; their seeds count up from --seed" in said
    assert "count up" not in run(command, "--seeds", "0").stderr  # which is a number, and too small


def test_the_help_of_evaluate_promises_no_defaults_of_a_checkpoint_s(run):
    said = " ".join(run("evaluate", "--help").stdout.replace("│", " ").split())
    assert "[default: bundled]" not in said
    assert "[default: datasets/" not in said
    assert "must be given if training had another one" in said


@pytest.mark.parametrize("name", ["ENCODER", "no/such/folder", "./nothing", "BERT_BASE"])
@pytest.mark.parametrize("command", ["train", "ablate"])
def test_an_encoder_that_cannot_be_is_refused_at_once(run, monkeypatch, command, name):
    pytest.importorskip("transformers")
    monkeypatch.setattr("graphdep.training.family.load_splits", lambda *_: pytest.fail("too late"))
    model = "--models" if command == "ablate" else "--model"
    done = run(command, "--task", "cola", model, "bert", "--encoder", name)
    assert done.exit_code == 2
    placeholder = f"'encoder' {name!r} is no folder, and looks like a placeholder"
    assert (placeholder if name.isupper() else f"no folder {name!r}") in done.stderr
    assert done.stderr.count("\n") == 1


def test_names_of_others_have_a_hint(run):
    assert "'learning_rate' (did you mean 'lr'?)" in run("train", "--set", "learning_rate=1").stderr
    assert (
        "task 'sick' is unknown (did you mean 'sick-r' or 'sick-e'?)" in run("train", "--task", "sick").stderr
    )
    assert "(did you mean 'dailydialog'?)" in run("train", "--task", "dailydialogue").stderr
    known = {
        name for family in families() for config in family.configs.values() for name in config.marks
    }
    assert not {*USUAL_WORDS.values()} - known
    assert not {*USUAL_WORDS} & known


@pytest.mark.parametrize(
    ("task", "train", "columns", "found"),
    [
        (None, None, None, "sick-e"),
        ("spans", "a.csv", None, "spans"),
        (None, "a.csv", None, "csv"),
        (None, "a.jsonl", ["text"], "csv"),
        (None, "a.conllu", None, "labels"),
        (None, "A.SPACY", None, "labels"),
    ],
)
def test_a_training_file_stands_for_a_task(task, train, columns, found):
    assert task_of(task, train, columns) == found


def test_a_file_that_may_be_for_several_tasks_does_not(run):
    done = run("train", "--train", "a.jsonl")
    assert (
        done.stderr == "graphdep: error: --train a.jsonl: say what it is for, --task csv, labels or spans\n"
    )
