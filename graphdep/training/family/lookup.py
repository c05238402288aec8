"""Tasks and their families by name, without knowing any of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdep.training.family.family import TaskFamily
    from graphdep.training.family.task import Task

# A name and no import: tasks know training, and training knows no task.
_REGISTRY = "graphdep.tasks.registry"


def resolve_task(name: str) -> Task:
    """The task of that name.

    Raises:
        ValueError: If there is none; the message lists those there are.
    """
    return _registry().resolve_task(name)


def family_of(task: str) -> TaskFamily:
    """The family of the task of that name.

    Raises:
        ValueError: As :func:`resolve_task`.
    """
    return _registry().family_of(task)


def _registry() -> Any:
    return import_module(_REGISTRY)
