"""The families of tasks, and the tasks by name."""

from __future__ import annotations

import difflib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from graphdep.tasks.dialogues.family import DialogueFamily
from graphdep.tasks.labels.family import LabelFamily
from graphdep.tasks.post_training.family import PostTrainingFamily
from graphdep.tasks.selection.family import SelectionFamily
from graphdep.tasks.sentences.family import SentenceFamily
from graphdep.tasks.spans.family import SpanFamily
from graphdep.training.family import TaskFamily
from graphdep.training.task import Task

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
    SpanFamily(),
)
"""The families of this package."""


@cache
def families() -> tuple[TaskFamily, ...]:
    """The families of this package, and those of entry points of the group ``graphdep.families``.

    Raises:
        TypeError: If an entry point is no :class:`TaskFamily`.
        ValueError: If one lacks what a family needs, or a task's name is there twice.
        ImportError: If the module of one cannot be imported.
    """
    found = list(FAMILIES)
    for entry in entry_points(group=GROUP):
        family = _load(entry)
        if not isinstance(family, TaskFamily):
            raise TypeError(f"entry point {entry.name!r} of {GROUP!r} is no TaskFamily (got {entry.value!r})")
        known = {name for other in found for name in other.tasks}
        if twice := known & family.tasks.keys():
            raise ValueError(
                f"entry point {entry.name!r} of {GROUP!r} has a task {min(twice)!r}, as another has"
            )
        found.append(family)
    return tuple(found)


def _load(entry: EntryPoint) -> Any:
    """What an entry point names, or an error that names it."""
    named = f"entry point {entry.name!r} of {GROUP!r} ({entry.value})"
    try:
        family = entry.load()
        family = family() if isinstance(family, type) else family
    except Exception as error:  # of code that is not ours
        raise ImportError(f"{named} cannot be loaded: {type(error).__name__}: {error}") from error
    missing = [name for name in ("name", "tasks", "configs") if not hasattr(family, name)]
    if isinstance(family, TaskFamily) and missing:
        raise ValueError(f"{named} has no {missing[0]!r}")
    if isinstance(family, TaskFamily):
        for name, task in family.tasks.items():
            if task.kind not in family.configs:
                raise ValueError(f"{named} has no settings for the kind {task.kind!r} of its task {name!r}")
    return family


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
    for family in FAMILIES:  # which need no other package
        if task in family.tasks:
            return family
    known = _by_task()
    if task not in known:
        near = [name for name in known if task and name.startswith(f"{task}-")]
        near = near or difflib.get_close_matches(task, known, n=1)
        hint = f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""
        raise ValueError(f"task {task!r} is unknown{hint}; choose one of {', '.join(known)}")
    return known[task]
