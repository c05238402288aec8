"""The settings of each row of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphdep.training.family.train_config import TrainConfig


def row_settings(
    task: str, rows: Mapping[str, Mapping[str, Any]], shared: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What the runs of each row are given: what all have, and over it the row's own.

    A pretrained encoder that all are given is of the rows that stand on one, where there are others beside
    them: so models of words stand in one table with pretrained ones.

    Args:
        task: The task.
        rows: Settings by the name of the row, its ``"model"`` among them.
        shared: Settings of all rows.

    Example:
        >>> from graphdep.training.table.row_settings import row_settings
        >>> rows = {name: {"model": name} for name in ("transformer", "bert")}
        >>> row_settings("sick-e", rows, {"encoder": "some/bert"})
        {'transformer': {'model': 'transformer'}, 'bert': {'encoder': 'some/bert', 'model': 'bert'}}
    """
    stand_on_one = {name: TrainConfig.of(row["model"], task=task).pretrained for name, row in rows.items()}
    given = shared.get("encoder")
    foreign = given is not None and given not in getattr(TrainConfig.of_task(task), "encoders", {})
    if not (foreign and any(stand_on_one.values())):
        return {name: {**shared, **row} for name, row in rows.items()}
    without = {name: value for name, value in shared.items() if name != "encoder"}
    return {name: {**(shared if stand_on_one[name] else without), **row} for name, row in rows.items()}
