"""The tables of README.md, of the site and of results/*.md, filled from the committed CSVs.

    python examples/research/tables.py            # says what differs, and ends with 1 if anything does
    python examples/research/tables.py --write    # (make tables)

A comment in front of a table says where its figures are from. Rows are models, and columns whose header is a
metric ("test accuracy") are filled; what else is needed is said after a semicolon or on lines of its own, of
a column, of a row, or of a cell ("ROW / COLUMN"); of rows that begin alike by "FIRST CELL | SECOND CELL":

    <!-- table: sick-e.csv; trial accuracy = val_accuracy; PPL = val_perplexity .2; bert = head_lr=1e-2 -->

Words after "=" are a file of `results/` (of its folder evidence with `digest=...`), a metric, `.2`
(digits, else four), `column=value` of the CSV, `model:NAME`, `floor`, `claim:NAME` (the difference that
decides a claim of `claims/`, * over the seeds alone), or `-`: leave it as it is. Columns "seeds",
"runs", "difference ..." and "smallest visible" are known; rows "no skill ..." are floors, rows
"references ..." those; "paper ..." and "**not trained** ..." are left. Five comments make a whole table, up
to <!-- evidence:end --> and so on, of designs of `claims/`: one of its tables with its metrics, one metric
over several tables, a row's differences to others over several tables, a metric over the parts of the test
split, or rows of several designs (``a+b``: two of one task) beside what their paper reports of them:

    <!-- evidence: e2-roles 5000 test_f1 rows=transformer,dt against=transformer differences=roles.csv -->
    <!-- curve: e2-roles test_f1 500 1000 2500 rows=transformer,dt -->
    <!-- gains: e2-curve test_f1 500 1000 2500 rows=dt@parser against=transformer,bilstm-deep -->
    <!-- parts: e2-roles 5000 test_f1/distance rows=transformer,dt -->
    <!-- published: e6-sick-r e6-sick-e rows=dt,use "others=use:USE, its weights" -->

Two more make the table of `make bench` of its CSV, <!-- bench: bench.csv -->, and one of what edges read
(probes.py), <!-- probes: probes.csv -->; and one that of docs/results.md, <!-- headline: headline.toml -->,
with "digests" the designs of its lines and their digests.

`differences` is a CSV of `graphdep ablate`, whose intervals are taken where its runs are the same.
"""

import argparse
import difflib
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from design_tables import curve, evidence, gains, parts
from evidence.verdicts import BOTH, CLAIMS, read_claims
from headline import headline
from published_table import published
from table_text import chosen, difference_text, read, spread, written

HERE = Path(__file__).parent
FIRST_PAGES = [
    HERE.parents[1] / name for name in ("README.md", "docs/results.md", "docs/how-to/own-encoder.md")
]
MARKER = re.compile(
    r"^<!-- (table|evidence|curve|gains|parts|published|bench|probes|headline): (.*?)\s*-->\n", re.M | re.S
)
LEFT = ("paper", "**not trained**")
FIXED = {"no skill": "floor", "(no skill": "floor", "references": "reference"}
KNOWN = ("seeds", "difference", "smallest_visible")
BELOW = 0.05  # what a star of the probes stands for

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of the CSVs")
parser.add_argument("--designs", type=Path, default=HERE / "claims")
parser.add_argument(
    "--pages",
    type=Path,
    nargs="*",
    help="(default: README.md, those of docs that have figures, and those of --results)",
)
parser.add_argument("--write", action="store_true", help="into the pages")


def main() -> int:
    args = parser.parse_args()
    differ = 0
    for page in args.pages or [*FIRST_PAGES, *sorted(args.results.glob("*.md"))]:
        before, after = page.read_text(encoding="utf-8"), refreshed(page, args.results, args.designs)
        lines = (text.splitlines() for text in (before, after))
        print(
            *difflib.unified_diff(*lines, str(page), "what the CSVs say", n=0, lineterm=""), sep="\n", end=""
        )
        differ += before != after
        if args.write and before != after:
            page.write_text(after, encoding="utf-8")
    return 0 if args.write else min(differ, 1)


