"""Tables of a design of claims/ and of its scores, which tables.py writes into pages."""

import functools
import math
import re
import shlex
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evidence import Design, read_designs
from evidence.ledger import Ledger
from evidence.verdicts import BOTH, CLAIMS, interval, over_seeds, read_claims, scores_digest
from table_text import difference_text, read, spread, written

COUNTS = ("epochs", "best_epoch", "seconds_per_epoch", "parameters")
SEEDS_ALONE = (
    "\\*: over the seeds alone (paired, 95% by the t distribution), for these test examples; the others are\n"
    "over seeds and test examples at once.\n"
)


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


def gains(said: str, results: Path, designs: Path) -> str:
    """Differences of a row to others, over several tables of a design."""
    asked = asked_of_design(said, results, designs)
    metric, *names = asked.words
    tables = [table_of(asked.design, name) for name in names or [t.name for t in asked.design.tables]]
    if not asked.options.keys() >= {"rows", "against"}:
        raise ValueError("'rows' (one) and 'against' are needed: which row's gain over which others")
    row = asked.options["rows"]
    lines = [[f"{row} over", *(table.name for table in tables)], ["---"] * (len(tables) + 1)]
    for against in asked.options["against"].split(","):
        found = [gain(asked, table, row, against, metric, results) for table in tables]
        seeds = [_shared_seeds(asked, table, row, against, metric) for table in tables]
        lines.append([against, *((one["text"] if one else "") + part for one, part in zip(found, seeds))])
    starred = any("\\*" in cell for line in lines for cell in line)
    return written(lines) + (f"\n{SEEDS_ALONE}" if starred else "")


def _shared_seeds(asked: Asked, table: Any, row: str, against: str, metric: str) -> str:
    """How many seeds both rows have, where that is not all."""
    planned = min(planned_seeds(asked.design, table.digest, [row, against]).values())
    a, b = (planned_scores(asked.ledger, table.digest, name, metric, planned) for name in (row, against))
    both = len(a.keys() & b.keys())
    if both in (0, planned):
        return "" if both else "not run"
    return f" ({both} of {planned})" if both > 1 else f"{both} of {planned}"


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
    """Lines of the floors that runs have: no skill, look-up, the words alone, an encoder that was not
    trained.
    """
    kinds = {"no skill": "floor_{}", "look-up": "floor_{}_lookup", "bag of words": "floor_{}_bag_of_words"}
    kinds["not trained"] = "floor_frozen_{}"
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
        if claim["scores"] == scores_digest(a, b):
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
