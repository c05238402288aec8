"""Families of other packages, by entry points."""

from __future__ import annotations

import dataclasses
import sys
import types
from importlib.metadata import EntryPoint

import pytest

from graphdep.tasks.sentences.family import SENTENCES
from graphdep.training import TrainConfig, evaluate, train
from graphdep.training import task as registry

OWN = {"own-sick": dataclasses.replace(SENTENCES.tasks["sick-r"], title="Own")}
FAMILY = dataclasses.replace(SENTENCES, name="own", tasks=OWN)
"""Relatedness under a name of its own."""


@pytest.fixture
def install(monkeypatch):
    """Makes an object the one entry point of the group, as if a package had brought it."""

    def install(value: object, name: str = "own") -> None:
        module = types.ModuleType("own_family")
        module.FAMILY = value
        monkeypatch.setitem(sys.modules, "own_family", module)
        entry = EntryPoint(name, "own_family:FAMILY", registry.GROUP)
        monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
        registry.families.cache_clear()
        registry._by_task.cache_clear()

    yield install
    registry.families.cache_clear()
    registry._by_task.cache_clear()


def test_a_family_of_another_package_trains_and_is_evaluated(install, tiny, tmp_path):
    install(FAMILY)
    config = TrainConfig.of("dt@random", **{**tiny, "task": "own-sick", "max_epochs": 1})
    result = train(config, tmp_path)
    places = {"root": tiny["root"], "parser": tiny["parser"]}
    assert evaluate(tmp_path / "best.ckpt", settings=places)["metrics"] == {
        name: score for name, score in result["metrics"].items() if name.startswith("test_")
    }


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (3, TypeError, "is no TaskFamily"),
        (SENTENCES, ValueError, "has a task 'cola', as another has"),
        (
            dataclasses.replace(FAMILY, configs={}),
            ValueError,
            r"\(own_family:FAMILY\) has no settings for the kind 'sentence' of its task 'own-sick'",
        ),
    ],
)
def test_what_is_wrong_with_an_entry_point_is_named(install, value, error, message):
    install(value)
    with pytest.raises(error, match=f"entry point 'own' of 'graphdep.families'.*{message}"):
        registry.families()
    assert registry.family_of("sick-e").name == "sentence"  # the package's own need no other


def test_an_entry_point_that_cannot_be_imported_is_named(install, monkeypatch):
    install(FAMILY)
    monkeypatch.delattr(sys.modules["own_family"], "FAMILY")
    with pytest.raises(ImportError, match="entry point 'own' .* cannot be loaded: AttributeError"):
        registry.families()


def test_an_unknown_task_lists_those_of_other_packages(install):
    install(FAMILY)
    with pytest.raises(ValueError, match="task 'cats' is unknown; choose one of .*own-sick"):
        registry.resolve_task("cats")
