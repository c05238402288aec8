"""The metrics of labels of spans."""

from __future__ import annotations

from dataclasses import replace

from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import ACCURACY, SCIKIT_LEARN, WORD_F1, WORD_MACRO_F1

_OVER = "over the examples of the split; a label that training does not have is wrong"
SPAN_METRICS: tuple[Metric, ...] = (
    replace(ACCURACY, signature=f"accuracy: share of right labels {_OVER} ({SCIKIT_LEARN})"),
    replace(WORD_F1, signature=f"f1: micro-averaged F1 of all labels but that of no finding, {_OVER}"),
    replace(
        WORD_MACRO_F1,
        signature="macro_f1: mean of the F1 of all labels, but that of no finding, that the split has or "
        f"that are predicted, {_OVER}",
    ),
)
EXACT: Metric = replace(
    SPAN_METRICS[0],
    name="exact",
    signature="exact: share of the examples that are right as a whole; as each has one label, it is accuracy "
    "under the name that it has where words are labelled",
)
