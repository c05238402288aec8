"""The task family of sentences and pairs of sentences."""

from __future__ import annotations

from graphdep.tasks.sentences.settings import COLUMNS, PAPER, TASKS, CSVConfig, SentenceConfig
from graphdep.training.family import BAG, DT_STRUCTURE, TaskFamily

SENTENCES = TaskFamily(
    name="sentence",
    tasks=TASKS,
    configs={"sentence": SentenceConfig, "csv": CSVConfig},
    learner="graphdep.tasks.sentences.model:SentenceTask",
    default_models=("transformer", "dt-lr", "dt-rg", "dt"),
    structure=DT_STRUCTURE,
    unit_name="sentences",
    gives="sentence vectors",
    predicted='for texts and pairs, "prediction" and "probability_NAME"',
    used_by="graphdep.SentenceEncoder, graphdep.SequenceClassifier, `graphdep embed` and `graphdep predict`",
    published=PAPER,
    columns=COLUMNS,
    floors={BAG: "bag of words"},
    frozen="logistic regression (ridge regression for numbers) on the vector of a text, the mean over its "
    "nodes by the frozen encoder, and for pairs on |u - v| and u * v",
)
"""Labels or grades of sentences or of pairs of sentences."""
