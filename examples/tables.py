"""The tables of README.md, of the site and of examples/results/*.md, filled from the committed CSVs.

    python examples/tables.py            # says what differs, and ends with 1 if anything does
    python examples/tables.py --write    # (make tables)

A comment in front of a table says where its figures are from. Rows are models, and columns whose header is a
metric ("test accuracy") are filled; what else is needed is said after a semicolon or on lines of its own, of
a column, of a row, or of a cell ("ROW / COLUMN"); of rows that begin alike by "FIRST CELL | SECOND CELL":

    <!-- table: sick-e.csv; trial accuracy = val_accuracy; PPL = val_perplexity .2; bert = head_lr=1e-2 -->

Words after "=" are a file of examples/results (of its folder evidence with `digest=...`), a metric, `.2`
(digits, else four), `column=value` of the CSV, `model:NAME`, `floor`, or `-`: leave it as it is. Columns
"seeds", "runs", "difference ..." and "smallest visible" are known; rows "no skill ..." are floors, rows
"references ..." those; "paper ..." and "**not trained** ..." are left. Three comments make a whole table, up
to <!-- evidence:end --> and so on, of a design of examples/claims: one of its tables with its
metrics, one metric over several tables, or one over the parts of the test split:

    <!-- evidence: e2-roles 5000 test_f1 rows=transformer,dt against=transformer differences=roles.csv -->
    <!-- curve: e2-roles test_f1 500 1000 2500 rows=transformer,dt -->
    <!-- parts: e2-roles 5000 test_f1/distance rows=transformer,dt -->

Two more make the table of `make bench` of its CSV, <!-- bench: bench.csv -->, and one of what edges read
(examples/probes.py), <!-- probes: probes.csv -->.

`differences` is a CSV of `graphdep ablate`, whose intervals are taken where its runs are the same.
"""

import argparse
import csv
import difflib
import functools
import math
import re
import shlex
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphdep.training.evidence import Design, read_designs
from graphdep.training.evidence.ledger import Ledger
from graphdep.training.evidence.verdicts import BOTH, CLAIMS, interval, over_seeds, read_claims, scores_digest

HERE = Path(__file__).parent
FIRST_PAGES = [HERE.parent / name for name in ("README.md", "docs/results.md", "docs/how-to/own-encoder.md")]
MARKER = re.compile(r"^<!-- (table|evidence|curve|parts|bench|probes): (.*?)\s*-->\n", re.M | re.S)
LEFT = ("paper", "**not trained**")
FIXED = {"no skill": "floor", "(no skill": "floor", "references": "reference"}
KNOWN = ("seeds", "difference", "smallest_visible")
COUNTS = ("epochs", "best_epoch", "seconds_per_epoch", "parameters")
BELOW = 0.05  # what a star of the probes stands for
SEEDS_ALONE = (
    "\\*: over the seeds alone (paired, 95% by the t distribution), for these test examples; the others are\n"
    "over seeds and test examples at once.\n"
)

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


