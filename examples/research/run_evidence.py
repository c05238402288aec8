"""When does syntax help? Runs what claims/ asks for until the time is up, and says what is decided.

    python examples/research/run_evidence.py --raw-from DIR --minutes 170    # corpora: claims/README.md
    python examples/research/run_evidence.py --status
    python examples/research/run_evidence.py --raw-from DIR --root ALL --prepare  # ALL: for another machine

Interrupted or out of time, the same command goes on. Scores go to results/evidence as runs end.
"""

import argparse
import sys
from pathlib import Path

from evidence import Campaign, read_designs
from evidence.prepare import prepare
from evidence.verdicts import decide
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--designs", type=Path, default=HERE / "claims")
parser.add_argument("--only", nargs="*", default=[], help="names of designs")
parser.add_argument("--runs", type=Path, default=Path("runs", "evidence"), help="where runs are kept")
parser.add_argument("--results", type=Path, default=HERE / "results" / "evidence")
parser.add_argument("--raw-from", help="folder that the files of the designs are relative to")
parser.add_argument("--root", help="folder of prepared corpora, one a task")
parser.add_argument("--minutes", type=float, default=170)
parser.add_argument("--workers", type=int, default=1, help="runs at once, a core each")
parser.add_argument("--retry", action="store_true", help="what failed before")
parser.add_argument("--prepare", action="store_true", help="only parse and process what is needed to --root")
parser.add_argument("--status", action="store_true", help="run nothing")


def main() -> None:
    args = parser.parse_args()
    designs = read_designs(args.designs)
    unknown = {*args.only} - {design.name for design in designs}
    if unknown:
        parser.error(f"no design {unknown.pop()!r} in {args.designs}")
    designs = [design for design in designs if not args.only or design.name in args.only]
    where = {"raw_from": args.raw_from, "root": args.root}
    campaign = Campaign(designs, args.runs, args.results, **where, workers=args.workers, retry=args.retry)
    if args.prepare:
        print(f"{prepare(campaign) / 2**20:.0f} MiB in {args.root}")
        return
    before = sum(state.left for state in campaign.states())
    if not args.status:
        campaign.run(args.minutes)
    show(campaign)
    for what in campaign.missing:
        print(f"left out: {what}", file=sys.stderr)
    if campaign.missing and sum(state.left for state in campaign.states()) == before:
        sys.exit("nothing could be run")


def show(campaign: Campaign) -> None:
    table = Table("design", "table", "done", "running", "failed", "left", "hours left")
    running = campaign.running()
    for state in campaign.states():
        hours = "?" if state.seconds is None else f"{state.seconds / 3600:.1f}"
        counts = (state.done, running[state.design, state.table], state.failed, state.left)
        table.add_row(state.design, state.table, *map(str, counts), hours)
    console = Console()
    console.print(table)
    for state in campaign.states():
        for run, error in state.errors.items():
            console.print(f"failed: {state.design} {run}: {error.splitlines()[-1]}", markup=False)
    for row in decide(campaign):
        console.print(f"{row['claim']}: {row['verdict']}", markup=False, highlight=False)


if __name__ == "__main__":
    main()
