"""A task on the user's own texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from graphdep.tasks.sentences.task import Sentences


@dataclass(frozen=True)
class OwnTexts(Sentences):
    """A label or a number of the user's own texts or pairs of texts: how many of them an example has is said
    by the settings, and how many classes there are by the data.

    Args:
        num_classes: Size of the model's output; 0 for as many as the data has classes. (default: :obj:`0`)
        **others: As in :class:`Sentences`.

    Example:
        >>> from graphdep.datasets import CSVTexts
        >>> from graphdep.tasks import CLASSES, OwnTexts
        >>> task = OwnTexts("Reviews", CSVTexts, "datasets/csv", {"goal": "classification"}, goal=CLASSES)
        >>> [metric.name for metric in task.metrics]
        ['accuracy', 'macro_f1']
    """

    num_classes: int = field(default=0, kw_only=True)

    kind: ClassVar[str] = "csv"
