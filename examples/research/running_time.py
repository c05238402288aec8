"""Seconds a dialogue, from raw text to response (Table 4 of DRA).

    python examples/research/running_time.py --checkpoint transformer.ckpt --checkpoint dra.ckpt \
        --output times.json

Pre. is splitting the context into words, parsing it where the model reads the tree, and building the edges;
Gen. is the response, which takes longer the more tokens it has: their mean stands beside it. One dialogue at
a time, means over dialogues; the models take turns at each. The bundled parser is timed.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch_geometric.data import Batch

from graphdep.io import atomic_path
from graphdep.parsing.bundled import BundledParser
from graphdep.tasks.dialogues.model import spread_over
from graphdep.training import load_splits, load_task

# Edges that are made of words alone.
WITHOUT_TREE = ("transformer", "transformer-utterance", None)


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    parser = BundledParser(progress=False)
    parser.parse(["One text, so that the models are loaded."])
    systems = [System(checkpoint, parser, args) for checkpoint in args.checkpoint]
    for system in systems:
        system.respond(system.inputs(0))  # the first call allocates
    for number in range(args.limit):
        for system in systems:
            system.time(number)
        print(f"{number + 1} of {args.limit} dialogues", end="\r", file=sys.stderr, flush=True)
    result = {
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
            "threads": args.threads,
            "torch": torch.__version__,
        },
        "dialogues": args.limit,
        "rows": [system.row() for system in systems],
    }
    print("| model | Pre. | Gen. | Total | tokens of a response |\n|---|---|---|---|---|")
    for row in result["rows"]:
        times = " | ".join(f"{row[name]:.3f} s" for name in ("pre", "gen", "total"))
        print(f"| {row['model']} | {times} | {row['tokens']:.1f} |")
    if args.output:
        with atomic_path(args.output) as path:
            path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


class System:
    """A model with the contexts that it responds to, and what that takes."""

    def __init__(self, checkpoint: str, parser: BundledParser, args: argparse.Namespace) -> None:
        self.task, state = load_task(checkpoint)
        self.task.to(args.device)
        self.config, self.device = state.config, args.device
        places = {"root": args.root, "raw_from": args.raw_from}
        data = self.config.replace(**{key: value for key, value in places.items() if value})
        self.dataset = load_splits(data, ("test",), state.vocab)["test"]
        self.chosen = spread_over(len(self.dataset), args.limit)
        reads_tree = self.config.edges not in WITHOUT_TREE or self.config.trees != "parser"
        self.parse: Callable = parser.parse if reads_tree else parser.tokenize
        self.seconds: dict[str, list[float]] = {"pre": [], "gen": []}
        self.tokens: list[int] = []

    def inputs(self, number: int) -> Batch:
        data = Batch.from_data_list([self.dataset[self.chosen[number]]], follow_batch=["target_ids"])
        return self.task.edges(data.to(self.device))

    def respond(self, data: Batch) -> int:
        """The number of tokens of the response, the end symbol aside."""
        ((best, *_),) = self.task.model.generate(data, self.config.decoding())
        return len(best.ids)

    def time(self, number: int) -> None:
        texts = self.dataset.raw_context(self.chosen[number])
        start = self.now()
        self.parse(texts)
        data = self.inputs(number)
        middle = self.now()
        self.tokens.append(self.respond(data))
        self.seconds["pre"].append(middle - start)
        self.seconds["gen"].append(self.now() - middle)

    def now(self) -> float:
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def row(self) -> dict:
        means = {name: statistics.fmean(seconds) for name, seconds in self.seconds.items()}
        medians = {f"{name}_median": statistics.median(seconds) for name, seconds in self.seconds.items()}
        times = {**means, "total": sum(means.values()), **medians}
        return {"model": self.config.model, **times, "tokens": statistics.fmean(self.tokens)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkpoint", action="append", required=True, help="may be repeated")
    parser.add_argument("--root", help="folder of the corpus; default: as in training")
    parser.add_argument("--raw-from", help="folder with its raw files")
    parser.add_argument("--limit", type=int, default=100, help="dialogues of the test split")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
