"""Tasks: what is learnt from a corpus, and the LightningModules that learn it."""

from graphdep.tasks.goal import ENTAILMENT, PARAPHRASE, RELATEDNESS, SENTIMENT, Goal
from graphdep.tasks.sentence_task import SentenceTask, TrainingError
from graphdep.tasks.task import TASKS, Task, resolve_task

__all__ = [
    "ENTAILMENT",
    "PARAPHRASE",
    "RELATEDNESS",
    "SENTIMENT",
    "TASKS",
    "Goal",
    "SentenceTask",
    "Task",
    "TrainingError",
    "resolve_task",
]
