"""Whether two systems differ: their runs on the same test examples, compared by every metric of the task."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphdep.metrics import ACCURACY, F1, Metric, compare
from graphdep.metrics.significance import check_bound
from graphdep.training.family.by_task import family_of
from graphdep.training.family.lookup import resolve_task
from graphdep.training.runner.predictions import (
    PREDICTIONS,
    Predictions,
    read_predictions,
    shared_groups,
)

Side = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_SHARED = ("n", "units", "samples", "over", "paired")  # the same for all metrics
# What scikit-learn's metrics of labels take; others take any number, whatever their name is.
_LABELS: dict[Callable, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    ACCURACY.compute: ("whole numbers", lambda values: values == np.rint(values)),
    F1.compute: ("0 and 1", lambda values: np.isin(values, (0, 1))),
}


@dataclass(frozen=True)
class Run:
    """What a run predicted; task, model and seed are unknown where there is no result.json."""

    path: Path
    predictions: Predictions
    task: str | None
    model: str | None
    seed: int | None
    settings: str | None = None
    """All settings, the seed among them, and edges of one's own: runs that have the same ones are one run."""

    @property
    def target(self) -> np.ndarray:
        return self.predictions.target

    @property
    def prediction(self) -> np.ndarray:
        return self.predictions.prediction


