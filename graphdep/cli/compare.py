"""``graphdep compare``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphdep.cli import options as o
from graphdep.cli.output import print_json

_SIDE = "Runs' folders or predictions.csv files, separated by commas, or a pattern in quotes."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDE, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The same for the other system.", show_default=False)],
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="One metric. [default: all of the task's]")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Task of predictions without a result.json, e.g. sick-e.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, metavar="N", help="Resamples of each test.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resamples.")] = 0,
    json: o.Json = False,
) -> None:
    """Test whether two systems differ: paired bootstrap and approximate randomisation over the test examples.

    Several runs of a system, such as its seeds, count with their mean score.

    Examples:
        graphdep compare runs/.../sick-e_dt_seed0_1a2b runs/.../sick-e_transformer_seed0_3c4d

        graphdep compare "runs/table3/sick-e_dt_seed*" "runs/table3/sick-e_transformer_seed*"
    """
    from graphdep.training.table.comparison import compare_runs

    summary = compare_runs(a, b, metric=metric, task=task, samples=samples, seed=seed)
    if json:
        print_json(summary)
    else:
        _print(summary)


def _print(summary: dict[str, Any]) -> None:
    table = Table(
        *("metric", "A", "B", "A - B", "95% interval", "p boot", "p rand", "p seeds"),
        box=SIMPLE,  # fits a terminal of 80 columns
        title=f"{summary['task']}, {summary['n']} examples, {summary['samples']} resamples",
    )
    for name, row in summary["metrics"].items():
        low, high = row["interval"]
        scores = (f"{row['score_a']:.4f}", f"{row['score_b']:.4f}", f"{row['difference']:+.4f}")
        ps = (
            "-" if p is None else f"{p:.3g}"
            for p in (row["p_bootstrap"], row["p_randomisation"], row["p_seeds"])
        )
        table.add_row(name, *scores, f"{low:+.3f} {high:+.3f}", *ps)
    console = Console()
    console.print(table)
    for line in _notes(summary):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _notes(summary: dict[str, Any]) -> list[str]:
    lines, counts = [], [len(summary[side]["runs"]) for side in "ab"]
    for side, count in zip("ab", counts):
        models = ", ".join(summary[side]["models"]) or "unknown model"
        runs = "1 run" if count == 1 else f"mean of {count} runs"
        lines.append(f"{side.upper()}: {models}, {runs}: {', '.join(summary[side]['runs'])}")
    if max(counts) == 1:
        seeds = "the spread over seeds is not in it, unless several runs of each are given"
    else:
        seeds = "p seeds is the chance by the choice of the seeds alone (Welch's t-test over the runs)"
    lines.append(
        "p (boot: paired bootstrap; rand: approximate randomisation) is the chance of a difference at "
        "least this large, by the choice of the test examples alone, if A "
        f"and B were equally good; {seeds}."
    )
    if counts[0] != counts[1]:
        lines.append("No randomisation test: it swaps A's runs with B's and needs as many of each.")
    return lines
