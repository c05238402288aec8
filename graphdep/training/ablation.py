"""Ablations: several models over several seeds, in runs that can be interrupted."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from graphdep.io.console import plain_console
from graphdep.io.files import LAST, placed
from graphdep.io.limits import check_choice, check_limit
from graphdep.metrics.metric import Metric
from graphdep.metrics.significance import check_bound, compare
from graphdep.training.config import TrainConfig, resolve_model
from graphdep.training.evaluation import (
    PREDICTIONS,
    check_same_examples,
    read_predictions,
    shared_groups,
)
from graphdep.training.family import load_splits
from graphdep.training.rows import row_settings
from graphdep.training.run import folder_lock, run_folder, run_on_other_edges, train
from graphdep.training.splits import Splits
from graphdep.training.task import family_of, resolve_task
from graphdep.training.trainer import Processes

# Resamples of the test split for each comparison of two rows; `graphdep compare` takes more.
SAMPLES = 2000


@dataclass(frozen=True)
class Row:
    """A row of an ablation: the results of its runs, and the errors of those that failed.

    Args:
        name: Its name: the model, and the edges if these differ between rows.
        label: Its name in the table, without what all rows share.
        model: Name of the model.
        about: Description of the model.
        results: Results of :func:`graphdep.training.train`, a seed each.
        errors: Errors by seed.
    """

    name: str
    label: str
    model: str
    about: str
    results: list[dict[str, Any]]
    errors: dict[int, str]

    def summary(self) -> dict[str, Any]:
        """The row as plain values; each metric as mean, sample standard deviation (:obj:`None` for one run)
        and values.
        """
        names = self.results[0]["metrics"] if self.results else {}
        metrics = {name: mean_and_std([result["metrics"][name] for result in self.results]) for name in names}
        summary: dict[str, Any] = {
            "name": self.name,
            "label": self.label,
            "model": self.model,
            "about": self.about,
            "n": len(self.results),
            "seeds": [result["seed"] for result in self.results],
            "metrics": metrics,
        }
        for key in ("parameters", "epochs", "seconds_per_epoch"):
            values = [result[key] for result in self.results]
            summary[key] = statistics.fmean(values) if values else None
        # The scores of counting depend on the row's trees.
        summary["floor"] = self.results[0]["floor"] if self.results else {}
        summary["floor_frozen"] = self.results[0]["floor_frozen"] if self.results else {}
        summary["capped"] = sum(capped(result) for result in self.results)
        summary["checkpoints"] = [result["checkpoint"] for result in self.results]
        summary["failed"] = {str(seed): error for seed, error in self.errors.items()}
        return summary

    def against(self, reference: Row, metric: Metric, bound: float | None = None) -> dict[str, Any] | None:
        """The paired difference to another row over the seeds that both have; :obj:`None` if there is no such
        seed, or a single group of examples.
        """
        seeds = {result["seed"] for result in self.results} & {r["seed"] for r in reference.results}
        if not seeds or self is reference:
            return None
        paths = [row._paths(seeds) for row in (self, reference)]
        mine, other = ([read_predictions(path) for path in row] for row in paths)
        check_same_examples([*paths[0], *paths[1]], [*mine, *other])
        target, groups = mine[0].target, shared_groups([*mine, *other])
        if np.unique(np.arange(len(target)) if groups is None else groups).size < 2:
            return None
        runs = (np.stack([run.prediction for run in row]) for row in (mine, other))
        found = compare(metric, target, *runs, samples=SAMPLES, groups=groups)
        verdict = {"interval": list(found.interval), "bound": bound, "verdict": found.verdict(bound)}
        return {"row": reference.name, **dataclasses.asdict(found), **verdict}

    def _paths(self, seeds: Container[int]) -> list[Path]:
        """The files of predictions, in the order of the seeds."""
        runs = sorted(self.results, key=lambda result: result["seed"])
        return [Path(run["checkpoint"]).with_name(PREDICTIONS) for run in runs if run["seed"] in seeds]


def mean_and_std(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation and values."""
    std = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "std": std, "values": list(values)}


