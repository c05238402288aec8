"""Commands, their options and helps, and the lists of models and settings."""

from __future__ import annotations

import dataclasses
import json

import pytest

import graphdep
from graphdep import tasks
from graphdep.cli.app import app
from graphdep.cli.common import describe
from graphdep.cli.options import EDGES, MODELS, PREDICTED, ROWS, TASKS, task_lists, task_of
from graphdep.tasks import families
from graphdep.training.config import CONTROLS
from graphdep.training.learning_task import LearningTask
from graphdep.training.settings import SETTING_ALIASES
from graphdep.transforms.presets import edge_names


def test_version(run):
    assert run("--version").stdout.strip() == f"graphdep {graphdep.__version__}"


def test_wrong_usage_goes_to_stderr(run):
    done = run("train", "--nonsense")
    assert done.exit_code == 2
    assert "--nonsense" in done.stderr
    assert done.stdout == ""


def test_raised_errors_are_documented():
    """They are printed without their class; only unexpected errors have it."""
    import graphdep.datasets.labels.cogs
    import graphdep.sentence.ptb
    import graphdep.training.run  # noqa: F401 they are known once they are imported

    kinds, found = [ValueError], []
    while kinds:
        kinds += kinds.pop().__subclasses__()
        found += [kind for kind in kinds if kind.__module__.startswith("graphdep.") and kind not in found]
    assert {"FolderInUseError", "PtbError", "MisfitError"} <= {kind.__name__ for kind in found}
    for kind in found:
        error = kind.__new__(kind)
        error.args = ("what it says",)
        assert "GRAPHDEP_DEBUG" not in describe(error), kind


def plain(text: str) -> str:
    """The words in a box."""
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("command", ["train", "ablate", "needs-structure", "evaluate"])
def test_every_setting_of_every_task_is_an_option(command):
    from typer.main import get_command

    command = get_command(app).commands[command]
    context = command.make_context("x", [], resilient_parsing=True)
    options = {option for param in command.get_params(context) for option in param.opts}
    known = {name for family in families() for config in family.configs.values() for name in config.marks}
    # --strategy is how processes share the work; that of decoding is --set strategy=...
    assert not {f"--{name.replace('_', '-')}" for name in known - {"model", "strategy"}} - options


def test_the_help_shows_the_settings_with_a_panel(run):
    said = plain(run("train", "--help").stdout)
    assert all(f"{name}," in said.replace(" ", "") for name in edge_names())
    for name in ("--epochs", "--limit-eval", "--text-columns", "--accelerator", "Learning rate; with"):
        assert name in said
    assert "--hidden-channels" not in said.replace("--hidden-channels 60", "")
    said = plain(run("evaluate", "--help").stdout)
    assert "--batch-size" in said
    assert "--lr" not in said


def test_common_settings_are_options(run, tiny):
    usual = ["--epochs", 1, "--lr", 0.01, "--batch-size", 4, "--encoder", "bilstm"]
    kept = [part for part in tiny if not part.startswith(("lr=", "batch_size="))]
    words = [part for n, part in enumerate(kept) if part != "--set" or "=" in kept[n + 1]]
    words = words[: words.index("--max-epochs")] + words[words.index("--max-epochs") + 2 :]
    done = run("train", "--model", "bilstm", *words, *usual, "--json")
    assert done.exit_code == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    assert [config[name] for name in ("max_epochs", "lr", "batch_size", "encoder")] == [1, 0.01, 4, "bilstm"]


@pytest.mark.parametrize(
    ("command", "option", "value", "setting"),
    [
        ("train", "--lr", "0.1", "lr=0.2"),
        ("ablate", "--epochs", "3", "max_epochs=4"),
        ("needs-structure", "--encoder", "lstm", "encoder=bilstm"),
    ],
)
def test_an_option_and_set_must_agree(run, command, option, value, setting):
    done = run(command, option, value, "--set", setting)
    assert done.exit_code == 2
    assert f"{setting.partition('=')[0]!r} is given twice" in done.stderr


def test_a_mistyped_option_gets_a_hint(run):
    def asked(option: str) -> str:
        done = run("train", option, "3")
        assert done.exit_code == 2
        return plain(done.stderr)

    assert "No such option: --learning-rate (did you mean --lr?)" in asked("--learning-rate")
    assert "(did you mean --epochs?)" in asked("--num-train-epochs")
    assert "--model" in asked("--mdel")
    assert "did you mean" not in asked("--nonsense")


@pytest.mark.parametrize("command", ["ablate", "needs-structure"])
def test_seeds_is_a_number_of_runs(run, command):
    done = run(command, "--seeds", "0,1,2")
    assert done.exit_code == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "'--seeds': --seeds is a number of runs; their seeds count up from --seed" in said
    assert "count up" not in run(command, "--seeds", "0").stderr  # which is a number, and too small


