"""What finished runs say of the claims of their design, as a file that is kept."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy import stats

from evidence.campaign import Campaign
from evidence.claim import Claim
from evidence.design import Design, Table
from evidence.ledger import Ledger, alone
from graphdep.io import atomic_path
from graphdep.metrics import Metric, visible_effect
from graphdep.training.table import compare_runs
from graphdep.training.task import resolve_task

HEADER = (
    *("claim", "design", "table", "digest", "metric", "a", "b", "expected", "smallest"),
    *("seeds", "planned", "scores", "over"),
    *("score_a", "score_b", "difference", "low", "high", "standard_error", "df", "smallest_visible"),
    "verdict",
)
NUMBERS = ("score_a", "score_b", "difference", "standard_error", "df")
CLAIMS = "claims.csv"
BOTH = "seeds and examples"
_SAMPLES = 2000  # the standard error, all that is asked of them, to 2%
_ROUNDED = 1e-6  # what scores of six digits may differ by without being others


def decide(campaign: Campaign) -> list[dict[str, str]]:
    """A row for each claim of a campaign's designs: how many of the planned seeds are done, and once all are,
    difference, interval, smallest visible effect and verdict. Writes them to ``claims.csv`` beside the
    ledgers, where those of other designs stay as they are, and returns them.

    The interval is over seeds and examples (:func:`graphdep.metrics.compare`) where the predictions of all
    runs are there. What was found before of runs with the same scores is not computed again, so that it
    stays where the predictions are elsewhere; without either, or where the predictions are not those of the
    ledger's scores, it is over the seeds alone (paired t-test): column ``over``.
    """
    path = campaign.results / CLAIMS
    known = read_claims(path)
    before = {row["claim"]: row for row in known}
    names = {design.name for design in campaign.designs}
    rows: list[dict[str, str]] = []
    for design in campaign.designs:
        for claim in design.claims:
            table = next(table for table in design.tables if table.name == claim.table)
            rows.append(_row(campaign, design, table, claim, before.get(claim.name)))
    asked = {row["claim"] for row in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path.parent):
        known = read_claims(path)  # another process may have decided claims of its own meanwhile
        kept = {row["claim"]: row for row in known if row["claim"] in asked or row["design"] not in names}
        _write(path, (kept | {row["claim"]: row for row in rows}).values())
    return rows


def _write(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEADER, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_claims(path: Path) -> list[dict[str, str]]:
    """The rows of a ``claims.csv``; none where there is no such file.

    Raises:
        ValueError: If it has other columns.
    """
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if tuple(reader.fieldnames or ()) != HEADER:
        raise ValueError(f"{path}:1: the header must be {','.join(HEADER)}")
    rows = [dict(row) for row in reader]
    if not text.endswith("\n") or any(None in row or None in row.values() for row in rows):
        raise ValueError(
            f"{path}: the file is cut: delete it, make -C examples/research evidence-status writes it again"
        )
    return rows


def _row(
    campaign: Campaign, design: Design, table: Table, claim: Claim, before: Mapping[str, str] | None
) -> dict[str, str]:
    ledger = campaign.ledgers[design.name]
    scores = [ledger.scores(table.digest, row, claim.metric) for row in (claim.a, claim.b)]
    seeds = [seed for seed in range(table.seeds) if all(seed in score for score in scores)]
    row: dict[str, Any] = dict.fromkeys(HEADER, "")
    row |= {"claim": claim.name, "design": design.name, "table": table.name, "digest": table.digest}
    row |= {**said(claim), "seeds": len(seeds), "planned": table.seeds}
    if len(seeds) < table.seeds:
        failed = len(campaign.failed_seeds(design, table, (claim.a, claim.b)))
        row["verdict"] = "running" if seeds else "not run"
        if failed:
            row["verdict"] = f"not run (seeds that failed: {failed} of {table.seeds})"
        return {name: str(value) for name, value in row.items()}
    row["scores"] = scores_digest(*({seed: score[seed] for seed in seeds} for score in scores))
    found = (
        _found_before(before, row)
        or _by_examples(campaign, design, table, claim)
        or over_seeds(*([score[seed] for seed in seeds] for score in scores))
    )
    # As they are written: what is read again must lead to the same row.
    found |= {name: float(_text(found[name])) for name in NUMBERS}
    found |= interval(found)
    metric = next(m for m in resolve_task(design.task).metrics if claim.metric == f"test_{m.name}")
    verdict = claim.verdict(
        found["difference"], found["standard_error"], found["df"], maximize=metric.maximize
    )
    row["verdict"] = (
        _nothing_learnt(ledger, table, claim, metric, verdict)
        or _nothing_differs([scores[0][seed] - scores[1][seed] for seed in seeds])
        or verdict
    )
    return {name: _text(found.get(name, value)) for name, value in row.items()}


def _nothing_learnt(ledger: Ledger, table: Table, claim: Claim, metric: Metric, verdict: str) -> str | None:
    """Why rows conclude nothing: a pretrained encoder's is no better than the encoder before its training, or
    neither of an equality, or of a gain that is denied, is better than no skill by what the claim calls an
    effect.
    """
    low: dict[str, list[str]] = {"floor_frozen_": [], "floor_": []}
    for floor in low:
        for row in (claim.a, claim.b):
            mine, its = (ledger.scores(table.digest, row, f"{of}{claim.metric}") for of in ("", floor))
            least = claim.smallest if floor == "floor_" else 0.0
            means = [statistics.fmean(scores.values()) for scores in (mine, its) if scores]
            if its and not metric.is_better(means[0], means[1], by=least):
                low[floor].append(row)
    if low["floor_frozen_"]:
        return f"undecided ({low['floor_frozen_'][0]} is no better than the encoder before its training)"
    if len(low["floor_"]) == 2 and (claim.expected == "equal" or verdict != "reproduced"):
        return "undecided (both rows are no better than no skill)"
    return None


def _nothing_differs(differences: Sequence[float]) -> str | None:
    """Why nothing is concluded of runs that differ by the same in every seed: two systems that compute the
    same, or two seeds that happen to. Their spread is none, and everything would be significant.
    """
    if len(differences) > 1 and max(differences) - min(differences) < _ROUNDED:
        return "undecided (the rows differ by the same in every seed)"
    return None


def interval(found: Mapping[str, float]) -> dict[str, float]:
    """The 95% interval and the smallest visible effect of a difference with its standard error."""
    half = float(stats.t.ppf(0.975, found["df"])) * found["standard_error"]
    return {
        "low": found["difference"] - half,
        "high": found["difference"] + half,
        "smallest_visible": visible_effect(found["standard_error"], found["df"]),
    }


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def said(claim: Claim) -> dict[str, str]:
    """What a claim says, as its row has it: a row of a claim that says something else is out of date."""
    return {name: _text(getattr(claim, name)) for name in ("metric", "a", "b", "expected", "smallest")}


def scores_digest(a: Mapping[int, float], b: Mapping[int, float]) -> str:
    """Column ``scores`` of two rows' scores, by seed: a difference of other scores is out of date."""
    scores = [[score[seed] for seed in sorted(a.keys() & b.keys())] for score in (a, b)]
    return hashlib.sha256(json.dumps(scores).encode()).hexdigest()[:12]


