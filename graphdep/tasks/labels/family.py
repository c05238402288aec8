"""The task family of word labels."""

from __future__ import annotations

from graphdep.tasks.labels.settings import COLUMNS, TASKS, LabelConfig, OwnLabelConfig, ParsedLabelConfig
from graphdep.training.family import DT_STRUCTURE, LOOKUP, TaskFamily

LABELS = TaskFamily(
    name="labels",
    tasks=TASKS,
    configs={"labels": LabelConfig, "parsed-labels": ParsedLabelConfig, "own-labels": OwnLabelConfig},
    learner="graphdep.tasks.labels.model:LabelTask",
    default_models=("transformer", "dt", "dt@random", "bilstm", "word-average"),
    structure=DT_STRUCTURE,
    unit_name="words",
    gives="labels of words",
    predicted='for words, a .jsonl file with "words" and, if the model reads marks, "mark", labels are '
    'written to "labels"; in a .conllu file to the column that they were learned from',
    used_by="graphdep.WordLabeller and `graphdep predict` with a .conllu or .jsonl file",
    columns=COLUMNS,
    floors={LOOKUP: "look-up"},
    frozen="a ridge classifier on the state u of a word by the frozen encoder, the mean over its pieces, and "
    "if words are marked on u, v, |u - v| and u * v with the state v of the marked word",
    drawn="scored words of the test split",
    groups="sentences of the test split",
)
"""Labels of the words of a sentence, or of their relations to a marked word."""
