"""The registered tasks, and entry points for families of other packages."""

from __future__ import annotations

import dataclasses
import pickle
import sys
import types
from importlib.metadata import EntryPoint

import pytest

from graphdep.datasets import GLUE
from graphdep.datasets.base.parsed import ParsedDataset
from graphdep.datasets.glue import CORPORA
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.tasks import TASKS, Sentences, resolve_task
from graphdep.tasks.sentences.family import SENTENCES
from graphdep.training import TrainConfig, evaluate, train
from graphdep.training import task as registry

OWN = {"own-sick": dataclasses.replace(SENTENCES.tasks["sick-r"], title="Own")}
FAMILY = dataclasses.replace(SENTENCES, name="own", tasks=OWN)
"""Relatedness under a name of its own."""


def test_tasks_that_exist():
    assert TASKS["sick-r"].num_classes == 5
    assert resolve_task("sick-e").goal.metrics[0].name == "accuracy"
    assert resolve_task("sick-r").goal.metrics[0].name == "mse"
    assert [metric.name for metric in resolve_task("mrpc").goal.metrics] == ["accuracy", "f1"]
    single = {name for name, task in TASKS.items() if isinstance(task, Sentences) and task.sentences == 1}
    assert single == {"sst", "sst2", "sst-trees", "cola", "glue-sst2"}
    assert resolve_task("csv").metrics[0].name == "accuracy"
    assert resolve_task("csv-regression").metrics[0].name == "mse"
    assert "1-5 scale" not in resolve_task("csv-regression").signatures["mse"]
    assert "1-5 scale" in resolve_task("sick-r").signatures["mse"]
    assert [resolve_task(name).goal.classifies for name in ("csv", "csv-regression", "sick-r")] == [
        True,
        False,
        False,
    ]
    assert [name for name, task in TASKS.items() if task.kind == "dialogue"] == [
        "dailydialog",
        "empathetic",
    ]


def test_tasks_of_glue():
    first = {"cola": "mcc", "stsb": "spearman", "rte": "accuracy", "qnli": "accuracy", "qqp": "f1"}
    for name, metric in {**first, "mnli": "accuracy", "glue-sst2": "accuracy", "glue-mrpc": "f1"}.items():
        task = resolve_task(name)
        corpus = CORPORA[task.options["name"]]
        assert task.corpus is GLUE
        assert task.metrics[0].name == metric
        assert task.num_classes == (len(corpus.labels) or 1)
        assert task.sentences == len(corpus.texts)


def test_options_that_the_datasets_take():
    takers = {option: set() for option in ("val_from", "overlap", "negatives_from", "pool_size", "colour")}
    for name, task in TASKS.items():
        for option in takers:
            if task.takes(option):
                takers[option].add(name)
    glue = {name for name, task in TASKS.items() if task.corpus is GLUE}
    assert takers == {
        "val_from": glue,
        "overlap": {"dailydialog", "empathetic", "dailydialog-selection"},
        "negatives_from": {"ubuntu-irc"},
        "pool_size": {"ubuntu", "douban", "ecommerce", "post-train"},
        "colour": set(),
    }


def test_every_task_has_its_corpus_a_class_or_its_name():
    for name, task in TASKS.items():
        assert issubclass(task.corpus, (ParsedDataset, SelectionDataset)), name
    known = TASKS["mrpc"]
    assert dataclasses.replace(known, dataset=GLUE).corpus is GLUE
    with pytest.raises(AttributeError, match="NoCorpus"):
        _ = dataclasses.replace(known, dataset="graphdep.datasets:NoCorpus").corpus


def test_unknown_tasks():
    with pytest.raises(ValueError, match="no task 'sick' .did you mean 'sick-r' or 'sick-e'"):
        resolve_task("sick")


@pytest.fixture
def install(monkeypatch):
    """Installs an object as the only entry point of the group."""

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


def test_a_family_of_another_package_trains_and_is_evaluated(install, settings_of, tmp_path):
    install(FAMILY)
    tiny = settings_of("sick-r")
    config = TrainConfig.of("dt@random", **{**tiny, "task": "own-sick"})
    result = train(config, tmp_path)
    places = {"root": tiny["root"], "parser": tiny["parser"]}
    assert evaluate(tmp_path / "best.ckpt", settings=places)["metrics"] == {
        name: score for name, score in result["metrics"].items() if name.startswith("test_")
    }


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (3, TypeError, "is not a TaskFamily"),
        (SENTENCES, ValueError, "there is another task 'cola'"),
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
    assert registry.family_of("sick-e").name == "sentence"  # graphdep's families need no entry point


def test_an_entry_point_that_cannot_be_imported_is_named(install, monkeypatch):
    install(FAMILY)
    monkeypatch.delattr(sys.modules["own_family"], "FAMILY")
    with pytest.raises(ImportError, match="entry point 'own' .* cannot be loaded: AttributeError"):
        registry.families()


def test_an_unknown_task_lists_those_of_other_packages(install):
    install(FAMILY)
    with pytest.raises(ValueError, match="'task' must be one of .*own-sick"):
        registry.resolve_task("cats")


@pytest.mark.parametrize("task", sorted(set(TASKS) - {"csv", "csv-regression", "labels", "spans"}))
def test_settings_go_to_other_processes_after_their_task_was_looked_up(task):
    config = registry.config_of(task)(task=task)
    assert config.spec is TASKS[task]
    assert pickle.loads(pickle.dumps(config)) == config
