"""Tasks: targets of corpora, and LightningModules that predict them."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from graphdep.tasks.dialogues.model import DialogueTask
    from graphdep.tasks.dialogues.settings import Dialogues
    from graphdep.tasks.post_training.model import PostTrainingTask
    from graphdep.tasks.post_training.settings import PostTraining
    from graphdep.tasks.registry import FAMILIES, TASKS
    from graphdep.tasks.selection.model import SelectionTask
    from graphdep.tasks.selection.settings import Selections
    from graphdep.tasks.sentences.model import SentenceTask
    from graphdep.tasks.sentences.settings import (
        ACCEPTABILITY,
        CLASSES,
        DUPLICATE,
        ENTAILMENT,
        NUMBERS,
        PARAPHRASE,
        RELATEDNESS,
        SENTIMENT,
        SIMILARITY,
        Goal,
        OwnTexts,
        Sentences,
    )
    from graphdep.training.build import BuildInputs
    from graphdep.training.family import TaskFamily
    from graphdep.training.learning_task import LearningTask, TrainingError
    from graphdep.training.task import Task, families, family_of, resolve_task

__all__ = [
    "ACCEPTABILITY",
    "CLASSES",
    "DUPLICATE",
    "ENTAILMENT",
    "NUMBERS",
    "PARAPHRASE",
    "RELATEDNESS",
    "SENTIMENT",
    "SIMILARITY",
    "FAMILIES",
    "TASKS",
    "Dialogues",
    "DialogueTask",
    "Goal",
    "LearningTask",
    "OwnTexts",
    "BuildInputs",
    "PostTraining",
    "PostTrainingTask",
    "Selections",
    "SelectionTask",
    "Sentences",
    "SentenceTask",
    "Task",
    "TaskFamily",
    "TrainingError",
    "families",
    "family_of",
    "resolve_task",
]

__getattr__, __dir__ = lazy_imports(__name__)

import graphdep.tasks.registry  # noqa: E402, F401  # registers the families