def ablate(
    task: str,
    models: Sequence[str],
    seeds: Sequence[int],
    folder: Path,
    *,
    edges: Sequence[str] = (),
    rows: Mapping[str, Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
    reference: str | None = None,
    bound: float | None = None,
    command: str = "",
    console: Console | None = None,
    logger: str = "none",
    log_every: int | None = None,
    devices: int = 1,
    nodes: int = 1,
    strategy: str = "auto",
) -> dict[str, Any]:
    """Trains every model with every seed and summarizes the results. Finished runs are reused, interrupted
    runs resumed.

    If a run fails, the others continue and the summary has its error. Rows are compared on the test split, or
    on the validation split if there is no test split.

    Args:
        task: The task.
        models: Names of model presets, one per row.
        seeds: Seeds.
        folder: Folder of the runs, each in a subfolder whose name has a digest of its settings and data.
        edges: Names of edges, from the papers or your own (:func:`graphdep.transforms.register_edges`), one
            per row, for a single model. (default: none)
        rows: Your own rows instead of :obj:`models` and :obj:`edges`: name to settings, which include
            ``"model"``. (default: none)
        settings: Settings of all runs, which replace those of the models. A pretrained ``"encoder"`` applies
            only to models with a pretrained encoder, if there are any. (default: none)
        reference: The row (model or edges) that the others are compared with. (default: ``"transformer"`` if
            it is a row, else the first)
        bound: The smallest effect of interest, in units of the first metric, fixed before the runs; the table
            then has a verdict (:meth:`graphdep.metrics.Comparison.verdict`). (default: :obj:`None`)
        command: The command to state in the report. (default: none)
        console: Where progress is printed. (default: stderr)
        logger, log_every, devices, nodes, strategy: See :func:`~graphdep.training.train`.

    Returns:
        The summary as plain values.

    Raises:
        ValueError: If a name or a setting is invalid, models, edges or seeds are empty or repeated, edges are
            given with several models, the bound is not a number above 0, or another process makes a table in
            the folder.
    """
    given = dict(settings or {})
    if bound is not None:
        check_bound(bound)
    if rows is not None:
        _check_rows(rows, models, edges)
        models = [str(row["model"]) for row in rows.values()]
    else:
        _check("models", models)
    check_limit("seeds", max(1, len(seeds)))
    _check("seeds", seeds)
    if edges:
        _check("edges", edges)
        if len(models) > 1:
            raise ValueError(f"'edges' as rows need a single model, but 'models' are {', '.join(models)}")
        if "edges" in given:
            raise ValueError(f"'edges' are the rows and cannot be a setting, too (got {given['edges']!r})")
    keys = list(rows or edges or models)
    reference = reference or ("transformer" if "transformer" in keys else keys[0])
    check_choice("reference", reference, keys)
    spec, own = resolve_task(task), TrainConfig.of_task(task)
    own_settings: dict[str, dict[str, Any]] = {
        key: dict(rows[key]) if rows else {"model": models[0], "edges": key} if edges else {"model": key}
        for key in keys
    }
    settled = row_settings(task, own_settings, given)
    configs = {key: _configs(task, seeds, settled[key]) for key in keys}
    processes = Processes(devices, nodes, strategy)
    for of_row in configs.values():
        processes.check_config(of_row[0])
    with folder_lock(folder, "makes a table") if processes.first else contextlib.nullcontext():
        # Rows may differ in their data (words or word pieces). Enhanced graphs first: they may need a
        # package, and it should not turn out to be missing after hours of parsing.
        data: dict[str, Splits] = {}
        for key in sorted(keys, key=lambda key: getattr(configs[key][0], "arcs", "basic") == "basic"):
            same = (d for d in data.values() if d.settings == configs[key][0].data_settings())
            data[key] = next(same, None) or load_splits(configs[key][0])
        console = console or plain_console(stderr=True, quiet=not processes.first)
        table = {
            key: _own_row(key, configs[key][0], rows[key])
            if rows
            else _row(configs[key][0], by_edges=bool(edges))
            for key in keys
        }
        total, done = len(keys) * len(seeds), 0
        # The untrained encoder is the same in all runs that share its data: it is scored once.
        frozen: dict[int, dict[str, float]] = {}
        # One seed of every row first, so that the rows of an interrupted table are still comparable.
        for number, seed in enumerate(seeds):
            for key, row in table.items():
                config, done = configs[key][number], done + 1
                title = f"[{done}/{total}] {row.name} seed {seed}"
                target = run_folder(config, data[key], folder)
                if before := run_on_other_edges(config, target):
                    reason = "had other edges of your own (their code, options or output have changed)"
                    console.print(Text(f"{title} a new run: {before} {reason}"), soft_wrap=True)
                shared: Any = {"splits": data[key], "title": title, "console": console}
                shared |= {"logger": logger, "log_every": log_every}
                shared |= {"devices": devices, "nodes": nodes, "strategy": strategy}
                try:
                    known = frozen.get(id(data[key]))
                    result = train(config, target, resume=True, floor_frozen=known, **shared)
                    if processes.first:  # a run of a finished table is not continued
                        (target / LAST).unlink(missing_ok=True)
                    row.results.append(result)
                    if floor := result["floor_frozen"]:
                        frozen.setdefault(id(data[key]), floor)
                except Exception as error:  # an error of any kind must not stop the other runs
                    if processes.count > 1:  # the other processes would wait for this one
                        raise
                    row.errors[seed] = f"{type(error).__name__}: {error}"
                    console.print(Text(f"{title} failed: {error}", style="red"), soft_wrap=True)
    base = table[reference]
    finished = [result for row in table.values() for result in row.results]
    # All rows have the given encoder, which the notes name.
    named = any(config[0].pretrained for config in configs.values())
    names = {*own.with_mark("defines")} - ({"encoder"} if named else set())
    changed = [f"{name}={value}" for name, value in given.items() if name in names]
    splits = data[keys[0]]
    file = getattr(configs[reference][0], "train", None)  # of own files
    corpus = Path(file).name if file else spec.title
    comparable = {key for key in keys if family_of(task).task_class.comparable(data[key], data[reference])}
    described = splits.describe()
    # No paper has models with other settings or edges.
    ours = edges or any(row.keys() != {"model"} for row in (rows or {}).values())
    papers = [] if ours else _papers_beside(task, given, described["examples"])
    return {
        "task": task,
        "title": ", ".join(
            filter(None, [corpus, configs[reference][0].about_data, *models[: bool(edges)], *changed])
        ),
        "command": command,
        "rows_are": "row" if rows else "edges" if edges else "model",
        "rows": [
            row.summary()
            | {
                "against": row.against(base, configs[key][0].spec.metrics[0], bound)
                if key in comparable
                else None
            }
            | {"data": data[key].describe()}
            for key, row in table.items()
        ],
        "compared": splits.compared,
        "floor": finished[0]["floor"] if finished else {},
        "floor_frozen": next(iter(frozen.values()), {}),
        "reference": finished[0]["reference"] if finished else {},
        "signature": configs[keys[0]][0].signatures(),
        "papers": papers,
        "data": {"digest": splits.digest(), **described},
        "settings": given,
        "bound": bound,
        "encoders": sorted({c[0].encoder for c in configs.values() if c[0].pretrained}),
        "decoded": configs[keys[0]][0].decoded(),
    }


def _papers_beside(task: str, given: Mapping[str, Any], examples: Any) -> list[dict[str, Any]]:
    """Figures of the papers' tables that have these settings and sizes of the splits, as plain values."""
    own, papers = TrainConfig.of_task(task), family_of(task).published.get(task, ())
    names = {*own.with_mark("defines", "published")}.union(*(paper.settings for paper in papers))
    asked = {name: value for name, value in given.items() if name in names}
    found = []
    for paper in papers:
        if paper.settings == asked and paper.examples == examples:
            rows = {
                name: paper.figures(name)
                for name in paper.rows
                # Not presets of other sizes than the paper's model; for baselines papers give no sizes.
                if "encoder" in own.models[name].overrides
                or not own.models[name].overrides.keys() & {*own.with_mark("published")}
            }
            others = {name: paper.figures(name) for name in paper.others}
            found.append({"source": paper.source, "rows": rows, "others": others, "note": paper.note})
    return found


def _row(config: TrainConfig, *, by_edges: bool) -> Row:
    """A row without results yet."""
    edges, about = str(config.edges), _about(config)
    names = (f"{config.model} edges={edges}", edges) if by_edges else (config.model, config.model)
    return Row(*names, config.model, about, [], {})


def _own_row(name: str, config: TrainConfig, settings: Mapping[str, Any]) -> Row:
    """A row of the user's without results yet."""
    said = ", ".join(f"{key}={value}" for key, value in settings.items() if key != "model")
    about = _about(config, "" if name == config.model else f"{config.model}: ")
    return Row(name, name, config.model, about + (f", with {said}" if said else ""), [], {})


def _about(config: TrainConfig, model: str = "") -> str:
    """A description of the model, or of its edges if they are not those of its preset."""
    preset = resolve_model(config.model, config.models)
    if config.edges == preset.edges:
        return f"{model}{preset.summary}"
    return f"{config.model} that attends along `{config.own_edges().get('edges', config.edges)}`"


def _check_rows(rows: Mapping[str, Mapping[str, Any]], models: Sequence[str], edges: Sequence[str]) -> None:
    """Raises :class:`ValueError` unless there are different rows with a model each, and no other models."""
    if models or edges:
        raise ValueError(f"'rows' replace 'models' and 'edges' (got {[*models, *edges]})")
    _check("rows", [*rows])
    seen: dict[str, str] = {}
    for name, row in rows.items():
        if "model" not in row:
            raise ValueError(f"row {name!r} has no 'model' (got {dict(row)})")
        for key in ("task", "seed"):
            if key in row:
                raise ValueError(f"row {name!r}: {key!r} cannot differ between rows (got {row[key]!r})")
        same = seen.setdefault(repr(sorted(row.items())), name)
        if same != name:
            raise ValueError(f"row {name!r} has the same settings as row {same!r}")


def _configs(task: str, seeds: Sequence[int], settings: Mapping[str, Any]) -> list[TrainConfig]:
    with placed(f"model {settings['model']!r}"):
        configs = [TrainConfig.of(**{**settings, "task": task, "seed": seed}) for seed in seeds]
        configs[0].own_edges()  # edges that cannot be loaded or read should fail before hours of parsing
        family_of(configs[0].task).task_class.make_edges(configs[0])
    return configs


def _check(name: str, values: Sequence[object]) -> None:
    if not values or len(set(values)) != len(values):
        raise ValueError(f"'{name}' must name at least one, each once (got {list(values)})")


def capped(result: Mapping[str, Any]) -> bool:
    """Whether the best epoch is the last, so that more epochs might help; unknown with ``keep="last"``."""
    config = result["config"]
    return config["keep"] != "last" and result["best_epoch"] == config["max_epochs"]
