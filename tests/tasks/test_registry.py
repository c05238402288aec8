from __future__ import annotations

import dataclasses

import pytest

from graphdep.datasets import GLUE
from graphdep.datasets.base.parsed import ParsedDataset
from graphdep.datasets.glue import CORPORA
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.tasks import TASKS, Sentences, resolve_task


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


@pytest.mark.parametrize(
    ("name", "first", "num_classes"),
    [
        ("cola", "mcc", 2),
        ("stsb", "spearman", 1),
        ("rte", "accuracy", 2),
        ("qnli", "accuracy", 2),
        ("qqp", "f1", 2),
        ("mnli", "accuracy", 3),
        ("glue-sst2", "accuracy", 2),
        ("glue-mrpc", "f1", 2),
    ],
)
def test_tasks_of_glue(name, first, num_classes):
    task = resolve_task(name)
    corpus = CORPORA[task.options["name"]]
    assert task.corpus is GLUE
    assert task.metrics[0].name == first
    assert task.num_classes == num_classes == (len(corpus.labels) or 1)
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


def test_every_task_has_its_corpus():
    for name, task in TASKS.items():
        assert issubclass(task.corpus, (ParsedDataset, SelectionDataset)), name


def test_a_corpus_may_be_a_class_or_its_name():
    known = TASKS["mrpc"]
    assert dataclasses.replace(known, dataset=GLUE).corpus is GLUE
    with pytest.raises(AttributeError, match="NoCorpus"):
        _ = dataclasses.replace(known, dataset="graphdep.datasets:NoCorpus").corpus


def test_unknown_tasks():
    with pytest.raises(ValueError, match="task 'sick' is unknown .*; choose one of"):
        resolve_task("sick")
