"""What commands print."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.table import Table

from graphdep.io.process import plain_console


def say_loading() -> None:
    """A sign of life in a terminal before PyTorch is imported: seconds, on a busy machine a minute."""
    if sys.stderr.isatty():
        print("graphdep: loading ...", file=sys.stderr, flush=True)


def print_json(value: dict[str, Any]) -> None:
    """One object, and nothing else, on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def print_scores(result: dict[str, Any], told: str = "") -> None:
    """A run's scores for people, and what exactly each metric is, or where that is told."""
    from graphdep.tasks import family_of
    from graphdep.training.floors import below_floor, untrained
    from graphdep.training.task import legend

    floors = family_of(result["task"]).split_floors(result["floor"])
    floors |= {"encoder, not trained": result.get("floor_frozen", {})}
    beside = {"score": result["metrics"], **floors, "references": result["reference"]}
    shown = {title: scores for title, scores in beside.items() if scores}
    table = Table(
        "metric",
        *shown,
        title=f"{result.get('label', result['model'])} on {result['task']}, seed {result['seed']}",
    )
    for name in result["metrics"]:
        cells = [scores.get(name) for scores in shown.values()]
        table.add_row(name, *("" if value is None else f"{value:.4f}" for value in cells))
    console = plain_console()
    console.print(table)
    for line in [f"what the metrics are: {told}"] if told else legend(result["signature"]):
        console.print(line, style="dim", soft_wrap=True)
    for note in result.get("data", {}).get("notes", ()):
        console.print(note, soft_wrap=True)
    if "epochs" in result:
        seconds = f"{result['seconds_per_epoch']:.1f} s an epoch"
        if "seconds_per_validation" in result:
            seconds += f" and {result['seconds_per_validation']:.1f} s its validation"
        epochs = "1 epoch" if result["epochs"] == 1 else f"{result['epochs']} epochs"
        stopped = f"; {result['stopped']}" if result.get("stopped") else ""
        console.print(f"{epochs}, the best was {result['best_epoch']}; {seconds}{stopped}", soft_wrap=True)
    if said := below_floor(result["task"], result["metrics"], result["floor"]):
        console.print(f"WARNING: {said}", soft_wrap=True)
    if said := untrained(result["task"], result["metrics"], result.get("floor_frozen", {})):
        console.print(f"UNTRAINED: {said}", soft_wrap=True)
    console.print(f"{result['parameters']:,} parameters; checkpoint: {result['checkpoint']}", soft_wrap=True)
