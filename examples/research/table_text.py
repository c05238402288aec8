"""Scores of the committed CSVs, and how tables of the pages write them (tables.py)."""

import csv
import functools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


@functools.cache
def read(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV of scores; those of a design without the runs that only choose a setting."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    if lines and "digest" in lines[0]:
        return [{"model": line["row"], **line} for line in lines if not line["tune"]]
    return lines


def chosen(rows: Iterable[Mapping[str, str]], metric: str, **filters: str) -> list[dict[str, str]]:
    """The lines of a metric where all columns have these values.

    Raises:
        ValueError: If there is none.
    """
    filters["metric"] = metric
    left = list(rows)
    for name, value in filters.items():
        if left and name not in left[0]:
            raise ValueError(f"no column {name!r}; there are {', '.join(left[0])}")
        found = [dict(row) for row in left if row[name] == value]
        if not found:
            raise ValueError(f"no {name} {value!r}; there are {', '.join(sorted({r[name] for r in left}))}")
        left = found
    return left


def spread(values: Sequence[float], form: str) -> str:
    """Mean ± standard deviation (n - 1); of one value itself."""
    mean = f"{statistics.fmean(values):{form}}"
    return f"{mean} ± {statistics.stdev(values):{form}}" if len(values) > 1 else mean


def difference_text(row: Mapping[str, Any], digits: str) -> str:
    middle, low, high = (float(row[name]) for name in ("difference", "low", "high"))
    return f"{middle:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


def written(lines: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
