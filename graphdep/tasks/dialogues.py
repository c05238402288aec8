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
from graphdep.tasks.task import Task


@dataclass(frozen=True)
class Dialogues(Task):
    """Responses to dialogues."""

    kind: ClassVar[str] = "generation"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (PERPLEXITY,)

    @property
    def signatures(self) -> list[str]:
        others = PERPLEXITY_WORDS, PERPLEXITY_RESPONSES, *GENERATION_METRICS
        return [*super().signatures, *(metric.signature for metric in others)]
