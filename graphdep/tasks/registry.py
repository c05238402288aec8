"""The tasks by name."""

from __future__ import annotations

from graphdep.datasets import (
    GLUE,
    MRPC,
    SICK,
    SST,
    CSVTexts,
    DailyDialog,
    DailyDialogSelection,
    Douban,
    ECommerce,
    EmpatheticDialogues,
    Ubuntu,
    UbuntuIRC,
)
from graphdep.tasks.dialogues.task import Dialogues
from graphdep.tasks.post_training.task import PostTraining
from graphdep.tasks.selection.task import Selections
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
from graphdep.training.family.task import Task

# Chinese words have characters for pieces, and there is no bundled parser for them.
_CHINESE = {"encoder": "bert-base-chinese", "parser": "stanza:zh"}
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
        GLUE,
        "datasets/glue",
        {"name": name},
        goal=goal,
        num_classes=num_classes,
        sentences=sentences,
        other_tests=other_tests,
    )


TASKS: dict[str, Task] = {
    "sick-r": Sentences("SICK-R", SICK, _SICK, {"task": "relatedness"}, goal=RELATEDNESS, num_classes=5),
    "sick-e": Sentences("SICK-E", SICK, _SICK, {"task": "entailment"}, goal=ENTAILMENT, num_classes=3),
    "sst": Sentences(
        "SST-2, sentences", SST, _SST, {"layout": "sentence"}, goal=SENTIMENT, num_classes=2, sentences=1
    ),
    "sst2": Sentences(
        "SST-2 of GLUE", SST, _SST, {"layout": "glue"}, goal=SENTIMENT, num_classes=2, sentences=1
    ),
    "mrpc": Sentences("MRPC", MRPC, _MRPC, goal=PARAPHRASE, num_classes=2),
    "cola": _glue("cola", "CoLA", ACCEPTABILITY, sentences=1),
    "stsb": _glue("stsb", "STS-B", SIMILARITY, num_classes=1),
    "rte": _glue("rte", "RTE", ENTAILMENT),
    "qnli": _glue("qnli", "QNLI", ENTAILMENT),
    "qqp": _glue("qqp", "QQP", DUPLICATE),
    "mnli": _glue("mnli", "MNLI", ENTAILMENT, num_classes=3, other_tests=("test-mismatched",)),
    # As in GLUE: a part of train for validation, the dev set for testing.
    "glue-sst2": _glue("sst2", "SST-2, GLUE's splits", SENTIMENT, sentences=1),
    "glue-mrpc": _glue("mrpc", "MRPC, GLUE's splits", DUPLICATE),
    "dailydialog": Dialogues("DailyDialog", DailyDialog, "datasets/dailydialog"),
    "empathetic": Dialogues("EmpatheticDialogues", EmpatheticDialogues, "datasets/empatheticdialogues"),
    "ubuntu": Selections("Ubuntu", Ubuntu, "datasets/ubuntu"),
    "ubuntu-irc": Selections("#ubuntu, reply chains", UbuntuIRC, "datasets/ubuntu-irc"),
    "douban": Selections("Douban", Douban, "datasets/douban", defaults=_CHINESE),
    "ecommerce": Selections("E-commerce", ECommerce, "datasets/ecommerce", defaults=_CHINESE),
    "dailydialog-selection": Selections(
        "DailyDialog, response selection",
        DailyDialogSelection,
        "datasets/dailydialog",
        defaults={"overlap": "drop"},  # a fifth of the test pools is in train
    ),
    "csv": OwnTexts("Own texts", CSVTexts, "datasets/csv", {"goal": "classification"}, goal=CLASSES),
    "csv-regression": OwnTexts(
        "Own texts, numbers", CSVTexts, "datasets/csv", {"goal": "regression"}, goal=NUMBERS, num_classes=1
    ),
    # Its corpus is a setting.
    "post-train": PostTraining("Post-training", Ubuntu, "datasets/ubuntu"),
}


def resolve_task(name: str) -> Task:
    """The task of that name.

    Raises:
        ValueError: If there is none; the message lists those there are.
    """
    if name not in TASKS:
        raise ValueError(f"task {name!r} is unknown; choose one of {', '.join(TASKS)}")
    return TASKS[name]
