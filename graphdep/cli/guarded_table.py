"""Tables that may be opened in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re

from graphdep.io.files import guard, long_fields

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def guard_table(text: str, kind: str) -> str:
    """A table with an apostrophe before each part of a cell that a spreadsheet would take for a formula.

    The header's cells are guarded, too. A number, such as ``-0.5``, is none.

    Args:
        text: The content of the file.
        kind: Its suffix.

    Raises:
        ValueError: If it is neither ``.csv`` nor ``.tsv``.
    """
    if kind == ".tsv":  # without quotes, as :mod:`graphdep.training.floors` writes it
        return "\n".join("\t".join(map(_guarded, line.split("\t"))) for line in text.split("\n"))
    if kind != ".csv":
        raise ValueError(f"--guard-formulas is for .csv and .tsv (got {kind!r})")
    file = io.StringIO()
    with long_fields():
        rows = [[_guarded(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""))]
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def _guarded(cell: str) -> str:
    return cell if _NUMBER.fullmatch(cell) else guard(cell)
