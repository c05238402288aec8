"""A task on dialogues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphdep.metrics import (
    GENERATION_METRICS,
    PERPLEXITY,
    PERPLEXITY_RESPONSES,
    PERPLEXITY_WORDS,
    Metric,
)
from graphdep.training.task import Task


@dataclass(frozen=True)
class Dialogues(Task):
    """Responses to dialogues.

    Example:
        >>> from graphdep.datasets import DailyDialog
        >>> from graphdep.tasks import Dialogues
        >>> task = Dialogues("DailyDialog", DailyDialog, "datasets/dailydialog")
        >>> [metric.name for metric in task.metrics]
        ['perplexity']
    """

    kind: ClassVar[str] = "dialogue"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (PERPLEXITY,)

    @property
    def signatures(self) -> dict[str, str]:
        perplexities = {metric.name: metric.signature for metric in (PERPLEXITY_WORDS, PERPLEXITY_RESPONSES)}
        texts = {metric.name: metric.signature for metric in GENERATION_METRICS}
        return super().signatures | perplexities | texts
