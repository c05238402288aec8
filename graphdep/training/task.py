"""Tasks, and tasks by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.datasets.base.rows import option_names
from graphdep.io.limits import no_choice

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


GROUP = "graphdep.families"
"""Entry points that name families of other packages."""
DEFAULT_TASK = "sick-e"
# Families, whose class stands above this: it knows the settings, and they know their task.
_own: list[Any] = []


def register(*own: Any) -> None:
    """Makes the families of this package known."""
    _own.extend(own)


@cache
def families() -> tuple[Any, ...]:
    """The families of this package, and those of entry points of the group ``graphdep.families``.

    Raises:
        TypeError: If an entry point is no :class:`TaskFamily`.
        ValueError: If one lacks what a family needs, or a task's name is there twice.
        ImportError: If the module of one cannot be imported.
    """
    found = [*_own]
    for entry in entry_points(group=GROUP):
        family = _load(entry)
        if not hasattr(family, "learner"):
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
    except Exception as error:  # of code that is not ours
        raise ImportError(f"{named} cannot be loaded: {type(error).__name__}: {error}") from error
    for name, task in getattr(family, "tasks", {}).items():
        if task.kind not in family.configs:
            raise ValueError(f"{named} has no settings for the kind {task.kind!r} of its task {name!r}")
    return family


@cache
def _by_task() -> Mapping[str, Any]:
    return MappingProxyType({name: family for family in families() for name in family.tasks})


def resolve_task(name: str) -> Task:
    """The task of that name.

    Raises:
        ValueError: If there is none; the message lists those there are.
    """
    task: Task = family_of(name).tasks[name]
    return task


def family_of(task: str) -> Any:
    """The :class:`~graphdep.training.family.TaskFamily` of the task of that name.

    Raises:
        ValueError: As :func:`resolve_task`.
    """
    for family in _own:  # which need no other package
        if task in family.tasks:
            return family
    known = _by_task()
    if task not in known:
        raise ValueError(no_choice("task", task, known))
    return known[task]


def config_of(task: str | None) -> Any:
    """The class of a task's settings, a :class:`TrainConfig`; :obj:`None` for the default task.

    Raises:
        ValueError: As :func:`resolve_task`.
    """
    task = task or DEFAULT_TASK
    return family_of(task).config(task)
