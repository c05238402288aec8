"""The rows of a table of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphdep.training.config import TrainConfig, read_mapping, resolve_model, typed_settings


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
        >>> from graphdep.training.rows import row_settings
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
    usual = kind.default_of("encoder")
    return resolve_model(str(row["model"]), kind.models).overrides.get("encoder", usual)


# What is of the table and of no run.
_OF_TABLE: dict[str, tuple[type, ...]] = {"seeds": (int,), "reference": (str,), "bound": (int, float)}


@dataclass(frozen=True)
class RowsFile:
    """What a file says of an ablation.

    Args:
        rows: The settings of each row, ``"model"`` among them, by its name; none where the file names none.
        settings: Those of all rows, the ``"task"`` among them.
        table: ``"seeds"``, how many there are, ``"reference"`` and ``"bound"``, as far as they are there.
    """

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    table: dict[str, Any] = field(default_factory=dict)


def read_rows_file(path: Path) -> RowsFile:
    """The rows under ``rows:``, each the name of a model, or settings with ``model:`` and perhaps ``name:``;
    ``seeds:``, ``reference:`` and ``bound:``; and settings of all rows.

    Raises:
        ValueError: If something is of a wrong kind, a setting is unknown, or a name is there twice; names the
            file.
        OSError: If it cannot be read.
    """
    given = read_mapping(path)
    listed = given.pop("rows", [])
    table = {name: given.pop(name) for name in _OF_TABLE if name in given}
    for name, value in table.items():
        if not isinstance(value, _OF_TABLE[name]) or isinstance(value, bool):
            kind = " or ".join(kind.__name__ for kind in _OF_TABLE[name])
            raise ValueError(f"{path}: {name!r} must be {kind} (got {value!r})")
    if not isinstance(listed, list):
        raise ValueError(f"{path}: 'rows' must be a list (got {listed!r})")
    task = given.get("task")
    rows: dict[str, dict[str, Any]] = {}
    for row in listed:
        name, settings = _row(path, row)
        if name in rows:
            raise ValueError(f"{path}: two rows are called {name!r}: give one of them another 'name'")
        rows[name] = typed_settings(settings, path, task)
    return RowsFile(rows, typed_settings(given, path), table)


def _row(path: Path, row: Any) -> tuple[str, dict[str, Any]]:
    """A row's name and settings."""
    if isinstance(row, str):
        return row, {"model": row}
    if not isinstance(row, dict) or not isinstance(row.get("model"), str):
        raise ValueError(f"{path}: a row is the name of a model, or settings with a 'model' (got {row!r})")
    settings = {key: value for key, value in row.items() if key != "name"}
    said = [row["model"], *(f"{key}={value}" for key, value in settings.items() if key != "model")]
    return str(row.get("name", " ".join(said))), settings
