"""Several models over several seeds: runs that can be interrupted, and what comes of them."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from graphdep.io.limits import check_limit
from graphdep.metrics import Metric
from graphdep.metrics.significance import compare
from graphdep.training.family.loading import load_splits
from graphdep.training.family.lookup import family_of, resolve_task
from graphdep.training.family.splits import Splits
from graphdep.training.family.train_config import TrainConfig
from graphdep.training.runner.predictions import PREDICTIONS, read_predictions
from graphdep.training.runner.run import run_folder, train

# Resamples of the test between two rows; `graphdep compare` takes more.
SAMPLES = 2000


@dataclass(frozen=True)
class Row:
    """A model of an ablation: the results of its runs, and the errors of those that failed.

    Args:
        model: Name of the model.
        about: What it is.
        results: Results of :func:`graphdep.training.train`, a seed each.
        errors: Errors by seed.
    """

    model: str
    about: str
    results: list[dict[str, Any]]
    errors: dict[int, str]

    def summary(self, changed: Mapping[str, Any]) -> dict[str, Any]:
        """Plain values: per metric mean, standard deviation (of a sample; null for one run) and values."""
        names = self.results[0]["metrics"] if self.results else {}
        metrics = {name: spread([result["metrics"][name] for result in self.results]) for name in names}
        summary: dict[str, Any] = {
            "model": self.model,
            "label": " ".join([self.model, *(f"{key}={value}" for key, value in changed.items())]),
            "about": self.about + (", except for what its name adds" if changed else ""),
            "n": len(self.results),
            "seeds": [result["seed"] for result in self.results],
            "metrics": metrics,
        }
        for key in ("parameters", "epochs", "seconds_per_epoch"):
            values = [result[key] for result in self.results]
            summary[key] = statistics.fmean(values) if values else None
        summary["capped"] = sum(r["best_epoch"] == r["config"]["max_epochs"] for r in self.results)
        summary["checkpoints"] = [result["checkpoint"] for result in self.results]
        summary["failed"] = {str(seed): error for seed, error in self.errors.items()}
        return summary

    def against(self, reference: Row, metric: Metric) -> dict[str, Any] | None:
        """Whether the difference to another row may be chance, by the seeds that both have; :obj:`None`
        where there are none.
        """
        seeds = {result["seed"] for result in self.results} & {r["seed"] for r in reference.results}
        if not seeds or self is reference:
            return None
        target, mine = self._predictions(seeds)
        found = compare(metric, target, mine, reference._predictions(seeds)[1], samples=SAMPLES)
        return {"row": reference.model, **dataclasses.asdict(found), "interval": list(found.interval)}

    def _predictions(self, seeds: Container[int]) -> tuple[np.ndarray, np.ndarray]:
        """Targets ``[N]`` and predictions ``[runs, N]`` of the test split."""
        runs = [result for result in self.results if result["seed"] in seeds]
        read = [read_predictions(Path(run["checkpoint"]).with_name(PREDICTIONS)) for run in runs]
        return read[0][0], np.stack([prediction for _, prediction in read])


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation and values."""
    std = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "std": std, "values": list(values)}


