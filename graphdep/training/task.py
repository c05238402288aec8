"""Tasks and their registry."""

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
    """A corpus with a target to predict.

    Args:
        title: Title in tables.
        dataset: Makes a split: ``dataset(root, split=..., parser=..., vocab=..., ...)``; or its name, such
            as ``"graphdep.datasets:SICK"``, which is imported only when the corpus is needed.
        root: Default folder of the corpus.
        options: Further arguments of ``dataset``. (default: none)
        defaults: Default settings of runs, which replace those of the configuration. (default: none)
        other_tests: Names of further test splits, scored on request. (default: none)
        gold_trees: Whether the corpus has trees. (default: :obj:`False`)
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
        """The dataset, imported."""
        if not isinstance(self.dataset, str):
            return self.dataset
        made: Callable[..., ParsedDataset] = resolve_name(self.dataset)
        return made

    def takes(self, option: str) -> bool:
        """Whether the dataset has an option of that name."""
        return option in option_names(self.corpus)

    def settled(self, settings: Mapping[str, Any]) -> Task:
        """The task with the metrics that the settings of a run choose; by default itself."""
        return self

    @property
    @abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of predictions; the first selects the best epoch."""

    @property
    def signatures(self) -> dict[str, str]:
        """The exact definition of each metric of a result, by its name."""
        return {metric.name: metric.signature for metric in self.metrics}


def legend(signatures: Mapping[str, str]) -> list[str]:
    """Signatures as lines that begin with the name of the metric, and a line of clauses that all share."""
    clauses = {name: text.split("; ") for name, text in signatures.items()}
    shared = [one for one in next(iter(clauses.values()), []) if all(one in own for own in clauses.values())]
    if any(own[0] in shared for own in clauses.values()):  # as with a single metric
        shared = []
    texts = {name: "; ".join(one for one in own if one not in shared) for name, own in clauses.items()}
    lines = [
        text if text.lower().startswith(name.lower()) else f"{name}: {text}" for name, text in texts.items()
    ]
    return [*lines, *shared]


_FEW = 50


def few_validation(task: str, settings: Mapping[str, Any], examples: Mapping[str, int]) -> str:
    """A sentence if fewer than 50 validation examples of the user's choose the epoch; else empty."""
    count = examples.get("val", _FEW)
    if count >= _FEW or settings.get("keep") == "last" or "val" not in config_of(task).marks:
        return ""
    share = "" if settings.get("val") else ", or --set val_fraction=..."
    return f"validation examples that choose the epoch: {count}; more: --val FILE{share}"


GROUP = "graphdep.families"
"""Group of entry points for families of other packages."""
DEFAULT_TASK = "sick-e"
# Any, since the class TaskFamily imports this module.
_own: list[Any] = []


def register(*own: Any) -> None:
    """Registers the families of this package."""
    _own.extend(own)


@cache
def families() -> tuple[Any, ...]:
    """The families of this package, and those of entry points of the group ``graphdep.families``.

    Raises:
        TypeError: If an entry point is not a :class:`TaskFamily`.
        ValueError: If a task of one has no settings, or its name is taken.
        ImportError: If one cannot be imported.
    """
    found = [*_own]
    for entry in entry_points(group=GROUP):
        family = _load(entry)
        if not hasattr(family, "learner"):
            raise TypeError(
                f"entry point {entry.name!r} of {GROUP!r} is not a TaskFamily (got {entry.value!r})"
            )
        known = {name for other in found for name in other.tasks}
        if twice := known & family.tasks.keys():
            raise ValueError(f"entry point {entry.name!r} of {GROUP!r}: there is another task {min(twice)!r}")
        found.append(family)
    return tuple(found)


def _load(entry: EntryPoint) -> Any:
    """The family of an entry point; errors name the entry point."""
    named = f"entry point {entry.name!r} of {GROUP!r} ({entry.value})"
    try:
        family = entry.load()
    except Exception as error:  # foreign code may raise anything
        raise ImportError(f"{named} cannot be loaded: {type(error).__name__}: {error}") from error
    for name, task in getattr(family, "tasks", {}).items():
        if task.kind not in family.configs:
            raise ValueError(f"{named} has no settings for the kind {task.kind!r} of its task {name!r}")
    return family


@cache
def _by_task() -> Mapping[str, Any]:
    return MappingProxyType({name: family for family in families() for name in family.tasks})


def resolve_task(name: str, settings: Mapping[str, Any] = MappingProxyType({})) -> Task:
    """The task of a name.

    Args:
        name: The name.
        settings: Settings of a run, which may choose the metrics. (default: none)

    Raises:
        ValueError: If there is no such task.
    """
    task: Task = family_of(name).tasks[name]
    return task.settled(settings)


def family_of(task: str) -> Any:
    """The :class:`~graphdep.training.family.TaskFamily` of a task.

    Raises:
        ValueError: If there is no such task.
    """
    for family in _own:  # without loading entry points
        if task in family.tasks:
            return family
    known = _by_task()
    if task not in known:
        raise ValueError(no_choice("task", task, known))
    return known[task]


def config_of(task: str | None) -> Any:
    """The :class:`TrainConfig` class of a task's settings; :obj:`None` for the default task.

    Raises:
        ValueError: If there is no such task.
    """
    task = task or DEFAULT_TASK
    return family_of(task).config(task)
