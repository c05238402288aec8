"""A task on the words of sentences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import sklearn

from graphdep.metrics import ACCURACY, MACRO_F1, Metric
from graphdep.training.family.task import Task

_WORDS = (
    "over all scored words of the split, one by one (so do tests between systems, which do not draw whole "
    f"sentences); a label that training does not have is wrong (scikit-learn {sklearn.__version__})"
)
_FLOORS = (
    "floor: the most frequent label of the training split; look-up: the commonest label of each word form "
    "there"
)
METRICS: tuple[Metric, ...] = (
    replace(ACCURACY, signature=f"accuracy: share of right labels {_WORDS}; {_FLOORS}"),
    replace(
        MACRO_F1,
        signature="macro_f1: mean of the F1 of all labels that the split has or that are predicted, "
        f"{_WORDS}; {_FLOORS}",
    ),
)


@dataclass(frozen=True)
class WordLabels(Task):
    """A label for each word of a sentence, or for some of them.

    Its dataset gives ``y`` and ``form_id``, a number for each word, as
    :class:`~graphdep.datasets.labels.ud_tags.UDTags` does, and the names of the classes in ``labels``.
    """

    kind: ClassVar[str] = "labels"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return METRICS
