"""Gain of a parser's trees by the number of training predicates: the picture of results/roles-more.md.

    python examples/research/learning_curve.py    # (make tables)

Draws figures/learning_curve.png from the scores of the designs once a line has two sizes, and says
in the page, between <!-- picture:begin --> and <!-- picture:end -->, which points are still missing. What is
drawn already is not drawn again.
"""

import argparse
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from design_tables import paired, planned_scores, planned_seeds
from evidence import Design, read_designs
from evidence.ledger import Ledger
from matplotlib.figure import Figure
from PIL import Image

from graphdep.visualization.scene import COLOURS, INK, PALE

HERE = Path(__file__).parent
BAND = "random trees, from scratch"
# Of a line: the design, the row with trees, the one without.
LINES = {
    "from scratch": ("e2-curve", "dt@parser", "transformer"),
    "from scratch, over a BiLSTM": ("e2-curve", "dt@parser", "bilstm-deep"),
    "with word vectors": ("e2-roles-vectors", "dt@parser", "transformer"),
    "with word vectors, over a BiLSTM": ("e2-roles-vectors", "dt@parser", "bilstm-deep"),
    "MiniLM": ("e2-roles-minilm", "bert-dt@parser", "bert"),
    BAND: ("e2-curve", "dt@random", "transformer"),
}
BLOCK = re.compile(r"(<!-- picture:begin -->\n).*?(<!-- picture:end -->)", re.S)
Points = dict[int, dict[str, float] | None]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--designs", type=Path, default=HERE / "claims")
parser.add_argument("--results", type=Path, default=HERE / "results" / "evidence")
parser.add_argument("--page", type=Path, default=HERE / "results" / "roles-more.md")
parser.add_argument("--output", type=Path, default=HERE / "figures" / "learning_curve.png")


def main() -> None:
    args = parser.parse_args()
    lines = points_of_lines(args.designs, args.results)
    if has_picture(lines) and drawn(args.output) != digest(lines):
        draw(lines).savefig(args.output, dpi=120, metadata={"Software": None, "Description": digest(lines)})
    before = args.page.read_text(encoding="utf-8")
    page, count = BLOCK.subn(lambda match: f"{match[1]}{said(lines)}{match[2]}", before)
    if count != 1:
        parser.error(f"{args.page} has no block <!-- picture:begin --> ... <!-- picture:end -->")
    if page != before:
        args.page.write_text(page, encoding="utf-8")


def points_of_lines(designs: Path, results: Path) -> dict[str, Points]:
    """Of each line the gain by size, None where not all planned seeds are done."""
    found = {design.name: design for design in read_designs(designs)}
    return {label: _points(found[name], *rows, results) for label, (name, *rows) in LINES.items()}


def _points(design: Design, row: str, against: str, results: Path) -> Points:
    ledger, points = Ledger(results / f"{design.name}.csv"), Points()
    for table in sorted((t for t in design.tables if t.name.isdigit()), key=lambda t: int(t.name)):
        planned = min(planned_seeds(design, table.digest, [row, against]).values())
        scores = [
            planned_scores(ledger, table.digest, name, design.metric, planned) for name in (row, against)
        ]
        seeds = [seed for seed in range(planned) if all(seed in one for one in scores)]
        points[int(table.name)] = paired(*scores) if len(seeds) == planned else None
    return points


def has_picture(lines: Mapping[str, Points]) -> bool:
    """One point is no curve."""
    return any(sum(point is not None for point in points.values()) > 1 for points in lines.values())


def digest(lines: Mapping[str, Points]) -> str:
    """Of what is drawn, in the picture itself."""
    text = [
        f"{label} {size} {point['difference']:.5f} {point['low']:.5f} {point['high']:.5f}"
        for label, points in lines.items()
        for size, point in points.items()
        if point
    ]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:16]


def drawn(picture: Path) -> str:
    """The digest of a picture; empty where there is none."""
    if not picture.exists():
        return ""
    with Image.open(picture) as image:
        return str(image.info.get("Description", ""))


def said(lines: Mapping[str, Points]) -> str:
    """What the page says: the picture, and what is missing of it."""
    missing = {
        label: [f"{size:,}" for size, point in points.items() if not point] for label, points in lines.items()
    }
    text = "; ".join(f"{label} {', '.join(sizes)}" for label, sizes in missing.items() if sizes)
    if not has_picture(lines):
        return f"No line has two sizes yet, so that there is no picture. Missing: {text}.\n"
    picture = "![Gain of test F1 by the number of training predicates](../figures/learning_curve.png)\n"
    return picture + (f"\nStill missing: {text}.\n" if text else "")


def draw(lines: Mapping[str, Points]) -> Figure:
    """A line for each encoder, a band for random trees; whiskers and band are 95% intervals over seeds."""
    figure = Figure(figsize=(7.2, 4.9), layout="constrained")
    axes = figure.subplots()
    axes.axhline(0, color=INK, linewidth=1)
    sizes = sorted({size for points in lines.values() for size, point in points.items() if point})
    names = [*dict.fromkeys(design for design, *_ in LINES.values())]  # a colour each
    for label, points in lines.items():
        there = {size: point for size, point in points.items() if point}
        if not there:
            continue
        middle, low, high = (
            [100 * point[name] for point in there.values()] for name in ("difference", "low", "high")
        )
        if label == BAND:
            axes.fill_between([*there], low, high, color=PALE, label=label, zorder=0)
            continue
        error = [[m - a for m, a in zip(middle, low)], [b - m for m, b in zip(middle, high)]]
        design, _, against = LINES[label]
        style, colour = "s--" if against.startswith("bilstm") else "o-", COLOURS[names.index(design)]
        axes.errorbar([*there], middle, yerr=error, fmt=style, color=colour, capsize=4, label=label)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training predicates")
    axes.set_ylabel("gain in test F1, points")
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    axes.grid(axis="y", color=PALE, linewidth=0.7)
    return figure


if __name__ == "__main__":
    main()
