"""The families of tasks, and the tasks by name."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphdep.tasks.dialogues.family import DialogueFamily
from graphdep.tasks.labels.family import LabelFamily
from graphdep.tasks.post_training.family import PostTrainingFamily
from graphdep.tasks.selection.family import SelectionFamily
from graphdep.tasks.sentences.family import SentenceFamily
from graphdep.training.family.family import TaskFamily
from graphdep.training.family.task import Task

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP = "graphdep.families"
"""Entry points that name families of other packages."""
FAMILIES: tuple[TaskFamily, ...] = (
    SentenceFamily(),
    DialogueFamily(),
    SelectionFamily(),
    PostTrainingFamily(),
    LabelFamily(),
)
"""The families of this package."""


@cache
def families() -> tuple[TaskFamily, ...]:
    """The families of this package, and those of entry points of the group ``graphdep.families``.

    Raises:
        TypeError: If an entry point is no :class:`TaskFamily`.
        ValueError: If a task's name is there twice.
        ImportError: If an entry point's module cannot be imported.
    """
    found = list(FAMILIES)
    for entry in entry_points(group=GROUP):
        family = entry.load()
        family = family() if isinstance(family, type) else family
        if not isinstance(family, TaskFamily):
            raise TypeError(f"entry point {entry.name!r} of {GROUP!r} is no TaskFamily (got {entry.value!r})")
        known = {name for other in found for name in other.tasks}
        if twice := known & family.tasks.keys():
            raise ValueError(
                f"entry point {entry.name!r} of {GROUP!r} has a task {min(twice)!r}, as another has"
            )
        found.append(family)
    return tuple(found)


@cache
def _by_task() -> Mapping[str, TaskFamily]:
    return MappingProxyType({name: family for family in families() for name in family.tasks})


TASKS: dict[str, Task] = {name: task for family in FAMILIES for name, task in family.tasks.items()}
"""The tasks of this package."""


def resolve_task(name: str) -> Task:
    """The task of that name.

    Raises:
        ValueError: If there is none; the message lists those there are.
    """
    return family_of(name).tasks[name]


def family_of(task: str) -> TaskFamily:
    """The family of the task of that name.

    Raises:
        ValueError: As :func:`resolve_task`.
    """
    known = _by_task()
    if task not in known:
        raise ValueError(f"task {task!r} is unknown; choose one of {', '.join(known)}")
    return known[task]