@functools.cache
def read(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV of scores; those of a design without the runs that only choose a setting."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    if lines and "digest" in lines[0]:
        return [{"model": line["row"], **line} for line in lines if not line["tune"]]
    return lines


def chosen(rows: Iterable[Mapping[str, str]], metric: str, **filters: str) -> list[dict[str, str]]:
    """The lines of a metric where all columns have these values.

    Raises:
        ValueError: If there is none.
    """
    filters["metric"] = metric
    left = list(rows)
    for name, value in filters.items():
        if left and name not in left[0]:
            raise ValueError(f"no column {name!r}; there are {', '.join(left[0])}")
        found = [dict(row) for row in left if row[name] == value]
        if not found:
            raise ValueError(f"no {name} {value!r}; there are {', '.join(sorted({r[name] for r in left}))}")
        left = found
    return left


def spread(values: Sequence[float], form: str) -> str:
    """Mean ± standard deviation (n - 1); of one value itself."""
    mean = f"{statistics.fmean(values):{form}}"
    return f"{mean} ± {statistics.stdev(values):{form}}" if len(values) > 1 else mean


def difference_text(row: Mapping[str, Any], digits: str) -> str:
    middle, low, high = (float(row[name]) for name in ("difference", "low", "high"))
    return f"{middle:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


# Tables that are made of a design and its scores.


class Asked(NamedTuple):
    """What a comment asks of a design: words after its name, and ``name=value``."""

    design: Design
    ledger: Ledger
    words: list[str]
    options: dict[str, str]


def asked_of_design(said: str, results: Path, designs: Path) -> Asked:
    name, *words = shlex.split(said)
    found = {design.name: design for design in _designs(designs)}
    if name not in found:
        raise ValueError(f"no design {name!r}; there are {', '.join(found)}")
    options = dict(word.split("=", 1) for word in words if "=" in word)
    unknown = options.keys() - {"rows", "against", "differences", "digits"}
    if unknown:
        raise ValueError(f"no option {unknown.pop()!r}")
    ledger = Ledger(results / "evidence" / f"{name}.csv")
    return Asked(found[name], ledger, [word for word in words if "=" not in word], options)


@functools.cache
def _designs(folder: Path) -> list[Design]:
    return read_designs(folder)


def evidence(said: str, results: Path, designs: Path) -> str:
    """A table of a design: metrics, the first one's difference to a row, seeds."""
    asked = asked_of_design(said, results, designs)
    design, words, digits = asked.design, asked.words, asked.options.get("digits", "4")
    names = [table.name for table in design.tables]
    table = table_of(design, words.pop(0) if words[:1] and words[0] in names else names[0])
    metrics = words or [design.metric]
    known = {name for scores in asked.ledger.runs.values() for name in scores}
    for metric in metrics:
        if known and metric not in known:
            raise ValueError(f"no metric {metric!r}; there are {', '.join(sorted(known))}")
    rows = asked.options.get("rows", ",".join(table.rows)).split(",")
    against = asked.options.get("against", rows[0])
    header = ["row", *(metric.replace("_", " ") for metric in metrics), "seeds"]
    header[2:2] = ["difference [95%]", "smallest visible"]
    lines = [header, ["---"] * len(header), *_floors(asked.ledger, table.digest, rows, metrics, digits)]
    for row in rows:
        planned = planned_seeds(design, table.digest, [row, against])[row]
        scores = [planned_scores(asked.ledger, table.digest, row, metric, planned) for metric in metrics]
        texts = [_text(metric, [*one.values()], digits) for metric, one in zip(metrics, scores)]
        seeds = f"{len(scores[0])} of {planned}" if len(scores[0]) < planned else str(planned)
        found = None if row == against else gain(asked, table, row, against, metrics[0], results)
        compared = [found["text"], f"{found['smallest_visible']:.{digits}f}"] if found else ["", ""]
        lines.append([row, texts[0] or "not run", *compared, *texts[1:], seeds])
    starred = any("\\*" in line[2] for line in lines)
    return written(lines) + (f"\n{SEEDS_ALONE}" if starred else "")


def _text(metric: str, values: Sequence[float], digits: str) -> str:
    if not values or metric not in COUNTS:
        return spread(values, f".{digits}f") if values else ""
    mean = statistics.fmean(values)  # of parameters the ledger has six digits
    return f"{mean / 1000:,.0f} k" if metric == "parameters" else f"{mean:.1f}"


def curve(said: str, results: Path, designs: Path) -> str:
    """A metric of rows over several tables of a design."""
    asked = asked_of_design(said, results, designs)
    metric, *names = asked.words
    tables = [table_of(asked.design, name) for name in names or [t.name for t in asked.design.tables]]
    rows = asked.options.get("rows", ",".join(tables[0].rows)).split(",")
    digits = asked.options.get("digits", "4")
    lines = [["row", *(table.name for table in tables)], ["---"] * (len(tables) + 1)]
    for row in rows:
        cells = []
        for table in tables:
            planned = planned_seeds(asked.design, table.digest, [row])[row]
            values = [*planned_scores(asked.ledger, table.digest, row, metric, planned).values()]
            seeds = f" ({len(values)} of {planned})" if len(values) < planned else f" ({planned})"
            cells.append(spread(values, f".{digits}f") + seeds if values else "not run")
        lines.append([row, *cells])
    return written(lines)


def parts(said: str, results: Path, designs: Path) -> str:
    """A metric of the parts of the test split, a line each, by rows of a table."""
    asked = asked_of_design(said, results, designs)
    name, metric = asked.words if len(asked.words) == 2 else (asked.design.tables[0].name, *asked.words)
    table, start = table_of(asked.design, name), f"{metric}/"
    rows = asked.options.get("rows", ",".join(table.rows)).split(",")
    of_table = [scores for key, scores in asked.ledger.runs.items() if key.digest == table.digest]
    names = dict.fromkeys(key for scores in of_table for key in sorted(scores) if key.startswith(start))
    lines = [[metric.rpartition("/")[2], *rows], ["---"] * (len(rows) + 1)]
    planned = planned_seeds(asked.design, table.digest, rows)
    for part in sorted(names, key=_by_number):
        values = [
            planned_scores(asked.ledger, table.digest, row, part, planned[row]).values() for row in rows
        ]
        form = f".{asked.options.get('digits', '3')}f"
        lines.append([part.removeprefix(start), *(spread([*one], form) if one else "" for one in values)])
    return written(lines)


def _by_number(name: str) -> tuple[int, str]:
    number = re.search(r"/(\d+)[-+]?\d*$", name)
    return int(number[1]) if number else 0, name


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


MADE = {"evidence": evidence, "curve": curve, "parts": parts, "bench": bench, "probes": probes}


def table_of(design: Design, name: str) -> Any:
    """A table of a design by its name."""
    for table in design.tables:
        if table.name == name:
            return table
    names = ", ".join(repr(table.name) for table in design.tables)
    raise ValueError(f"design {design.name} has no table {name!r}; it has {names}")


def planned_seeds(design: Design, digest: str, rows: Iterable[str]) -> dict[str, int]:
    """How many seeds are planned of each row with these settings, which several tables may have."""
    planned = {}
    for row in rows:
        seeds = [table.seeds for table in design.tables if table.digest == digest and row in table.rows]
        if not seeds:
            raise ValueError(f"design {design.name} has no row {row!r} with these settings")
        planned[row] = max(seeds)
    return planned


def planned_scores(ledger: Ledger, digest: str, row: str, metric: str, planned: int) -> dict[int, float]:
    """A row's scores by seed, those alone that are planned."""
    scores = ledger.scores(digest, row, metric)
    return {seed: scores[seed] for seed in sorted(scores) if seed < planned}


def _floors(
    ledger: Ledger, digest: str, rows: Sequence[str], metrics: Sequence[str], digits: str
) -> list[list[str]]:
    """Lines of the floors that runs have: no skill, look-up, an encoder that was not trained."""
    kinds = {"no skill": "floor_{}", "look-up": "floor_{}_lookup", "not trained": "floor_frozen_{}"}
    lines = []
    for label, form in kinds.items():
        seen: list[list[str]] = []
        for row in rows:
            cells = []
            for metric in metrics:
                found = ledger.scores(digest, row, form.format(metric))
                cells.append(f"{found[min(found)]:.{digits}f}" if found else "")
            if cells[0] and cells not in seen:  # those of other trees
                name = f"({label} @{row.partition('@')[2]})" if seen else f"({label})"
                lines.append([name, cells[0], "", "", *cells[1:], ""])
                seen.append(cells)
    return lines


def gain(
    asked: Asked, table: Any, row: str, against: str, metric: str, results: Path
) -> dict[str, Any] | None:
    """The difference of two rows: over seeds and examples where this was found of these runs, else over the
    seeds. None where they share less than two.
    """
    digits = asked.options.get("digits", "4")
    planned = min(planned_seeds(asked.design, table.digest, [row, against]).values())
    a, b = (planned_scores(asked.ledger, table.digest, name, metric, planned) for name in (row, against))
    wanted = {"digest": table.digest, "metric": metric, "a": row, "b": against, "over": BOTH}
    for claim in read_claims(results / "evidence" / CLAIMS):
        if not claim["difference"] or any(claim[name] != value for name, value in wanted.items()):
            continue
        of_claim = [{seed: row[seed] for seed in row if seed < int(claim["planned"])} for row in (a, b)]
        if claim["scores"] == scores_digest(*of_claim):
            return {**_numbers(claim), "text": difference_text(claim, digits)}
    if "differences" in asked.options:
        lines = read(results / asked.options["differences"])
        lines = [line for line in lines if line["metric"] == metric and line["model"] in (row, against)]
        before = [
            {int(line["seed"]): line for line in lines if line["model"] == name} for name in (row, against)
        ]
        if all(_same(*pair) for pair in zip(before, (a, b))):
            line = before[0][0]
            if line["against"] == against:
                return {**_numbers(line), "text": difference_text(line, digits)}
    found = paired(a, b)
    return found and {**found, "text": difference_text(found, digits) + " \\*"}


def _numbers(line: Mapping[str, str]) -> dict[str, float]:
    return {name: float(line[name]) for name in ("difference", "low", "high", "smallest_visible")}


def _same(before: Mapping[int, Mapping[str, str]], now: Mapping[int, float]) -> bool:
    """Whether these are the same runs: the ledger has six digits."""
    same_seeds = before.keys() == now.keys() and len(now) > 0
    return same_seeds and all(math.isclose(float(before[s]["value"]), now[s], rel_tol=1e-5) for s in now)


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> dict[str, float] | None:
    """Difference, 95% interval (t distribution) and smallest visible effect over the seeds that both have."""
    seeds = sorted(a.keys() & b.keys())
    if len(seeds) < 2:
        return None
    found = over_seeds([a[seed] for seed in seeds], [b[seed] for seed in seeds])
    return {"difference": found["difference"], **interval(found)}


def written(lines: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
