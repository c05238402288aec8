"""Attention layers side by side: graphdep's backends, PyG's TransformerConv, padded SDPA, the literal DT
formula.

The methods of a row group run interleaved in one process (all of them once, in another order each round), so
that what else the machine does, and what the method before left of caches and memory, hits all alike; the
medians are compared. Usage:

    python examples/research/benchmarks/attention.py [--rounds 9] [--edges DRA,DT] [--words 10,20] \
        [--threads 1]

With one thread on the CPU the time is that of the process, and the least of all rounds counts, so that what
else the machine does hardly shows.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.nn import TransformerConv
from torch_geometric.utils import to_dense_adj

from graphdep import RelationVocab, Sentence, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.attention.pairs import HAS_SCATTER
from graphdep.nn.conv import AttentionConv, DRAConv, GatedRelationConv
from graphdep.transforms import resolve

LENGTHS = (10, 20, 50, 200)
PRESETS = ("transformer", "dra", "sia", "dam", "dt", "gate", "lisa", "g2g")
Method = tuple[Callable[[Tensor], Tensor], int]  # what to run, and the size of its input


def random_sentence(words: int, generator: torch.Generator) -> Sentence:
    """A tree in which each word depends on one of the five before it, about as deep as real ones."""
    back = torch.randint(1, 6, (words,), generator=generator).tolist()
    head = [max(word - step, 1) if word > 1 else 0 for word, step in enumerate(back, start=1)]
    relations = ("nsubj", "obj", "det", "amod", "obl", "case", "advmod", "conj")
    deprel = ["root" if h == 0 else relations[i % len(relations)] for i, h in enumerate(head)]
    return Sentence(["word"] * words, head, deprel)


def make_batch(lengths: list[int], device: str, root: bool = True) -> Batch:
    generator = torch.Generator().manual_seed(0)
    return Batch.from_data_list([to_data([random_sentence(n, generator)], root=root) for n in lengths]).to(
        device
    )


class PaddedSDPA(nn.Module):
    """Projections and PyTorch's fused attention over a padded batch with a mask: the usual way."""

    def __init__(self, channels: int, heads: int, batch: Batch, mask: Tensor | None) -> None:
        super().__init__()
        self.heads, self.mask = heads, mask
        self.lin = nn.Linear(channels, 3 * channels)
        self.sizes = batch.ptr.diff().tolist()

    def forward(self, x: Tensor) -> Tensor:
        padded = nn.utils.rnn.pad_sequence(x.split(self.sizes), batch_first=True)
        q, k, v = self.lin(padded).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask).transpose(1, 2).flatten(2)


class LiteralDT(nn.Module):
    """Eq. 1-3 as printed: a relation vector for every pair of words, and a gate over it for every head."""

    def __init__(
        self, channels: int, heads: int, num_relations: int, types: Tensor, relation_dim: int = 30
    ) -> None:
        super().__init__()
        self.heads, self.types = heads, types  # types [sentences, words, words], row i attends to column j
        self.lin = nn.Linear(channels, 3 * channels)
        self.relation = nn.Embedding(num_relations, relation_dim)
        self.score = nn.Linear(relation_dim, heads, bias=False)
        self.gate_node = nn.Linear(channels, heads * relation_dim, bias=False)
        self.gate_relation = nn.Linear(relation_dim, heads * relation_dim, bias=False)
        self.gate_out = nn.Parameter(torch.randn(heads, relation_dim))

    def forward(self, x: Tensor) -> Tensor:
        h = x.view(*self.types.shape[:2], -1)
        q, k, v = self.lin(h).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        r = self.relation(self.types)  # [B, n, n, d_r]
        node = self.gate_node(h).unflatten(-1, (self.heads, -1)).unsqueeze(2)
        gate = (
            ((node + self.gate_relation(r).unflatten(-1, (self.heads, -1))) * self.gate_out).sum(-1).sigmoid()
        )
        gate = (gate * (self.types != RelationVocab.NONE).unsqueeze(-1)).permute(0, 3, 1, 2)
        score = q @ k.mT / q.size(-1) ** 0.5
        score = (1 - gate) * score + gate * self.score(r).permute(0, 3, 1, 2)
        return (score.softmax(-1) @ v).transpose(1, 2).flatten(2).flatten(0, 1)


