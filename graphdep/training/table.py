"""Reports of ablations, and comparisons of runs."""

from __future__ import annotations

import csv
import glob
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from graphdep.io.console import fitting_table
from graphdep.io.files import atomic_path, check_read_again, check_replaced, home_path
from graphdep.io.limits import check_choice, plural
from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import ACCURACY, F1
from graphdep.metrics.significance import SAME_PREDICTIONS, check_bound, compare
from graphdep.training.config import TrainConfig
from graphdep.training.evaluation import (
    PREDICTIONS,
    Predictions,
    check_same_examples,
    read_predictions,
    shared_groups,
)
from graphdep.training.floors import below_floor, untrained
from graphdep.training.task import family_of, few_validation, legend, resolve_task
from graphdep.visualization.plots import plot_ablation

Cells = list[list[str]]
DIFFERENCE, VISIBLE, VERDICT = "difference [95%]", "smallest visible", "verdict"
SMALLEST_VISIBLE = (
    "smallest visible: the smallest true difference that 4 of 5 such comparisons would find; –: even a "
    "perfect score could not have shown a difference"
)
VERDICTS = (
    "verdict: better or worse if the 95% interval excludes 0, no effect larger than {0:g} if the 90% "
    "interval is within ±{0:g}, else undecided"
)
# Further columns of a comparison in the CSV.
_COMPARED = ("smallest_visible", "p", "p_bootstrap", "p_randomisation", "p_seeds")
ENCODER_ROW, PAPER = "(encoder, not trained)", "paper: "


_REPORT = {"summary": "summary.json", "table": "table.md", "csv": "table.csv", "latex": "table.tex"}
_REPORT |= {"plot": "plot.png", "plot_pdf": "plot.pdf"}


def check_report(
    folder: Path,
    task: str,
    rows: Iterable[str],
    settings: Mapping[str, Any],
    *,
    overwrite: bool = False,
) -> None:
    """Raises :class:`ValueError` if files of another table would be replaced: of another task, with other
    settings or more epochs, or with a row that is not in ``rows``. More seeds, rows and epochs are allowed.
    """
    other = _other_table(folder / _REPORT["summary"], task, {*rows}, settings)
    own = _REPORT.values() if other == "" else ()
    check_replaced(folder, _REPORT.values(), {*own}, overwrite=overwrite, about=other or "")


def _other_table(path: Path, task: str, rows: set[str], settings: Mapping[str, Any]) -> str | None:
    """How another table in the folder differs; empty if it does not, :obj:`None` if there is none."""
    free = {*TrainConfig.of_task(task).with_mark("late", "free", "place"), "max_epochs"}
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        then, now = (
            {
                name: value
                for name, value in json.loads(json.dumps(of, default=str)).items()
                if name not in free
            }
            for of in (before["settings"], dict(settings))
        )
        if before["task"] != task:
            return f", a table of the task {before['task']},"
        if changed := [name for name in sorted(then.keys() | now.keys()) if then.get(name) != now.get(name)]:
            return f", a table with another {' and '.join(changed)},"
        most, epochs = (of.get("max_epochs") for of in (before["settings"], settings))
        if most is not None and epochs is not None and epochs < most:
            return f", a table of {most} epochs,"
        left = [row["name"] for row in before["rows"] if row["name"] not in rows]
        return f", a table that also has the row {', '.join(left)}," if left else ""
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # missing, or not a summary
        return None


