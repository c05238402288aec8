"""Registers the task families of this package."""

from __future__ import annotations

from graphdep.tasks.dialogues.family import DIALOGUES
from graphdep.tasks.labels.family import LABELS
from graphdep.tasks.post_training.family import POST_TRAINING
from graphdep.tasks.selection.family import SELECTION
from graphdep.tasks.sentences.family import SENTENCES
from graphdep.tasks.spans.family import SPANS
from graphdep.training.family import TaskFamily
from graphdep.training.task import Task, register

FAMILIES: tuple[TaskFamily, ...] = (
    SENTENCES,
    DIALOGUES,
    SELECTION,
    POST_TRAINING,
    LABELS,
    SPANS,
)
"""The families of this package."""
TASKS: dict[str, Task] = {name: task for family in FAMILIES for name, task in family.tasks.items()}
"""The tasks of this package."""

register(*FAMILIES)
