"""The table and the picture of docs/results.md: what a parser's trees bring over the best row without trees.

    python examples/research/headline.py    # (make tables)

headline.toml names the rows and claims. tables.py writes the table, for <!-- headline: headline.toml -->, and
this draws figures/results.png, unless it is of these scores already. All is in points: a score of .5 is 50.0.
"""

import argparse
import hashlib
import json
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

from claims import holm
from design_tables import planned_scores, planned_seeds
from evidence import Claim, Design, read_designs
from evidence.ledger import Ledger
from evidence.verdicts import BOTH, CLAIMS, read_claims
from matplotlib.figure import Figure
from PIL import Image
from scipy import stats
from table_text import written

from graphdep.visualization.scene import COLOURS, INK, PALE, QUIET

HERE = Path(__file__).parent
COLUMNS = {
    "plain": "best without trees",
    "parsed": "a parser's trees",
    "gold": "gold trees",
    "labels": "labels only",
    "order": "order only",
}
WIDEST = 20.0  # of the picture: a gain beyond stands at its edge

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--asked", type=Path, default=HERE / "headline.toml")
parser.add_argument("--designs", type=Path, default=HERE / "claims")
parser.add_argument("--results", type=Path, default=HERE / "results")
parser.add_argument("--output", type=Path, default=HERE / "figures" / "results.png")


@dataclass(frozen=True)
class Line:
    """A task: in points the mean of the row of each column, and the gain with its 95% interval."""

    name: str
    scores: Mapping[str, float]
    gain: tuple[float, float, float] | None
    seeds_alone: bool
    verdict: str
    source: str  # design and digest of its settings
    smallest: float = 0.0  # effect of interest, in points


@dataclass(frozen=True)
class Curve:
    """Scores of a row in points with the half of their 95% interval over seeds, by training predicates."""

    name: str
    dashed: bool
    points: Mapping[int, tuple[float, float]]


def main() -> None:
    args = parser.parse_args()
    lines = lines_of(args.asked, args.results, args.designs)
    curves = curves_of(args.asked, args.results, args.designs)
    if drawn(args.output) != digest(lines, curves):
        picture = draw(lines, curves)
        told = {"Software": None, "Description": digest(lines, curves)}
        picture.savefig(args.output, dpi=120, metadata=told)


def headline(said: str, results: Path, designs: Path) -> str:
    """The table, as :mod:`tables` writes it; after ``"digests"`` the design of each line, with its digest."""
    file, _, part = said.partition(" ")
    lines = lines_of(HERE / file, results, designs)
    if part == "digests":
        return "; ".join(f"{line.name.partition(',')[0]}: {line.source}" for line in lines) + ".\n"
    if part:
        raise ValueError(f"{said}: neither the table nor its digests (got {part!r})")
    header = ["test split", *COLUMNS.values(), "gain over the best [95%]", "verdict"]
    rows = [header, ["---"] * len(header)]
    for line in lines:
        scores = [f"{line.scores[key]:.1f}" if key in line.scores else "–" for key in COLUMNS]
        gain = "not run"
        if line.gain is not None:
            middle, low, high = line.gain
            gain = f"{middle:+.1f} [{low:.1f}, {high:.1f}]" + (" \\*" if line.seeds_alone else "")
        rows.append([line.name, *scores, gain, line.verdict])
    return written(rows)


def lines_of(asked: Path, results: Path, designs: Path) -> list[Line]:
    """The tasks of a file.

    Raises:
        ValueError: If a claim is none, or is not of the rows that are shown.
    """
    all_designs = read_designs(designs)
    found = {claim.name: (design, claim) for design in all_designs for claim in design.claims}
    decided = {row["claim"]: row for row in read_claims(results / "evidence" / CLAIMS)}
    holding, lines = holm(all_designs, decided), []
    for task in _read(asked)["tasks"]:
        if task["claim"] not in found:
            raise ValueError(f"{asked}: no claim {task['claim']!r}")
        design, claim = found[task["claim"]]
        line = _line(task, design, claim, decided.get(claim.name, {}), results)
        falls = holding.get(claim.name) is False
        lines.append(replace(line, verdict=line.verdict + " \\*\\*" * falls))
    return lines


def _line(
    task: Mapping[str, Any], design: Design, claim: Claim, row: Mapping[str, str], results: Path
) -> Line:
    table = next(table for table in design.tables if table.name == claim.table)
    ledger, means = Ledger(results / "evidence" / f"{design.name}.csv"), {}
    for key in COLUMNS:
        scores = {
            name: _scores(design, ledger, table.digest, name, claim.metric) for name in task.get(key, ())
        }
        means[key] = {name: 100 * statistics.fmean(one) for name, one in scores.items() if one}
    best = {key: max(of, key=lambda name: of[name]) for key, of in means.items() if of}
    trees = "parsed" if task.get("parsed") else "gold"
    validation = claim.metric.replace("test_", "val_")
    if not claim.posthoc:
        best[trees] = claim.a
    elif trees in best:
        best[trees] = max(
            means[trees],
            key=lambda name: statistics.fmean(_scores(design, ledger, table.digest, name, validation)),
        )
    shown, source = {key: means[key][best[key]] for key in best}, f"`{design.name}` {table.digest}"
    if not row.get("difference"):
        return Line(task["name"], shown, None, False, "not run", source)
    if (best[trees], best["plain"]) != (claim.a, claim.b):
        found = f"{best[trees]} and {best['plain']} are best"
        raise ValueError(f"{task['name']}: {found}, and {claim.name} is of {claim.a} and {claim.b}")
    middle, low, high = (100 * float(row[name]) for name in ("difference", "low", "high"))
    verdict = _verdict(row["verdict"].partition(" (")[0], high, 100 * claim.smallest)
    verdict += "" if claim.posthoc else ", planned"
    gain, alone = (middle, low, high), row["over"] != BOTH
    return Line(task["name"], shown, gain, alone, verdict, source, 100 * claim.smallest)


