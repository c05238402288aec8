"""What gpu_check.py measures of runs: transformer-dra at its paper's size on all of DailyDialog, dt on SICK-E
eager and with CUDA graphs, both by ``graphdep train`` as users call it, and what a batch costs the host.

Their corpora are parsed before, by `make gpu-prepare ONLY=gpu-check RAW=DIR`, which packs them into
.carry/gpu-check. A run that is cut goes on after its last epoch the next time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from gpu_proofs import Bench, target

PACKED, UNPACKED = Path(".carry", "gpu-check"), Path("runs", "gpu_check", "corpora")
MOST_BYTES = 2**26  # that travel to another machine
RAW = {"dailydialog": "dailydialog", "sick-e": "sick"}
#: What differs from the defaults, which are the papers'.
SETTINGS: dict[str, dict[str, Any]] = {
    "dailydialog": {"model": "transformer-dra", "max_epochs": 10, "limit_generate": 0},
    "sick-e": {"model": "dt", "max_epochs": 30},
}
TINY = {"max_epochs": 1, "hidden_channels": 12, "ff_channels": 12, "heads": 2, "limit_train": 80}
#: Standard deviation of dt's accuracy on SICK-E over seeds: results/sick-e-no-vectors.csv.
OVER_SEEDS = 0.021


def settings(bench: Bench, task: str) -> dict[str, Any]:
    """The settings of a run, whose corpus is there then."""
    if bench.tiny:
        return {"task": task, **SETTINGS[task], **TINY, "root": "datasets/mini", "parser": "chain"}
    root, packed = UNPACKED / task, PACKED / f"{task}.tar.xz"
    if not root.exists():
        if not packed.exists():
            raise FileNotFoundError(f"{packed} is not there: make gpu-prepare ONLY=gpu-check RAW=DIR")
        with tarfile.open(packed) as file:
            file.extractall(root.with_suffix(".part"), filter="data")
        root.with_suffix(".part").rename(root)  # whole
    return {"task": task, **SETTINGS[task], "root": str(root)}


def prepare(raw: Path) -> None:
    """Parses the corpora of the runs, from the folders that :obj:`RAW` names below :obj:`raw`, and packs what
    a run reads of them.

    Raises:
        ValueError: If they have more bytes than travel.
    """
    from graphdep.training import TrainConfig, load_splits

    PACKED.mkdir(parents=True, exist_ok=True)
    for task, folder in RAW.items():
        root = UNPACKED / task
        more = {"root": str(root), "raw_from": str(raw / folder)}
        load_splits(TrainConfig.of(task=task, **SETTINGS[task], **more))
        with tarfile.open(PACKED / f"{task}.tar.xz", "w:xz", preset=1) as file:
            for name in ("raw", "processed"):
                file.add(root / name, name)
    size = sum(path.stat().st_size for path in PACKED.iterdir())
    print(f"{size / 2**20:.1f} MiB in {PACKED}")
    if size > MOST_BYTES:
        raise ValueError(f"{PACKED} has {size} bytes, of which {MOST_BYTES} travel")


def trained(bench: Bench, name: str, task: str, **more: Any) -> dict[str, Any]:
    """What ``graphdep train`` says of a run in ``runs/gpu_check/<name>``, where a finished run stays.

    Raises:
        TimeoutError: If there was no time to end it.
    """
    given = {**settings(bench, task), **more, "accelerator": "cpu" if bench.device == "cpu" else "gpu"}
    kind = [word for key in ("task", "model") for word in (f"--{key}", given.pop(key))]
    if not bench.tiny:
        given["precision"] = "auto"
    folder = UNPACKED.parent / f"{'tiny-' if bench.tiny else ''}{name}"
    command = [sys.executable, "-m", "graphdep", "train", *kind, "--json", "--resume"]
    command += ["--output", str(folder)]
    command += [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=bench.seconds_left)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{name} goes on in {folder}") from None
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    result = json.loads(done.stdout)
    epochs = result["epochs"] * (result["seconds_per_epoch"] + result["seconds_per_validation"])
    found = {"seconds of the command": time.monotonic() - start, "seconds of its epochs": epochs}
    scores = {key: value for key, value in result["metrics"].items() if key.startswith("test_")}
    return found | scores | {key: result[key] for key in ("epochs", "seconds_per_epoch", "parameters")}


def paper_size(bench: Bench) -> dict[str, Any]:
    """transformer-dra with 768 channels, 3 layers and 16 heads, ten epochs."""
    found = trained(bench, "dailydialog", "dailydialog")
    if not bench.tiny:
        found["target"] = target(
            "seconds of all epochs and validations", found["seconds of its epochs"], 240, most=True
        )
    return found


def same_scores(bench: Bench) -> dict[str, Any]:
    """The Dependency-Transformer on SICK-E, 30 epochs with CUDA graphs and without."""
    found = {}
    for name, graphs in (("graphed", True), ("eager", False)):
        found[name] = trained(bench, f"sick-e-{name}", "sick-e", cuda_graphs=graphs)
    apart = abs(found["graphed"]["test_accuracy"] - found["eager"]["test_accuracy"])
    found["target"] = target("accuracies apart, in deviations of seeds", apart / OVER_SEEDS, 2, most=True)
    return found


def loader(bench: Bench) -> dict[str, Any]:
    """Milliseconds a step of all that the host does for a batch of DailyDialog, with 0, 4 and 8 workers:
    loading, edges, filler examples, the tiles of the kernels, and the copy to the device.
    """
    from graphdep.nn.graphed_step import Graphed
    from graphdep.training import TrainConfig, load_splits
    from graphdep.training.build import BuildInputs
    from graphdep.training.family import build_task
    from graphdep.training.filling import task_filler

    config = TrainConfig.of(**settings(bench, "dailydialog"))
    splits, found = load_splits(config), {}
    parts = BuildInputs(len(splits.vocab), len(splits.relations))
    task, steps = build_task(config, parts).to(bench.device), 2 if bench.tiny else 300
    task.filler = task_filler(task, splits, config)
    flatten = task.flattener(bench.device, training=True)
    for workers in (0, 1) if bench.tiny else (0, 4, 8):
        own = config.replace(num_workers=workers)
        batches = splits.loader("train", own, task.edges, shuffle=True, flatten=flatten)
        step = Graphed(lambda batch: batch.input_ids.sum(), task, flatten=flatten, static=True)
        for _ in range(2):  # the first time sizes are captured
            start, count = time.perf_counter(), 0
            for batch in islice(batches, steps):
                step(batch)
                count += 1
            bench.synchronize()
        found[f"{workers} workers, ms a step"] = (time.perf_counter() - start) / count * 1e3
    return found


RUNS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "run: transformer-dra on DailyDialog, the paper's size": paper_size,
    "run: dt on SICK-E, graphed and eager": same_scores,
    "loader: DailyDialog": loader,
}
