from __future__ import annotations

import json

from graphdep.tasks import TASKS
from graphdep.training.config import CONTROLS


def test_models_lists_methods_and_not_variants(run):
    done = run("models", "--task", "sick-e", "--json")
    listed = json.loads(done.stdout)
    (sentences,) = listed["families"].values()
    assert {"dt", "transformer", "tree-lstm"} <= sentences["models"].keys()
    assert not [name for name in sentences["models"] if "@" in name]
    assert listed["controls"].keys() == {f"@{name}" for name in CONTROLS}


def test_models_of_every_family_with_their_tasks(run):
    listed = json.loads(run("models", "--json").stdout)["families"]
    assert {task for rows in listed.values() for task in rows["tasks"]} >= TASKS.keys()


def test_models_for_people(run):
    done = run("models", "--task", "ubuntu")
    assert "bert-sia" in done.stdout
    assert "@random" in done.stdout
    assert run("models", "--task", "cats").exit_code == 2
