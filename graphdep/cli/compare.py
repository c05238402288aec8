"""``graphdep compare``."""

from __future__ import annotations

import glob
import json as jsonlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphdep.cli import options as o
from graphdep.cli.output import print_json

if TYPE_CHECKING:
    from graphdep.metrics import Metric

_SIDE = "Runs' folders or predictions.csv files, separated by commas, or a pattern in quotes."
_SHARED = ("n", "samples")  # the same for all metrics
# What metrics of labels take; others take any number.
_LABELS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "accuracy": ("whole numbers", lambda values: values == np.rint(values)),
    "f1": ("0 and 1", lambda values: np.isin(values, (0, 1))),
}


@dataclass(frozen=True)
class Run:
    """What a run predicted; task and model are unknown where there is no result.json."""

    path: Path
    target: np.ndarray
    prediction: np.ndarray
    task: str | None
    model: str | None


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
    from graphdep.metrics import compare as test
    from graphdep.training.family.lookup import resolve_task

    sides = [[_read(path) for path in _files(side)] for side in (a, b)]
    runs = [run for side in sides for run in side]
    _check_once(runs)
    name = _task_of(runs, task)
    metrics = _choose(resolve_task(name).metrics, metric, name)
    _check_same_examples(runs)
    _check_labels(runs, [m.name for m in metrics])
    first, second = (np.stack([run.prediction for run in side]) for side in sides)
    rows = [asdict(test(m, runs[0].target, first, second, samples=samples, seed=seed)) for m in metrics]
    summary: dict[str, Any] = {
        "task": name,
        "a": _describe(sides[0]),
        "b": _describe(sides[1]),
        "n": len(runs[0].target),
        "samples": samples,
        "seed": seed,
        "metrics": {row.pop("metric"): {k: v for k, v in row.items() if k not in _SHARED} for row in rows},
        "signature": [m.signature for m in metrics],
    }
    if json:
        print_json(summary)
    else:
        _print(summary)


def _files(side: str) -> list[Path]:
    """The predictions files that a side names."""
    texts = [side] if Path(side).exists() else [text.strip() for text in side.split(",")]
    paths: list[Path] = []
    for text in texts:
        found = [text] if text and Path(text).exists() else sorted(glob.glob(text))
        if not found:
            kind = "nothing matches" if glob.has_magic(text) else "no folder or file"
            raise ValueError(f"{kind} {text!r}")
        paths += map(Path, found)
    return [_predictions_in(path) if path.is_dir() else path for path in paths]


def _predictions_in(folder: Path) -> Path:
    from graphdep.training.runner.predictions import PREDICTIONS

    path = folder / PREDICTIONS
    if not path.exists():
        raise ValueError(
            f"{folder}: no {PREDICTIONS}; the run is not finished or is from an older version: train it again"
        )
    return path


def _read(path: Path) -> Run:
    from graphdep.training.runner.predictions import read_predictions

    target, prediction = read_predictions(path)
    beside = path.with_name("result.json")
    if not beside.exists():
        return Run(path, target, prediction, None, None)
    try:
        result = jsonlib.loads(beside.read_text(encoding="utf-8"))
        run = Run(path, target, prediction, str(result["task"]), str(result["model"]))
        examples = result.get("data", {}).get("examples", {}).get("test")  # older runs do not have it
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{beside}: damaged, or not the result of a run ({error!r})") from None
    if examples not in (None, len(target)):
        raise ValueError(f"{path} has {len(target)} examples, but the test split of {beside} has {examples}")
    return run


def _check_once(runs: list[Run]) -> None:
    seen: set[Path] = set()
    for run in runs:
        if run.path.resolve() in seen:
            raise ValueError(f"{run.path} is given twice")
        seen.add(run.path.resolve())


def _task_of(runs: list[Run], given: str | None) -> str:
    """The one task of all runs."""
    name, source = given, "--task"
    for run in runs:
        if run.task is not None and name is not None and run.task != name:
            raise ValueError(f"different tasks: {name!r} ({source}) and {run.task!r} ({run.path})")
        if name is None and run.task is not None:
            name, source = run.task, str(run.path)
    unknown = [run.path for run in runs if run.task is None]
    if unknown and given is None:
        raise ValueError(f"{unknown[0]}: no result.json beside it; name the task with --task")
    assert name is not None
    return name


def _choose(metrics: tuple[Metric, ...], name: str | None, task: str) -> list[Metric]:
    chosen = [metric for metric in metrics if name in (None, metric.name)]
    if not chosen:
        names = ", ".join(metric.name for metric in metrics)
        raise ValueError(f"no metric {name!r} of {task}; choose one of {names}")
    return chosen


def _check_same_examples(runs: list[Run]) -> None:
    first = runs[0]
    for run in runs[1:]:
        sizes = len(run.target), len(first.target)
        if sizes[0] != sizes[1]:
            raise ValueError(f"{run.path} has {sizes[0]} examples, but {first.path} has {sizes[1]}")
        (different,) = np.nonzero(run.target != first.target)
        if different.size:
            i = different[0]
            raise ValueError(
                f"{run.path}: example {i} has the target {run.target[i]}, but in {first.path} it is "
                f"{first.target[i]}: these are not the same examples"
            )


def _check_labels(runs: list[Run], names: list[str]) -> None:
    """Finds what scikit-learn would refuse without the name of the file."""
    columns = [(run.path, name, getattr(run, name)) for run in runs for name in ("target", "prediction")]
    for metric in filter(_LABELS.get, names):
        labels, allowed = _LABELS[metric]
        for path, name, values in columns:
            (wrong,) = np.nonzero(~allowed(values))
            if wrong.size:
                raise ValueError(
                    f"{path}: example {wrong[0]} has the {name} {values[wrong[0]]}, but {metric} is for the "
                    f"labels {labels}"
                )


def _describe(side: list[Run]) -> dict[str, Any]:
    models = sorted({run.model for run in side if run.model is not None})
    return {"models": models, "runs": [str(run.path) for run in side]}


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
