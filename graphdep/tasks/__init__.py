"""Tasks: what is learnt from a corpus, and the LightningModules that learn it."""

from graphdep.tasks.goal import ENTAILMENT, RELATEDNESS, Goal
from graphdep.tasks.pair_task import PairTask, TrainingError
from graphdep.tasks.task import TASKS, Task, resolve_task

__all__ = ["ENTAILMENT", "RELATEDNESS", "TASKS", "Goal", "PairTask", "Task", "TrainingError", "resolve_task"]
