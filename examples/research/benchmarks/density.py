"""From how many pairs an edge on gathering edges costs less than padded blocks: the rule of backend="auto".

Random edges among blocks of nodes, no terms, forward and backward pass of one attention, layouts made before,
by the CPU time of this process (one thread), the least of some rounds that take turns. Usage:

    python examples/research/benchmarks/density.py [--rounds 7] [--output FILE.csv]
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import torch
from attention import device_name, table

from graphdep.io import atomic_path
from graphdep.nn.attention import AttentionLayout, edge_attention
from graphdep.nn.attention.dispatch import PAIRS_PER_EDGE_CPU

NODES = 2048
SIZES = {"64 a head, 4 heads": (4, 64), "50 a head, 6 heads": (6, 50), "48 a head, 16 heads": (16, 48)}
BLOCKS = (64, 256, 512)
PAIRS_AN_EDGE = (8, 16, 24, 32, 48, 64, 96, 128)


def layout_of(block: int, ratio: int) -> AttentionLayout:
    """Blocks of so many nodes with so many pairs an edge; a chain joins each, and counts."""
    generator = torch.Generator().manual_seed(0)
    chain = (2 * block - 1) / block**2
    keep = torch.rand(NODES // block, block, block, generator=generator) < (1 / ratio - chain) / (1 - chain)
    step = torch.arange(block)
    keep[:, step, step] = True
    keep[:, step[1:], step[:-1]] = True  # so that no block falls apart
    example, target, source = keep.nonzero().t()
    layout = AttentionLayout(torch.stack([source, target]) + example * block, NODES)
    return layout.prepare()


def measure(layout: AttentionLayout, heads: int, channels: int, rounds: int) -> dict[str, float]:
    """The least CPU seconds of each backend."""
    states = [torch.randn(NODES, heads, channels, requires_grad=True) for _ in range(3)]
    best = dict.fromkeys(("dense", "reference"), float("inf"))
    for number in range(rounds + 1):
        for name in best:
            start = time.process_time()
            out = edge_attention(*states, layout.edge_index, layout=layout, backend=name)
            torch.autograd.grad(out.sum(), states)
            if number:  # the first makes what the layout lacks
                best[name] = min(best[name], time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, help="CSV file to write")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    header = ("size", "block", *(f"{ratio} pairs an edge" for ratio in PAIRS_AN_EDGE))
    rows = []
    for size, (heads, channels) in SIZES.items():
        for block in BLOCKS:
            ratios = []
            for ratio in PAIRS_AN_EDGE:
                if 2 * ratio > block:  # the chain alone has more
                    ratios.append("")
                    continue
                layout = layout_of(block, ratio)
                seconds = measure(layout, heads, channels, args.rounds)
                ratios.append(f"{seconds['reference'] / seconds['dense']:.2f}")
            rows.append([size, str(block), *ratios])
            print(*rows[-1], flush=True)
    print(f"reference over dense, {device_name('cpu')}, one thread; auto: {PAIRS_PER_EDGE_CPU}\n")
    print(table(list(header), rows))
    if args.output:
        with (
            atomic_path(args.output) as temporary,
            open(temporary, "w", encoding="utf-8", newline="") as file,
        ):
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    main()
