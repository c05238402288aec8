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

from gpu_check import LATE, judged

from graphdep.io import atomic_path

RESULTS = Path(__file__).parent.parent / "results"
#: What a rate is of.
RATES = {
    "tokens_a_second": "tokens a second",
    "tokens_a_second_model_alone": "tokens a second, the model alone",
}
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
        steps |= {step["step"]: step for step in report["steps"] if step.get("error") != LATE}
    if len(set(machines)) > 1:
        raise ValueError(f"reports of several machines: {'; '.join(sorted(set(machines)))}")
    return [*steps.values()], machines[0]


def times(steps: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Of every workload what each method took, forward and backward."""
    for step in steps:
        for method, found in step.get("found", {}).get("times", {}).items():
            cells = {
                key: f"{found[name]:.0f}" if found.get(name) else ""
                for key, name in (
                    ("device µs", "device_us"),
                    ("wall µs", "wall_us"),
                    ("its mask µs", "mask_us"),
                )
            }
            error = found.get("error", "").partition(":")[0]
            yield {
                "attention": step["step"].removeprefix("speed: "),
                "method": method,
                **cells,
                "measured by": found.get("how", ""),
                "error": error,
            }


def proofs(steps: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Whether each proof holds."""
    for step in steps:
        if not step["step"].startswith(("speed", "training:")):
            yield row("proof", step["step"], "", "holds", step["ok"])


def rates(steps: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Tokens a second of training."""
    for step in steps:
        for of, found in step.get("found", {}).items() if step["step"].startswith("training:") else ():
            for key, unit in RATES.items():
                if key in found:
                    yield row(step["step"], f"{of}: {unit}", f"{found[key]:,.0f}")


def bounds(steps: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """What is asked of the ratios."""
    for step in steps:
        for target in judged(step.get("found", {})):
            of, most = target.get("of", "packed over padded"), target.get("of") == "own floor"
            what = "ours, times as long as its bytes take" if most else f"{of}: times ours"
            bound = f"at {'most' if most else 'least'} {target['target']:g}"
            part = step["step"].removeprefix("speed: ")
            yield row(part, what, f"{target['ratio']:.2f}", bound, target["met"])


def row(part: str, what: str, value: str, target: str = "", met: bool | None = None) -> Row:
    verdict = "" if met is None else "met" if met else "missed"
    return {"part": part, "what": what, "value": value, "target": target, "verdict": verdict}


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
        ("gpu-targets.csv", [*proofs(steps), *rates(steps), *bounds(steps)]),
    ):
        if rows:
            write(args.results / name, rows, machine)
            print(args.results / name)


if __name__ == "__main__":
    main()