def refreshed(page: Path, results: Path, designs: Path) -> str:
    """The text of a page, its tables as the CSVs have them.

    Raises:
        ValueError: If a comment asks for what is not there; names page, line and value.
    """
    text = page.read_text(encoding="utf-8")
    for other in re.finditer(r"^<!-- (\w+): ", text, re.M):
        if other[1] not in ("table", *MADE):
            line = text.count("\n", 0, other.start()) + 1
            raise ValueError(f"{page}:{line}: no such comment {other[1]!r}")
    parts, end = [], 0
    for marker in MARKER.finditer(text):
        line = text.count("\n", 0, marker.end()) + 1
        kind, said = marker.groups()
        try:
            if kind == "table":
                body = re.compile(r"(?:\|.*\n)*").match(text, marker.end())
                new = filled(body.group().splitlines(), said, results)
            else:
                body = re.compile(rf".*?(?=<!-- {kind}:end -->)", re.S).match(text, marker.end())
                if body is None or "<!-- " in body.group():
                    raise ValueError(f"no <!-- {kind}:end --> after it")
                new = MADE[kind](said, results, designs)
        except (ValueError, OSError) as error:
            raise ValueError(f"{page}:{line}: {error}") from None
        parts += [text[end : marker.end()], new]
        end = body.end()
    return "".join([*parts, text[end:]])


# Tables whose cells are filled.


def filled(lines: Sequence[str], said: str, results: Path) -> str:
    """A table with the cells that its comment says."""
    cells = [line.split("|") for line in lines]
    if len(cells) < 3:
        raise ValueError("no table after <!-- table: ... -->")
    parts, names = _parts(said), [cell.strip() for cell in cells[0]]
    rows = [[cell.strip() for cell in row[:3]] for row in cells[2:]]
    known = {*names, *(row[1] for row in rows), *(f"{row[1]} | {row[2]}" for row in rows)}
    for part in parts:
        if part and part not in known and not {*part.split(" / ")} <= known:
            raise ValueError(f"no column or row {part!r}")
    for row, (_, label, second) in zip(cells[2:], rows):
        main: dict[str, Any] | None = None
        for place in range(2, len(row) - 1):
            column = names[place]
            asked: dict[str, str] = {}
            for key in ("", column, label, f"{label} | {second}", f"{label} / {column}"):
                asked |= parts.get(key, {})
            try:
                value, main = _cell(asked, label, column, main, results)
            except ValueError as error:
                raise ValueError(f"{label!r}, {column!r}: {error}") from None
            if value is not None:
                bold = "**" if row[place].strip().startswith("**") else ""
                row[place] = f" {bold}{value}{bold} "
    return "".join("|".join(row) + "\n" for row in cells)


def _parts(said: str) -> dict[str, dict[str, str]]:
    """What a comment says, by the label of a column, a row or a cell; ``""`` for all."""
    parts: dict[str, dict[str, str]] = {"": {}}
    for one in filter(None, (piece.strip() for piece in re.split(r"[;\n]", said))):
        label, _, words = one.rpartition(" = ") if " = " in one else ("", "", one)
        asked = parts.setdefault(label, {})
        for word in shlex.split(words):
            if word.startswith("model:"):
                asked["model"] = word.removeprefix("model:")
            elif word.startswith("claim:"):
                asked["claim"] = word.removeprefix("claim:")
            elif word in ("-", "floor"):
                asked["kind"] = word
            elif word.endswith(".csv"):
                asked["file"] = word
            elif re.fullmatch(r"\.\d", word):
                asked["digits"] = word[1:]
            elif "=" in word:
                name, _, value = word.partition("=")
                asked[f"={name}"] = value
            else:
                asked["metric"] = word
    return parts


