"""The tasks of the family by name, and the columns of their tables."""

from __future__ import annotations

from graphdep.datasets.labels.ud_tags import UDTags
from graphdep.tasks.labels.task import WordLabels
from graphdep.training.family.task import Task

TASKS: dict[str, Task] = {
    "ud-tags": WordLabels("UD tags", UDTags, "datasets/ud", gold_trees=True),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "ud-tags": ("test_accuracy", "test_macro_f1", "val_accuracy"),
}
"""The scores of a table, the main one first."""
