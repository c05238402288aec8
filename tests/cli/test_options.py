"""The words that everybody types."""

from __future__ import annotations

import json

import pytest

from graphdep.cli.app import app
from graphdep.cli.options import task_of
from graphdep.tasks import families
from graphdep.training.settings import USUAL_WORDS
from graphdep.transforms.presets import edge_names


def plain(text: str) -> str:
    """The words in a frame."""
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("command", ["train", "ablate", "needs-structure", "evaluate"])
def test_every_setting_of_every_task_is_an_option(command):
    from typer.main import get_command

    command = get_command(app).commands[command]
    context = command.make_context("x", [], resilient_parsing=True)
    options = {option for param in command.get_params(context) for option in param.opts}
    known = {name for family in families() for config in family.configs.values() for name in config.marks}
    # Which is how processes share the work, and of decoding is --set strategy=...
    assert not {f"--{name.replace('_', '-')}" for name in known - {"model", "strategy"}} - options


def test_the_help_shows_the_settings_with_a_panel(run):
    said = plain(run("train", "--help").stdout)
    assert all(f"{name}," in said.replace(" ", "") for name in edge_names())
    for name in ("--epochs", "--limit-eval", "--text-columns", "--accelerator", "Learning rate, the highest"):
        assert name in said
    assert "--hidden-channels" not in said.replace("--hidden-channels 60", "")
    said = plain(run("evaluate", "--help").stdout)
    assert "--batch-size" in said
    assert "--lr" not in said


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
        return plain(done.stderr)

    assert "No such option: --learning-rate (did you mean --lr?)" in asked("--learning-rate")
    assert "(did you mean --epochs?)" in asked("--num-train-epochs")
    assert "--model" in asked("--mdel")
    assert "did you mean" not in asked("--nonsense")


@pytest.mark.parametrize("command", ["ablate", "needs-structure"])
def test_seeds_are_how_many(run, command):
    done = run(command, "--seeds", "0,1,2")
    assert done.exit_code == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "'--seeds': a number says how many runs; their seeds count up from --seed" in said
    assert "count up" not in run(command, "--seeds", "0").stderr  # which is a number, and too small


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
    known = {name for family in families() for config in family.configs.values() for name in config.marks}
    assert not {*USUAL_WORDS.values()} - known
    assert not {*USUAL_WORDS} & known


@pytest.mark.parametrize(
    ("task", "train", "columns", "found"),
    [
        (None, None, None, "sick-e"),
        ("spans", "a.csv", None, "spans"),
        (None, "a.csv", None, "csv"),
        (None, "a.jsonl", "text", "csv"),
        (None, "a.conllu", None, "labels"),
        (None, "A.SPACY", None, "labels"),
    ],
)
def test_a_training_file_stands_for_a_task(task, train, columns, found):
    given = {"train": train, "text_columns": columns}
    assert task_of(task, {name: value for name, value in given.items() if value is not None}) == found


def test_a_file_that_may_be_for_several_tasks_does_not(run):
    done = run("train", "--train", "a.jsonl")
    assert (
        done.stderr == "graphdep: error: --train a.jsonl: say what it is for, --task csv, labels or spans\n"
    )
