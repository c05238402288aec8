"""The task family of response selection."""

from __future__ import annotations

from graphdep.tasks.selection.settings import COLUMNS, PAPER, TASKS, SelectionConfig
from graphdep.training.family import StructureRows, TaskFamily

SELECTION = TaskFamily(
    name="selection",
    tasks=TASKS,
    configs={"selection": SelectionConfig},
    learner="graphdep.tasks.selection.model:SelectionTask",
    default_models=("bert", "bert-vanilla", "bert-intra", "bert-inter", "bert-sia"),
    structure=(StructureRows("bert", "bert-sia", "bert-sia@random", "bert@shuffled"),),
    unit_name="response selection",
    gives="rankings",
    used_by="graphdep.ResponseSelector and `graphdep rank`",
    published=PAPER,
    columns=COLUMNS,
    frozen="candidates ranked by the cosine of their vector and that of the context, means over the nodes of "
    "each text by the frozen encoder",
    floor_reads=(),
)
"""Selection of the right response to a context among candidates."""
