"""A corpus of response selection on disk: how long it takes to build, how much memory and disk it needs, and
how fast pairs come out of it.

Writes synthetic pairs in the layout of Ubuntu's version 1 (``label <TAB> utterances ... <TAB> response``):
pools of --candidates lines, of which the first is right, with contexts of 1 to 10 utterances; words follow
Zipf's law over 200,000 forms, 11 an utterance in the mean. A right response is new, a wrong one is an earlier
right one, as in the corpora. The "parser" makes random trees, without a model: what a parser takes for the
texts is its own affair and hours. It is loaded through PyG's DataLoader, shuffled: alone, with SIA's edges on
every batch, and with a small model that is trained on the batches. Usage:

    python examples/research/benchmarks/selection_loading.py                    # a million pairs
    python examples/research/benchmarks/selection_loading.py --pairs 100000 --model

Building goes on where it was stopped: kill it, and give the same --root again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from attention import device_name, table
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from graphdep import Sentence, Vocab
from graphdep.datasets import Ubuntu
from graphdep.io import atomic_path
from graphdep.nn.conv import SIAConv
from graphdep.nn.models import GraphTransformer, SelectionModel
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed
from graphdep.transforms import resolve

FORMS, ZIPF = 200_000, 1.05
LABELS = ("nsubj", "obj", "det", "amod", "advmod", "case", "obl", "punct")
EARLIER = 10_000  # right responses that wrong ones are taken from
CHUNK = 1_000  # pools written in one go
LIMIT_GIB = 2.0


class RandomTrees(Parser):
    """Random trees over given words, the same for the same words."""

    fingerprint = "random trees"

    def __init__(self) -> None:
        super().__init__(progress=False)

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        raise NotImplementedError("the words are given")

    def parse_sentences(self, sentences: Sequence[Sequence[str]]) -> list[Parsed]:
        return [Parsed([_tree(words)]) for words in sentences]


def _tree(words: Sequence[str]) -> Sentence:
    draw = random.Random(" ".join(words)).random
    head = [0, *(1 + int(draw() * word) for word in range(1, len(words)))]
    label = ["root", *(LABELS[int(draw() * len(LABELS))] for _ in words[1:])]
    return Sentence(list(words), head, label)


class Texts:
    """Draws utterances."""

    def __init__(self, seed: int) -> None:
        self.source = np.random.default_rng(seed)
        weight = np.arange(1, FORMS + 1) ** -ZIPF
        self.cumulative = weight.cumsum() / weight.sum()

    def draw(self, count: int) -> list[str]:
        sizes = np.minimum(1 + self.source.gamma(1.5, 7.0, count).astype(int), 60)
        ranks = self.cumulative.searchsorted(self.source.random(sizes.sum())).tolist()
        ends = sizes.cumsum()
        return [" ".join(f"w{rank:x}" for rank in ranks[end - size : end]) for size, end in zip(sizes, ends)]


def lines(args: argparse.Namespace) -> Iterator[str]:
    """All lines of the training file."""
    texts, source, earlier = Texts(args.seed), random.Random(args.seed), [""]
    for start in range(0, args.pairs, CHUNK * args.candidates):
        pools = min(CHUNK, (args.pairs - start) // args.candidates)
        turns = [source.randint(1, 10) for _ in range(pools)]
        drawn = iter(texts.draw(sum(turns) + pools + (start == 0)))
        if start == 0:
            earlier = [next(drawn)]
        for size in turns:
            context, response = "\t".join(next(drawn) for _ in range(size)), next(drawn)
            yield f"1\t{context}\t{response}\n"
            for _ in range(args.candidates - 1):
                yield f"0\t{context}\t{source.choice(earlier)}\n"
            earlier = [*earlier[-EARLIER:], response] if len(earlier) > 2 * EARLIER else [*earlier, response]


def write(args: argparse.Namespace) -> Path:
    """The raw file, which is written once."""
    path = args.root / "raw" / "ubuntu-v1" / "train.txt"
    if not path.exists():
        with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.writelines(lines(args))
    return path


def load(args: argparse.Namespace) -> Ubuntu:
    return Ubuntu(args.root, "train", RandomTrees(), layout="v1", keep_parses=False, min_freq=5)


def throughput(
    dataset: Ubuntu, args: argparse.Namespace, count: int, use: Callable[[Batch], object]
) -> dict[str, float]:
    """Pairs a second through a loader, and the share of the time in which ``use`` waits for the next."""
    loader = DataLoader(
        dataset, args.batch_size, shuffle=True, num_workers=args.workers, persistent_workers=args.workers > 0
    )
    batches, waited, pairs = iter(loader), 0.0, 0
    next(batches)  # starts the workers
    begin = time.perf_counter()
    while pairs < count:
        before = time.perf_counter()
        batch = next(batches)
        waited += time.perf_counter() - before
        pairs += batch.num_graphs
        use(batch)
    seconds = time.perf_counter() - begin
    return {"pairs_per_second": pairs / seconds, "waiting_share": waited / seconds}


class Step:
    """One step of training a small encoder from scratch."""

    def __init__(self, vocab: Vocab, args: argparse.Namespace) -> None:
        size, heads = args.hidden_channels, 4
        encoder = GraphTransformer(
            len(vocab),
            lambda _: SIAConv(size, size // heads, heads),
            hidden_channels=size,
            num_layers=args.layers,
            ff_channels=4 * size,
        )
        self.model = SelectionModel(encoder)
        self.edges = resolve("sia", max_sum=4)
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def __call__(self, batch: Batch) -> None:
        self.optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(self.model(self.edges(batch)), batch.y).backward()
        self.optimizer.step()


def peak_gib() -> float:
    """The most memory that this process or one of its workers has had."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    kib = max(resource.getrusage(kind).ru_maxrss for kind in kinds)
    return kib / 2**20 if sys.platform != "darwin" else kib / 2**30


