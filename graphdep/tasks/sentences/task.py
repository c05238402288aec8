"""A task on sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from graphdep.metrics import Metric
from graphdep.tasks.sentences.goal import Goal
from graphdep.training.task import Task


@dataclass(frozen=True)
class Sentences(Task):
    """A label or a grade of sentences or of pairs of sentences.

    Args:
        goal: Loss and metrics.
        num_classes: Size of the model's output.
        sentences: Sentences in an example: 1 or 2. (default: :obj:`2`)
        **others: As in :class:`Task`.

    Example:
        >>> from graphdep.datasets import SICK
        >>> from graphdep.tasks import ENTAILMENT, Sentences
        >>> task = Sentences("SICK-E", SICK, "datasets/sick", goal=ENTAILMENT, num_classes=3)
        >>> [metric.name for metric in task.metrics]
        ['accuracy']
    """

    goal: Goal = field(kw_only=True)
    num_classes: int = field(kw_only=True)
    sentences: int = field(default=2, kw_only=True)

    kind: ClassVar[str] = "sentence"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.goal.metrics
