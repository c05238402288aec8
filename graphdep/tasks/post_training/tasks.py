"""The tasks of the family by name, and the columns of their tables."""

from __future__ import annotations

from graphdep.tasks.post_training.task import PostTraining
from graphdep.training.task import Task

TASKS: dict[str, Task] = {
    # Its corpus is a setting.
    "post-train": PostTraining("Post-training", "graphdep.datasets:Ubuntu", "datasets/ubuntu"),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "post-train": ("test_loss", "test_mlm_perplexity", "test_relevance_accuracy", "val_loss")
}
"""The scores of a table, the one that the paper reports first."""
