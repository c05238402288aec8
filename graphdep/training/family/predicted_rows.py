"""Rows of files with what a model predicts for each, written as the files are."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphdep.datasets.base.rows import OBJECTS

PREDICTION, PROBABILITIES, PROBABILITY = "prediction", "probabilities", "probability_"


class PredictedRow(NamedTuple):
    """What is new in a row.

    Args:
        prediction: The label; :obj:`None` where nothing can be predicted.
        probabilities: Those of all labels by their names; :obj:`None` as well.
    """

    prediction: Any
    probabilities: Mapping[str, float] | None


def write_rows(
    kind: str,
    rows: Sequence[Mapping[str, Any]],
    predicted: Sequence[PredictedRow],
    names: Sequence[str] | None,
) -> tuple[str, list[str]]:
    """The text of a file of some kind with predictions and probabilities, in JSON as one object, else
    in a column each with six digits; and the keys or columns of the source that they replace.

    Args:
        kind: Its suffix, ``.jsonl``, ``.parquet`` (of which JSON lines are made), ``.csv`` or ``.tsv``.
        rows: What it has.
        predicted: What is new in each row.
        names: Those of the labels; :obj:`None` where numbers are predicted, which have no probabilities.

    Raises:
        ValueError: If a cell of a ``.tsv`` file would have a tab or a line break.
    """
    lines = kind in OBJECTS
    shares = [PROBABILITIES] if lines else [f"{PROBABILITY}{name}" for name in names or ()]
    keys = [PREDICTION, *(shares if names is not None else ())]
    replaced = [key for key in keys if any(key in row for row in rows)]
    old = [{name: value for name, value in row.items() if name not in keys} for row in rows]
    if lines:
        objects = [row | {key: getattr(own, key) for key in keys} for row, own in zip(old, predicted)]
        return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in objects), replaced
    cells = [[*old[0], *keys]]
    cells += [[*row.values(), *_cells(own, names)] for row, own in zip(old, predicted)]
    return _table(cells, kind), replaced


def _cells(own: PredictedRow, names: Sequence[str] | None) -> list[str]:
    if names is None:
        return [str(own.prediction)]
    if own.probabilities is None:
        return [""] * (1 + len(names))
    return [str(own.prediction), *(f"{own.probabilities[name]:.6g}" for name in names)]


def _table(cells: list[list[str]], kind: str) -> str:
    if kind == ".csv":
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(cells)
        return file.getvalue()
    for cell in (cell for row in cells for cell in row):
        if "\t" in cell or "\n" in cell:
            raise ValueError(f"a .tsv file cannot hold a tab or a line break (got {cell[:80]!r})")
    return "".join("\t".join(row) + "\n" for row in cells)
