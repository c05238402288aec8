"""The tasks of the family by name, and the columns of their tables."""

from __future__ import annotations

from graphdep.datasets.spans.semeval2010_task8 import LABELS, OTHER, SemEval2010Task8
from graphdep.metrics import semeval2010_macro_f1
from graphdep.tasks.spans.metrics import SPAN_METRICS
from graphdep.tasks.spans.task import Spans
from graphdep.training.family.task import Task

# As codes are: that of no finding first.
_SEMEVAL = semeval2010_macro_f1([OTHER, *(label for label in LABELS if label != OTHER)])

TASKS: dict[str, Task] = {
    "semeval2010": Spans(
        "SemEval-2010 Task 8",
        SemEval2010Task8,
        "datasets/semeval2010",
        outside=OTHER,
        main=(_SEMEVAL, *SPAN_METRICS[:2]),
    ),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "semeval2010": ("test_macro_f1", "test_f1", "test_accuracy", "val_macro_f1"),
}
"""The scores of a table, the main one first."""
