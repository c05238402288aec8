"""The tasks of the family by name, and the columns of their tables."""

from __future__ import annotations

from graphdep.tasks.selection.task import Selections
from graphdep.training.task import Task

# Chinese words have characters for pieces, and there is no bundled parser for them.
_CHINESE = {"encoder": "bert-base-chinese", "parser": "stanza:zh"}

TASKS: dict[str, Task] = {
    "ubuntu": Selections("Ubuntu", "graphdep.datasets:Ubuntu", "datasets/ubuntu"),
    "ubuntu-irc": Selections("#ubuntu, reply chains", "graphdep.datasets:UbuntuIRC", "datasets/ubuntu-irc"),
    "douban": Selections("Douban", "graphdep.datasets:Douban", "datasets/douban", defaults=_CHINESE),
    "ecommerce": Selections(
        "E-commerce", "graphdep.datasets:ECommerce", "datasets/ecommerce", defaults=_CHINESE
    ),
    "dailydialog-selection": Selections(
        "DailyDialog, response selection",
        "graphdep.datasets:DailyDialogSelection",
        "datasets/dailydialog",
        defaults={"overlap": "drop"},  # a fifth of the test pools is in train
    ),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("ubuntu", "ubuntu-irc", "dailydialog-selection", "ecommerce"),
        ("test_R10@1", "test_R10@2", "test_R10@5", "test_MRR", "val_MRR"),
    ),
    "douban": (
        *("test_MAP", "test_MRR", "test_P@1", "test_R10@1", "test_R10@2", "test_R10@5"),
        "val_MRR",
    ),
}
"""The scores of a table, the one that the paper reports first."""
