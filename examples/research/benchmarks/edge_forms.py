"""What each form of the same edges costs: every pair written out and handed over as it is, the same with one
layout for all layers, and cliques that are never written out. Three layers, one step of training.

    python examples/research/benchmarks/edge_forms.py --threads 1

Each number is measured in a process of its own, since the peak of a process never falls.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

import torch
from attention import device_name, make_batch, table
from scaling import peak, reset_peak, seconds
from torch import nn
from torch_geometric.data import Data

from graphdep import RelationVocab
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv, GatedRelationConv
from graphdep.transforms import resolve

LENGTHS = [20, 100, 500]
PRESETS = ["transformer", "dt"]
FORMS = ["edge_index", "edge_index, layout", "implicit, layout"]


def build(preset: str, channels: int = 300, heads: int = 6) -> nn.ModuleList:
    """Three layers."""
    torch.manual_seed(0)
    size, relations = channels // heads, {"num_relations": len(RelationVocab())}
    if preset == "transformer":
        return nn.ModuleList(AttentionConv(channels, size, heads) for _ in range(3))
    return nn.ModuleList(GatedRelationConv(channels, size, heads, **relations) for _ in range(3))


def run(layers: nn.ModuleList, data: Data, form: str) -> torch.Tensor:
    """The states after the last layer."""
    x = data.x
    if form == "edge_index":
        edges = (data.edge_index, data.edge_type) if "edge_type" in data else (data.edge_index,)
    else:
        edges = (AttentionLayout.of(data),)
    for layer in layers:
        x = layer(x, *edges)
    return x


def measure(preset: str, form: str, words: int, args: argparse.Namespace) -> dict[str, float]:
    """Milliseconds and MiB of one point; for a process of its own."""
    edges, layers = resolve(preset, implicit=form == "implicit, layout"), build(preset).to(args.device)

    def batch_of(words: int, sentences: int) -> Data:
        batch = make_batch([words] * sentences, args.device)
        batch.x = torch.randn(batch.num_nodes, 300, generator=torch.Generator().manual_seed(0)).to(
            args.device
        )
        return batch

    def step(batch: Data) -> None:
        run(layers, edges(batch), form).square().mean().backward()

    step(batch_of(3, 2))  # loads what is loaded lazily, and makes the gradients
    batch = batch_of(words, args.sentences)
    before = reset_peak(args.device)
    step(batch)
    used = peak(args.device) - before
    built = statistics.median(seconds(edges, batch, args.device) for _ in range(args.rounds))
    both = statistics.median(seconds(step, batch, args.device) for _ in range(args.rounds))
    return {"edges": built * 1e3, "layers": (both - built) * 1e3, "mib": used}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--sentences", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--point", nargs=3, help=argparse.SUPPRESS)  # preset, form, words: one process
    args = parser.parse_args(argv)
    if args.point:
        torch.set_num_threads(args.threads)
        print(json.dumps(measure(args.point[0], args.point[1], int(args.point[2]), args)))
        return
    rows = []
    for preset in PRESETS:
        for words in args.lengths:
            for form in FORMS:
                command = [sys.executable, __file__, *(sys.argv[1:] if argv is None else argv)]
                done = subprocess.run(
                    [*command, "--point", preset, form, str(words)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                found = json.loads(done.stdout)
                rows.append([preset, str(words), form, *(f"{value:.1f}" for value in found.values())])
                print(f"{preset}, {words} words, {form}: done", file=sys.stderr, flush=True)
    print(
        f"{device_name(args.device)}, {args.threads} threads, torch {torch.__version__}; {args.sentences} "
        f"sentences, three layers of 300 channels, forward and backward; medians of {args.rounds} steps\n"
    )
    print(table(["preset", "words", "form", "edges ms", "layers ms", "peak MiB"], rows))


if __name__ == "__main__":
    main()
