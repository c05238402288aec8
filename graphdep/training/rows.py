"""Settings of the rows of an ablation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphdep.io.files import brief
from graphdep.training.config import TrainConfig, read_mapping, resolve_model, typed_settings


def row_settings(
    task: str, rows: Mapping[str, Mapping[str, Any]], shared: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The settings of each row: the shared ones, updated by its own.

    A shared pretrained encoder applies only to rows whose model has a pretrained encoder, if there are any,
    so that a table can have both kinds of models.

    Args:
        task: The task.
        rows: Settings by name of the row, including ``"model"``.
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
    default = kind.default_of("encoder")
    encoders = {
        name: resolve_model(str(row["model"]), kind.models).overrides.get("encoder", default)
        for name, row in rows.items()
    }
    pretrained = {name for name, encoder in encoders.items() if encoder not in kind.encoders}
    without = {name: value for name, value in shared.items() if name != "encoder"}
    return {
        name: whole[name] if name in pretrained or not pretrained else {**without, **row}
        for name, row in rows.items()
    }


# Keys of the table rather than of its runs.
_OF_TABLE: dict[str, tuple[type, ...]] = {"seeds": (int,), "reference": (str,), "bound": (int, float)}


@dataclass(frozen=True)
class RowsFile:
    """The content of a file that describes an ablation.

    Args:
        rows: Settings by name of the row, including ``"model"``.
        settings: Settings of all rows, including ``"task"``.
        table: ``"seeds"`` (their number), ``"reference"`` and ``"bound"``, if given.
    """

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    table: dict[str, Any] = field(default_factory=dict)


def read_rows_file(path: Path) -> RowsFile:
    """Reads a YAML file with ``rows:``, a list of names of models or of settings with ``model:`` and
    optionally ``name:``; ``seeds:``, ``reference:`` and ``bound:``; and settings of all rows.

    Raises:
        ValueError: If a value has a wrong type, a setting is unknown, or a name is repeated; names the file.
        OSError: If it cannot be read.
    """
    given = read_mapping(path)
    listed = given.pop("rows", [])
    table = {name: given.pop(name) for name in _OF_TABLE if name in given}
    for name, value in table.items():
        if not isinstance(value, _OF_TABLE[name]) or isinstance(value, bool):
            kind = " or ".join(kind.__name__ for kind in _OF_TABLE[name])
            raise ValueError(f"{path}: {name!r} must be {kind} (got {brief(value)})")
    if not isinstance(listed, list):
        raise ValueError(f"{path}: 'rows' must be a list (got {brief(listed)})")
    task = given.get("task")
    rows: dict[str, dict[str, Any]] = {}
    for row in listed:
        name, settings = _row(path, row)
        if name in rows:
            raise ValueError(f"{path}: two rows are named {brief(name)}: give one of them another 'name'")
        rows[name] = typed_settings(settings, path, task)
    return RowsFile(rows, typed_settings(given, path), table)


def _row(path: Path, row: Any) -> tuple[str, dict[str, Any]]:
    """The name and settings of a row."""
    if isinstance(row, str):
        return row, {"model": row}
    if not isinstance(row, dict) or not isinstance(row.get("model"), str):
        raise ValueError(f"{path}: a row must be a model's name, or settings with 'model' (got {brief(row)})")
    settings = {key: value for key, value in row.items() if key != "name"}
    parts = [row["model"], *(f"{key}={value}" for key, value in settings.items() if key != "model")]
    return str(row.get("name", " ".join(parts))), settings
