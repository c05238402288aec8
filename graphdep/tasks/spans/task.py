"""A task on marked spans of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from graphdep.datasets.spans.rows import MAX_ARCS
from graphdep.metrics import Metric
from graphdep.tasks.spans.metrics import EXACT, SPAN_METRICS
from graphdep.training.task import Task

OF_WAYS = f"of each way through the tree from one span to the other, of up to {MAX_ARCS} arcs"
OF_WORDS = "of each form of a span's top word"


@dataclass(frozen=True)
class Spans(Task):
    """A label for one or two marked spans of a sentence.

    Its dataset is a :class:`~graphdep.datasets.spans.base.SpanDataset`.

    Args:
        num_spans: Spans of an example, 1 or 2. (default: :obj:`2`)
        outside: The label that stands for no finding, which F1 leaves out. (default: :obj:`None`)
        main: The metrics that systems are compared by; the first decides which epoch is the best. They take
            codes of labels: 0 for no finding, from 1 on the others in the order of the classes. All of
            :data:`SPAN_METRICS` are reported beside them. (default: accuracy, and micro and macro F1)
        numbers: Codes by label, where metrics of the corpus know its labels by number, whatever classes there
            are. (default: none)
        **others: As in :class:`Task`.
    """

    num_spans: int = field(default=2, kw_only=True)
    outside: str | None = field(default=None, kw_only=True)
    main: tuple[Metric, ...] = field(default=SPAN_METRICS, kw_only=True)
    numbers: Mapping[str, int] = field(default_factory=dict, kw_only=True)

    kind: ClassVar[str] = "spans"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.main

    @property
    def reported(self) -> dict[str, Metric]:
        """All metrics by name."""
        return {metric.name: metric for metric in (*SPAN_METRICS, *self.main, EXACT)}

    @property
    def signatures(self) -> dict[str, str]:
        floors = (
            f"; floor: the most frequent class of training; look-up: the commonest label {self.looked_up}"
        )
        return {
            name: metric.signature.split("; floor:")[0] + floors for name, metric in self.reported.items()
        }

    @property
    def looked_up(self) -> str:
        """What the look-up floor has the commonest label of."""
        return OF_WAYS if self.num_spans > 1 else OF_WORDS

    def codes(self, labels: Sequence[Any], outside: str | None) -> tuple[int, ...]:
        """The codes of the classes.

        Args:
            labels: The classes by their numbers.
            outside: The one that stands for no finding; :obj:`None` for none.

        Raises:
            ValueError: If none of the labels is :obj:`outside`.
        """
        if self.numbers:
            return tuple(self.numbers[label] for label in labels)
        if outside is not None and outside not in labels:
            known = ", ".join(map(str, labels))
            raise ValueError(f"'outside' must be one of the labels of training, {known} (got {outside!r})")
        found = [label for label in labels if label != outside]
        return tuple(0 if label == outside else 1 + found.index(label) for label in labels)
