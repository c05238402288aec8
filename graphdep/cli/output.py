"""What commands print."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table


def say_loading() -> None:
    """A sign of life in a terminal before PyTorch is imported: seconds, on a busy machine a minute."""
    if sys.stderr.isatty():
        print("graphdep: loading ...", file=sys.stderr, flush=True)


def print_json(value: dict[str, Any]) -> None:
    """One object, and nothing else, on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def print_scores(result: dict[str, Any]) -> None:
    """A run's scores for people."""
    table = Table(
        "metric", "score", "no skill", title=f"{result['model']} on {result['task']}, seed {result['seed']}"
    )
    for name, value in result["metrics"].items():
        floor = result["floor"].get(name)
        table.add_row(name, f"{value:.4f}", "" if floor is None else f"{floor:.4f}")
    console = Console()
    console.print(table)
    if "epochs" in result:
        seconds = f"{result['seconds_per_epoch']:.1f} s an epoch"
        console.print(f"{result['epochs']} epochs, the best was {result['best_epoch']}; {seconds}")
    console.print(f"{result['parameters']:,} parameters; checkpoint: {result['checkpoint']}", soft_wrap=True)
