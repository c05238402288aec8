"""The claims of claims/ and what the runs so far say of them, as a table.

python examples/research/claims.py               # from results/evidence/claims.csv
python examples/research/claims.py --write       # into claims/README.md (make tables)
python examples/research/claims.py --unpaired    # intervals that do not take runs of a seed as pairs
python examples/research/claims.py --stale       # what pages conclude from other verdicts than those of today

What a page concludes is written by hand, and says in a comment which verdicts it was written of:

    <!-- concluded from
    roles-predicted-trees: reproduced
    -->
"""

import argparse
import re
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evidence import Claim, Design, read_designs, read_open_claims
from evidence.ledger import Ledger
from evidence.verdicts import BOTH, CLAIMS, read_claims, said
from scipy import stats

HERE = Path(__file__).parent
FIRST_PAGES = [HERE.parents[1] / "README.md", HERE.parents[1] / "docs" / "results.md"]
OPEN = ("claim", "source", "published", "why it is not decided here")
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--designs", type=Path, default=HERE / "claims")
parser.add_argument("--results", type=Path, default=HERE / "results" / "evidence")
parser.add_argument("--page", type=Path, default=HERE / "claims" / "README.md")
parser.add_argument("--stale", nargs="*", type=Path, metavar="PAGE", help="(default: all that conclude)")
parser.add_argument("--unpaired", nargs="*", metavar="CLAIM", help="(default: all)")
parser.add_argument("--write", action="store_true", help="into the page")


def table(designs: Path, results: Path) -> str:
    found = {row["claim"]: row for row in read_claims(results / CLAIMS)}
    told = ("seeds", "difference [95%]", "smallest visible", "published", "verdict", "Holm")
    header = ("claim", "source", "rows", *told)
    lines = [header, ["---"] * len(header)]
    all_designs = read_designs(designs)
    holding = holm(all_designs, found)
    for design in all_designs:
        for claim in design.claims:
            row = _row_of(claim, design, found)
            numbers, published = ["", ""], claim.published
            if row.get("difference"):
                middle, low, high, seen = (
                    float(row[name]) for name in ("difference", "low", "high", "smallest_visible")
                )
                star = "" if row["over"] == BOTH else " \\*"
                numbers = [f"{middle:+.4f} [{low:+.4f}, {high:+.4f}]{star}", f"{seen:.4f}"]
                published += inside(claim.published, low, high)
            bound = ("within" if claim.expected == "equal" else "by") + f" {claim.smallest:g}"
            rows = f"`{claim.a}` {claim.expected} than `{claim.b}` {bound}".replace("equal than", "equal to")
            where = ", ".join(filter(None, [design.name, claim.table, claim.metric]))
            seeds = f"{row.get('seeds', 0)} of {row.get('planned', '?')}"
            verdict = row.get("verdict", "not run") + (", claimed after the runs" if claim.posthoc else "")
            verdict += _more_seeds(claim, design) if row.get("difference") else ""
            if verdict == "not run":
                verdict += f" (needs {claim.needs})" if claim.needs else " (in the queue)"
            held = "" if claim.name not in holding else "holds" if holding[claim.name] else "falls"
            cells = [claim.text, claim.source, f"{rows} ({where})", seeds, *numbers, published, verdict, held]
            lines.append(cells)
    return markdown(lines)


def inside(published: str, low: float, high: float) -> str:
    """Whether the sizes that a source names are inside of our interval."""
    sizes = [float(size) for size in re.findall(r"[+-]\.\d+", published)]
    held = sum(low <= size <= high for size in sizes)
    if not sizes or "over" in published:
        return ""
    if 0 < held < len(sizes):
        return f": {held} of {len(sizes)} inside"
    return ": inside" if held else ": outside"


def holm(designs: Iterable[Design], found: Mapping[str, dict[str, str]]) -> dict[str, bool]:
    """Of the gains that are reproduced, whether each holds at 5% over all directional claims together, by
    Holm's correction: the k-th smallest of m p values times m - k + 1, and no smaller than those before.
    """
    p, reproduced = {}, set()
    for design in designs:
        for claim in design.claims:
            row = _row_of(claim, design, found)
            if claim.expected == "equal" or not row.get("difference"):
                continue
            apart, error, df = (float(row[name]) for name in ("difference", "standard_error", "df"))
            p[claim.name] = 2 * float(stats.t.sf(abs(apart) / error, df)) if error else 1.0
            reproduced |= {claim.name} if row["verdict"] == "reproduced" else set()
    held, largest = {}, 0.0
    for place, name in enumerate(sorted(p, key=lambda name: p[name])):
        largest = max(largest, (len(p) - place) * p[name])
        held[name] = largest < 0.05
    return {name: held[name] for name in held if name in reproduced}


