"""Tasks: what is learnt from a corpus, and the LightningModules that learn it."""

from graphdep.tasks.dialogue_task import DialogueTask
from graphdep.tasks.dialogues import Dialogues
from graphdep.tasks.goal import (
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
)
from graphdep.tasks.learning_task import LearningTask, TrainingError
from graphdep.tasks.own_texts import OwnTexts
from graphdep.tasks.post_training import PostTraining
from graphdep.tasks.post_training_task import PostTrainingTask
from graphdep.tasks.resolver import TASKS, resolve_task
from graphdep.tasks.selection_task import SelectionTask
from graphdep.tasks.selections import Selections
from graphdep.tasks.sentence_task import SentenceTask
from graphdep.tasks.sentences import Sentences
from graphdep.tasks.task import Task

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
    "TASKS",
    "Dialogues",
    "DialogueTask",
    "Goal",
    "LearningTask",
    "OwnTexts",
    "PostTraining",
    "PostTrainingTask",
    "Selections",
    "SelectionTask",
    "Sentences",
    "SentenceTask",
    "Task",
    "TrainingError",
    "resolve_task",
]