def _cell(
    asked: Mapping[str, str], label: str, column: str, main: dict[str, Any] | None, results: Path
) -> tuple[str | None, dict[str, Any] | None]:
    """The text of a cell, None where it stays as it is, and what differences of this row are of."""
    if asked.get("kind") == "-" or "file" not in asked or label.startswith(LEFT):
        return None, main
    rows, digits = read(results / asked["file"]), asked.get("digits", "4")
    if "claim" in asked:
        return _of_claim(asked["claim"], asked.get("=digest"), digits, results), main
    metric = _metric(column, rows)
    if metric not in KNOWN:
        metric = asked.get("metric", metric)
    filters = {name[1:]: value for name, value in asked.items() if name.startswith("=")}
    kind = asked.get("kind") or next((FIXED[start] for start in FIXED if label.startswith(start)), None)
    if metric is None or (kind and metric in KNOWN):
        return None, main
    if kind:
        return _fixed(rows, kind, metric, digits, filters), main
    model = asked.get("model") or _model(label, {row["model"] for row in rows})
    if metric in ("difference", "smallest_visible"):
        return _difference(main, metric, digits), main
    found = chosen(rows, rows[0]["metric"] if metric == "seeds" else metric, model=model, **filters)
    seeds = {row["seed"] for row in found}
    if len(seeds) < len(found):
        raise ValueError(f"several runs of a seed of {model!r}; say which (columns {', '.join(found[0])})")
    if metric == "seeds":
        return str(len(seeds)), main
    return spread([float(row["value"]) for row in found], f".{digits}f"), main or found[0]


def _fixed(
    rows: Sequence[Mapping[str, str]], kind: str, metric: str, digits: str, filters: Mapping[str, str]
) -> str | None:
    """A floor or a score of references: a column, or in scores of designs a metric."""
    if kind in rows[0]:
        found = {row[kind] for row in chosen(rows, metric, **filters)}
    else:
        found = {row["value"] for row in chosen(rows, f"{kind}_{metric}", **filters)}
    if len(found) > 1:
        raise ValueError(f"several values of {kind}: {', '.join(sorted(found))}")
    return f"{float(*found):.{digits}f}" if found != {""} else None


def _metric(column: str, rows: Sequence[Mapping[str, str]]) -> str | None:
    name = column.lower().replace(" ", "_")
    if name in ("seeds", "runs"):
        return "seeds"
    if name.startswith("difference") or name == "smallest_visible":
        name = name.partition("_[")[0]
        return name if name in rows[0] else None
    return next((row["metric"] for row in rows if row["metric"].lower() == name), None)


def _model(label: str, models: set[str]) -> str:
    name = label.removeprefix("control: ")
    for one in (name, name.partition(" (")[0], name.partition(",")[0]):
        if one.strip("`*") in models:
            return one.strip("`*")
    raise ValueError(f"no model {label!r}; there are {', '.join(sorted(models))}")


def _difference(row: Mapping[str, str] | None, name: str, digits: str) -> str | None:
    if row is None or not row["against"]:
        return None
    return difference_text(row, digits) if name == "difference" else f"{float(row[name]):.{digits}f}"


def _of_claim(name: str, digest: str | None, digits: str, results: Path) -> str:
    """The difference that decided a claim, which must be of the runs of its row of the page."""
    for row in read_claims(results / "evidence" / CLAIMS):
        if (row["claim"], row["digest"]) == (name, digest) and row["difference"]:
            return difference_text(row, digits) + ("" if row["over"] == BOTH else " \\*")
    raise ValueError(f"no decided claim {name!r} with digest {digest!r}")


def bench(said: str, results: Path, designs: Path) -> str:
    """Ratios and their targets, as `make bench` has written them, and where."""
    lines = read(results / said)
    names = [name for name in lines[0] if name != "machine"]
    cells = [[f"**{one[name]}**" if one[name] == "missed" else one[name] for name in names] for one in lines]
    machines = "; ".join(dict.fromkeys(line["machine"] for line in lines))
    return written([names, ["---"] * len(names), *cells]) + f"\n{machines}.\n"


def probes(said: str, results: Path, designs: Path) -> str:
    """Accuracy by edges, layers and function; starred where it is below theory's, if the CSV has that."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for line in read(results / said):
        measured = float(line["measured"])
        star = "*" if measured < float(line.get("step_by_step", 0)) - BELOW else ""
        rows.setdefault((line["edges"], line["layers"]), {})[line["function"]] = f"{measured:.2f}{star}"
    names = [*next(iter(rows.values()))]
    header = ["edges", "layers", *names]
    cells = [[*row, *(found[name] for name in names)] for row, found in rows.items()]
    return written([header, ["---"] * len(header), *cells])


MADE = {
    "evidence": evidence,
    "curve": curve,
    "gains": gains,
    "parts": parts,
    "published": published,
    "bench": bench,
    "probes": probes,
    "headline": headline,
}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
