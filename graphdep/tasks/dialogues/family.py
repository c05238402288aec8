"""The task family of dialogues."""

from __future__ import annotations

from graphdep.tasks.dialogues.settings import COLUMNS, PAPER, TASKS, DialogueConfig, responses_name
from graphdep.training.family import StructureRows, TaskFamily

DIALOGUES = TaskFamily(
    name="dialogue",
    tasks=TASKS,
    configs={"dialogue": DialogueConfig},
    learner="graphdep.tasks.dialogues.model:DialogueTask",
    default_models=(
        "transformer",
        "transformer-utterance",
        "transformer-dra",
        "dialogbert",
        "dialogbert-dra",
    ),
    structure=(
        StructureRows(
            "transformer",
            "transformer-dra",
            "transformer-dra@random",
            "transformer@shuffled",
            "transformer-nopos",
        ),
    ),
    unit_name="dialogues",
    gives="responses",
    used_by="graphdep.Responder and `graphdep generate`",
    published=PAPER,
    columns=COLUMNS,
    files=(responses_name("val"), responses_name("test")),
    drawn="responses of the test split",
    groups="dialogues of the test split",
)
"""Responses to dialogues."""
