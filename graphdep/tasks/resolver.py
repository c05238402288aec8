"""The tasks by name."""

from __future__ import annotations

from graphdep.datasets import (
    MRPC,
    SICK,
    SST,
    DailyDialog,
    DailyDialogSelection,
    Douban,
    ECommerce,
    EmpatheticDialogues,
    Ubuntu,
    UbuntuIRC,
)
from graphdep.tasks.dialogues import Dialogues
from graphdep.tasks.goal import ENTAILMENT, PARAPHRASE, RELATEDNESS, SENTIMENT
from graphdep.tasks.post_training import PostTraining
from graphdep.tasks.selections import Selections
from graphdep.tasks.sentences import Sentences
from graphdep.tasks.task import Task

# Chinese words have characters for pieces, and there is no bundled parser for them.
_CHINESE = {"encoder": "bert-base-chinese", "parser": "stanza:zh"}
_SICK, _SST, _MRPC = "datasets/sick", "datasets/sst", "datasets/mrpc"

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
    # Its corpus is a setting.
    "post-train": PostTraining("Post-training", Ubuntu, "datasets/ubuntu"),
}
_PLANNED = (*("cola", "stsb", "rte", "qnli", "qqp", "mnli", "csv"),)


def resolve_task(name: str) -> Task:
    """The task of that name.

    Raises:
        ValueError: If there is none, or not yet; the message lists those there are.
    """
    if name not in TASKS:
        state = "is not built yet" if name in _PLANNED else "is unknown"
        raise ValueError(f"task {name!r} {state}; choose one of {', '.join(TASKS)}")
    return TASKS[name]
