"""The tasks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphdep.datasets import MRPC, SICK, SST
from graphdep.datasets.parsed_dataset import ParsedDataset
from graphdep.tasks.goal import ENTAILMENT, PARAPHRASE, RELATEDNESS, SENTIMENT, Goal


@dataclass(frozen=True)
class Task:
    """A corpus and what to learn from it.

    Args:
        title: What it is called in tables.
        goal: Loss and metrics.
        dataset: Makes a split: ``dataset(root, split, parser=..., vocab=..., ...)``.
        root: The corpus' folder, where none is given.
        num_classes: Size of the model's output.
        sentences: Sentences in an example: 1 or 2. (default: :obj:`2`)
        options: Further arguments of ``dataset``. (default: none)
    """

    title: str
    goal: Goal
    dataset: Callable[..., ParsedDataset]
    root: str
    num_classes: int
    sentences: int = 2
    options: Mapping[str, Any] = field(default_factory=dict)


TASKS: dict[str, Task] = {
    "sick-r": Task("SICK-R", RELATEDNESS, SICK, "datasets/sick", 5, options={"task": "relatedness"}),
    "sick-e": Task("SICK-E", ENTAILMENT, SICK, "datasets/sick", 3, options={"task": "entailment"}),
    "sst": Task("SST-2, sentences", SENTIMENT, SST, "datasets/sst", 2, 1, {"layout": "sentence"}),
    "sst2": Task("SST-2 of GLUE", SENTIMENT, SST, "datasets/sst", 2, 1, {"layout": "glue"}),
    "mrpc": Task("MRPC", PARAPHRASE, MRPC, "datasets/mrpc", 2),
}
_PLANNED = (
    *("cola", "stsb", "rte", "qnli", "qqp", "mnli", "csv"),
    *("dailydialog", "empathetic", "ubuntu", "ubuntu-irc", "douban", "ecommerce"),
)


def resolve_task(name: str) -> Task:
    """The task of that name.

    Raises:
        ValueError: If there is none, or not yet; the message lists those there are.
    """
    if name not in TASKS:
        state = "is not built yet" if name in _PLANNED else "is unknown"
        raise ValueError(f"task {name!r} {state}; choose one of {', '.join(TASKS)}")
    return TASKS[name]