def _verdict(decided: str, high: float, smallest: float) -> str:
    """The verdict of a claim that trees are better, in points."""
    if decided == "reproduced":
        return "above 0"
    if decided == "not reproduced":
        return "below 0" if high < 0 else f"below {smallest:g}"
    return decided


def curves_of(asked: Path, results: Path, designs: Path) -> list[Curve]:
    """The curves of a file: a row in all tables of its design that are called by a number."""
    found, curves = {design.name: design for design in read_designs(designs)}, []
    for curve in _read(asked)["curves"]:
        design = found[curve["design"]]
        ledger, points = Ledger(results / "evidence" / f"{design.name}.csv"), {}
        for table in design.tables:
            if table.name.isdigit() and curve["row"] in table.rows:
                scores = _scores(design, ledger, table.digest, curve["row"], design.metric)
                if len(scores) > 1:
                    points[int(table.name)] = _interval([100 * score for score in scores])
        curves.append(Curve(curve["name"], curve.get("dashed", False), dict(sorted(points.items()))))
    return curves


def _scores(design: Design, ledger: Ledger, digest: str, row: str, metric: str) -> list[float]:
    """The scores of a row's planned seeds, none unless all are there."""
    planned = planned_seeds(design, digest, [row])[row]
    scores = [*planned_scores(ledger, digest, row, metric, planned).values()]
    return scores if len(scores) == planned else []


def _interval(scores: Sequence[float]) -> tuple[float, float]:
    error = statistics.stdev(scores) / len(scores) ** 0.5
    return statistics.fmean(scores), error * float(stats.t.ppf(0.975, len(scores) - 1))


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def digest(lines: Sequence[Line], curves: Sequence[Curve]) -> str:
    """Of what is drawn, in the picture itself."""
    drawn = [[line.name, line.gain, line.smallest] for line in lines] + [
        [one.name, [*one.points.items()]] for one in curves
    ]
    return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:16]


def drawn(picture: Path) -> str:
    """The digest of a picture; empty where there is none."""
    if not picture.exists():
        return ""
    with Image.open(picture) as image:
        return str(image.info.get("Description", ""))


def draw(lines: Sequence[Line], curves: Sequence[Curve]) -> Figure:
    """Test F1 on roles by the size of training, and the gain on each task with its 95% interval."""
    figure = Figure(figsize=(10.5, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _draw_curves(left, [curve for curve in curves if curve.points])
    _draw_gains(right, [line for line in lines if line.gain is not None])
    return figure


def _draw_curves(axes: Any, curves: Sequence[Curve]) -> None:
    for curve, colour in zip(curves, cycle((*COLOURS, INK, QUIET))):
        middle, half = zip(*curve.points.values())
        style = "s--" if curve.dashed else "o-"
        axes.errorbar(
            [*curve.points], middle, yerr=half, fmt=style, color=colour, capsize=3, label=curve.name
        )
    sizes = sorted({size for curve in curves for size in curve.points})
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training predicates")
    axes.set_ylabel("test F1, points")
    axes.set_title("Roles", loc="left")
    axes.grid(axis="y", color=PALE, linewidth=0.7)
    if curves:
        axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.12))


def _draw_gains(axes: Any, lines: Sequence[Line]) -> None:
    bounds = [line.smallest for line in lines]
    axes.barh(
        range(len(lines)), [2 * bound for bound in bounds], 0.8, [-bound for bound in bounds], color=PALE
    )
    axes.axvline(0, color=INK, linewidth=1, zorder=1)
    for place, line in enumerate(lines):
        middle, low, high = line.gain
        if middle > WIDEST:
            axes.plot([WIDEST], [place], ">", color=COLOURS[0], clip_on=False)
            axes.annotate(f"{middle:.0f} ", (WIDEST, place), ha="right", va="center")
        else:
            axes.plot([low, high], [place, place], "-", color=COLOURS[0])
            axes.plot([middle], [place], "o", color=COLOURS[0])
    axes.set_yticks(range(len(lines)), [line.name for line in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_xlim(-0.7 * WIDEST, WIDEST)
    axes.set_xlabel("points over the best row without trees")
    axes.set_title("Gain of trees (grey: smaller than of interest)", loc="left")
    axes.grid(axis="x", color=PALE, linewidth=0.7)


if __name__ == "__main__":
    main()
