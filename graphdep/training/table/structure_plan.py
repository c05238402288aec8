"""How many examples and epochs fit into the time that there is."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from graphdep.io import atomic_path
from graphdep.io.files import temporary_folder
from graphdep.training.family.by_task import family_of, load_splits
from graphdep.training.family.structure_rows import StructureRows
from graphdep.training.family.train_config import TrainConfig
from graphdep.training.runner.run import train

PLAN = "plan.json"
# Examples of the trial, the fewest that a model is trained on where there are as many, the most epochs where
# none are given, and the fewest examples of a split that anything is concluded from.
_TRIAL, _FEWEST, _EPOCHS, _LEAST = 200, 100, 10, 10


@dataclass(frozen=True)
class Plan:
    """What fits into the time.

    Args:
        limit_train: Examples to train on, at most; :obj:`None` for all.
        there: Examples that there are.
        max_epochs: Epochs, at most.
        val_every: Epochs between validations.
        minutes: The estimate for all runs.
    """

    limit_train: int | None
    there: int
    max_epochs: int
    val_every: int
    minutes: float

    @property
    def settings(self) -> dict[str, Any]:
        names = ("limit_train", "max_epochs", "val_every")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True)
class _Cost:
    """Seconds of a run: to train on an example, to score validation and test split, and what of it is
    validation.
    """

    trained: float
    scored: float
    validation: float

    def run(self, count: int, epochs: int, validations: int) -> float:
        return epochs * count * self.trained + validations * self.validation + self.scored


def plan_runs(
    task: str,
    rows: StructureRows,
    folder: Path,
    settings: Mapping[str, Any],
    seeds: int,
    minutes: float,
    console: Console,
    bound: float | None = None,
) -> Plan:
    """What was planned in this folder before, or what a trial says that fits: as many epochs as are given, or
    as the model has, ten at most; a few validations, three at least, unless settings say otherwise, since of
    few examples they take longer than training; and as many examples as there is time for.

    Raises:
        ValueError: If the time is too short, there are fewer than ten examples to train on or to test, or the
            folder has a plan of other settings.
    """
    path = folder / PLAN
    asked = {"task": task, "rows": list(rows.rows), "seeds": seeds, "minutes": minutes, "settings": settings}
    asked |= {"bound": bound, "files": _digests(settings)}
    asked = json.loads(json.dumps(asked, default=str))
    if path.exists():
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
            same, planned = before["asked"] == asked, Plan(**before["plan"])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is damaged: take another folder (--output), or delete it") from None
        if not same:
            raise ValueError(
                f"{path} is of another call, or of files that have changed: take another folder (--output)"
            )
        return planned
    config = TrainConfig.of(rows.trees, **{**settings, "task": task})
    if "test" not in config.splits:
        advice = family_of(task).missing_split(config, "test")
        raise ValueError(f"rows are compared on a test split, which {task!r} has none of here{advice}")
    start = time.monotonic()
    console.print("parsing, and a trial of two rows", markup=False)
    splits = load_splits(config)
    there, tested = len(splits["train"]), len(splits["test"])
    for count, what in ((there, "are trained on"), (tested, "are compared on")):
        if count < _LEAST:
            raise ValueError(f"rows {what} {_LEAST} examples at least ({task!r} has {count})")
    costs = [_trial(task, name, settings, min(there, _TRIAL)) for name in (rows.plain, rows.trees)]
    left = 60 * minutes - (time.monotonic() - start)
    epochs = config.max_epochs if "max_epochs" in settings else min(config.max_epochs, _EPOCHS)
    val_every = config.val_every if "val_every" in settings else _val_every(epochs)
    lengths = (epochs, epochs // val_every)
    least = min(there, _FEWEST)
    count = max(least, min(there, _fits(costs, rows, seeds, lengths, left)))
    needed = _all(costs, rows, seeds, lengths, count) / 60
    if 60 * needed > left and count == least:
        whole = math.ceil(needed + minutes - left / 60)
        raise ValueError(
            f"'minutes' is too short: {least} examples take about {whole} minutes (got {minutes:g}): more "
            "--minutes, or fewer --seeds or --epochs"
        )
    plan = Plan(None if count == there else count, there, epochs, val_every, round(needed, 1))
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps({"asked": asked, "plan": vars(plan)}, indent=1), encoding="utf-8")
    console.print(
        f"{len(rows.rows)} rows, {seeds} seeds, {epochs} epochs, {count:,} of {there:,} examples to train "
        f"on: about {needed:.0f} minutes",
        markup=False,
    )
    return plan


def _val_every(epochs: int) -> int:
    """Epochs between validations, of which there are three where there can be, one after the last epoch."""
    fitting = (every for every in range(1, epochs // 3 + 1) if epochs % every == 0)
    return max(fitting, default=1)


def _digests(settings: Mapping[str, Any]) -> dict[str, str]:
    """Of the user's own files, by what they are for."""
    paths = {name: Path(str(settings[name])) for name in ("train", "val", "test") if settings.get(name)}
    found = {name: path for name, path in paths.items() if path.is_file()}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in found.items()}


def _fits(
    costs: list[_Cost], rows: StructureRows, seeds: int, lengths: tuple[int, int], seconds: float
) -> int:
    """The most examples whose runs take no longer."""
    fixed = _all(costs, rows, seeds, lengths, 0)
    each = _all(costs, rows, seeds, lengths, 1) - fixed
    return math.floor((seconds - fixed) / max(each, 1e-9))


def _all(costs: list[_Cost], rows: StructureRows, seeds: int, lengths: tuple[int, int], count: int) -> float:
    """Seconds of all runs of so many epochs and validations: two rows read trees."""
    plain, trees = (cost.run(count, *lengths) for cost in costs)
    return seeds * ((len(rows.rows) - 2) * plain + 2 * trees)


def _trial(task: str, model: str, settings: Mapping[str, Any], count: int) -> _Cost:
    """A run of one epoch on a few examples."""
    config = TrainConfig.of(
        model, **{**settings, "task": task, "limit_train": count, "max_epochs": 1, "val_every": 1}
    )
    splits = load_splits(config)
    with temporary_folder("graphdep-trial") as folder:
        start = time.monotonic()
        result = train(config, folder, splits=splits, title=f"trial of {model}")
        took = time.monotonic() - start
    scored = max(0.0, took - result["seconds_per_epoch"])
    validation = len(splits["val"]) / (len(splits["val"]) + len(splits["test"]))
    return _Cost(result["seconds_per_epoch"] / count, scored, scored * validation)
