"""The tasks of the family by name, and the columns of their tables."""

from __future__ import annotations

from typing import Any

from graphdep.datasets.labels.words import OUTSIDE
from graphdep.tasks.labels.own_task import OwnWordLabels
from graphdep.tasks.labels.parsed_task import ParsedWordLabels
from graphdep.tasks.labels.task import WordLabels
from graphdep.training.task import Task

_ROLES: dict[str, Any] = {"main": "f1", "outside": OUTSIDE, "marked": True, "gold_trees": True}

_COGS: dict[str, Any] = {
    "main": "exact",
    "outside": OUTSIDE,
    "marked": True,
    # What it asks of words is asked of those that training has once: as one [UNK] they would all be the same.
    "defaults": {"min_freq": 1},
}

TASKS: dict[str, Task] = {
    "up": WordLabels(
        "Universal PropBank", "graphdep.datasets:UniversalPropBank", "datasets/universal-propbank", **_ROLES
    ),
    "ud-tags": WordLabels("UD tags", "graphdep.datasets:UDTags", "datasets/ud", gold_trees=True),
    "agreement": WordLabels(
        "Agreement",
        "graphdep.datasets:Agreement",
        "datasets/agreement",
        # The first epoch that gets all of the same structures right may know no others.
        defaults={"keep": "last"},
        other_tests=("test-indist",),
        gold_trees=True,
    ),
    "cogs": ParsedWordLabels(
        "COGS", "graphdep.datasets:COGS", "datasets/cogs", other_tests=("test-indist",), **_COGS
    ),
    "probes": WordLabels("Probes", "graphdep.datasets:Probes", "datasets/probes", gold_trees=True),
    "propbank-ewt": WordLabels(
        "PropBank on EWT", "graphdep.datasets:PropBankEWT", "datasets/propbank-ewt", **_ROLES
    ),
    "labels": OwnWordLabels(
        "Own labels",
        "graphdep.datasets:OwnLabels",
        "datasets/labels",
        main="f1",
        outside=OUTSIDE,
        marked=True,
        gold_trees=True,
    ),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "agreement": ("test_accuracy", "val_accuracy"),
    "cogs": ("test_exact", "test_f1", "val_exact"),
    "labels": ("test_f1", "test_accuracy", "test_exact", "val_f1"),
    "probes": ("test_accuracy", "test_macro_f1"),
    "propbank-ewt": ("test_f1", "test_macro_f1", "test_exact", "val_f1"),
    "up": ("test_f1", "test_macro_f1", "test_exact", "val_f1"),
    "ud-tags": ("test_accuracy", "test_macro_f1", "val_accuracy"),
}
"""The scores of a table, the main one first."""