def _found_before(before: Mapping[str, str] | None, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """What was found over seeds and examples of runs with these scores."""
    same = ("design", "table", "digest", "metric", "a", "b", "seeds", "scores")
    if before is None or before["over"] != BOTH or any(before[name] != str(row[name]) for name in same):
        return None
    return {**{name: float(before[name]) for name in NUMBERS}, "over": BOTH}


def _by_examples(campaign: Campaign, design: Design, table: Table, claim: Claim) -> dict[str, Any] | None:
    """The difference over seeds and examples; :obj:`None` where a run's predictions are not there, or are not
    what the metric is of.
    """
    sides = [campaign.predictions(design, table, row) for row in (claim.a, claim.b)]
    names = {m.name for m in resolve_task(design.task).metrics}
    name = claim.metric.removeprefix("test_")
    if any(len(side) < table.seeds for side in sides) or name not in names:
        return None
    a, b = ([side[seed] for seed in sorted(side)] for side in sides)
    compared = compare_runs(a, b, metric=name, samples=_SAMPLES)
    found = {**compared, **compared["metrics"][name]}
    for row, side in ((claim.a, "score_a"), (claim.b, "score_b")):
        scores = campaign.ledgers[design.name].scores(table.digest, row, claim.metric)
        mean = statistics.fmean(score for seed, score in scores.items() if seed < table.seeds)
        if not math.isclose(mean, found[side], rel_tol=1e-4, abs_tol=1e-6):
            return None  # predictions of other runs than those in the ledger
    return {key: found[key] for key in HEADER if key in found and key not in ("a", "b", "verdict")}


def over_seeds(a: Sequence[float], b: Sequence[float]) -> dict[str, Any]:
    """The paired difference over seeds, these examples taken as given: as a row of ``claims.csv`` has it."""
    found = {"score_a": statistics.fmean(a), "score_b": statistics.fmean(b), "over": "seeds"}
    differences = [one - other for one, other in zip(a, b)]
    spread = statistics.stdev(differences) if len(differences) > 1 else math.inf
    return found | {
        "difference": statistics.fmean(differences),
        "standard_error": spread / math.sqrt(len(differences)),
        "df": max(1, len(differences) - 1),
    }
