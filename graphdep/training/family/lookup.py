"""Tasks by name, without knowing any of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdep.training.family.task import Task

# A name and no import: tasks know training, and training knows no task.
_REGISTRY = "graphdep.tasks.registry"
DEFAULT_TASK = "sick-e"


def resolve_task(name: str) -> Task:
    """The task of that name.

    Raises:
        ValueError: If there is none; the message lists those there are.
    """
    return registry().resolve_task(name)


def config_of(task: str | None) -> Any:
    """The class of a task's settings, a :class:`TrainConfig`; :obj:`None` for the default task.

    Raises:
        ValueError: As :func:`resolve_task`.
    """
    task = task or DEFAULT_TASK
    return registry().family_of(task).config(task)


def registry() -> Any:
    """The module that knows the families."""
    return import_module(_REGISTRY)
