"""The reports of gpu_check.py as the CSVs that tables.py makes tables of.

gpu-times.csv has the times of attention, gpu-targets.csv what was asked and whether it holds. A step that is
in several reports counts once, as the last of them has it. Usage:

    python examples/research/benchmarks/gpu_tables.py runs/gpu_check.json [MORE.json ...] [--results FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gpu_check import bound, figures, is_done, judged, text

from graphdep.io import atomic_path

RESULTS = Path(__file__).parent.parent / "results"
Row = dict[str, str]


def read(paths: Sequence[Path]) -> tuple[list[dict[str, Any]], str]:
    """The steps of reports of one machine, and what the machine is."""
    steps: dict[str, dict[str, Any]] = {}
    machines = []
    for path in paths:
        report = json.loads(path.read_text(encoding="utf-8"))
        said = report["machine"]
        if report["tiny"] or "device" not in said:
            raise ValueError(f"{path}: not of a GPU")
        machines.append(f"{said['device']}, torch {said['torch']}, triton {said['triton']}")
        steps |= {step["step"]: step for step in report["steps"] if is_done(step)}
    if len(set(machines)) > 1:
        raise ValueError(f"reports of several machines: {'; '.join(sorted(set(machines)))}")
    return [*steps.values()], machines[0]


def times(steps: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Of every workload what each method took, forward and backward."""
    for step in steps:
        for method, found in step.get("found", {}).get("times", {}).items():
            time = found.get("device_us")
            error = found.get("error", "").partition(":")[0]
            yield {
                "attention": step["step"].removeprefix("speed: "),
                "method": method,
                "device µs": f"{time:.0f}" if time else "",
                "measured by": found.get("how", ""),
                "error": error,
            }


def results(steps: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Whether each proof holds; the numbers of the other steps but those of :func:`times`; and targets."""
    for step in steps:
        name, found = step["step"], step.get("found", {})
        if ": " not in name:
            yield row(name="proof", what=name, target="holds", met=step["ok"])
        elif not name.startswith("speed"):
            for what, value in figures(found):
                yield row(name, what, text(value))
    for step in steps:
        for target in judged(step.get("found", {})):
            name = step["step"].removeprefix("speed: ")
            yield row(name, target["of"], text(target["ratio"]), bound(target), target["met"])


def row(name: str, what: str, value: str = "", target: str = "", met: bool | None = None) -> Row:
    verdict = "" if met is None else "met" if met else "missed"
    return {"part": name, "what": what, "value": value, "target": target, "verdict": verdict}


def write(path: Path, rows: Sequence[Row], machine: str) -> None:
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "machine"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**one, "machine": machine} for one in rows)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "reports", type=Path, nargs="+", help="JSON files of gpu_check.py, later ones counting"
    )
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="folder of gpu-times.csv and gpu-targets.csv"
    )
    args = parser.parse_args(argv)
    try:
        steps, machine = read(args.reports)
    except (OSError, ValueError, KeyError) as error:
        parser.error(str(error))
    for name, rows in (
        ("gpu-times.csv", [*times(steps)]),
        ("gpu-targets.csv", [*results(steps)]),
    ):
        if rows:
            write(args.results / name, rows, machine)
            print(args.results / name)


if __name__ == "__main__":
    main()
