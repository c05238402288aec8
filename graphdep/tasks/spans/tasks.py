"""The tasks of the family by name, and the columns of their tables."""

from __future__ import annotations

from graphdep.datasets.spans.rows import LABELS, NONE, OTHER, RELATIONS
from graphdep.metrics import semeval2010_macro_f1
from graphdep.tasks.spans.metrics import SPAN_METRICS
from graphdep.tasks.spans.own_task import OwnMarkedSpans
from graphdep.tasks.spans.task import Spans
from graphdep.training.task import Task

# As codes are: that of no finding first.
_DIRECTED = [OTHER, *(label for label in LABELS if label != OTHER)]
_SEMEVAL = semeval2010_macro_f1(_DIRECTED)
_CODES = {label: code for code, label in enumerate(_DIRECTED)}
# A relation without direction is one whose direction is always right.
_CODES |= {name: _CODES[f"{name}(e1,e2)"] for name in RELATIONS}
_BY_F1 = (SPAN_METRICS[1], SPAN_METRICS[2], SPAN_METRICS[0])

TASKS: dict[str, Task] = {
    "semeval2010": Spans(
        "SemEval-2010 Task 8",
        "graphdep.datasets:SemEval2010Task8",
        "datasets/semeval2010",
        outside=OTHER,
        main=(_SEMEVAL, *SPAN_METRICS[:2]),
        numbers=_CODES,
    ),
    "conll04": Spans("CoNLL04", "graphdep.datasets:CoNLL04", "datasets/conll04", outside=NONE, main=_BY_F1),
    "aspects": Spans(
        "SemEval-2014 aspects",
        "graphdep.datasets:SemEval2014Aspects",
        "datasets/semeval2014-aspects",
        num_spans=1,
    ),
    "spans": OwnMarkedSpans("Own spans", "graphdep.datasets:OwnSpans", "datasets/spans", gold_trees=True),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "conll04": ("test_f1", "test_macro_f1", "test_accuracy", "val_f1"),
    "aspects": ("test_accuracy", "test_macro_f1", "val_accuracy"),
    "spans": ("test_accuracy", "test_macro_f1", "test_f1", "val_accuracy"),
    "semeval2010": ("test_macro_f1", "test_f1", "test_accuracy", "val_macro_f1"),
}
"""The scores of a table, the main one first."""
