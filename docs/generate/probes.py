"""What edges can read, by probes.csv of the results, and those of constituents by probes-projective.csv."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "examples" / "research" / "results"
PHRASES = ("constituents", "same-constituent")
LAYERS, ENOUGH = "2", 0.9
# A preset and the row of the probes that has its edges.
ROWS = {name: name for name in ("transformer", "dra", "sia", "gate", "lisa", "dam", "g2g", "dt")}
ROWS |= {"tree": "neighbours", **{name: name for name in PHRASES}}


@cache
def measured() -> dict[str, dict[str, float]]:
    """Accuracy with two layers, by row and function of the tree."""
    found: dict[str, dict[str, float]] = {}
    phrases = (line for line in _lines("probes-projective.csv") if line["edges"] in PHRASES)
    for line in (*_lines("probes.csv"), *phrases):
        if line["layers"] == LAYERS:
            found.setdefault(line["edges"], {})[line["function"]] = float(line["measured"])
    return found


def _lines(name: str) -> list[dict[str, str]]:
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def reads(preset: str) -> str:
    """The functions of the tree that a preset reads in nine of ten words; empty where it was not tried."""
    if preset not in ROWS:
        return ""
    right = [name for name, score in measured()[ROWS[preset]].items() if score >= ENOUGH]
    return ", ".join(right) or "none of the functions"
