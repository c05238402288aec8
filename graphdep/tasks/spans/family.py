"""The task family of marked spans."""

from __future__ import annotations

from graphdep.tasks.spans.settings import COLUMNS, TASKS, OwnSpanConfig, SpanConfig
from graphdep.training.family import BAG, DT_STRUCTURE, LOOKUP, TaskFamily

SPANS = TaskFamily(
    name="spans",
    tasks=TASKS,
    configs={"spans": SpanConfig, "own-spans": OwnSpanConfig},
    learner="graphdep.tasks.spans.model:SpanTask",
    default_models=("transformer", "dt", "dt@random", "bilstm", "word-average"),
    structure=DT_STRUCTURE,
    unit_name="spans",
    gives="labels of marked spans",
    predicted='for spans, a .jsonl file with "spans" of "words" or of a "text", or a .csv or .tsv file with '
    "`<e1>` and `<e2>` in its texts, the columns are those for texts",
    used_by="graphdep.SpanClassifier and `graphdep predict` with a file of marked spans",
    columns=COLUMNS,
    floors={LOOKUP: "look-up", BAG: "bag of words"},
    frozen="a ridge classifier on the mean state u of the words of a span by the frozen encoder, and with a "
    "second span v on u, v, |u - v| and u * v",
    groups="sentences of the test split",
)
"""Labels of one or two marked spans of a sentence."""