def write_report(summary: dict[str, Any], folder: Path, *, overwrite: bool = False) -> dict[str, str]:
    """Writes the summary as JSON, the table as Markdown, CSV and LaTeX, and the plot as PNG and PDF; returns
    paths by kind.

    Args:
        summary: The result of :func:`~graphdep.training.ablate`.
        folder: The folder.
        overwrite: Also replace files of another table. (default: :obj:`False`)

    Raises:
        ValueError: If a file of another table would be replaced; says what differs.
    """
    names = [row["name"] for row in summary["rows"]]
    check_report(folder, summary["task"], names, summary["settings"], overwrite=overwrite)
    paths = {kind: str(folder / name) for kind, name in _REPORT.items()}
    _write(paths["summary"], json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    _write(paths["table"], markdown(summary))
    _write(paths["csv"], csv_rows(summary))
    _write(paths["latex"], latex(summary))
    figure = _plot(summary)
    for kind in ("plot", "plot_pdf"):
        if figure is None:
            del paths[kind]
            continue
        with atomic_path(paths[kind]) as temporary:
            figure.savefig(temporary, dpi=150, format=paths[kind].rpartition(".")[2])
    return paths


def table_cells(summary: dict[str, Any]) -> tuple[list[str], Cells]:
    """Header and rows; scores are mean ± standard deviation, fractions as in the JSON."""
    columns, figures = _columns(summary), _figures(summary)
    header = [summary["rows_are"], *_scored(summary, columns, _between(summary), lambda name: PAPER + name)]
    header += ["runs", "parameters", "epochs", "s/epoch"]
    floors = _floors(summary) or {"no skill": {}}
    rows: Cells = [
        [f"({about})", *_beside(scores, summary), "", "", "", ""] for about, scores in floors.items()
    ]
    if summary["floor_frozen"]:
        rows.append([ENCODER_ROW, *_beside(summary["floor_frozen"], summary), "", "", "", ""])
    if summary["reference"]:
        rows.append(["(references)", *_beside(summary["reference"], summary), "", "", "", ""])
    for row in summary["rows"]:
        scores = [_score(row, name) for name in columns]
        runs = str(row["n"]) + (f" (+{len(row['failed'])} failed)" if row["failed"] else "")
        numbers = ["", "", ""]
        if row["n"]:
            numbers = [f"{row['parameters']:,.0f}", f"{row['epochs']:.1f}", f"{row['seconds_per_epoch']:.1f}"]
        against = [_AGAINST[name](row["against"] or {}) for name in _between(summary)]
        published = {name: _cell(of_score.get(row["model"])) for name, of_score in figures.items()}
        rows.append([row["label"], *_scored(summary, scores, against, published.__getitem__), runs, *numbers])
    return header, rows


def _scored(
    summary: dict[str, Any], scores: Sequence[str], against: Sequence[str], paper: Callable[[str], str]
) -> list[str]:
    """Cells of the scores; the comparison follows the first score, a paper's figure its score."""
    figures = _figures(summary)
    cells: list[str] = []
    for name, score in zip(_columns(summary), scores):
        cells += [score, *([] if cells else against), *([paper(name)] if name in figures else [])]
    return cells


def _between(summary: dict[str, Any]) -> list[str]:
    """The columns of the comparison."""
    return [DIFFERENCE, VISIBLE, *([VERDICT] if summary.get("bound") is not None else [])]


def _figures(summary: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The papers' figures of the models of the rows, by score and model."""
    found: dict[str, dict[str, float]] = {}
    for paper in summary["papers"]:
        for row in summary["rows"]:
            for score, value in paper["rows"].get(row["model"], {}).items():
                found.setdefault(score, {})[row["model"]] = value
    return found


def _columns(summary: dict[str, Any]) -> tuple[str, ...]:
    # Test scores first, since differences are on the test split.
    known = family_of(summary["task"]).shown(summary["task"], summary["settings"])
    if summary["compared"] != "test":
        known = tuple(dict.fromkeys(name.replace("test_", "val_") for name in known))
    there = {name for row in summary["rows"] for name in row["metrics"]}
    if there and not there.issuperset(known):  # the names of scores depend on the size of pools
        known = ()
    return known or tuple(
        sorted(_floors(summary).get("no skill", {}), key=lambda name: not name.startswith("test_"))
    )


def _on(summary: dict[str, Any]) -> str:
    """The split of a table for its title, unless it is the test split."""
    return "" if summary["compared"] == "test" else " (validation)"


def _floors(summary: dict[str, Any]) -> dict[str, dict[str, float]]:
    return family_of(summary["task"]).split_floors(summary["floor"])


def markdown(summary: dict[str, Any]) -> str:
    """The table in Markdown, with notes on data, metrics, comparisons and the command."""
    header, rows = table_cells(summary)
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows]]
    return "\n".join([f"# {summary['title']}{_on(summary)}", "", *lines, "", *notes(summary), ""])


