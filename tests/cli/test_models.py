from __future__ import annotations

import json

import pytest

from graphdep.tasks import TASKS, families
from graphdep.training.family.model_preset import CONTROLS, resolve_model


def test_models_lists_methods_and_not_variants(run):
    done = run("models", "--task", "sick-e", "--json")
    listed = json.loads(done.stdout)
    (sentences,) = listed["families"].values()
    assert {"dt", "transformer", "tree-lstm"} <= sentences["models"].keys()
    assert not [
        name
        for name in sentences["models"]
        if name.endswith(("-random", "-chain", "-reversed", "-unlabelled"))
    ]
    assert sentences["aliases"]["dt-random"] == "dt@random"
    assert listed["controls"].keys() == {f"@{name}" for name in CONTROLS}


def test_models_of_every_family_with_their_tasks(run):
    listed = json.loads(run("models", "--json").stdout)["families"]
    assert {task for rows in listed.values() for task in rows["tasks"]} >= TASKS.keys()


def test_models_for_people(run):
    done = run("models", "--task", "ubuntu")
    assert "bert-sia" in done.stdout
    assert "@random" in done.stdout
    assert run("models", "--task", "cats").exit_code == 2


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_an_alias_has_the_settings_of_what_it_stands_for(family):
    for config in family.configs.values():
        for preset in config.models.values():
            if preset.stands_for is not None:
                assert preset.settings == resolve_model(preset.stands_for, config.models).settings