def ablate(
    task: str,
    models: Sequence[str],
    seeds: Sequence[int],
    folder: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    reference: str | None = None,
    command: str = "",
    console: Console | None = None,
) -> dict[str, Any]:
    """Trains every model with every seed and sums up; finished runs are not repeated, interrupted ones go on.

    A run that fails does not lose the others: its error stands in the summary.

    Args:
        task: The task.
        models: Names of model presets.
        seeds: Seeds.
        folder: Every run gets a folder below it, named by everything that decides its result.
        settings: Settings of all runs over the models' own. (default: none)
        reference: The model that the others are tested against. (default: ``"transformer"`` if it is there,
            else the first)
        command: The command that makes this, for the report. (default: none)
        console: Where progress goes. (default: stderr)

    Returns:
        The summary, plain values.

    Raises:
        ValueError: If a name or a setting is wrong, a model or seed is there twice, or there is none.
    """
    _check("models", models)
    check_limit("seeds", max(1, len(seeds)))
    _check("seeds", seeds)
    reference = reference or ("transformer" if "transformer" in models else models[0])
    if reference not in models:
        raise ValueError(f"'reference' must be one of the models {', '.join(models)} (got {reference!r})")
    spec, own = resolve_task(task), TrainConfig.of_task(task)
    configs = {model: _configs(model, task, seeds, settings or {}) for model in models}
    if "test" not in configs[models[0]][0].splits:
        raise ValueError(f"an ablation compares scores on a test split, which {task!r} has none of here")
    # Rows may differ in their data, too: words and subwords. Graphs come first: they may need a package, and
    # that it is missing should be known before hours of parsing.
    data: dict[str, Splits] = {}
    for model in sorted(models, key=lambda model: getattr(configs[model][0], "arcs", "basic") == "basic"):
        same = (d for d in data.values() if d.settings == configs[model][0].data_settings())
        data[model] = next(same, None) or load_splits(configs[model][0])
    console = console or Console(stderr=True)
    rows = {model: Row(model, own.models[model].summary, [], {}) for model in models}
    total, done = len(models) * len(seeds), 0
    # An encoder is the same before each training: it is asked once for all runs that share its data.
    frozen: dict[int, dict[str, float]] = {}
    # A seed of every model first: an interrupted table is still a fair one.
    for number, seed in enumerate(seeds):
        for model in models:
            config, done = configs[model][number], done + 1
            title = f"[{done}/{total}] {model} seed {seed}"
            target = run_folder(config, data[model], folder)
            given: Any = {"splits": data[model], "title": title, "console": console}
            try:
                known = frozen.get(id(data[model]))
                result = train(config, target, resume=True, floor_frozen=known, **given)
                rows[model].results.append(result)
                if floor := result.get("floor_frozen"):  # runs of before have none
                    frozen.setdefault(id(data[model]), floor)
            except Exception as error:  # whatever one run dies of must not lose the others
                rows[model].errors[seed] = f"{type(error).__name__}: {error}"
                console.print(f"{title} failed: {error}", style="red", markup=False, soft_wrap=True)
    base = rows[reference]
    finished = [result for row in rows.values() for result in row.results]
    # All rows of a table stand on the encoder that is given; the notes name it.
    names = {*own.defining} - ({"encoder"} if configs[reference][0].pretrained else set())
    changed = {key: value for key, value in (settings or {}).items() if key in names}
    splits = data[models[0]]
    comparable = {m for m in models if family_of(task).comparable(data[m], data[reference])}
    described = splits.describe()
    published = family_of(task).published.get(task)
    other = (settings or {}).keys() & {*own.defining, *own.published_with}
    if published is not None and (other or described["examples"] != published.examples):
        published = None  # the paper's figures are of other models or other data
    return {
        "task": task,
        "title": spec.title,
        "command": command,
        "rows": [
            row.summary(changed)
            | {"against": row.against(base, spec.metrics[0]) if row.model in comparable else None}
            | {"data": data[row.model].describe()}
            for row in rows.values()
        ],
        "floor": finished[0]["floor"] if finished else {},
        "floor_frozen": next(iter(frozen.values()), {}),
        "reference": finished[0]["reference"] if finished else {},
        "signature": configs[models[0]][0].signatures(),
        "paper": None
        if published is None
        else {
            "source": published.source,
            "metric": published.metric,
            "split": published.split,
            # A preset may have other sizes than the paper's model of that name.
            "rows": {
                name: value
                for name, value in published.rows.items()
                if "encoder" in own.models[name].overrides  # of which the paper does not say these
                or not own.models[name].overrides.keys() & set(own.published_with)
            },
            "others": dict(published.others),
            "note": published.note,
        },
        "data": {"digest": splits.digest(), **described},
        "settings": dict(settings or {}),
        "encoders": sorted({c[0].encoder for c in configs.values() if c[0].pretrained}),
        "decoded": configs[models[0]][0].decoded(),
    }


def _configs(model: str, task: str, seeds: Sequence[int], settings: Mapping[str, Any]) -> list[TrainConfig]:
    try:
        return [TrainConfig.of(model, **{**settings, "task": task, "seed": seed}) for seed in seeds]
    except ValueError as error:
        raise ValueError(f"model {model!r}: {error}") from None


def _check(name: str, values: Sequence[object]) -> None:
    if not values or len(set(values)) != len(values):
        raise ValueError(f"'{name}' must name at least one, each once (got {list(values)})")
