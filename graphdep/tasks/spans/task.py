"""A task on marked spans of sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from graphdep.metrics import Metric
from graphdep.tasks.spans.metrics import SPAN_METRICS
from graphdep.training.family.task import Task

_FLOOR = "; floor: the most frequent class of training"


@dataclass(frozen=True)
class Spans(Task):
    """A label for one or two marked spans of a sentence.

    Its dataset is a :class:`~graphdep.datasets.spans.span_dataset.SpanDataset`.

    Args:
        num_spans: Spans of an example, 1 or 2. (default: :obj:`2`)
        outside: The label that stands for no finding, which F1 leaves out. (default: :obj:`None`)
        main: The metrics that systems are compared by; the first decides which epoch is the best. They take
            codes of labels: 0 for no finding, from 1 on the others in the order of the classes. All of
            :data:`SPAN_METRICS` are reported beside them. (default: accuracy, and micro and macro F1)
        **others: As in :class:`Task`.
    """

    num_spans: int = field(default=2, kw_only=True)
    outside: str | None = field(default=None, kw_only=True)
    main: tuple[Metric, ...] = field(default=SPAN_METRICS, kw_only=True)

    kind: ClassVar[str] = "spans"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.main

    @property
    def reported(self) -> dict[str, Metric]:
        """All metrics by name."""
        return {metric.name: metric for metric in (*SPAN_METRICS, *self.main)}

    @property
    def signatures(self) -> dict[str, str]:
        return {
            name: metric.signature.split("; floor:")[0] + _FLOOR for name, metric in self.reported.items()
        }
