"""Tasks, and tasks by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.datasets.base.rows import option_names

if TYPE_CHECKING:
    from graphdep.datasets.base.parsed import ParsedDataset
    from graphdep.metrics import Metric


@dataclass(frozen=True)
class Task(ABC):
    """A corpus and what to learn from it.

    Args:
        title: What it is called in tables.
        dataset: Makes a split: ``dataset(root, split=..., parser=..., vocab=..., ...)``. Or its name, such
            as ``"graphdep.datasets:SICK"``, which is imported when the corpus is needed: a task can be told
            of without.
        root: The corpus' folder, where none is given.
        options: Further arguments of ``dataset``. (default: none)
        defaults: Settings that a run on it has unless it is given others. (default: none)
        other_tests: Names of further test splits, which are scored when they are asked for. (default: none)
        gold_trees: Whether the corpus has trees of its own. (default: :obj:`False`)
    """

    title: str
    dataset: Callable[..., ParsedDataset] | str
    root: str
    options: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    other_tests: tuple[str, ...] = field(default=(), kw_only=True)
    gold_trees: bool = field(default=False, kw_only=True)

    kind: ClassVar[str]

    @property
    def corpus(self) -> Callable[..., ParsedDataset]:
        """What makes a split, imported."""
        if not isinstance(self.dataset, str):
            return self.dataset
        made: Callable[..., ParsedDataset] = resolve_name(self.dataset)
        return made

    def takes(self, option: str) -> bool:
        """Whether the dataset has an option of that name."""
        return option in option_names(self.corpus)

    @property
    @abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of predictions; the first decides which epoch is the best."""

    @property
    def signatures(self) -> dict[str, str]:
        """What exactly each metric of a result is, by its name."""
        return {metric.name: metric.signature for metric in self.metrics}


def legend(signatures: Mapping[str, str]) -> list[str]:
    """Signatures as lines for people, each with the name of its metric in front."""
    return [
        text if text.lower().startswith(name.lower()) else f"{name}: {text}"
        for name, text in signatures.items()
    ]


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
