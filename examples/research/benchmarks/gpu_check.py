"""The proof on a GPU, in under ten minutes: are results right, the same each time, without waiting and within
memory, and how fast is it?

Steps, in this order: every attention backend against float64; sharp weights; two runs equal to the bit; no
waiting for the device; memory; edges and layers against the CPU, a small training; torch.compile
(gpu_proofs.py); attention against PyG plain and compiled, PyTorch's with a 4-D mask, FlexAttention and
varlen_attn, on sentences of 32 and of 10 to 200 words (gpu_speed.py); training of dt and transformer-dra,
tokens a second (gpu_training.py). What a step found, or its error, is written after each, and the next goes
on. It needs torch, triton and PyG, and of graphdep's other packages none. Usage:

    python examples/research/benchmarks/gpu_check.py [--output FILE.json] [--only WORDS ...]
    python examples/research/benchmarks/gpu_check.py --device cpu --tiny   # by Triton's interpreter, a check
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

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]  # the second for tests.kit

LATE = "not run: no time was left"


def all_steps() -> dict[str, Callable[[Any], dict[str, Any]]]:
    """All steps by name, what matters most first."""
    from gpu_proofs import PROOFS
    from gpu_speed import WORKLOADS, workload
    from gpu_training import dt, transformer_dra

    speed = {f"speed: {name}": workload(name) for name in WORKLOADS}
    first = list(speed)[:3]
    training = {"training: dt, SICK's lengths": dt}
    training["training: transformer-dra, DailyDialog's lengths"] = transformer_dra
    rest = {name: step for name, step in speed.items() if name not in first}
    return {**PROOFS, **{name: speed[name] for name in first}, **training, **rest}


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
    except Exception as error:  # whatever it is, the other steps still tell something
        record |= {"ok": False, "error": f"{type(error).__name__}: {error}"}
        record["traceback"] = traceback.format_exc()
    return record | {"seconds": round(time.monotonic() - start, 2)}


def write(path: Path | None, report: dict[str, Any]) -> None:
    """The report so far; a step that takes the process with it leaves what was there."""
    if path is None:
        return
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


def say(record: dict[str, Any], targets: bool) -> None:
    out = record.get("found", {}).get("left out")
    if record.get("error") == LATE:
        print(f"        {record['step']} was {LATE}", flush=True)
        return
    word = "FAILED" if not record["ok"] else "left out" if out else "ok    "
    print(f"{word} {record['step']} ({record['seconds']:.1f} s){f': {out}' if out else ''}", flush=True)
    if not record["ok"]:
        print(record.get("traceback", record["error"]), file=sys.stderr, flush=True)
    for method, times in record.get("found", {}).get("times", {}).items():
        parts = (
            f"{key} {value:.1f}" if isinstance(value, float) else f"{key} {value}"
            for key, value in times.items()
        )
        print(f"         {method}: {', '.join(parts)}")
    for target in judged(record.get("found", {})) if targets else ():
        text = f"{target.get('of', '')} {target['ratio']:.2f} (target {target['target']})"
        print(f"  {'met   ' if target['met'] else 'MISSED'} {text}")


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

    if args.device.startswith("cuda") and not torch.cuda.is_available():
        print("No CUDA device here: nothing was checked. `--device cpu --tiny` checks this file itself.")
        return 0
    from gpu_proofs import Bench

    torch.set_float32_matmul_precision("highest")
    report: dict[str, Any] = {"machine": machine(args.device), "tiny": args.tiny, "steps": []}
    print(", ".join(f"{key} {value}" for key, value in report["machine"].items()), flush=True)
    for name, step in all_steps().items():
        if args.only and not any(words in name for words in args.only):
            continue
        if time.monotonic() - begun > 60 * args.minutes:
            record = {"step": name, "ok": False, "error": LATE, "seconds": 0.0}
        else:
            record = run(name, step, Bench(args.device, args.tiny))
        report["steps"].append(record)
        report["seconds"] = round(time.monotonic() - begun, 1)
        write(args.output, report)
        say(record, targets=not args.tiny)  # those of the real sizes
    if not report["steps"]:
        print(f"no step has one of {', '.join(args.only)} in its name: {', '.join(all_steps())}")
        return 2
    failed = sum(not record["ok"] for record in report["steps"])
    out = sum("left out" in record.get("found", {}) for record in report["steps"])
    passed = len(report["steps"]) - failed - out
    print(
        f"{passed} of {len(report['steps'])} steps passed{f', {out} left out' if out else ''}; {args.output}"
    )
    if report["machine"]["triton"] == "missing":
        print("triton is missing: no fused kernel was checked (pip install 'graphdep[triton]')")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
