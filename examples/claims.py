"""The claims of examples/claims/ and what the runs so far say of them, as a table.

python examples/claims.py            # from examples/results/evidence/claims.csv
python examples/claims.py --write    # into examples/claims/README.md (make tables)
"""

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from graphdep.training.evidence import read_designs, read_open_claims
from graphdep.training.evidence.verdicts import BOTH, CLAIMS, read_claims, said

HERE = Path(__file__).parent
OPEN = ("claim", "source", "published", "why it is not decided here")
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--designs", type=Path, default=HERE / "claims")
parser.add_argument("--results", type=Path, default=HERE / "results" / "evidence")
parser.add_argument("--page", type=Path, default=HERE / "claims" / "README.md")
parser.add_argument("--write", action="store_true", help="into the page")


def table(designs: Path, results: Path) -> str:
    found = {row["claim"]: row for row in read_claims(results / CLAIMS)}
    header = ("claim", "source", "rows", "seeds", "difference [95%]", "smallest visible", "verdict")
    lines = [header, ["---"] * len(header)]
    for design in read_designs(designs):
        for claim in design.claims:
            own = next(own for own in design.tables if own.name == claim.table)
            asked = {"digest": own.digest, **said(claim)}
            row = found.get(claim.name, {})
            if any(row.get(name) != value for name, value in asked.items()):
                row = {"planned": str(own.seeds)}  # of a claim that said something else
            numbers = ["", ""]
            if row.get("difference"):
                middle, low, high, seen = (
                    float(row[name]) for name in ("difference", "low", "high", "smallest_visible")
                )
                star = "" if row["over"] == BOTH else " \\*"
                numbers = [f"{middle:+.4f} [{low:+.4f}, {high:+.4f}]{star}", f"{seen:.4f}"]
            rows = f"`{claim.a}` {claim.expected} than `{claim.b}`".replace("equal than", "equal to")
            where = ", ".join(filter(None, [design.name, claim.table, claim.metric]))
            seeds = f"{row.get('seeds', 0)} of {row.get('planned', '?')}"
            verdict = row.get("verdict", "not run")
            lines.append([claim.text, claim.source, f"{rows} ({where})", seeds, *numbers, verdict])
    return markdown(lines)


def open_table(folder: Path) -> str:
    claims = read_open_claims(folder)
    rows = [(claim.text, claim.source, claim.published, claim.why) for claim in claims]
    return markdown([OPEN, ["---"] * len(OPEN), *rows])


def markdown(lines: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def main() -> None:
    args = parser.parse_args()
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
