"""The family of tasks on the words of sentences."""

from __future__ import annotations

from graphdep.tasks.labels.settings import COLUMNS, TASKS, LabelConfig, OwnLabelConfig, ParsedLabelConfig
from graphdep.training.family import StructureRows, TaskFamily

LOOKUP = "lookup"
"""Ending of the names of the scores that looking up gets."""
LABELS = TaskFamily(
    name="labels",
    tasks=TASKS,
    configs={"labels": LabelConfig, "parsed-labels": ParsedLabelConfig, "own-labels": OwnLabelConfig},
    learner="graphdep.tasks.labels.model:LabelTask",
    default_models=("transformer", "dt", "dt@random", "bilstm", "word-average"),
    structure=(
        StructureRows("transformer", "dt", "dt@random-labels", "transformer@shuffled", "transformer-nopos"),
        StructureRows("bert", "bert-dt", "bert-dt@random-labels", "bert@shuffled"),
    ),
    unit_name="words",
    gives="labels of words",
    predicted='of words, a .jsonl file with "words" and, where the model knows marks, a "mark", the labels '
    'go into "labels"; of a .conllu file into the column that they were learned from',
    used_by="graphdep.WordLabeller and `graphdep predict` with a .conllu or .jsonl file",
    columns=COLUMNS,
    floors={LOOKUP: "look-up"},
    frozen="a ridge classifier on the state u of a word, a mean over its pieces, and where words are marked "
    "that of the marked word v (u, v, |u - v| and u * v), by the encoder before its training",
    drawn="scored words of the test split",
    groups="sentences of the test split",
)
"""A label for each word of a sentence, or for the words as a marked one sees them."""
