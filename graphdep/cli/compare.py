"""``graphdep compare``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table

from graphdep.cli import options as o
from graphdep.cli.output import print_json
from graphdep.io.process import plain_console

_SIDE = "Runs' folders or predictions.csv files, separated by commas, or a pattern in quotes."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDE, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The same for the other system.", show_default=False)],
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="One metric. [default: all of the task's]")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Task of predictions without a result.json, e.g. sick-e.")
    ] = None,
    bound: o.Bound = None,
    samples: Annotated[int, typer.Option(min=2, metavar="N", help="Resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resamples.")] = 0,
    json: o.Json = False,
) -> None:
    """Say how much two systems differ, with an interval over seeds and test examples at once.

    Several runs of a system, such as its seeds, count with their mean score; runs of the same seeds are
    paired. The table has the smallest difference that would have been seen, and with --bound a verdict;
    --json has p values, too.

    Examples:
        graphdep compare runs/.../sick-e_dt_seed0_1a2b runs/.../sick-e_transformer_seed0_3c4d

        graphdep compare "runs/table3/sick-e_dt_seed*" "runs/table3/sick-e_transformer_seed*" --bound 0.01
    """
    if more:
        raise ValueError(
            f"two systems are compared (got {2 + len(more)} names, the third {more[0]!r}): put a pattern in "
            "quotes, and commas between the runs of a system"
        )
    from graphdep.training.table import compare_runs

    summary = compare_runs(a, b, metric=metric, task=task, bound=bound, samples=samples, seed=seed)
    if json:
        print_json(summary)
    else:
        _print(summary)


def _print(summary: dict[str, Any]) -> None:
    verdict = ["verdict"] if summary["bound"] is not None else []
    table = Table(
        *("metric", "A", "B", "A - B", "95% interval", "smallest\nvisible", *verdict),
        box=SIMPLE,  # fits a terminal of 80 columns
        title=f"{summary['task']}, {summary['n']} examples, {summary['samples']} resamples",
    )
    for name, row in summary["metrics"].items():
        low, high = row["interval"]
        scores = (f"{row['score_a']:.4f}", f"{row['score_b']:.4f}", f"{row['difference']:+.4f}")
        seen = f"{row['smallest_visible']:.4f}"
        table.add_row(name, *scores, f"{low:+.4f} {high:+.4f}", seen, *(row[key] for key in verdict))
    console = plain_console()
    console.print(table)
    for line in _notes(summary):
        console.print(line, soft_wrap=True)


def _notes(summary: dict[str, Any]) -> list[str]:
    from graphdep.metrics.significance import SAME_PREDICTIONS

    lines, counts = [], [len(summary[side]["runs"]) for side in "ab"]
    for side, count in zip("ab", counts):
        models = ", ".join(summary[side]["models"]) or "unknown model"
        runs = "1 run" if count == 1 else f"mean of {count} runs"
        lines.append(f"{side.upper()}: {models}, {runs}: {', '.join(summary[side]['runs'])}")
    if differing := [f"{name} {_values(values)}" for name, values in summary["differing"].items()]:
        lines.append(f"Settings that differ, A / B: {', '.join(differing)}.")
    lines.append(f"The interval is over {_over(summary, counts)}.")
    lines.append(
        "Smallest visible: the smallest true difference that comparisons of this size see in four cases of "
        "five."
    )
    if summary["bound"] is not None:
        lines.append(
            "Verdict: better or worse where the interval leaves out 0, else no effect larger than "
            f"{summary['bound']:g} where the 90% interval is inside of it."
        )
    if any(row["identical"] for row in summary["metrics"].values()):
        lines.append(f"{SAME_PREDICTIONS[0].upper()}{SAME_PREDICTIONS[1:]}.")
    return lines


def _values(sides: list[list[Any]]) -> str:
    """Of a setting: what both sides have."""
    return " / ".join(" and ".join(map(str, values)) for values in sides)


def _over(summary: dict[str, Any], counts: list[int]) -> str:
    drawn = f"the {summary['units']} {summary['drawn']}"
    if max(counts) == 1:
        return f"{drawn}, and not over seeds, unless several runs of each are given"
    if min(counts) == 1:
        which = "AB"[counts[0] == 1]
        return f"the seeds of {which} and {drawn}; the other side has one run, which is taken as it is"
    pairs = "which are paired" if summary["paired"] else "which are not paired"
    return f"seeds, {pairs}, and {drawn}"
