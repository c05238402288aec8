"""The tasks of the family by name, and the columns of their tables."""

from __future__ import annotations

from graphdep.tasks.dialogues.task import Dialogues
from graphdep.training.task import Task

TASKS: dict[str, Task] = {
    "dailydialog": Dialogues("DailyDialog", "graphdep.datasets:DailyDialog", "datasets/dailydialog"),
    "empathetic": Dialogues(
        "EmpatheticDialogues", "graphdep.datasets:EmpatheticDialogues", "datasets/empatheticdialogues"
    ),
}
COLUMNS: dict[str, tuple[str, ...]] = dict.fromkeys(
    TASKS,
    (
        "test_perplexity",
        *("val_perplexity", "val_bleu2_method7", "val_dist2"),
        *("test_bleu2_method7", "test_bleu2_method1", "test_dist2"),
    ),
)
"""The scores of a table, the one that the paper reports first."""