def unpaired(names: Sequence[str], designs: Path, results: Path) -> str:
    """Intervals of claims if runs of a seed are no pairs: the variance of the mean difference over seeds is
    replaced by the sum of the variances of both means, with the degrees of freedom of Welch. Then the mean
    correlation of the pairs.
    """
    rows, lines, correlations = {row["claim"]: row for row in read_claims(results / CLAIMS)}, [], []
    for design in read_designs(designs):
        ledger = Ledger(results / f"{design.name}.csv")
        for claim in design.claims:
            row = _row_of(claim, design, rows)
            if (names and claim.name not in names) or not row.get("difference"):
                continue
            found = [ledger.scores(row["digest"], side, claim.metric) for side in (claim.a, claim.b)]
            a, b = ([scores[seed] for seed in range(int(row["seeds"]))] for scores in found)
            parts = [statistics.variance(side) / len(a) for side in (a, b)]
            if not all(parts):
                continue
            pairs = statistics.variance([x - y for x, y in zip(a, b)]) / len(a)
            error = float(row["standard_error"])
            variance = sum(parts) + (max(error**2 - pairs, 0.0) if row["over"] == BOTH else 0.0)
            df = variance**2 * (len(a) - 1) / sum(part**2 for part in parts)
            middle, half = float(row["difference"]), float(stats.t.ppf(0.975, df)) * variance**0.5
            correlations.append(statistics.correlation(a, b))
            lines.append(f"{claim.name} {middle:+.4f} [{middle - half:+.4f}, {middle + half:+.4f}]")
    mean, of = statistics.fmean(correlations), len(correlations)
    spread = f" +- {statistics.stdev(correlations) / of**0.5:.2f}" if of > 1 else ""
    return "\n".join([*lines, f"mean correlation of the pairs of {of} claims: {mean:+.2f}{spread}"])


def _row_of(claim: Claim, design: Design, found: Mapping[str, dict[str, str]]) -> dict[str, str]:
    """What is known of a claim as it stands now."""
    own = next(own for own in design.tables if own.name == claim.table)
    asked = {"digest": own.digest, **said(claim)}
    row = found.get(claim.name, {})
    if any(row.get(name) != value for name, value in asked.items()):
        return {"planned": str(own.seeds), "verdict": "not run"}  # of a claim that said something else
    return row


def _more_seeds(claim: Claim, design: Design) -> str:
    """That its rows have more seeds than it was planned with, which were run after a look at these."""
    own = next(own for own in design.tables if own.name == claim.table)
    alike = [one for one in design.tables if one.digest == own.digest and {claim.a, claim.b} <= {*one.rows}]
    most = max(one.seeds for one in alike)
    return f", on the {own.seeds} planned seeds of {most}" if most > own.seeds else ""


def open_table(folder: Path) -> str:
    claims = read_open_claims(folder)
    rows = [(claim.text, claim.source, claim.published, claim.why) for claim in claims]
    return markdown([OPEN, ["---"] * len(OPEN), *rows])


def stale(pages: Iterable[Path], designs: Path, results: Path) -> list[str]:
    """What the conclusions of pages do not know: verdicts that are others now, and claims of the designs
    whose tables they have.
    """
    rows = {row["claim"]: row for row in read_claims(results / CLAIMS)}
    all_claims = [(design, claim) for design in read_designs(designs) for claim in design.claims]
    found = {claim.name: _row_of(claim, design, rows)["verdict"] for design, claim in all_claims}
    found = {name: verdict.partition(" (")[0] for name, verdict in found.items() if verdict != "running"}
    claims = {claim.name: design.name for design, claim in all_claims}
    return [line for page in pages for line in _stale(page, claims, found)]


def _stale(page: Path, claims: dict[str, str], found: dict[str, str]) -> list[str]:
    text = page.read_text(encoding="utf-8")
    shown = set(re.findall(r"^<!-- (?:evidence|curve|gains|parts): ([\w-]+)", text, re.M))
    comments = re.findall(r"^<!-- concluded from\n(.*?)^-->", text, re.M | re.S)
    stated = dict(line.split(": ", 1) for comment in comments for line in comment.splitlines())
    unknown = [f"{page}: no claim {name!r}" for name in stated if name not in claims]
    asked = [name for name, design in claims.items() if name in stated or design in shown]
    pairs = [(name, stated.get(name, "not stated"), found.get(name, "not run")) for name in asked]
    return unknown + [
        f"{page}: {name} is {now!r} and was {before!r}" for name, before, now in pairs if before != now
    ]


def markdown(lines: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def main() -> None:
    args = parser.parse_args()
    if args.stale is not None:
        pages = args.stale or [*FIRST_PAGES, *sorted((HERE / "results").glob("*.md"))]
        if found := stale(pages, args.designs, args.results):
            print("read again what these pages conclude, and mend their comments:", *found, sep="\n")
            sys.exit(1)
        return
    if args.unpaired is not None:
        print(unpaired(args.unpaired, args.designs, args.results))
        return
    blocks = {"claims": table(args.designs, args.results), "open": open_table(args.designs / "open")}
    if not args.write:
        print("\n\n".join(blocks.values()))
        return
    page = args.page.read_text(encoding="utf-8")
    for name, text in blocks.items():
        block = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.S)
        page, count = block.subn(lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page)
        if count != 1:
            parser.error(f"{args.page} has no block <!-- {name}:begin --> ... <!-- {name}:end -->")
    args.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