def compare_runs(
    a: Side,
    b: Side,
    *,
    metric: str | None = None,
    task: str | None = None,
    bound: float | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """The differences between two systems, each with an interval over seeds and test examples.

    Several runs of a system, such as its seeds, count with their mean score. They are paired by their seeds
    where both sides have the same ones; where the seeds are known to be others, they are not paired; where
    nothing is known, in their order if there are as many of each (:func:`graphdep.metrics.compare`).

    Args:
        a, b: A run's folder or predictions.csv file, several of them, or as text what the command takes:
            names separated by commas, or a pattern.
        metric: One metric. (default: all of the task's)
        task: Task of predictions without a result.json. (default: that of the results)
        bound: The smallest effect of interest, in units of the metric, for the verdict. (default:
            :obj:`None`, no equivalence is asked for)
        samples: Resamples. (default: :obj:`10000`)
        seed: Seed of the resamples. (default: :obj:`0`)

    Returns:
        Plain values: ``task``, ``a`` and ``b`` (models and runs), ``n`` examples, ``units`` that were drawn
        and ``drawn``, what they are, ``samples``, ``over`` and ``paired`` as of
        :class:`~graphdep.metrics.Comparison`, ``seed``, ``bound``, ``differing`` (the settings that the two
        do not share, the seed aside: the values of each), for each of ``metrics`` all else of a comparison
        and its ``verdict``, and their ``signature``.

    Raises:
        ValueError: If a name matches nothing, a run is there twice, runs of a system have one seed and other
            settings, or the runs are not of the same task and examples; the message names the file.
    """
    if bound is not None:
        check_bound(bound)
    sides = [[_read(path) for path in _files(side)] for side in (a, b)]
    runs = [run for side in sides for run in side]
    _check_once(runs)
    for side in sides:
        _check_one_system(side)
    name = _task_of(runs, task)
    metrics = _choose(resolve_task(name).metrics, metric, name)
    _check_same_examples(runs)
    _check_labels(runs, metrics)
    if len(runs[0].target) < 2:
        raise ValueError(f"{runs[0].path}: one example is too few to compare on: it needs two at least")
    sides, paired = _pair(sides)
    groups = shared_groups([run.predictions for run in runs])
    first, second = (np.stack([run.prediction for run in side]) for side in sides)
    given: dict[str, Any] = {"samples": samples, "seed": seed, "groups": groups, "paired": paired}
    found = [compare(m, runs[0].target, first, second, **given) for m in metrics]
    family = family_of(name)
    drawn = family.compared(name) if found[0].units == found[0].n else family.grouped(name)
    rows = [asdict(row) | {"verdict": row.verdict(bound)} for row in found]
    return {
        "task": name,
        "a": _describe(sides[0]),
        "b": _describe(sides[1]),
        **{key: getattr(found[0], key) for key in _SHARED},
        "drawn": drawn,
        "seed": seed,
        "bound": bound,
        "differing": _differing(sides),
        "metrics": {row.pop("metric"): {k: v for k, v in row.items() if k not in _SHARED} for row in rows},
        "signature": [m.signature for m in metrics],
    }


def _files(side: Side) -> list[Path]:
    """The predictions files that a side names."""
    if not isinstance(side, str):
        given = [side] if isinstance(side, os.PathLike) else side
        return [path for one in given for path in _files_of([os.fspath(one)])]
    return _files_of(_texts(side))


def _texts(side: str) -> list[str]:
    return [side] if Path(side).exists() else [text.strip() for text in side.split(",")]


def _files_of(texts: Sequence[str]) -> list[Path]:
    paths: list[Path] = []
    for text in texts:
        found = [text] if text and Path(text).exists() else sorted(glob.glob(text))
        if not found:
            kind = "nothing matches" if glob.has_magic(text) else "no folder or file"
            raise ValueError(f"{kind} {text!r}")
        paths += map(Path, found)
    return [_predictions_in(path) if path.is_dir() else path for path in paths]


def _predictions_in(folder: Path) -> Path:
    path = folder / PREDICTIONS
    if not path.exists():
        raise ValueError(f"{folder}: no {PREDICTIONS}; the run is not finished")
    return path


def _read(path: Path) -> Run:
    predictions = read_predictions(path)
    beside = path.with_name("result.json")
    if not beside.exists():
        return Run(path, predictions, None, None, None)
    try:
        result = json.loads(beside.read_text(encoding="utf-8"))
        names, settings = (str(result["task"]), str(result["model"])), [result["config"], result["own_edges"]]
        run = Run(path, predictions, *names, int(result["seed"]), json.dumps(settings, sort_keys=True))
        compared, examples = result["compared"], result["predictions"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{beside}: damaged, or not the result of a run ({error!r})") from None
    if examples != len(run.target):
        raise ValueError(
            f"{path} has {len(run.target)} examples, but the {compared} split of {beside} has {examples}"
        )
    return run


def _pair(sides: list[list[Run]]) -> tuple[list[list[Run]], bool | None]:
    """The runs of both sides in the order of their seeds, and whether they are paired; where seeds are not
    known, as they are and :obj:`None`.
    """
    seeds = [[run.seed for run in side] for side in sides]
    if None in seeds[0] + seeds[1]:
        return sides, None
    ordered = [sorted(side, key=lambda run: run.seed or 0) for side in sides]
    same = sorted(map(str, seeds[0])) == sorted(map(str, seeds[1]))
    return ordered, same and len(set(seeds[0])) == len(seeds[0])


def _check_once(runs: list[Run]) -> None:
    seen: dict[Path | str, Path] = {}
    for run in runs:
        path = run.path.resolve()
        if path in seen:
            raise ValueError(f"{run.path} is given twice")
        if run.settings is not None and run.settings in seen:
            raise ValueError(
                f"{run.path} and {seen[run.settings]} are one run: the same settings and the same seed "
                f"({run.seed})"
            )
        seen[path] = run.path
        if run.settings is not None:
            seen[run.settings] = run.path


def _check_one_system(side: list[Run]) -> None:
    """Raises :class:`ValueError` where runs of one seed have other settings: these are no seeds."""
    seen: dict[int, Run] = {}
    for run in side:
        if run.settings is None or run.seed is None:
            continue
        if (other := seen.setdefault(run.seed, run)) is not run:
            names = ", ".join(_differing([[other], [run]])) or "edges of one's own"
            raise ValueError(
                f"{run.path} and {other.path} have one seed ({run.seed}) and other settings ({names}): they "
                "are not runs of one system"
            )


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


def _check_labels(runs: list[Run], metrics: list[Metric]) -> None:
    """Finds what scikit-learn would refuse without the name of the file."""
    columns = [(run.path, name, getattr(run, name)) for run in runs for name in ("target", "prediction")]
    for metric in (metric for metric in metrics if metric.compute in _LABELS):
        labels, allowed = _LABELS[metric.compute]
        for path, name, values in columns:
            (wrong,) = np.nonzero(~allowed(values))
            if wrong.size:
                raise ValueError(
                    f"{path}: example {wrong[0]} has the {name} {values[wrong[0]]}, but {metric.name} is for "
                    f"the labels {labels}"
                )


def _differing(sides: list[list[Run]]) -> dict[str, list[list[Any]]]:
    """The settings that the two sides, or the runs of one, do not share, by name: the values of each. Runs
    that do not say theirs are passed over.
    """
    configs = [[json.loads(run.settings)[0] for run in side if run.settings] for side in sides]
    if not all(configs):
        return {}
    found = {}
    for name in dict.fromkeys(name for side in configs for config in side for name in config):
        values = [_unique([config.get(name) for config in side]) for side in configs]
        if name != "seed" and (values[0] != values[1] or len(values[0]) > 1):
            found[name] = values
    return found


def _unique(values: list[Any]) -> list[Any]:
    """Each once, in their order; they need no hash."""
    return [value for place, value in enumerate(values) if value not in values[:place]]


def _describe(side: list[Run]) -> dict[str, Any]:
    models = sorted({run.model for run in side if run.model is not None})
    return {"models": models, "runs": [str(run.path) for run in side]}