_LATEX = str.maketrans(
    {char: f"\\{char}" for char in "_&%#${}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}
    | {char: f"${char}$" for char in "<>|"}
    | {"–": "--", "[": "{[}", "*": "{*}"}  # after the end of a row, [ and * would be its arguments
)


def latex(summary: dict[str, Any]) -> str:
    """The rows of :func:`markdown` as a LaTeX table of the package ``booktabs``."""
    header, rows = table_cells(summary)
    escaped = [[" ".join(cell.split()).translate(_LATEX) for cell in cells] for cells in (header, *rows)]
    # Minus signs, not hyphens.
    lines = [re.sub(r"(?<![\w.])-(?=\d)", "$-$", " & ".join(cells)) + r" \\" for cells in escaped]
    lines = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"]
    return "\n".join([rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", *lines, ""])


def rich_table(summary: dict[str, Any], width: int = 80) -> Table:
    """The main metric's part of the table, for a terminal of this many columns."""
    header, rows = table_cells(summary)
    hidden = {"parameters", "epochs", "s/epoch", *_columns(summary)[1:]}
    papers = [name for name in header if name.startswith(PAPER)]
    hidden = (hidden | {*papers[1:]}) - {name.removeprefix(PAPER) for name in papers[:1]}
    shown = [place for place, name in enumerate(header) if name not in hidden]
    verdict = header.index(VERDICT) if VERDICT in header else None
    return fitting_table(
        [header[place] for place in shown],
        # The effect that an undecided row could have shown has its own column.
        [[row[p].partition(" (")[0] if p == verdict else row[p] for p in shown] for row in rows],
        title=f"{summary['title']}{_on(summary)}: mean ± std",
        width=width,
        drop=("runs", *papers, *_columns(summary)[1:], VISIBLE, VERDICT, DIFFERENCE),
        words=(VERDICT,),
    )


def notes(summary: dict[str, Any]) -> list[str]:
    """The notes under a table, as list items."""
    lines = [f"- {row['label']}: {row['about']}" for row in summary["rows"]]
    if summary["floor_frozen"]:
        lines.append(f"- {ENCODER_ROW}: {family_of(summary['task']).frozen}")
    lines += [f"- {line}" for line in legend(summary["signature"])]
    if summary["compared"] != "test":
        lines.append(
            "- no test split: scores are of the validation split, which also chose each run's best epoch: "
            "they are too good"
        )
    against = [row["against"] for row in summary["rows"] if row["against"] is not None]
    if against:
        lines += _comparison_notes(summary, against)
    capped = sum(row["capped"] for row in summary["rows"])
    if capped:
        runs = sum(row["n"] for row in summary["rows"])
        lines.append(f"- runs that were best in their last epoch: {capped} of {runs}; more epochs may help")
    lines += _below_floor(summary)
    lines += _floor_notes(summary)
    lines += _data_notes(summary)
    few = few_validation(summary["task"], summary["settings"], summary["data"]["examples"])
    lines += [f"- {few}"] if few else []
    lines += [f"- pretrained encoder: {Path(name).name}" for name in summary["encoders"]]
    lines += [f"- responses: {summary['decoded']}"] if summary["decoded"] else []
    for paper in summary["papers"]:
        lines += _paper_notes(summary, paper)
    counts = [row["parameters"] for row in summary["rows"] if row["n"]]
    if counts and max(counts) > 1.05 * min(counts):
        lines.append(f"- parameters: {min(counts):,.0f} to {max(counts):,.0f}")
    for row in summary["rows"]:
        lines += [f"- FAILED {row['label']} seed {seed}: {error}" for seed, error in row["failed"].items()]
    return [*lines, *([f"- command: `{summary['command']}`"] if summary["command"] else [])]


def _paper_notes(summary: dict[str, Any], paper: dict[str, Any]) -> list[str]:
    """The source of a paper's figures, and figures that are not in the table."""
    columns, models = _columns(summary), {row["model"] for row in summary["rows"]}
    said = []
    for names, inside in ((paper["rows"].keys() & models, columns), (paper["others"].keys(), ())):
        for name in sorted(names):
            figures = {**paper["rows"], **paper["others"]}[name].items()
            told = ", ".join(f"{score} {value:.4f}" for score, value in figures if score not in inside)
            said += [f"{name} {told}"] if told else []
    lines = [f"- paper: {'; '.join([paper['source'], *said])}"]
    return lines + ([f"- beside the paper: {paper['note']}"] if paper["note"] else [])


def _comparison_notes(summary: dict[str, Any], against: list[dict[str, Any]]) -> list[str]:
    """Notes on the columns of the comparison."""
    family, first = family_of(summary["task"]), against[0]
    grouped = first["units"] < first["n"]
    drawn = family.groups if grouped else family.compared(summary["task"])
    seeds = any("seeds" in found["over"] for found in against)
    over = f"over {'seeds and ' if seeds else ''}the {first['units']} {drawn}"
    alone = "" if seeds else ", not over seeds: each row has one run"
    (label,) = (row["label"] for row in summary["rows"] if row["name"] == first["row"])
    lines = [
        f"- difference: {first['metric']} minus that of {label}, on the seeds of both, with a 95% interval "
        f"{over}{alone} (multi-bootstrap, {first['samples']} resamples, t interval)",
        f"- {SMALLEST_VISIBLE}",
        f"- {plural(len(against), 'comparison')}, not corrected for their number; p values are in table.csv",
    ]
    if (bound := summary.get("bound")) is not None:
        lines.append(f"- {VERDICTS.format(bound)}")
    same = [row["label"] for row in summary["rows"] if row["against"] and row["against"]["identical"]]
    if same:
        said, _, why = SAME_PREDICTIONS.partition(":")
        lines.insert(0, f"- {', '.join(same)}: {said} as {label}:{why}")
    return lines


def _below_floor(summary: dict[str, Any]) -> list[str]:
    """The rows that are no better than a floor or the frozen encoder."""
    lines = []
    for row in summary["rows"]:
        means = {name: spread["mean"] for name, spread in row["metrics"].items()}
        asked = summary["task"], summary["settings"], means
        if said := below_floor(*asked, row["floor"] or summary["floor"]):
            lines.append(f"- WARNING {row['label']}: {said}")
        if said := untrained(*asked, row["floor_frozen"]):
            lines.append(f"- UNTRAINED {row['label']}: {said}; its differences mean nothing")
    return lines


def _floor_notes(summary: dict[str, Any]) -> list[str]:
    """The floors of rows whose data, and so floors, differ from those in the table."""
    kinds: list[tuple[dict[str, float], list[str]]] = [(summary["floor"], [])]
    for row in summary["rows"]:
        floor = row["floor"]
        if not floor:
            continue
        known = next((names for other, names in kinds if other == floor), None)
        if known is None:
            kinds.append((floor, known := []))
        known.append(row["label"])
    lines, shown = [], _floors(summary)
    for floor, names in kinds[1:]:
        for about, scores in family_of(summary["task"]).split_floors(floor).items():
            if scores == shown.get(about):
                continue
            told = ", ".join(f"{name} {scores[name]:.4f}" for name in _columns(summary) if name in scores)
            lines.append(f"- ({about}) on the data of {', '.join(names)}: {told}")
    if lines:
        lines.insert(0, f"- floors in the table are on the data of {', '.join(kinds[0][1])}")
    return lines


def _data_notes(summary: dict[str, Any]) -> list[str]:
    """The data of the rows; if rows differ in their data, such as words and pieces, each kind."""
    kinds: list[tuple[dict[str, Any], list[str]]] = []
    for row in summary["rows"]:
        known = next((names for data, names in kinds if data == row["data"]), None)
        if known is None:
            kinds.append((row["data"], known := []))
        known.append(row["label"])
    lines = []
    for data, names in kinds:
        whose = f"data of {', '.join(names)}" if len(kinds) > 1 else "data"
        counted = ", ".join(f"{size} {split}" for split, size in data["examples"].items())
        chains = sum(data["chain_trees"].values())
        lines.append(
            f"- {whose}: {counted} examples, {data['vocabulary']} words; parser {data['parser']}, "
            f"{plural(chains, 'chain tree')}"
        )
        shares = ", ".join(
            f"{share:.1%} of {split}" for split, share in data["unknown_words"].items() if share
        )
        lines += [f"- unknown words, read as [UNK]: {shares}"] if shares else []
        lines += [f"- relations: {data['relations']}"] if data.get("relations") else []
        cut = ", ".join(f"{words} of {split}" for split, words in data["cut_words"].items() if words)
        lines += [f"- words cut at max_length: {cut}"] if cut else []
        lines += [f"- {note}" for note in data.get("notes", ())]
    return lines


def csv_rows(summary: dict[str, Any]) -> str:
    """One line per run and metric: ``task,model,seed,metric,value,floor,paper``, and the comparison of its
    row and metric: ``against`` (the other row), ``difference``, ``low`` and ``high`` (the 95% interval),
    ``smallest_visible`` and four p values.
    """
    out, figures = io.StringIO(), _figures(summary)
    writer = csv.writer(out, lineterminator="\n")
    compared = ("against", "difference", "low", "high", *_COMPARED)
    writer.writerow(["task", "model", "seed", "metric", "value", "floor", "paper", *compared])
    for row in summary["rows"]:
        for name, spread in row["metrics"].items():
            paper = figures.get(name, {}).get(row["model"])
            for seed, value in zip(row["seeds"], spread["values"]):
                floor = summary["floor"].get(name)
                scores = [summary["task"], row["name"], seed, name, value, floor, paper]
                writer.writerow([*scores, *_compared(row["against"], name, summary["compared"])])
    return out.getvalue()


def _compared(against: dict[str, Any] | None, name: str, split: str) -> list[Any]:
    """Cells of a comparison in the CSV; empty for other metrics."""
    if against is None or name != f"{split}_{against['metric']}":
        return [None] * (4 + len(_COMPARED))
    ends = (against["difference"], *against["interval"])
    return [against["row"], *ends, *(against[key] for key in _COMPARED)]


def _score(row: dict[str, Any], name: str) -> str:
    if name not in row["metrics"]:
        return "-"
    spread = row["metrics"][name]
    return f"{spread['mean']:.4f}" + ("" if spread["std"] is None else f" ± {spread['std']:.4f}")


def _beside(scores: dict[str, float], summary: dict[str, Any]) -> list[str]:
    cells = [f"{scores[name]:.4f}" if name in scores else "-" for name in _columns(summary)]
    return _scored(summary, cells, ["" for _ in _between(summary)], lambda _: "")


def difference_text(against: dict[str, Any]) -> str:
    """The difference to the reference with its interval, unless the predictions are the same."""
    if against.get("interval") is None:
        return ""
    if against["identical"]:
        return "same predictions"
    return "{:+.4f} [{:+.4f}, {:+.4f}]".format(against["difference"], *against["interval"])


def visible_text(compared: dict[str, Any]) -> str:
    """The smallest visible effect of a comparison."""
    effect = compared.get("smallest_visible", "")
    return "–" if effect is None else effect and f"{effect:.4f}"


_AGAINST: dict[str, Callable[[dict[str, Any]], str]] = {
    DIFFERENCE: difference_text,
    VISIBLE: visible_text,
    VERDICT: lambda against: against.get("verdict", ""),
}


def _cell(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.4f}"


def _plot(summary: dict[str, Any]) -> Any:
    name = table_cells(summary)[0][1]
    values = {row["label"]: row["metrics"][name]["values"] for row in summary["rows"] if row["n"]}
    if not values:
        return None
    paper = _figures(summary).get(name)
    title = f"{summary['title']}{_on(summary)}"
    metric = name.replace("_", " ") + (" (lower is better)" if name.endswith(("mse", "perplexity")) else "")
    beside = {**_floors(summary), "encoder, not trained": summary["floor_frozen"]}
    floors = {about: scores[name] for about, scores in beside.items() if name in scores}
    metrics = resolve_task(summary["task"], summary["settings"]).metrics
    widths = {of.name: of.max_difference for of in metrics}
    # Scores end at 1: shares begin at 0 and correlations at -1.
    width = widths.get(name.partition("_")[2], math.inf)
    bounds = (1.0 - width, 1.0) if math.isfinite(width) else (-math.inf, math.inf)
    return plot_ablation(values, metric=metric, floors=floors, paper=paper, title=title, bounds=bounds)


def _write(path: str, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


Side = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_SHARED = ("n", "units", "samples", "over", "paired")  # the same for all metrics


# Values that scikit-learn's metrics of labels accept; other metrics accept any number.
_LABELS: dict[Callable, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    ACCURACY.compute: ("whole numbers", lambda values: values == np.rint(values)),
    F1.compute: ("0 and 1", lambda values: np.isin(values, (0, 1))),
}


@dataclass(frozen=True)
class Run:
    """The predictions of a run; task, model and seed are :obj:`None` without a result.json."""

    path: Path
    predictions: Predictions
    task: str | None
    model: str | None
    seed: int | None
    settings: str | None = None
    """All settings, including the seed, and the user's edges, which identify the run."""

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
    """Compares two systems, with intervals over seeds and test examples.

    Several runs of a system, such as its seeds, count with their mean score. Runs are paired by seed if both
    systems have the same seeds, and not paired if they have others; if seeds are unknown, they are paired in
    the given order if there are equally many (:func:`graphdep.metrics.compare`).

    Args:
        a, b: Folders of runs or predictions.csv files, or a text with names separated by commas or a
            pattern.
        metric: Name of a metric. (default: all metrics of the task)
        task: Task of predictions without a result.json. (default: that of the results)
        bound: The smallest effect of interest, in units of the metric, for the verdict. (default:
            :obj:`None`, no test of equivalence)
        samples: Number of resamples. (default: :obj:`10000`)
        seed: Seed of the resamples. (default: :obj:`0`)

    Returns:
        Plain values: ``task``, ``a`` and ``b`` (models and runs), ``n`` examples, number (``units``) and
        description (``drawn``) of the resampled units, ``samples``, ``over`` and ``paired`` of
        :class:`~graphdep.metrics.Comparison`, ``seed``, ``bound``, ``differing`` (settings other than the
        seed that differ, with their values), for each of ``metrics`` the rest of the comparison and its
        ``verdict``, and their ``signature``.

    Raises:
        ValueError: If a name matches nothing, a run is given twice, runs of a system have equal seeds but
            other settings, or the runs are not of the same task and examples; names the file.
    """
    if bound is not None:
        check_bound(bound)
    sides = [[_read(path) for path in _files(side)] for side in (a, b)]
    runs = [run for side in sides for run in side]
    _check_once(runs)
    for side in sides:
        _check_one_system(side)
    name = _task_of(runs, task)
    settings = json.loads(runs[0].settings)[0] if runs[0].settings else {}
    metrics = _choose(resolve_task(name, settings).metrics, metric)
    check_same_examples([run.path for run in runs], [run.predictions for run in runs])
    _check_labels(runs, metrics)
    if len(runs[0].target) < 2:
        raise ValueError(f"{runs[0].path}: a comparison needs at least two examples (got 1)")
    sides, paired = _pair(sides)
    groups = shared_groups([run.predictions for run in runs])
    first, second = (np.stack([run.prediction for run in side]) for side in sides)
    given: dict[str, Any] = {"samples": samples, "seed": seed, "groups": groups, "paired": paired}
    found = [compare(m, runs[0].target, first, second, **given) for m in metrics]
    family = family_of(name)
    drawn = family.compared(name) if found[0].units == found[0].n else family.groups
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
    """The predictions files of a side."""
    if not isinstance(side, str):
        given = [side] if isinstance(side, os.PathLike) else side
        return [path for one in given for path in _files_of([os.fspath(one)])]
    return _files_of(_texts(side))


def _texts(side: str) -> list[str]:
    return [side] if os.path.exists(os.path.expanduser(side)) else [text.strip() for text in side.split(",")]


def _files_of(texts: Sequence[str]) -> list[Path]:
    paths: list[Path] = []
    for text in texts:
        place = str(home_path(text))
        found = [place] if text and Path(place).exists() else sorted(glob.glob(place))
        if not found:
            kind = "nothing matches" if glob.has_magic(text) else "no folder or file"
            raise ValueError(f"{kind} {text!r}")
        paths += map(Path, found)
    files = [path / PREDICTIONS if path.is_dir() else path for path in paths]
    for file in files:
        check_read_again(file)
        if not file.exists():
            raise ValueError(f"{file.parent}: no {file.name}; the run is not finished")
    return files


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


def _check_labels(runs: list[Run], metrics: list[Metric]) -> None:
    """Raises :class:`ValueError`, naming the file, for labels that scikit-learn would refuse."""
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


def _pair(sides: list[list[Run]]) -> tuple[list[list[Run]], bool | None]:
    """The runs of both sides in the order of their seeds, if known, and whether they are paired."""
    seeds = [[run.seed for run in side] for side in sides]
    if None in seeds[0] + seeds[1]:
        return sides, None
    ordered = [sorted(side, key=lambda run: run.seed or 0) for side in sides]
    same = sorted(map(str, seeds[0])) == sorted(map(str, seeds[1]))
    return ordered, same and len(set(seeds[0])) == len(seeds[0])


def _check_once(runs: list[Run]) -> None:
    seen: dict[object, Path] = {}
    for run in runs:
        for key, same in (
            (run.path.resolve(), "the same file"),
            (run.settings, f"the same settings and seed ({run.seed})"),
        ):
            if key in seen:
                raise ValueError(f"{run.path} and {seen[key]} are the same run: {same}")
            seen |= {key: run.path} if key is not None else {}


def _check_one_system(side: list[Run]) -> None:
    """Raises :class:`ValueError` if runs with equal seeds have other settings."""
    seen: dict[int, Run] = {}
    for run in side:
        if run.settings is None or run.seed is None:
            continue
        if (other := seen.setdefault(run.seed, run)) is not run:
            names = ", ".join(_differing([[other], [run]])) or "your own edges"
            raise ValueError(
                f"{run.path} and {other.path} have the same seed ({run.seed}) but other settings ({names}): "
                "they are not runs of one system"
            )


def _task_of(runs: list[Run], given: str | None) -> str:
    """The task of all runs."""
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


def _choose(metrics: tuple[Metric, ...], name: str | None) -> list[Metric]:
    by_name = {metric.name: metric for metric in metrics}
    return [*metrics] if name is None else [by_name[check_choice("metric", name, by_name)]]


def _differing(sides: list[list[Run]]) -> dict[str, list[list[Any]]]:
    """The values of settings that differ between or within the two sides, by name."""
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
    """The distinct values in their order; they need not be hashable."""
    return [value for place, value in enumerate(values) if value not in values[:place]]


def _describe(side: list[Run]) -> dict[str, Any]:
    models = sorted({run.model for run in side if run.model is not None})
    return {"models": models, "runs": [str(run.path) for run in side]}
