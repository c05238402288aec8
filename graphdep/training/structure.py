"""Whether a task needs structure."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from graphdep.io.console import plain_console
from graphdep.io.files import atomic_path, check_replaced, file_digest, temporary_folder
from graphdep.io.limits import check_choice, plural
from graphdep.metrics.metric import Metric
from graphdep.metrics.significance import check_bound, visible_effect
from graphdep.training.ablation import ablate
from graphdep.training.config import TrainConfig
from graphdep.training.evaluation import PREDICTIONS, read_predictions
from graphdep.training.family import StructureRows, load_splits
from graphdep.training.own_config import OwnFilesConfig
from graphdep.training.run import train
from graphdep.training.table import compare_runs, csv_rows, markdown
from graphdep.training.task import config_of, family_of, resolve_task
from graphdep.training.trainer import METRICS, check_accelerator, read_metrics
from graphdep.visualization.plots import plot_differences

PLAN = "plan.json"
# Training examples of the trial, fewest training examples of a plan (if there are as many), most epochs by
# default, and fewest examples of a split.
_TRIAL, _FEWEST, _EPOCHS, _LEAST = 200, 100, 10, 10
# Assumed share of test examples that exactly one of two models gets right.
_DISAGREE = 0.1


@dataclass(frozen=True)
class Plan:
    """The sizes of runs that fit into the time.

    Args:
        limit_train: Largest number of training examples; :obj:`None` for all.
        there: Number of training examples in the corpus.
        max_epochs: Largest number of epochs.
        val_every: Epochs between validations.
        minutes: Estimated time of all runs.
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
    """Seconds of a run: for training on an example, for scoring both splits, and for validation alone."""

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
    *,
    overwrite: bool = False,
) -> Plan:
    """The earlier plan of the same call in this folder, or a new plan from a trial run.

    A plan has the given number of epochs, or that of the model but at most ten; about three validations
    unless given, since with few examples they take longer than training; and as many training examples as
    fit into the time.

    Raises:
        ValueError: If the time is too short, there are fewer than ten training or test examples, there is no
            such device, or files of another plan would be replaced.
    """
    path = folder / PLAN
    asked = {"task": task, "rows": list(rows.rows), "seeds": seeds, "minutes": minutes, "settings": settings}
    asked |= {"bound": bound, "files": _digests(settings)}
    asked = json.loads(json.dumps(asked, default=str))
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        if before["asked"] == asked:
            return Plan(**before["plan"])
    except (OSError, ValueError, KeyError, TypeError):  # missing, or not a plan
        pass
    check_replaced(folder, [PLAN, *_FILES.values()], overwrite=overwrite)
    configs = {row: TrainConfig.of(row, **{**settings, "task": task}) for row in rows.rows}
    for of_row in configs.values():
        # Fails before hours of parsing.
        check_accelerator(of_row)
        family_of(of_row.task).task_class.make_edges(of_row)
    config = configs[rows.trees]
    if "test" not in config.splits:
        advice = family_of(task).missing_split(config, "test")
        raise ValueError(f"rows are compared on a test split, but {task!r} has none here{advice}")
    start = time.monotonic()
    splits = load_splits(config)
    there, tested = len(splits["train"]), len(splits["test"])
    for count, what in ((there, "are trained on"), (tested, "are compared on")):
        if count < _LEAST:
            raise ValueError(f"rows {what} at least {_LEAST} examples ({task!r} has {count})")
    console.print(_power(seeds, tested, config.spec.metrics[0]), markup=False)
    console.print("trial runs of two rows", markup=False)
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
            f"'minutes' is too short: {least} examples take about {plural(whole, 'minute')} (got "
            f"{minutes:g}): use more --minutes, or fewer --seeds or --epochs"
        )
    plan = Plan(None if count == there else count, there, epochs, val_every, round(needed, 1))
    _write(path, json.dumps({"asked": asked, "plan": vars(plan)}, indent=1))
    console.print(
        f"{len(rows.rows)} rows, {seeds} seeds, {plural(epochs, 'epoch')}, {count:,} of {there:,} examples "
        f"to train on: about {plural(round(needed), 'minute')}",
        markup=False,
    )
    return plan


def _power(seeds: int, tested: int, metric: Metric) -> str:
    """What can be seen with so many seeds and test examples."""
    said = f"{seeds} seeds, {tested:,} test examples"
    if not metric.maximize:  # errors and perplexities are not shares
        return said
    effect = _estimate(seeds, tested)
    below = f" below about {effect:.2g}" if effect < metric.max_difference else ""
    return f"{said}: a gain{below} can hardly be seen"