@pytest.mark.parametrize(("command", "name"), [("train", "BERT_BASE"), ("ablate", "./nothing")])
def test_an_impossible_encoder_is_refused_at_once(run, monkeypatch, command, name):
    pytest.importorskip("transformers")
    monkeypatch.setattr("graphdep.training.family.load_splits", lambda *_: pytest.fail("too late"))
    model = "--models" if command == "ablate" else "--model"
    done = run(command, "--task", "cola", model, "bert", "--encoder", name)
    assert done.exit_code == 2
    placeholder = f"'encoder' {name!r} is not a folder, but looks like a placeholder"
    assert (placeholder if name.isupper() else f"no folder {name!r}") in done.stderr
    assert done.stderr.count("\n") == 1


def test_names_of_other_libraries_get_a_hint(run):
    assert "'learning_rate' (did you mean 'lr'?)" in run("train", "--set", "learning_rate=1").stderr
    assert "no task 'sick' (did you mean 'sick-r' or 'sick-e'?)" in run("train", "--task", "sick").stderr
    assert "(did you mean 'dailydialog'?)" in run("train", "--task", "dailydialogue").stderr
    known = {name for family in families() for config in family.configs.values() for name in config.marks}
    assert not {*SETTING_ALIASES.values()} - known
    assert not {*SETTING_ALIASES} & known


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
def test_the_task_follows_from_the_training_file(task, train, columns, found):
    given = {"train": train, "text_columns": columns}
    assert task_of(task, {name: value for name, value in given.items() if value is not None}) == found


def test_a_file_of_several_tasks_needs_the_task(run):
    done = run("train", "--train", "a.jsonl")
    assert done.stderr == "graphdep: error: --train a.jsonl: name its task: --task csv, labels or spans\n"


def words(text: str) -> set[str]:
    """The words of a help text in boxes."""
    return set(text.replace("│", " ").replace(",", " ").replace(";", " ").split())


@pytest.mark.parametrize("command", ["train", "ablate"])
def test_the_help_has_every_task(run, command):
    done = run(command, "--help")
    assert done.exit_code == 0
    assert {name for family in families() for name in family.tasks} <= words(done.stdout)
    for family in families():
        assert set(family.unit_name.split()) <= words(done.stdout)
        assert set(family.default_models) <= words(done.stdout)
    assert not any(place in done.stdout for place in (TASKS, MODELS, ROWS, EDGES))


def test_the_help_has_every_kind_of_prediction(run):
    done = run("predict", "--help")
    assert PREDICTED not in done.stdout
    assert "for spans, a .jsonl file" in " ".join(done.stdout.split())
    assert "<e1>" in done.stdout  # markup would be eaten
    for family in families():
        predicts = family.task_class.predict_file is not LearningTask.predict_file
        assert bool(family.predicted) == predicts, family.name


def test_the_lists_have_a_new_family(monkeypatch):
    own = {"spelling": families()[0].tasks["cola"]}
    another = dataclasses.replace(families()[0], unit_name="letters", tasks=own)
    monkeypatch.setattr("graphdep.tasks.families", lambda: (another,))
    lists = task_lists()
    assert lists[TASKS] == "of letters: spelling (CoLA)"
    assert lists[MODELS].startswith("of letters transformer, dt-lr, dt-rg, dt and ")


def test_a_family_without_a_phrase_is_called_by_its_name():
    assert dataclasses.replace(families()[0], name="short", unit_name="").unit_name == "short"


def test_models_lists_methods_and_not_variants(run):
    done = run("models", "--task", "sick-e", "--json")
    listed = json.loads(done.stdout)
    (sentences,) = listed["families"].values()
    assert {"dt", "transformer", "tree-lstm"} <= sentences["models"].keys()
    assert not [name for name in sentences["models"] if "@" in name]
    assert listed["controls"].keys() == {f"@{name}" for name in CONTROLS}


def test_models_of_every_family_with_their_tasks(run):
    listed = json.loads(run("models", "--json").stdout)["families"]
    assert {task for rows in listed.values() for task in rows["tasks"]} >= tasks.TASKS.keys()


def test_models_for_people(run):
    done = run("models", "--task", "ubuntu")
    assert "bert-sia" in done.stdout
    assert "@random" in done.stdout
    assert run("models", "--task", "cats").exit_code == 2


def test_names_defaults_and_meanings(run):
    done = run("settings", "--model", "bert-dt", "--task", "cola")
    assert done.exit_code == 0, done.stderr
    assert "Learning rate; with a schedule, the highest." in done.stdout
    assert "3e-5" in done.stdout
    rows = {row["name"]: row for row in json.loads(run("settings", "--json").stdout)["settings"]}
    assert rows["lr"]["default"] == 0.001
    rows = json.loads(run("settings", "epochs", "--json").stdout)["settings"]
    assert [row["name"] for row in rows] == ["max_epochs"]


def test_unknown_names_are_refused(run):
    assert "did you mean 'lr'?" in run("settings", "learning_rate").stderr
    assert "no model 'berd'" in run("settings", "--model", "berd").stderr
    assert "no setting 'dt', but a model: give --model dt" in run("settings", "dt").stderr
    assert "'task' must be one of" in run("settings", "--task", "cats").stderr