def dra_methods(batch: Batch, channels: int, heads: int) -> dict[str, Callable[[Tensor], Tensor]]:
    batch = resolve("dra")(batch)
    methods = _conv_methods(
        lambda backend: DRAConv(channels, channels // heads, heads, backend=backend), batch
    )
    peer = TransformerConv(channels, channels // heads, heads, root_weight=False).to(batch.ptr.device)
    methods["TransformerConv"] = lambda x: peer(x, batch.edge_index)
    mask = to_dense_adj(batch.edge_index, batch.batch).mT.bool().unsqueeze(1)
    mask |= torch.eye(
        mask.size(-1), dtype=torch.bool, device=mask.device
    )  # padded rows need something to see
    methods["padded SDPA"] = PaddedSDPA(channels, heads, batch, mask).to(mask.device)
    return methods


def transformer_methods(batch: Batch, channels: int, heads: int) -> dict[str, Callable[[Tensor], Tensor]]:
    batch = resolve("transformer", implicit=True)(batch)
    methods = _conv_methods(lambda b: AttentionConv(channels, channels // heads, heads, backend=b), batch)
    pairs = AttentionLayout.of(batch).pairs
    peer = TransformerConv(channels, channels // heads, heads, root_weight=False).to(pairs.device)
    methods["TransformerConv"] = lambda x: peer(x, pairs)
    methods["padded SDPA"] = PaddedSDPA(channels, heads, batch, None).to(pairs.device)
    return methods


def dt_methods(batch: Batch, channels: int, heads: int) -> dict[str, Callable[[Tensor], Tensor]]:
    batch = resolve("dt", max_distance=2, implicit=True)(batch)
    size, num_relations = channels // heads, len(RelationVocab())

    def conv(backend: str) -> GatedRelationConv:
        return GatedRelationConv(channels, size, heads, num_relations=num_relations, backend=backend)

    methods = _conv_methods(conv, batch)
    written = AttentionLayout.of(batch).materialize()
    types = to_dense_adj(written.edge_index, batch.batch, written.edge_type).mT
    pairs, pair_types = written.edge_index, written.edge_type
    peer = TransformerConv(channels, size, heads, edge_dim=30, root_weight=False).to(pairs.device)
    relation = nn.Embedding(num_relations, 30).to(pairs.device)
    methods["TransformerConv(edge_dim)"] = lambda x: peer(x, pairs, relation(pair_types))
    methods["literal formula"] = LiteralDT(channels, heads, num_relations, types).to(pairs.device)
    methods["padded SDPA, no relations"] = PaddedSDPA(channels, heads, batch, None).to(pairs.device)
    return methods


GROUPS = {
    "DRA": (dra_methods, 768, 16, 4096),
    "complete": (transformer_methods, 300, 6, 1300),
    "DT": (dt_methods, 300, 6, 1300),
}


def _conv_methods(
    make: Callable[[str], AttentionConv], batch: Batch
) -> dict[str, Callable[[Tensor], Tensor]]:
    """Our layer with each backend. The layout is built anew in every call, as for one layer on a fresh
    batch; a model shares it between its layers.
    """
    methods: dict[str, Callable[[Tensor], Tensor]] = {}
    lin = nn.Linear(make("auto").in_channels, 3 * make("auto").in_channels).to(batch.ptr.device)
    methods["projections only"] = lin
    for backend in ("auto", "reference", *["scatter"] * HAS_SCATTER, "dense"):
        layer = make(backend).to(batch.ptr.device)
        methods[f"graphdep {backend}"] = lambda x, layer=layer: layer(  # type: ignore[misc]
            x, AttentionLayout.of(batch)
        )
    return methods


def interleaved(
    methods: dict[str, Callable[[], None]], rounds: int, synchronize: Callable[[], None]
) -> dict[str, float]:
    """Median seconds of each method; with one thread the least of its seconds on the processor."""
    alone = torch.get_num_threads() == 1 and not torch.cuda.is_initialized()
    clock, summary = (time.process_time, min) if alone else (time.perf_counter, statistics.median)
    times: dict[str, list[float]] = {name: [] for name in methods}
    for i in range(rounds + 2):
        order = random.Random(i).sample(sorted(methods), len(methods))
        for name, run in ((name, methods[name]) for name in order):
            synchronize()
            start = clock()
            run()
            synchronize()
            if i >= 2:  # the first two warm up
                times[name].append(clock() - start)
    return {name: summary(values) for name, values in times.items()}


def measure(
    methods: dict[str, Callable[[Tensor], Tensor]], x: Tensor, rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    def forward(method: Callable[[Tensor], Tensor]) -> Callable[[], None]:
        def run() -> None:
            with torch.no_grad():
                method(x)

        return run

    def both(method: Callable[[Tensor], Tensor]) -> Callable[[], None]:
        return lambda: method(x).sum().backward()

    synchronize = torch.cuda.synchronize if x.is_cuda else lambda: None
    first = interleaved({name: forward(method) for name, method in methods.items()}, rounds, synchronize)
    return first, interleaved({name: both(method) for name, method in methods.items()}, rounds, synchronize)


def attention_rows(
    rounds: int, device: str, edges: Sequence[str] = tuple(GROUPS), lengths: Sequence[int] = LENGTHS
) -> list[list[str]]:
    rows, checks = [], []
    for group in edges:
        make, channels, heads, nodes = GROUPS[group]
        for length in lengths:
            batch = make_batch([length] * max(nodes // length, 2), device)
            x = torch.randn(batch.num_nodes, channels, device=device, requires_grad=True)
            forward, both = measure(make(batch, channels, heads), x, rounds)
            for name in forward:
                floor = "projections only"
                rows.append(
                    [group, str(length), name]
                    + [f"{batch.num_nodes / t[name] / 1e3:.1f}" for t in (forward, both)]
                    + [f"{t[name] / t[floor]:.2f}" for t in (forward, both)]
                )
            checks += targets(group, length, forward, both)
            print(f"{group}, {length} words: done", file=sys.stderr, flush=True)
    for line in checks:
        print(line, file=sys.stderr)
    return rows


def targets(group: str, length: int, forward: dict[str, float], both: dict[str, float]) -> list[str]:
    """The speed that the project asks of itself, as ratios to the peers of the same run."""
    ours = "graphdep auto"
    if group != "DT":
        least = 0.95 if group == "DRA" else 1.0
        wanted = {"TransformerConv": least}
    else:
        wanted = {
            "literal formula": 3.0 if length >= 20 else 2.0,
            "TransformerConv(edge_dim)": 2.0 if length >= 20 else 1.2,
        }
    return [
        f"{'ok  ' if both[peer] / both[ours] >= least else 'MISS'} {group} {length}: forward+backward "
        f"{both[peer] / both[ours]:.2f}x {peer} (at least {least}x), "
        f"forward {forward[peer] / forward[ours]:.2f}x"
        for peer, least in wanted.items()
    ]


def construction_rows(rounds: int, device: str) -> list[list[str]]:
    batch, rows = make_batch([20] * 64, device), []
    synchronize = torch.cuda.synchronize if device != "cpu" else lambda: None
    options = {"sia": {"max_sum": 4}, "dt": {"max_distance": 2}}
    transforms = {name: resolve(name, implicit=True, **options.get(name, {})) for name in PRESETS}
    runs = {name: (lambda t=t: t(batch)) for name, t in transforms.items()}
    for name, seconds in interleaved(runs, rounds, synchronize).items():
        rows.append([name, f"{64 * 20 / seconds / 1e3:.0f}", f"{seconds * 1e3:.2f}"])
    return rows


def device_name(device: str) -> str:
    """The card's or the processor's name."""
    if device != "cpu":
        return torch.cuda.get_device_name()
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--edges", default=",".join(GROUPS), help="groups of rows, of " + ", ".join(GROUPS))
    parser.add_argument("--words", default=",".join(map(str, LENGTHS)), help="lengths of the sentences")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args(argv)
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    name = device_name(args.device)
    threads = f"{torch.get_num_threads()} threads, torch {torch.__version__}"
    summary = "least times" if torch.get_num_threads() == 1 and args.device == "cpu" else "medians"
    head = f"{name}, {threads}, {summary} of {args.rounds} interleaved rounds"
    lengths = [int(words) for words in args.words.split(",")]
    columns = [
        "edges",
        "words",
        "method",
        "knodes/s fwd",
        "knodes/s fwd+bwd",
        "fwd / floor",
        "fwd+bwd / floor",
    ]
    text = [head, table(columns, attention_rows(args.rounds, args.device, args.edges.split(","), lengths))]
    text += ["Edge construction, 64 sentences of 20 words:"]
    text += [table(["preset", "ktokens/s", "ms a batch"], construction_rows(args.rounds, args.device))]
    print("\n\n".join(text))
    if args.output:
        args.output.write_text("\n\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
