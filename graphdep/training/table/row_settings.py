"""The settings of each row of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphdep.training.family.model_preset import resolve_model
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
    kind, given = TrainConfig.of_task(task), shared.get("encoder")
    whole = {name: {**shared, **row} for name, row in rows.items()}
    if given is None or given in kind.encoders:
        return whole
    stand_on_one = {name for name, row in rows.items() if _usual_encoder(kind, row) not in kind.encoders}
    without = {name: value for name, value in shared.items() if name != "encoder"}
    return {
        name: whole[name] if name in stand_on_one or not stand_on_one else {**without, **row}
        for name, row in rows.items()
    }


def _usual_encoder(kind: type[TrainConfig], row: Mapping[str, Any]) -> Any:
    """What the row's model stands on where nothing else is said."""
    usual = kind.__dataclass_fields__["encoder"].default
    return resolve_model(str(row["model"]), kind.models).overrides.get("encoder", usual)
