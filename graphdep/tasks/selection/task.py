"""A task on response selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphdep.metrics import Metric
from graphdep.metrics.ranking import RANKING
from graphdep.training.task import Task


@dataclass(frozen=True)
class Selections(Task):
    """The right response to a context, among candidates.

    Example:
        >>> from graphdep.datasets import Ubuntu
        >>> from graphdep.tasks import Selections
        >>> task = Selections("Ubuntu", Ubuntu, "datasets/ubuntu", defaults={"max_length": 128})
        >>> [metric.name for metric in task.metrics]
        ['P@1']
    """

    kind: ClassVar[str] = "selection"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        # The one whose name does not tell the size of the pools, which may differ between the splits; with
        # one right candidate a pool it is R_n@1.
        return (RANKING["P@1"],)

    @property
    def signatures(self) -> dict[str, str]:
        return {name: metric.signature for name, metric in RANKING.items()}
