"""The tasks by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphdep.datasets import SICK
from graphdep.tasks.goal import ENTAILMENT, RELATEDNESS, Goal


@dataclass(frozen=True)
class Task:
    """A corpus and what to learn from it.

    Args:
        title: What it is called in tables.
        goal: Loss and metrics.
        dataset: Makes a split: ``dataset(root, split, parser=..., vocab=..., ...)``.
        root: The corpus' folder, where none is given.
        num_classes: Size of the model's output.
        options: Further arguments of ``dataset``. (default: none)
    """

    title: str
    goal: Goal
    dataset: type[SICK]
    root: str
    num_classes: int
    options: Mapping[str, Any] = field(default_factory=dict)


TASKS: dict[str, Task] = {
    "sick-r": Task("SICK-R", RELATEDNESS, SICK, "datasets/sick", 5, {"task": "relatedness"}),
    "sick-e": Task("SICK-E", ENTAILMENT, SICK, "datasets/sick", 3, {"task": "entailment"}),
}
_PLANNED: tuple[str, ...] = (
    "sst",
    "mrpc",
    "cola",
    "stsb",
    "rte",
    "sst2",
    "qnli",
    "qqp",
    "mnli",
    "dailydialog",
    "empathetic",
)
_PLANNED += ("ubuntu", "ubuntu-irc", "douban", "ecommerce", "csv")


def resolve_task(name: str) -> Task:
    """The task of that name.

    Raises:
        ValueError: If there is none, or not yet; the message lists those there are.
    """
    if name not in TASKS:
        state = "is not built yet" if name in _PLANNED else "is unknown"
        raise ValueError(f"task {name!r} {state}; choose one of {', '.join(TASKS)}")
    return TASKS[name]
