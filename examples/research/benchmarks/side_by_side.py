"""What the benchmarks share that train implementations of one model side by side: words a second of each,
taking turns, and the peak memory of each, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from attention import device_name, table
from torch import Tensor, nn
from torch_geometric.data import Batch

from graphdep.nn.dropout import Dropout


class Trainer:
    """One of the implementations, with AdamW. A step is forward, backward and update.

    Args:
        model: Whose parameters are trained.
        loss: Of the model and a batch.
        device: The model's.
        learning_rate: AdamW's.
        bf16: Whether the loss is computed under autocast. (default: :obj:`False`)
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[[nn.Module, Batch], Tensor],
        device: str,
        learning_rate: float,
        bf16: bool = False,
    ) -> None:
        self.model, self.loss, self.device = model.train(), loss, device
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, fused=True)
        self.autocast = torch.autocast(device.partition(":")[0], torch.bfloat16, enabled=bf16)

    def step(self, batch: Batch) -> None:
        self.optimizer.zero_grad()
        with self.autocast:
            loss = self.loss(self.model, batch)
        loss.backward()
        self.optimizer.step()

    def time(self, batch: Batch) -> float:
        """Seconds of a step. CUDA works in the background, so it is waited for before and after."""
        synchronize = (lambda: None) if self.device == "cpu" else torch.cuda.synchronize
        synchronize()
        start = time.perf_counter()
        self.step(batch)
        synchronize()
        return time.perf_counter() - start


def as_in_transformers(model: nn.Module) -> nn.Module:
    """A Hugging Face model with the dropout of torch that it had before an encoder was made of it."""
    for module in model.modules():
        if type(module) is Dropout:
            module.__class__ = nn.Dropout
    return model


MakeTrainer = Callable[[str, argparse.Namespace], Trainer]


def speed(
    make_trainer: MakeTrainer,
    args: argparse.Namespace,
    batches: list[Batch],
    num_words: Callable[[Batch], int],
) -> dict[str, Any]:
    """Words a second: medians and all rounds. All take turns on each batch, in a random order, so that what
    else the machine does hits all alike.
    """
    trainers = {name: make_trainer(name, args) for name in args.names}
    words = sum(map(num_words, batches))
    rates: dict[str, list[float]] = {name: [] for name in trainers}
    for number in range(-1, args.rounds):  # the first warms up
        seconds = dict.fromkeys(trainers, 0.0)
        for i, batch in enumerate(batches if number >= 0 else batches[:1]):
            for name in random.Random(f"{number} {i}").sample(args.names, len(args.names)):
                seconds[name] += trainers[name].time(batch)
        if number >= 0:
            for name in trainers:
                rates[name].append(words / seconds[name])
            print(f"round {number + 1} of {args.rounds}: done", file=sys.stderr, flush=True)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {"words_per_second": medians, "all_words_per_second": rates}


def memory_in_a_process(script: str, name: str, argv: list[str]) -> Any:
    """What the script prints for ``--memory-of name``. A process of its own, because a peak never falls: here
    it would be that of whatever ran before.
    """
    command = [sys.executable, script, *argv, "--memory-of", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"measuring the memory of {name!r} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def training_memory(
    make_trainer: MakeTrainer, args: argparse.Namespace, batches: list[Batch], before: int
) -> dict[str, float]:
    """Peak of making and training one implementation in MB above what there was before, and what of it is
    activations: neither weights nor gradients nor AdamW's two averages.
    """
    trainer = make_trainer(args.memory_of, args)
    for batch in batches:
        trainer.step(batch)
    total = peak(args.device) - before
    fixed = 4 * sum(parameter.numel() * parameter.element_size() for parameter in trainer.model.parameters())
    return {"peak": total / 2**20, "activations": (total - fixed) / 2**20}


def peak(device: str) -> int:
    return _resident("VmHWM") if device == "cpu" else torch.cuda.max_memory_allocated()


def held(device: str) -> int:
    """Memory in use now; the peak so far may be that of something that is gone."""
    return _resident("VmRSS") if device == "cpu" else torch.cuda.memory_allocated()


def _resident(key: str) -> int:
    """Bytes by Linux's name for them; on other systems always the peak."""
    status = Path("/proc/self/status")
    if status.exists():  # there ru_maxrss of a child starts from what its parent had
        return int(status.read_text().partition(f"{key}:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def check(
    build: Callable[[str, argparse.Namespace], nn.Module], args: argparse.Namespace, batch: Batch
) -> dict[str, float]:
    """How far the scores of the padded models are from the packed one's.

    Raises:
        RuntimeError: If it is more than rounding.
    """
    with torch.no_grad():
        packed, *padded = (build(name, args).eval()(batch) for name in ("packed", *args.padded))
    worst = {name: float((x - packed).abs().max()) for name, x in zip(args.padded, padded)}
    if not all(value <= 1e-4 for value in worst.values()):
        raise RuntimeError(f"the scores of packed and padded models differ: {worst}")
    return worst


def batch_sizes(batches: list[Batch], unit: str) -> dict[str, float]:
    """Nodes of an example in the mean, and how many times as many there are with padding."""
    sizes = [batch.ptr.diff() for batch in batches]
    return {
        f"{unit}_an_example": float(torch.cat(sizes).double().mean()),
        "padding": sum(int(s.max()) * s.numel() for s in sizes) / sum(int(s.sum()) for s in sizes),
    }


def add_options(parser: argparse.ArgumentParser, names: Sequence[str]) -> None:
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--memory-of", choices=names, help=argparse.SUPPRESS)  # for memory_in_a_process


def machine(args: argparse.Namespace, setting: str) -> str:
    return (
        f"{device_name(args.device)}, {os.cpu_count()} cores, {args.threads} threads, torch "
        f"{torch.__version__}; {setting}; medians of {args.rounds} interleaved rounds"
    )


def print_table(outcome: dict[str, Any], columns: Sequence[str]) -> None:
    """The machine, and for each implementation words a second and one or more numbers of its memory."""
    rows = []
    for name, rate in outcome["words_per_second"].items():
        used = outcome["memory_mb"][name]
        numbers = [rate, *(used.values() if isinstance(used, dict) else [used])]
        rows.append([name, *(f"{number:,.0f}" for number in numbers)])
    print(f"{outcome['machine']}\n\n{table(['implementation', 'words/s', *columns], rows)}")


def print_targets(targets: Iterable[tuple[bool, str]]) -> None:
    """On stderr, so that stdout stays a table or JSON."""
    for met, text in targets:
        print("ok  " if met else "MISS", text, file=sys.stderr)
