"""Seconds per epoch on SICK-E: Table 2 of "Integrating Dependency Tree into Self-attention for Sentence
Representation", with a Tree-LSTM that is batched by level as a fair opponent.

An epoch goes once through the DataLoader of the training split (edges, forward, loss, backward, AdaGrad step)
or of the test split (edges, forward). All rows take turns in one process, in another order each round; the
medians are compared. Models have the paper's sizes, and the Tree-LSTM as many channels. Usage:

    python examples/research/benchmarks/epoch_time.py [--rounds 3]                 # self-written pairs
    python examples/research/benchmarks/epoch_time.py --raw-from DIR --root datasets/sick    # the real corpus
    python examples/research/benchmarks/epoch_time.py --share 0.1       # a tenth for the slow recursive rows

The public code of the Tree-LSTM takes 150 or 168 channels: --tree-lstm-channels 150.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from attention import device_name, table
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from graphdep.datasets import SICK
from graphdep.io import atomic_path
from graphdep.nn.models import DependencyTransformer, RelatednessHead, SentencePairModel, TreeLSTM
from graphdep.tasks import ENTAILMENT
from graphdep.transforms import resolve

ROOT = Path(__file__).parents[3] / "datasets" / "mini"
PHASES = ("training", "testing")
RECURSIVE, LEVEL = "Tree-LSTM, recursive", "Tree-LSTM, by level"
ROWS = ((RECURSIVE, 1), (RECURSIVE, 25), (LEVEL, 25), (LEVEL, 32), ("Transformer", 32), ("dt", 32))
# The paper does not give the Tree-LSTM's batch size; 25 is the default of the public code.
PAPER = {(RECURSIVE, 25): ("282", "8"), ("dt", 32): ("57", "<1")}


class Row:
    """A model, its batches, and what its epochs took.

    Args:
        name: Which model.
        batch_size: Pairs a batch.
        splits: The dataset of each phase.
        share: Which share of the pairs to run through; the seconds are scaled up.
        channels: Size of the states of the Transformers and of the Tree-LSTM.
        device: Where to run.
    """

    def __init__(
        self,
        name: str,
        batch_size: int,
        splits: dict[str, SICK],
        share: float,
        channels: tuple[int, int],
        device: str,
    ) -> None:
        self.name, self.batch_size, self.share, self.device = name, batch_size, share, device
        self.model, self.edges = build(name, splits["training"], *channels)
        self.model.to(device)
        self.optimizer = torch.optim.Adagrad(self.model.parameters(), lr=1e-3)
        parts = {phase: random_part(dataset, share) for phase, dataset in splits.items()}
        self.loaders = {
            phase: DataLoader(part, batch_size, shuffle=phase == "training") for phase, part in parts.items()
        }
        self.scale = {phase: len(splits[phase]) / len(part) for phase, part in parts.items()}
        self.seconds: dict[str, list[float]] = {phase: [] for phase in PHASES}

    def run(self, phase: str, max_batches: int | None = None) -> None:
        """One epoch, or the beginning of one."""
        training = phase == "training"
        self.model.train(training)
        with torch.set_grad_enabled(training):
            for number, batch in enumerate(self.loaders[phase]):
                if number == max_batches:
                    break
                batch = self.edges(batch.to(self.device))
                out = self.model(batch)
                if training:
                    self.optimizer.zero_grad()
                    ENTAILMENT.loss(out, batch.y).backward()
                    self.optimizer.step()

    def measure(self, phase: str) -> None:
        synchronize = (lambda: None) if self.device == "cpu" else torch.cuda.synchronize
        synchronize()
        start = time.perf_counter()
        self.run(phase)
        synchronize()
        self.seconds[phase].append((time.perf_counter() - start) * self.scale[phase])

    def result(self) -> dict[str, Any]:
        return {
            "model": self.name,
            "batch_size": self.batch_size,
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "share": self.share,
            "seconds": {phase: statistics.median(times) for phase, times in self.seconds.items()},
            "all_seconds": self.seconds,
        }


def build(
    name: str, dataset: SICK, channels: int, tree_channels: int
) -> tuple[SentencePairModel, Callable[[Batch], Batch]]:
    """A model for pairs, and its edges; the Tree-LSTM reads the tree itself."""
    num_words, edges = len(dataset.vocab), lambda batch: batch
    if name in (RECURSIVE, LEVEL):
        execution = "recursive" if name == RECURSIVE else "level"
        encoder = TreeLSTM(num_words, hidden_channels=tree_channels, execution=execution)
    else:
        syntax = name == "dt"
        edges = resolve("dt" if syntax else "transformer-utterance", implicit=True)
        encoder = DependencyTransformer(
            num_words,
            len(dataset.relations),
            hidden_channels=channels,
            ff_channels=channels,
            relation_attention=syntax,
            level_embedding=syntax,
        )
    return SentencePairModel(encoder, RelatednessHead(encoder.hidden_channels, dataset.num_classes)), edges


def random_part(dataset: SICK, share: float) -> SICK:
    """A share of the pairs, the same for all rows: those at the beginning may be shorter than others."""
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))
    return dataset if share == 1 else dataset[order[: max(1, round(share * len(dataset)))]]


def cells(results: list[dict[str, Any]]) -> list[list[str]]:
    """The rows of the table; ratios are to dt."""
    base = results[-1]["seconds"]
    lines = []
    for row in results:
        line = [row["model"], str(row["batch_size"]), f"{row['parameters']:,}"]
        paper = PAPER.get((row["model"], row["batch_size"]), ("", ""))
        for phase, published in zip(PHASES, paper):
            scaled = "" if row["share"] == 1 else f" (scaled from {row['share']:.0%})"
            line.append(f"{row['seconds'][phase]:.2f}{scaled}")
            line += [f"{row['seconds'][phase] / base[phase]:.2f}", published]
        lines.append(line)
    return lines


def targets(results: list[dict[str, Any]]) -> list[str]:
    """The speed that the project asks of dt."""
    dt, lines = results[-1]["seconds"], []
    wanted = [(RECURSIVE, "training", 8.0), (RECURSIVE, "testing", 15.0)]
    wanted += [("Transformer", phase, 1 / 1.3) for phase in PHASES]
    for name, phase, least in wanted:
        for row in (row for row in results if row["model"] == name):
            ratio = row["seconds"][phase] / dt[phase]
            ok = "ok  " if ratio >= least else "MISS"
            lines.append(
                f"{ok} {phase}: {name}, batch {row['batch_size']}, takes {ratio:.2f} of dt's time "
                f"(at least {least:.2f})"
            )
    return lines


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raw-from", help="folder with the raw files of SICK")
    parser.add_argument("--root", default=str(ROOT))
    parser.add_argument("--parser", default="bundled")
    parser.add_argument("--limit", type=int, help="an epoch is the first so many training pairs")
    parser.add_argument("--test-limit", type=int, help="and the first so many test pairs")
    parser.add_argument(
        "--share", type=float, default=1, help="of the epoch to measure the recursive rows on"
    )
    parser.add_argument("--hidden-channels", type=int, default=300)
    parser.add_argument("--tree-lstm-channels", type=int, help="default: as the others")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    if not 0 < args.share <= 1:
        parser.error(f"--share must be above 0 and at most 1 (got {args.share:g})")
    if min(args.rounds, args.threads) < 1:
        parser.error("--rounds and --threads must be at least 1")
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    options: dict[str, Any] = {"task": "entailment", "parser": args.parser, "raw_from": args.raw_from}
    train = SICK(args.root, "train", limit=args.limit, **options)
    test = SICK(args.root, "test", limit=args.test_limit, vocab=train.vocab, **options)
    splits = {"training": train, "testing": test}
    channels = (args.hidden_channels, args.tree_lstm_channels or args.hidden_channels)
    rows = [
        Row(name, size, splits, args.share if name == RECURSIVE else 1.0, channels, args.device)
        for name, size in ROWS
    ]
    for row in rows:
        for phase in PHASES:
            row.run(phase, max_batches=2)  # warms up
    for number in range(args.rounds):
        for row in random.Random(number).sample(rows, len(rows)):
            for phase in PHASES:
                row.measure(phase)
            print(
                f"round {number + 1}, {row.name}, batch {row.batch_size}: done", file=sys.stderr, flush=True
            )
    results = [row.result() for row in rows]
    machine = f"{device_name(args.device)}, {os.cpu_count()} cores, {args.threads} threads, "
    machine += f"torch {torch.__version__}; an epoch: {len(train)} training pairs, {len(test)} test pairs; "
    machine += f"medians of {args.rounds} interleaved rounds"
    header = ["model", "batch", "parameters"]
    for phase in PHASES:
        header += [f"{phase} s", f"{phase} / dt", f"{phase} s, paper"]
    print(f"{machine}\n\n{table(header, cells(results))}")
    print(*targets(results), sep="\n", file=sys.stderr)
    if args.output:
        with atomic_path(args.output) as temporary:
            text = json.dumps({"machine": machine, "rows": results}, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