def _estimate(seeds: int, tested: int) -> float:
    """The smallest visible effect, estimated before training for scores that are shares of test examples, a
    tenth of which exactly one of two models gets right.
    """
    return visible_effect(math.sqrt(_DISAGREE / tested), 2 * (seeds - 1))


def _visible(effect: float | None, seeds: int, tested: int, metric: Metric) -> str:
    """The smallest effect that could have been seen, in a sentence."""
    more = "(more --seeds, or more test examples)."
    if effect is not None:
        return f"The smallest effect that could have been seen: {effect:.3g} {more}"
    varied = " The runs varied more between seeds than the estimate before training assumed."
    return (
        "With these seeds and examples no effect could have been seen, not even the largest "
        f"{more}{varied if _estimate(seeds, tested) < metric.max_difference else ''}"
    )


def _val_every(epochs: int) -> int:
    """Epochs between about three validations, the last after the last epoch."""
    fitting = (every for every in range(1, epochs // 3 + 1) if epochs % every == 0)
    return max(fitting, default=1)


def _digests(settings: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the user's files by split."""
    paths = {name: Path(str(settings[name])) for name in ("train", "val", "test") if settings.get(name)}
    found = {name: path for name, path in paths.items() if path.is_file()}
    return {name: file_digest(path)[:16] for name, path in found.items()}


def _fits(
    costs: list[_Cost], rows: StructureRows, seeds: int, lengths: tuple[int, int], seconds: float
) -> int:
    """The largest number of training examples whose runs fit into the time."""
    fixed = _all(costs, rows, seeds, lengths, 0)
    each = _all(costs, rows, seeds, lengths, 1) - fixed
    return math.floor((seconds - fixed) / max(each, 1e-9))


def _all(costs: list[_Cost], rows: StructureRows, seeds: int, lengths: tuple[int, int], count: int) -> float:
    """Seconds of all runs; ``lengths`` are epochs and validations. Three rows read trees."""
    plain, trees = (cost.run(count, *lengths) for cost in costs)
    return seeds * ((len(rows.rows) - 3) * plain + 3 * trees)


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


_FILES = {"plot": "needs-structure.png", "summary": "summary.json", "table": "table.md", "csv": "table.csv"}
_WHOSE = {"parser": "A parser's", "gold": "The corpus' own", "own": "The files'"}


def needs_structure(
    task: str,
    folder: Path,
    *,
    model: str | None = None,
    trees: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seeds: int = 3,
    minutes: float = 20.0,
    bound: float = 0.02,
    console: Console | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Trains models with different information about the structure of sentences, and decides whether a parser
    is worth having for the task.

    The rows: words in random order, and words without positions, if the task family has such models; a plain
    Transformer; order alone (each word below its predecessor); the parser's trees; random trees whose words
    keep their labels. Trees help if they beat the plain row, order alone and random trees, each with a 95%
    interval over seeds and test examples that excludes 0.

    Trial runs on a few examples decide how many training examples fit into the time, the same for all rows.
    After an interruption, the same call resumes.

    Args:
        task: The task.
        folder: Folder of the runs, ``plan.json``, ``summary.json`` with the result, ``table.md``,
            ``table.csv`` and the picture.
        model: The model with trees, one of the family's. (default: the first)
        trees: ``"parser"``; ``"gold"`` for the corpus' own, which show the effect of a perfect parser; or
            ``"own"`` for those of a user's files, and the parser's for sentences without. (default:
            ``"own"`` if sentences of the files may have trees, else ``"parser"``)
        settings: Settings of all runs. (default: none)
        seeds: Runs per row. (default: :obj:`3`)
        minutes: Time for all runs. (default: :obj:`20.0`)
        bound: The smallest effect of interest, in units of the task's first metric. (default: :obj:`0.02`)
        console: Where progress is printed. (default: stderr)
        overwrite: Replace another plan in the folder. (default: :obj:`False`)

    Returns:
        Plain values: ``verdict``, ``sentences``, ``rows`` (name, description, scores, difference to the plain
        row and interval), ``floors`` (no skill, and others such as a bag of words), ``no_skill`` (that of the
        verdict: the better score of the most frequent label or mean of the training and of the test split),
        ``smallest_visible_effect``, ``bound``, ``metric``, ``plan``, ``examples``, ``used`` (numbers of used
        and of all training examples, and the reason), ``files``. The verdict is

        - ``"no"`` if the 95% interval of the gain over the plain row or over order alone is below the bound,
          all examples were trained on, the plain row and that with trees exceed no skill by more than it,
          and in no run with trees the last validation was the best by more than half the bound;
        - ``"yes"`` if trees help, no such interval is below the bound, and the plain row exceeds no skill by
          more than the bound and would not reach the gain with twice the epochs at its last pace;
        - ``"undecided"`` otherwise.

    Raises:
        ValueError: If the task family has no such rows, a setting is invalid, the time is too short, or the
            folder has the plan of another call or of other files.
        RuntimeError: If a run fails; names it.
    """
    check_bound(bound)
    for name, number, least in (("seeds", seeds, 2), ("minutes", minutes, 0)):
        if not least <= number < math.inf:
            raise ValueError(f"{name!r} must be a finite number of at least {least} (got {number!r})")
    console = console or plain_console(stderr=True)
    rows, trees = _rows(task, model, trees)
    given = dict(settings or {})
    folder.mkdir(parents=True, exist_ok=True)
    plan = plan_runs(task, rows, folder, given, seeds, minutes, console, bound, overwrite=overwrite)
    chosen = {**given, **plan.settings}
    summary = ablate(
        task,
        rows.rows,
        range(seeds),
        folder,
        settings=chosen,
        reference=rows.plain,
        bound=bound,
        console=console,
    )
    for row in summary["rows"]:
        for seed, error in row["failed"].items():
            raise RuntimeError(f"{row['name']} seed {seed} failed: {error}")
    by_name = {row["name"]: row for row in summary["rows"]}
    metric = resolve_task(task, chosen).metrics[0]
    over_random, over_chain = (
        _over(by_name[rows.trees], by_name[other], metric.name) for other in (rows.random, rows.chain)
    )
    part, more = None, "minutes"
    if plan.limit_train is not None:
        part = f"the {plan.limit_train:,} of {plan.there:,} examples that fit into the time"
    elif given.get("limit_train") is not None:
        part, more = f"the {plan.there:,} examples of --limit-train", "limit-train"
    floors = {
        about: scores.get(f"test_{metric.name}")
        for about, scores in family_of(task).split_floors(summary["floor"]).items()
    }
    no_skill = _no_skill(metric, floors.get("no skill"), by_name[rows.plain])
    over_plain = by_name[rows.trees]["against"]
    both = {"plain": by_name[rows.plain], "trees": by_name[rows.trees]}
    doubts = _doubts(metric, no_skill, bound, _gain(over_plain, metric)[0], **both)
    compared = {"plain": over_plain, "chain": over_chain, "random": over_random}
    found = _verdict(compared, bound, metric, doubts, whole=part is None)
    told = {name: found.pop(name) for name in ("over", "excluded")}
    effect = found["smallest_visible_effect"]
    used, of_examples = _used(plan, minutes, given)
    found |= {
        "task": task,
        "sentences": [
            *_sentences(by_name, rows, compared, trees),
            f"{of_examples} {_visible(effect, seeds, summary['data']['examples']['test'], metric)}",
            _worth(found, bound, doubts, part=part, more=more, **told),
        ],
        "rows": [_row(row, f"test_{metric.name}") for row in summary["rows"]],
        "no_skill": no_skill,
        "floors": floors,
        "metric": f"test_{metric.name}",
        "bound": bound,
        "plan": vars(plan),
        "examples": summary["data"]["examples"],
        "used": used,
        "files": {kind: str(folder / name) for kind, name in _FILES.items()},
    }
    _draw(found, rows, folder)
    title, table = markdown(summary).split("\n\n", 1)
    said = " ".join(filter(None, found["sentences"]))
    _write(folder / _FILES["table"], f"{title}\n\nVerdict: {found['verdict']}. {said}\n\n{table}")
    _write(folder / _FILES["csv"], csv_rows(summary))
    _write(folder / _FILES["summary"], json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return found


def _used(plan: Plan, minutes: float, settings: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The numbers of used and of all training examples and the reason, as plain values and as a sentence."""
    there, why = plan.there, ""
    trained = there if plan.limit_train is None else plan.limit_train
    said = f"All {there:,} examples were trained on."
    if trained < there:
        limit = f"{minutes:g} minute{'s' * (minutes != 1)}"
        why = f"more did not fit into {limit} (more --minutes, or fewer --seeds or --epochs)"
        said = f"{trained:,} of {there:,} examples were trained on: {why}."
    elif settings.get("limit_train") is not None:
        said = f"{there:,} examples were trained on, by --limit-train."
    return {"trained": trained, "there": there, "why": why}, said


def _rows(task: str, model: str | None, trees: str | None) -> tuple[StructureRows, str]:
    known = family_of(task).structure
    if not known:
        raise ValueError(f"the task family of {task!r} has no rows for this question")
    if model is None:
        rows = known[0]
    else:
        by_model = {rows.trees: rows for rows in known}
        rows = by_model[check_choice("model", model, by_model)]
    choices: tuple[str, ...] = ("parser",)
    if resolve_task(task).gold_trees:
        choices = ("own", "parser") if issubclass(config_of(task), OwnFilesConfig) else ("parser", "gold")
    trees = choices[0] if trees is None else check_choice("trees", trees, choices)
    if len(choices) == 1 or trees != "parser":
        return rows, trees
    # Random trees must not have better labels than the parser's.
    return dataclasses.replace(rows, trees=f"{rows.trees}@parser", random=f"{rows.random}-parsed"), trees


def _over(trees: Mapping[str, Any], other: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """The comparison of the row with the parser's trees with another row."""
    a, b = ([Path(path).parent for path in row["checkpoints"]] for row in (trees, other))
    return compare_runs(a, b, metric=metric)["metrics"][metric]


def _no_skill(metric: Metric, floor: float | None, row: Mapping[str, Any]) -> float | None:
    """The better floor of the training split and of the test split, whose most frequent label may differ."""
    if metric.floor is None:
        return floor
    target = read_predictions(Path(row["checkpoints"][0]).with_name(PREDICTIONS)).target
    own = metric.floor(target, target)
    return own if metric.is_better(own, floor) else floor


def _doubts(
    metric: Metric,
    no_skill: float | None,
    bound: float,
    gain: float,
    *,
    plain: Mapping[str, Any],
    trees: Mapping[str, Any],
) -> dict[str, str]:
    """By verdict, why it cannot be given: models have learnt nothing or are still learning; ``gain`` is the
    lower end of the gain of trees.
    """
    against: dict[str, str] = {}
    by = " by the labels of the training or the test split" if metric.floor else ""
    for row, what, verdicts in (
        (plain, "the plain model", ("yes", "no")),
        (trees, "the model with trees", ("no",)),
    ):
        mean = row["metrics"][f"test_{metric.name}"]["mean"]
        if no_skill is not None and not metric.is_better(mean, no_skill, by=bound):
            said = (
                f"{what} is no better than no skill ({mean:.3g}, {no_skill:.3g}{by}), and differences "
                "between models that have learnt nothing mean nothing (more --epochs, or more examples)."
            )
            against = dict.fromkeys(verdicts, said) | against
    learning = sum(_last_gain(Path(path), metric)[0] > bound / 2 for path in trees["checkpoints"])
    if learning:
        said = f"{learning} of {plural(trees['n'], 'run')} with trees still improved in the last epochs "
        against.setdefault("no", said + "(more --epochs, in another --output).")
    paces = [_last_gain(Path(path), metric) for path in plain["checkpoints"]]
    if gain > 0 and statistics.fmean(max(0.0, last) * number for last, number in paces) > gain:
        said = (
            "the plain model still improved, and at that pace it would reach the model with trees with twice "
            "the epochs (more --epochs, in another --output)."
        )
        against.setdefault("yes", said)
    return against


def _last_gain(checkpoint: Path, metric: Metric) -> tuple[float, int]:
    """The gain of a run's last validation over the best before it, and the number of validations."""
    rows = read_metrics(checkpoint.with_name(METRICS))
    scores = [score for row in rows if (score := row.get(f"val_{metric.name}")) is not None]
    if len(scores) < 2:
        return math.inf, 1
    best = (max if metric.maximize else min)(scores[:-1])
    return (scores[-1] - best) * (1 if metric.maximize else -1), len(scores)


def _gain(found: Mapping[str, Any], metric: Metric) -> tuple[float, float]:
    """The interval of a difference, signed so that larger is better."""
    low, high = found["interval"]
    return (low, high) if metric.maximize else (-high, -low)


def _verdict(
    compared: Mapping[str, Mapping[str, Any]],
    bound: float,
    metric: Metric,
    doubts: Mapping[str, str],
    *,
    whole: bool,
) -> dict[str, Any]:
    """The verdict and its grounds; ``no`` only if all examples were trained on (``whole``)."""
    gains = {name: _gain(found, metric) for name, found in compared.items()}
    over = [name for name, (low, _) in gains.items() if low > 0]
    excluded = next((name for name in ("plain", "chain") if gains[name][1] < bound), None)
    verdict = "undecided"
    if excluded:
        verdict = "no" if whole and "no" not in doubts else verdict
    elif len(over) == len(gains):
        verdict = "yes" if "yes" not in doubts else verdict
    return {
        "verdict": verdict,
        "over": over,
        "excluded": excluded,
        "smallest_visible_effect": compared["plain"]["smallest_visible"],
    }


def _sentences(
    rows: Mapping[str, Mapping[str, Any]],
    names: StructureRows,
    compared: Mapping[str, Mapping[str, Any]],
    trees: str,
) -> list[str]:
    """The differences, in two sentences."""
    order = [
        f"{about} changes it by {_shown(rows[name]['against'])}"
        for about, name in (
            ("shuffling the words", names.shuffled),
            ("removing positions", names.unordered),
        )
        if name is not None
    ]
    shown = {name: _shown(found) for name, found in compared.items()}
    return [
        f"{_WHOSE[trees]} trees change {compared['plain']['metric']} by {shown['plain']} over the plain "
        f"model, by {shown['chain']} over order alone (each word below its predecessor), and by "
        f"{shown['random']} over random trees with the same labels.",
        f"In the plain model, {' and '.join(order)}." if order else "",
    ]


# Other causes of the gain over the plain model, if trees do not beat these rows.
_MAY_BE = {
    "chain": "order alone: the gain may come from knowing the previous word",
    "random": "random trees with the same labels: the gain may come from the labels",
}


def _worth(
    found: Mapping[str, Any],
    bound: float,
    doubts: Mapping[str, str],
    *,
    over: list[str],
    excluded: str | None,
    part: str | None,
    more: str,
) -> str:
    """The verdict in a sentence; ``part`` are the examples, if not all, and ``more`` the option for more."""
    gain = f"a gain above {bound:g}" + (" over order alone" if excluded == "chain" else "")
    if found["verdict"] == "yes":
        return "A parser is worth having here" + (f", with {part}." if part else ".")
    if found["verdict"] == "no":
        return f"A parser is not worth having here: {gain} is excluded."
    undecided = "Whether a parser is worth having is undecided: "
    if "plain" in over and not excluded:
        unbeaten = [may_be for row, may_be in _MAY_BE.items() if row not in over]
        if not unbeaten:
            return undecided + doubts["yes"]
        return undecided + f"its trees are better than none, but not significantly better than {unbeaten[0]}."
    doubt = doubts.get("no")
    if excluded:
        part_only = f"{gain} is excluded with {part}, but perhaps not with all examples (more --{more})."
        return undecided + (doubt or part_only)
    return undecided + (
        f"the interval of the gain over the plain model{f', with {part},' if part else ''} contains both 0 "
        f"and {bound:g} (more --seeds, or more test examples){f'; also: {doubt}' if doubt else '.'}"
    )


def _shown(found: Mapping[str, Any]) -> str:
    low, high = found["interval"]
    return f"{found['difference']:+.3f} [{low:+.3f}, {high:+.3f}]"


def _row(row: Mapping[str, Any], metric: str) -> dict[str, Any]:
    against = row["against"] or {}
    return {
        "name": row["name"],
        "about": row["about"],
        "scores": row["metrics"][metric]["values"],
        "mean": row["metrics"][metric]["mean"],
        "difference": against.get("difference"),
        "interval": against.get("interval"),
        "identical": against.get("identical"),
    }


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _draw(found: Mapping[str, Any], rows: StructureRows, folder: Path) -> None:
    differences = {
        row["name"]: (row["difference"], *row["interval"])
        for row in found["rows"]
        if row["interval"] is not None
    }
    figure = plot_differences(
        differences, metric=found["metric"].replace("_", " "), reference=rows.plain, bound=found["bound"]
    )
    with atomic_path(folder / _FILES["plot"]) as temporary:
        figure.savefig(temporary, dpi=150, format="png")
