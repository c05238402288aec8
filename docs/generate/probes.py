"""What edges can read, by examples/results/probes.csv, and those of constituents by probes-projective.csv."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "examples" / "results"
PHRASES = ("constituents", "same-constituent")
LAYERS, ENOUGH = "2", 0.9
# A preset and the row of the probes that has its edges.
ROWS = {name: name for name in ("transformer", "dra", "sia", "gate", "lisa", "dam", "g2g", "dt")}
ROWS |= {"tree": "neighbours", **{name: name for name in PHRASES}}


@cache
def measured() -> dict[str, dict[str, float]]:
    """Accuracy with two layers, by row and function of the tree."""
    found: dict[str, dict[str, float]] = {}
    for name in ("probes.csv", "probes-projective.csv"):
        with (RESULTS / name).open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                row, other = line["edges"], name != "probes.csv"
                if line["layers"] == LAYERS and (row in PHRASES) == other:
                    found.setdefault(row, {})[line["function"]] = float(line["measured"])
    return found


def reads(preset: str) -> str:
    """The functions of the tree that a preset reads in nine of ten words; empty where it was not tried."""
    if preset not in ROWS:
        return ""
    right = [name for name, score in measured()[ROWS[preset]].items() if score >= ENOUGH]
    return ", ".join(right) or "none of the functions"