def measure(args: argparse.Namespace) -> dict[str, Any]:
    raw = write(args)
    begin, before = time.perf_counter(), peak_gib()
    dataset = load(args)
    about = dataset.describe()
    outcome = {
        "raw_mb": raw.stat().st_size / 1e6,
        "build_seconds": time.perf_counter() - begin,
        "start_gib": before,
        "build_gib": peak_gib(),
        "file_mb": about["file_bytes"] / 1e6,
        **{
            name: about[name] for name in ("pairs", "pools", "utterances", "words", "forms", "bytes_per_word")
        },
    }
    begin = time.perf_counter()
    dataset = load(args)
    outcome["open_seconds"] = time.perf_counter() - begin
    outcome["loading"] = throughput(dataset, args, args.loaded, lambda batch: None)
    outcome["edges"] = throughput(dataset, args, args.loaded, resolve("sia", max_sum=4))
    if args.model:
        outcome["training"] = throughput(dataset, args, args.trained, Step(dataset.vocab, args))
    return outcome | {"peak_gib": peak_gib()}


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--candidates", type=int, default=10, help="lines of a context")
    parser.add_argument(
        "--root", type=Path, help="folder to write to, and to keep (default: a temporary one)"
    )
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--loaded", type=int, default=10_000, help="pairs to load without a model")
    parser.add_argument("--model", action="store_true", help="train on the batches, too")
    parser.add_argument("--trained", type=int, default=960, help="pairs to train on")
    parser.add_argument("--hidden-channels", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    if args.smoke:
        vars(args).update(pairs=400, loaded=100, trained=64, workers=0, hidden_channels=16, layers=1)
    if min(args.candidates, args.batch_size, args.loaded, args.trained, args.threads, args.layers) < 1:
        parser.error("sizes must be at least 1")
    if args.pairs % args.candidates or args.pairs < max(args.loaded, args.trained) + 2 * args.batch_size:
        parser.error("--pairs must be a multiple of --candidates, and more than what is loaded")
    torch.set_num_threads(args.threads)
    return args


def main(argv: list[str] | None = None) -> None:
    args = parse(argv)
    with tempfile.TemporaryDirectory() as folder:
        args.root = args.root or Path(folder)
        outcome = measure(args)
    machine = f"{device_name('cpu')}, {os.cpu_count()} cores, {args.workers} workers, batch {args.batch_size}"
    header = [
        "pairs",
        "contexts",
        "utterances",
        "words",
        "raw MB",
        "file MB",
        "bytes/word",
        "build s",
        "open s",
    ]
    row = [f"{outcome[name]:,}" for name in ("pairs", "pools", "utterances", "words")]
    row += [f"{outcome['raw_mb']:,.0f}", f"{outcome['file_mb']:,.0f}", f"{outcome['bytes_per_word']:.2f}"]
    row += [f"{outcome['build_seconds']:,.0f}", f"{outcome['open_seconds']:.1f}"]
    print(f"{machine}\n\n{table(header, [row])}\n")
    header = ["peak GiB, building", "peak GiB, all", "loaded pairs/s", "with edges", "trained on", "waiting"]
    training = outcome.get("training")
    row = [
        f"{outcome['build_gib']:.2f} (at the start {outcome['start_gib']:.2f})",
        f"{outcome['peak_gib']:.2f}",
    ]
    row += [f"{outcome[name]['pairs_per_second']:,.0f}" for name in ("loading", "edges")]
    row += (
        [f"{training['pairs_per_second']:,.0f}", f"{training['waiting_share']:.1%}"]
        if training
        else ["-"] * 2
    )
    print(table(header, [row]))
    if outcome["peak_gib"] > LIMIT_GIB:
        print(f"MISSED: more than {LIMIT_GIB} GiB of memory", file=sys.stderr)
    if args.output:
        with atomic_path(args.output) as temporary:
            text = json.dumps({"machine": machine, **outcome}, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
