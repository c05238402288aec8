"""The predictions of a run on its test split, as a file."""

from __future__ import annotations

import csv
import math
import os
import re
from itertools import count

import numpy as np

from graphdep.io import atomic_path

PREDICTIONS = "predictions.csv"
_HEADER = "example,target,prediction"
# As repr() writes them; float() takes more, such as 1_0 or the digits of other scripts.
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_FLOAT = re.compile(r"-?[0-9]+(?=[.e])(\.[0-9]+)?(e[+-]?[0-9]+)?")
_INT64 = range(-(2**63), 2**63)


def write_predictions(path: str | os.PathLike[str], target: np.ndarray, prediction: np.ndarray) -> None:
    """Writes a line an example, ``example,target,prediction``, whole or not at all.

    Examples count from 0; numbers are written so that they are read back exactly.

    Shapes:
        - target, prediction: :math:`(N)`, whole numbers for classes, else floats

    Raises:
        ValueError: If they are not two vectors of one size > 0, or a value is not a finite number that int64
            or float64 holds.
    """
    if target.shape != prediction.shape or target.ndim != 1 or not target.size:
        shapes = f"{target.shape} and {prediction.shape}"
        raise ValueError(f"'target' and 'prediction' must be vectors of one size > 0 (got {shapes})")
    for name, values in (("target", target), ("prediction", prediction)):
        if not _is_exact(values):
            raise ValueError(
                f"'{name}' must be finite numbers that int64 or float64 holds (got {values.dtype} {values})"
            )
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADER.split(","))
        writer.writerows(zip(count(), target.tolist(), prediction.tolist()))


def read_predictions(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """Reads what :func:`write_predictions` wrote: targets ``[N]`` and predictions ``[N]``.

    A column of whole numbers becomes int64, any other one float64.

    Raises:
        ValueError: If anything in it is not as it was written; names the file and the line.
        OSError: If it cannot be read.
    """
    # A byte that is not UTF-8 is no number either: replaced, it is found with its line below.
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        lines = file.read().split("\n")
    if lines[0] != _HEADER:
        raise _error(path, 1, f"the header must be {_HEADER!r}", lines[0])
    if lines[-1] != "":
        raise _error(path, len(lines), "the file is cut: its last line has no line break", lines[-1])
    lines.pop()
    if len(lines) == 1:
        raise _error(path, 1, "no example after the header")
    # csv.reader has rules of its own for quotes, NUL bytes, long cells and empty lines; here all are errors.
    rows = [_row(path, number, line) for number, line in enumerate(lines[1:], start=2)]
    target, prediction = (_array(column) for column in zip(*rows))
    return target, prediction


def _is_exact(values: np.ndarray) -> bool:
    if values.dtype.kind in "iu":
        return int(values.max()) in _INT64
    return values.dtype.kind == "f" and values.dtype.itemsize <= 8 and bool(np.isfinite(values).all())


def _row(path: str | os.PathLike[str], number: int, line: str) -> tuple[float, float]:
    cells = line.split(",")
    if len(cells) != 3:
        raise _error(path, number, f"{len(cells)} columns instead of 3", line)
    if cells[0] != str(number - 2):
        raise _error(path, number, f"expected example {number - 2}", cells[0])
    return _number(path, number, "target", cells[1]), _number(path, number, "prediction", cells[2])


def _number(path: str | os.PathLike[str], number: int, name: str, text: str) -> float:
    if _WHOLE.fullmatch(text) and int(text) in _INT64:
        return int(text)
    value = float(text) if _FLOAT.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise _error(path, number, f"the {name} is not a finite number", text)
    return value


def _array(column: tuple[float, ...]) -> np.ndarray:
    whole = all(isinstance(value, int) for value in column)
    return np.array(column, dtype=np.int64 if whole else np.float64)


def _error(path: str | os.PathLike[str], line: int, message: str, value: str | None = None) -> ValueError:
    shown = "" if value is None else f" (got {value[:80]!r})"
    return ValueError(f"{os.fspath(path)}:{line}: {message}{shown}")
