"""The families of tasks of this package, which become known when this is imported."""

from __future__ import annotations

from graphdep.tasks.dialogues.family import DialogueFamily
from graphdep.tasks.labels.family import LabelFamily
from graphdep.tasks.post_training.family import PostTrainingFamily
from graphdep.tasks.selection.family import SelectionFamily
from graphdep.tasks.sentences.family import SentenceFamily
from graphdep.tasks.spans.family import SpanFamily
from graphdep.training.family import TaskFamily
from graphdep.training.task import Task, register

FAMILIES: tuple[TaskFamily, ...] = (
    SentenceFamily(),
    DialogueFamily(),
    SelectionFamily(),
    PostTrainingFamily(),
    LabelFamily(),
    SpanFamily(),
)
"""The families of this package."""
TASKS: dict[str, Task] = {name: task for family in FAMILIES for name, task in family.tasks.items()}
"""The tasks of this package."""

register(*FAMILIES)
