"""The check on a GPU, in twice nine minutes: are results right and the same each time, how fast are whole
training steps and runs, and attention alone?

Steps, in this order: what a launch costs; two runs equal to the bit, and no waiting for the device
(gpu_proofs.py); training steps, eager and as CUDA graphs, against padded peers (gpu_training.py); a run of
transformer-dra at its paper's size, dt's scores with and without graphs, and the loader (gpu_runs.py); all
other proofs; attention against PyG plain and compiled, PyTorch's with a 4-D mask, FlexAttention and
varlen_attn, on sentences of 32 and of 10 to 200 words (gpu_speed.py). What a step found, or its error, is
written after each. Called again, it goes on with the steps that the report of the same machine lacks. It
needs torch, triton and PyG; what needs more, or a corpus that is not there, is left out. Usage:

    python examples/research/benchmarks/gpu_check.py [--output FILE.json] [--only WORDS ...] [--again]
    python examples/research/benchmarks/gpu_check.py --device cpu --tiny   # by Triton's interpreter, a check
    python examples/research/benchmarks/gpu_check.py --prepare RAW         # the corpora of the runs
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3])]  # the second for tests.kit

LATE = "not run: no time was left"


def all_steps() -> dict[str, Callable[[Any], dict[str, Any]]]:
    """All steps by name, what matters most first."""
    from gpu_proofs import PROOFS
    from gpu_runs import RUNS
    from gpu_speed import WORKLOADS, floors, workload
    from gpu_training import TRAININGS

    first = {name: PROOFS[name] for name in ("two runs equal to the bit", "no waiting")}
    speed = {f"speed: {name}": workload(name) for name in WORKLOADS}
    return {"floors: launches, copies, products": floors, **first, **TRAININGS, **RUNS, **PROOFS, **speed}


def machine(device: str) -> dict[str, Any]:
    import platform

    import torch
    import torch_geometric

    found = {"torch": torch.__version__, "torch_geometric": torch_geometric.__version__}
    found["python"] = platform.python_version()
    try:
        import triton

        found["triton"] = triton.__version__
    except ImportError:
        found["triton"] = "missing"
    if device != "cpu":
        properties = torch.cuda.get_device_properties(device)
        found |= {"device": properties.name, "cuda": str(torch.version.cuda)}
        found["compute capability"] = f"{properties.major}.{properties.minor}"
    return found


def run(name: str, step: Callable[[Any], dict[str, Any]], bench: Any) -> dict[str, Any]:
    """The record of a step."""
    start = time.monotonic()
    record: dict[str, Any] = {"step": name, "ok": True}
    try:
        record["found"] = step(bench)
    except TimeoutError:  # of a run, which goes on the next time
        record |= {"ok": False, "error": LATE}
    except (ModuleNotFoundError, FileNotFoundError) as error:
        record["found"] = {"left out": str(error)}
    except Exception as error:  # whatever it is, the other steps still tell something
        record |= {"ok": False, "error": f"{type(error).__name__}: {error}"}
        record["traceback"] = traceback.format_exc()
    return record | {"seconds": round(time.monotonic() - start, 2)}


def asked(name: str, only: list[str]) -> bool:
    return not only or any(words in name for words in only)


def write(path: Path, report: dict[str, Any]) -> None:
    """The report so far; a step that takes the process with it leaves what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_text(json.dumps(report, indent=1, default=str) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def judged(value: Any) -> Iterator[dict[str, Any]]:
    """All targets within what was found."""
    if isinstance(value, dict):
        if "met" in value:
            yield value
        for part in value.values():
            yield from judged(part)
    elif isinstance(value, list):
        for part in value:
            yield from judged(part)


def figures(found: dict[str, Any], name: str = "") -> Iterator[tuple[str, float]]:
    """All numbers within what was found but targets, with their names."""
    for key, value in found.items():
        path = f"{name}, {key}" if name else key
        if isinstance(value, dict) and "met" not in value:
            yield from figures(value, path)
        elif isinstance(value, int | float):
            yield path, value


def text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def bound(target: dict[str, Any]) -> str:
    return f"at {'most' if target['most'] else 'least'} {target['target']:,g}"


def say(record: dict[str, Any], card: str, targets: bool) -> None:
    found = record.get("found", {})
    out = found.get("left out")
    if record.get("error") == LATE:
        print(f"        {record['step']} was {LATE}", flush=True)
        return
    word = "FAILED" if not record["ok"] else "left out" if out else "ok    "
    print(f"{word} {record['step']} ({record['seconds']:.1f} s){f': {out}' if out else ''}", flush=True)
    if not record["ok"]:
        print(record.get("traceback", record["error"]), file=sys.stderr, flush=True)
    for name, value in figures(found) if ": " in record["step"] else ():
        print(f"         {name}: {text(value)}")
    for target in judged(found) if targets else ():
        verdict = "met   " if target["met"] else "MISSED"
        print(f"  {verdict} {target['of']}: {text(target['ratio'])} ({bound(target)}; {card})", flush=True)


def is_done(record: dict[str, Any]) -> bool:
    return record.get("error") != LATE and "left out" not in record.get("found", {})


def known(path: Path, machine: dict[str, Any], tiny: bool) -> dict[str, dict[str, Any]]:
    """By their steps the records of an earlier call on this machine that need no repetition."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        same = (report["machine"], report["tiny"]) == (machine, tiny)
        return {record["step"]: record for record in report["steps"] if same and is_done(record)}
    except (OSError, ValueError, KeyError):
        return {}


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", help="cpu, with --tiny: checks this file")
    parser.add_argument("--tiny", action="store_true", help="smallest sizes")
    parser.add_argument("--minutes", type=float, default=9.0, help="no step begins after so many")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="WORDS", help="steps with one of these in their name"
    )
    parser.add_argument("--again", action="store_true", help="steps that the report has already, too")
    parser.add_argument(
        "--prepare",
        type=Path,
        metavar="RAW",
        help="only pack the corpora of the runs, from the folders below",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="JSON file (default: runs/gpu_check.json; with --tiny gpu_check_tiny.json)",
    )
    args = parser.parse_args(argv)
    args.output = args.output or Path(f"runs/gpu_check{'_tiny' if args.tiny else ''}.json")
    return args


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    begun = time.monotonic()
    if args.device.startswith("cpu"):  # before triton is imported the first time
        os.environ["TRITON_INTERPRET"] = "1"
    import torch

    if args.prepare is not None:
        from gpu_runs import prepare

        prepare(args.prepare)
        return 0
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        print("No CUDA device here: nothing was checked. `--device cpu --tiny` checks this file itself.")
        return 0
    from gpu_proofs import Bench

    torch.set_float32_matmul_precision("highest")
    report: dict[str, Any] = {"machine": machine(args.device), "tiny": args.tiny}
    print(", ".join(f"{key} {value}" for key, value in report["machine"].items()), flush=True)
    card = report["machine"].get("device", "no GPU")
    steps = {name: step for name, step in all_steps().items() if asked(name, args.only)}
    if not steps:
        print(f"no step has one of {', '.join(args.only)} in its name: {', '.join(all_steps())}")
        return 2
    records = known(args.output, report["machine"], args.tiny)
    end = begun + 60 * args.minutes
    for name, step in steps.items():
        if name in records and not args.again:
            print(f"has     {name}", flush=True)
            continue
        if time.monotonic() > end:
            records[name] = {"step": name, "ok": False, "error": LATE, "seconds": 0.0}
        else:
            records[name] = run(name, step, Bench(args.device, args.tiny, end))
        write(args.output, report | {"steps": [*records.values()]})
        say(records[name], card, targets=not args.tiny)  # those of the real sizes
    late = [name for name in steps if records[name].get("error") == LATE]
    failed = sum(not records[name]["ok"] for name in steps)
    out = sum("left out" in records[name].get("found", {}) for name in steps)
    passed = len(steps) - failed - out
    print(f"{passed} of {len(steps)} steps passed{f', {out} left out' if out else ''}; {args.output}")
    if late:
        print(f"left, for the same command: {', '.join(late)}")
    if report["machine"]["triton"] == "missing":
        print("triton is missing: no fused kernel was checked (it comes with graphdep[triton])")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
