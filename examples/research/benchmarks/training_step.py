"""Where the time of a training step goes: the model's own arithmetic, and everything around it.

Runs steps of whole runs, with Lightning's loop as ``graphdep train`` has it, on real examples, and counts the
CPU time of this process (one thread) by parts; a part is without those inside of it. All but the model's
forward and backward pass is to be at most 18% of a step at batch 32. Usage:

    python examples/research/benchmarks/training_step.py --raw-from DIR --root DIR [--only dt ...] \
        [--output FILE.json]

``--raw-from`` has the folders sick, dailydialog, cola, propbank-ewt and ud/UD_English-EWT; where one is
missing, its row is left out. ``--encoder`` is the folder of MiniLM.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from attention import device_name, table
from torch.utils.data import dataloader

from graphdep.io import atomic_path
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.graphed_step import TrainingStep
from graphdep.training import TrainConfig
from graphdep.training.build import BuildInputs, load_pretrained, make_optimizer, resolve_precision
from graphdep.training.family import build_task, load_splits
from graphdep.training.learning_task import LearningTask
from graphdep.training.losses import LossSums
from graphdep.training.settings import parse_settings
from graphdep.training.trainer import make_trainer, quiet

OWN = ("model", "backward")
PARTS = (*OWN, "batches", "edges", "layout", "clip", "optimizer", "logging", "rest")
MOST = 0.18
# Steps that are not counted: they find kernels and make the state of the optimizer.
WARM = 3
CONFIGS: dict[str, dict[str, Any]] = {
    "dt": {"task": "sick-e", "raw_from": "sick"},
    "transformer-dra": {"task": "dailydialog", "raw_from": "dailydialog"},
    "bert": {"task": "cola", "raw_from": "cola", "max_length": 128},
    "roles": {
        "task": "propbank-ewt",
        "model": "dt",
        "raw_from": "propbank-ewt",
        "ud_from": "ud/UD_English-EWT",
        "hidden_channels": 96,
        "ff_channels": 192,
    },
}


class Clock:
    """CPU seconds by part, each without the parts inside of it, while it runs."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.inside = ["rest"]
        self.running, self.last = False, 0.0

    def turn(self) -> None:
        now = time.process_time()
        if self.running:
            self.seconds[self.inside[-1]] += now - self.last
        self.last = now

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self.turn()
        self.inside.append(name)
        try:
            yield
        finally:
            self.turn()
            self.inside.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.part(name):
                return function(*args, **kwargs)

        return call


def patches(clock: Clock, task: LearningTask, optimizer: type) -> list[Any]:
    """What puts the clock to the parts of a step."""
    found = [
        (type(task), "loss", "model"),
        (torch.Tensor, "backward", "backward"),
        (dataloader._BaseDataLoaderIter, "__next__", "batches"),
        (LearningTask, "on_before_batch_transfer", "edges"),
        (LearningTask, "on_after_batch_transfer", "edges"),
        (AttentionLayout, "of", "layout"),
        (AttentionLayout, "__init__", "layout"),
        (torch.nn.utils, "clip_grad_norm_", "clip"),
        (TrainingStep, "zero_grad", "optimizer"),
        (optimizer, "step", "optimizer"),
        (LearningTask, "log_loss", "logging"),
        (LossSums, "watch", "logging"),
    ]
    made = [patch.object(own, name, clock.timed(part, getattr(own, name))) for own, name, part in found]
    for name, value in vars(AttentionLayout).items():
        if isinstance(value, cached_property):
            made.append(patch.object(value, "func", clock.timed("layout", value.func)))
        elif isinstance(value, property):
            timed = property(clock.timed("layout", value.fget))
            made.append(patch.object(AttentionLayout, name, timed))
    return made


def measure(config: TrainConfig, steps: int) -> dict[str, float]:
    """CPU seconds a step by part."""
    torch.manual_seed(0)
    pretrained = load_pretrained(config) if config.pretrained else None
    splits = load_splits(config, ("train",), pretrained=pretrained)
    labels = splits.labels()
    sizes = len(splits.vocab), len(splits.relations)
    num_classes = None if labels is None else len(labels)
    task = build_task(config, BuildInputs(*sizes, None, pretrained, num_classes, labels)).train()
    task.begin(config)
    clock, seen = Clock(), 0

    def after(*args: Any, **kwargs: Any) -> None:
        nonlocal seen
        clock.turn()
        seen += 1
        clock.running = WARM <= seen < WARM + steps

    task.on_train_batch_end = after
    with quiet(), ExitStack() as stack:
        warnings.filterwarnings("ignore", message=".*have no `val_dataloader`.*")
        trainer = make_trainer(config)
        trainer.limit_train_batches = WARM + steps
        for one in patches(clock, task, type(make_optimizer(config)(task.parameters()))):
            stack.enter_context(one)
        trainer.fit(task, splits.loader("train", config, task.edges, shuffle=True))
    return {part: clock.seconds[part] / (seen - WARM) for part in PARTS}


def report(name: str, seconds: dict[str, float]) -> list[str]:
    whole = sum(seconds.values())
    around = 1 - sum(seconds[part] for part in OWN) / whole
    ok = "ok  " if around <= MOST else "MISS"
    print(f"{ok} {name}: {around:.1%} around the model (at most {MOST:.0%})", file=sys.stderr, flush=True)
    return [name, f"{whole * 1e3:.0f}", *(f"{seconds[p] / whole:.1%}" for p in PARTS), f"{around:.1%}"]


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raw-from", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True, help="where corpora are processed")
    parser.add_argument("--encoder", help="folder of MiniLM")
    parser.add_argument("--only", nargs="+", choices=CONFIGS, default=list(CONFIGS))
    parser.add_argument("--parser", default="bundled")
    parser.add_argument("--limit", type=int, default=1000, help="training examples, which are parsed first")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--precision", default="32-true")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    return parser.parse_args(argv)


def config_of(name: str, args: argparse.Namespace) -> TrainConfig:
    settings = dict(CONFIGS[name])
    for key in ("raw_from", "ud_from"):
        if key in settings:
            settings[key] = str(args.raw_from / settings[key])
    if name == "bert":
        settings["encoder"] = args.encoder
    settings |= {"root": str(args.root / name), "parser": args.parser, "limit_train": args.limit}
    settings |= {"batch_size": args.batch_size, "precision": args.precision, "max_epochs": 1}
    settings |= {"accelerator": "cpu", **parse_settings(args.set, settings["task"])}
    return resolve_precision(TrainConfig.of(settings.pop("model", name), **settings))


def main(argv: list[str] | None = None) -> None:
    args = parse(argv)
    torch.set_num_threads(1)
    rows, result = [], {}
    for name in args.only:
        if not (args.raw_from / CONFIGS[name]["raw_from"]).is_dir() or (name == "bert" and not args.encoder):
            print(f"{name}: left out, its files are missing", file=sys.stderr)
            continue
        result[name] = measure(config_of(name, args), args.steps)
        rows.append(report(name, result[name]))
    machine = f"{device_name('cpu')}, one thread, batch {args.batch_size}, CPU time of {args.steps} steps"
    print(f"{machine}\n\n{table(['run', 'ms a step', *PARTS, 'around'], rows)}")
    if args.output:
        with atomic_path(args.output) as temporary:
            text = json.dumps({"machine": machine, "seconds": result}, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
