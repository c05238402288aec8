from __future__ import annotations

import dataclasses

import pytest

from graphdep.cli.options import EDGES, MODELS, PREDICTED, ROWS, TASKS, task_lists
from graphdep.tasks import families
from graphdep.training.learning_task import LearningTask


def words(text: str) -> set[str]:
    """The words of a help in a frame."""
    return set(text.replace("│", " ").replace(",", " ").replace(";", " ").split())


@pytest.mark.parametrize("command", ["train", "ablate"])
def test_every_registered_task_stands_in_the_help(run, command):
    done = run(command, "--help")
    assert done.exit_code == 0
    assert {name for family in families() for name in family.tasks} <= words(done.stdout)
    for family in families():
        assert set(family.unit_name.split()) <= words(done.stdout)
        assert set(family.default_models) <= words(done.stdout)
    assert not any(place in done.stdout for place in (TASKS, MODELS, ROWS, EDGES))


def test_whatever_can_be_predicted_stands_in_the_help(run):
    done = run("predict", "--help")
    assert PREDICTED not in done.stdout
    assert "of spans, a .jsonl file" in " ".join(done.stdout.split())
    assert "<e1>" in done.stdout  # markup would be eaten
    for family in families():
        predicts = family.task_class.predict_file is not LearningTask.predict_file
        assert bool(family.predicted) == predicts, family.name


def test_a_new_family_stands_in_the_lists(monkeypatch):
    own = {"spelling": families()[0].tasks["cola"]}
    another = dataclasses.replace(families()[0], unit_name="letters", tasks=own)
    monkeypatch.setattr("graphdep.tasks.families", lambda: (another,))
    lists = task_lists()
    assert lists[TASKS] == "of letters: spelling (CoLA)"
    assert lists[MODELS].startswith("of letters transformer, dt-lr, dt-rg, dt and ")


def test_a_family_without_a_phrase_is_called_by_its_name():
    assert dataclasses.replace(families()[0], name="short", unit_name="").unit_name == "short"
