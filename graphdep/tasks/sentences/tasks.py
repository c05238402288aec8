"""The tasks of the family by name, and the columns of their tables."""

from __future__ import annotations

from graphdep.tasks.sentences.goal import (
    ACCEPTABILITY,
    CLASSES,
    DUPLICATE,
    ENTAILMENT,
    NUMBERS,
    PARAPHRASE,
    RELATEDNESS,
    SENTIMENT,
    SIMILARITY,
    Goal,
)
from graphdep.tasks.sentences.own_texts import OwnTexts
from graphdep.tasks.sentences.task import Sentences
from graphdep.training.task import Task

_SICK, _SST, _MRPC = "datasets/sick", "datasets/sst", "datasets/mrpc"


def _glue(
    name: str,
    title: str,
    goal: Goal,
    num_classes: int = 2,
    sentences: int = 2,
    other_tests: tuple[str, ...] = (),
) -> Sentences:
    return Sentences(
        title,
        "graphdep.datasets:GLUE",
        "datasets/glue",
        {"name": name},
        goal=goal,
        num_classes=num_classes,
        sentences=sentences,
        other_tests=other_tests,
    )


TASKS: dict[str, Task] = {
    "sick-r": Sentences(
        "SICK-R", "graphdep.datasets:SICK", _SICK, {"task": "relatedness"}, goal=RELATEDNESS, num_classes=5
    ),
    "sick-e": Sentences(
        "SICK-E", "graphdep.datasets:SICK", _SICK, {"task": "entailment"}, goal=ENTAILMENT, num_classes=3
    ),
    "sst": Sentences(
        "SST-2, sentences",
        "graphdep.datasets:SST",
        _SST,
        {"layout": "sentence"},
        goal=SENTIMENT,
        num_classes=2,
        sentences=1,
    ),
    "sst2": Sentences(
        "SST-2 of GLUE",
        "graphdep.datasets:SST",
        _SST,
        {"layout": "glue"},
        goal=SENTIMENT,
        num_classes=2,
        sentences=1,
    ),
    "sst-trees": Sentences(
        "SST-2, treebank",
        "graphdep.datasets:SST",
        _SST,
        {"layout": "trees"},
        goal=SENTIMENT,
        num_classes=2,
        sentences=1,
    ),
    "mrpc": Sentences("MRPC", "graphdep.datasets:MRPC", _MRPC, goal=PARAPHRASE, num_classes=2),
    "cola": _glue("cola", "CoLA", ACCEPTABILITY, sentences=1),
    "stsb": _glue("stsb", "STS-B", SIMILARITY, num_classes=1),
    "rte": _glue("rte", "RTE", ENTAILMENT),
    "qnli": _glue("qnli", "QNLI", ENTAILMENT),
    "qqp": _glue("qqp", "QQP", DUPLICATE),
    "mnli": _glue("mnli", "MNLI", ENTAILMENT, num_classes=3, other_tests=("test-mismatched",)),
    # As in GLUE: a part of train for validation, the dev set for testing.
    "glue-sst2": _glue("sst2", "SST-2, GLUE's splits", SENTIMENT, sentences=1),
    "glue-mrpc": _glue("mrpc", "MRPC, GLUE's splits", DUPLICATE),
    "csv": OwnTexts(
        "Own texts", "graphdep.datasets:CSVTexts", "datasets/csv", {"goal": "classification"}, goal=CLASSES
    ),
    "csv-regression": OwnTexts(
        "Own texts, numbers",
        "graphdep.datasets:CSVTexts",
        "datasets/csv",
        {"goal": "regression"},
        goal=NUMBERS,
        num_classes=1,
    ),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "sick-r": ("test_mse", "test_pearson", "test_spearman"),
    "sick-e": ("test_accuracy", "val_accuracy"),
    "sst": ("test_accuracy", "val_accuracy"),
    "sst2": ("test_accuracy", "val_accuracy"),
    "sst-trees": ("test_accuracy", "val_accuracy"),
    "mrpc": ("test_accuracy", "test_f1", "val_accuracy"),
}
"""The scores of a table, the one that the paper reports first."""
