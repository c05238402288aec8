"""The family of tasks on sentences and pairs of sentences."""

from __future__ import annotations

from graphdep.tasks.sentences.settings import BAG, COLUMNS, PAPER, TASKS, CSVConfig, SentenceConfig
from graphdep.training.family import StructureRows, TaskFamily

SENTENCES = TaskFamily(
    name="sentence",
    tasks=TASKS,
    configs={"sentence": SentenceConfig, "csv": CSVConfig},
    learner="graphdep.tasks.sentences.model:SentenceTask",
    default_models=("transformer", "dt-lr", "dt-rg", "dt"),
    structure=(
        StructureRows("transformer", "dt", "dt@random-labels", "transformer@shuffled", "transformer-nopos"),
        StructureRows("bert", "bert-dt", "bert-dt@random-labels", "bert@shuffled"),
    ),
    unit_name="sentences",
    gives="sentence vectors",
    predicted='of texts and pairs, "prediction" and "probability_NAME" as said',
    used_by="graphdep.SentenceEncoder, graphdep.SequenceClassifier, `graphdep embed` and `graphdep predict`",
    published=PAPER,
    columns=COLUMNS,
    floors={BAG: "bag of words"},
    frozen="a logistic regression, of numbers a ridge regression, on vectors u, v of the texts (of a pair "
    "|u - v| and u * v), means over their nodes by the encoder before its training",
)
"""A label or a grade of sentences or of pairs of sentences."""
