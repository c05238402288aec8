"""Time and peak memory of one step of dt as sentences and batches grow, against the plain Transformer and
against the formula taken literally (a relation vector for every pair of words).

Models have the paper's sizes: 300 channels, 3 layers, 6 heads, relation vectors of 30. A step derives the
edges from the trees and runs forward (inference), or forward and backward (training); what the edges alone
take is a column of its own. Every point is measured in a process of its own. Memory is the peak during the
first step of that size, less what the weights, their gradients and the libraries held before: resident memory
on the CPU, PyTorch's allocations on CUDA. Times are medians. Usage:

    python examples/research/benchmarks/scaling.py [--rounds 3] [--device cpu] [--output runs/scaling]

writes scaling.md, scaling.csv, scaling.json and scaling.png. Where the literal formula would need more than
--memory-limit-gb, it gets fewer sentences, and the table says how many.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from attention import LiteralDT, device_name, make_batch, table
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj

from graphdep import RelationVocab
from graphdep.io import atomic_path
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.models import DependencyTransformer
from graphdep.transforms import resolve

MODELS = ("dt", "transformer", "literal")
LENGTHS, BATCHES = (10, 20, 50, 100, 200, 400), (8, 32, 128, 512)
WORDS, BATCH = 20, 32  # the length while the batch grows, the batch while the length grows
NUM_WORDS = 2000
MIB, GIB = 2**20, 2**30


class LiteralEncoder(DependencyTransformer):
    """dt with Eq. 1-3 written out in every layer; all sentences must be equally long."""

    def __init__(self, num_words: int, num_relations: int) -> None:
        super().__init__(num_words, num_relations)
        for layer in self.layers:
            layer.conv = LiteralDT(self.hidden_channels, layer.conv.heads, num_relations, torch.empty(0))
            layer.conv.relation = self.relation

    def forward(self, data: Data) -> Tensor:
        layout = AttentionLayout.of(data)
        types = to_dense_adj(layout.edge_index, data.batch, layout.edge_type).mT
        x = self.embedding(data)
        for layer in self.layers:
            layer.conv.types = types
            x = layer(x)
        return self.norm(x)


def literal_bytes(sentences: int, words: int) -> int:
    """About what a training step of the literal formula needs. Of the tensors [pairs, heads * relation_dim]
    one a layer is kept for the backward pass; all else at the worst moment is about five more.
    """
    pairs = sentences * (words + 1) ** 2  # with ROOT
    return 4 * pairs * 6 * 30 * (3 + 5)


def build(model: str) -> DependencyTransformer:
    num_relations = len(RelationVocab())
    if model == "literal":
        return LiteralEncoder(NUM_WORDS, num_relations)
    syntax = model == "dt"
    return DependencyTransformer(NUM_WORDS, num_relations, relation_attention=syntax, level_embedding=syntax)


def measure(model: str, words: int, sentences: int, rounds: int, device: str) -> dict[str, float]:
    """Seconds and MiB of one point; for a process of its own."""
    edges = resolve("transformer-utterance" if model == "transformer" else "dt", implicit=True)
    encoder = build(model).to(device)

    def batch_of(words: int, sentences: int) -> Data:
        batch = make_batch([words] * sentences, device)
        generator = torch.Generator().manual_seed(0)
        batch.input_ids = torch.randint(NUM_WORDS, (batch.num_nodes,), generator=generator).to(device)
        return batch

    def inference(batch: Data) -> None:
        with torch.no_grad():
            encoder(edges(batch))

    def training(batch: Data) -> None:
        encoder.readout(batch, encoder(edges(batch))).square().mean().backward()

    phases = {"inference": inference, "training": training}
    small, batch = batch_of(3, 2), batch_of(words, sentences)
    for step in phases.values():
        step(small)  # loads what is loaded lazily, and makes the gradients
    before = reset_peak(device)
    result = {}
    for phase, step in phases.items():  # training comes second: it needs more, so the peak is its own
        step(batch)
        result[f"{phase}_mib"] = peak(device) - before
    for name, step in {**phases, "edges": edges}.items():
        result[f"{name}_seconds"] = statistics.median(seconds(step, batch, device) for _ in range(rounds))
    return result


def seconds(step: Callable[[Data], object], batch: Data, device: str) -> float:
    synchronize = (lambda: None) if device == "cpu" else torch.cuda.synchronize
    synchronize()
    start = time.perf_counter()
    step(batch)
    synchronize()
    return time.perf_counter() - start


def peak(device: str) -> float:
    """MiB at the highest so far. Not of ``getrusage``, where there is another way: its maximum outlives exec,
    so a process starts with the peak of the one that it was forked from.
    """
    if device != "cpu":
        return torch.cuda.max_memory_allocated() / MIB
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB  # macOS counts bytes


def reset_peak(device: str) -> float:
    """Forgets earlier peaks; returns the MiB in use."""
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    else:
        with contextlib.suppress(OSError):  # without, a peak while loading may hide a small step
            Path("/proc/self/clear_refs").write_text("5")
    return peak(device)


def run_point(model: str, words: int, batch: int, args: argparse.Namespace) -> dict[str, Any]:
    """A row: measured in a new process, or with the reason why not."""
    row: dict[str, Any] = {"model": model, "words": words, "batch": batch, "sentences": batch, "note": ""}
    need = literal_bytes(batch, words) / GIB
    if model == "literal" and need > args.memory_limit_gb:
        fit = batch
        while literal_bytes(fit, words) / GIB > args.memory_limit_gb:
            fit //= 2
        row |= {"sentences": fit, "note": f"{batch} need about {need:.3g} GiB of {args.memory_limit_gb:g}"}
        if not fit:
            return row | {"note": f"left out: {row['note']}"}
    command = [sys.executable, __file__, "--rounds", str(args.rounds), "--threads", str(args.threads)]
    command += ["--device", args.device, "--point", model, str(words), str(row["sentences"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        return row | {"failed": True, "note": f"failed with code {done.returncode}: {last}"}
    return row | json.loads(done.stdout)


def cells(rows: list[dict[str, Any]]) -> list[list[str]]:
    """The rows of the Markdown table; the ratios compare equally many sentences."""
    base = {(row["words"], row["batch"]): row for row in rows if row["model"] == "dt"}
    out = []
    for row in rows:
        line = [str(row["words"]), str(row["batch"]), row["model"]]
        if "training_seconds" not in row:
            out.append([*line, *["-"] * 7, row["note"]])
            continue
        line += [f"{row[f'{name}_seconds'] * 1e3:.1f}" for name in ("edges", "inference", "training")]
        line += [f"{row[f'{name}_mib']:.0f}" for name in ("inference", "training")]
        peer = base.get((row["words"], row["batch"]), {})
        for name in ("training_seconds", "training_mib"):
            ratio = row[name] / row["sentences"] / (peer[name] / peer["batch"]) if peer.get(name) else None
            line.append("-" if ratio is None else f"{ratio:.2f}")
        fewer = "" if row["sentences"] == row["batch"] else f"measured on {row['sentences']}: "
        out.append([*line, fewer + row["note"]])
    return out


def write(rows: list[dict[str, Any]], machine: str, folder: Path) -> str:
    """Writes the four files; returns the Markdown."""
    from scaling_plot import figure  # here, so that the processes that measure start quickly

    header = ["words", "batch", "model", "edges ms", "inference ms", "training ms", "inference MiB"]
    header += ["training MiB", "time / dt", "memory / dt", "note"]
    text = f"{machine}\n\n{table(header, cells(rows))}\n"
    sheet = io.StringIO()
    writer = csv.DictWriter(
        sheet, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    contents = {"scaling.md": text, "scaling.csv": sheet.getvalue()}
    contents["scaling.json"] = json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n"
    for name, content in contents.items():
        with atomic_path(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    with atomic_path(folder / "scaling.png") as temporary:
        figure(rows, machine, words=WORDS, batch=BATCH).savefig(temporary, dpi=150)
    return text


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS, help=f"words, at batch {BATCH}")
    parser.add_argument("--batches", type=int, nargs="*", default=BATCHES, help=f"sentences of {WORDS} words")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit-gb", type=float, default=6, help="of the literal formula, in GiB")
    parser.add_argument("--output", type=Path, default=Path("runs/scaling"))
    parser.add_argument("--point", nargs=3, help=argparse.SUPPRESS)  # model, words, sentences: one process
    args = parser.parse_args(argv)
    if args.point:
        torch.set_num_threads(args.threads)
        torch.manual_seed(0)
        model, words, sentences = args.point
        print(json.dumps(measure(model, int(words), int(sentences), args.rounds, args.device)))
        return 0
    points = dict.fromkeys([(n, BATCH) for n in args.lengths] + [(WORDS, n) for n in args.batches])
    if not points or min(*args.lengths, *args.batches, args.rounds, args.threads) < 1:
        parser.error("--lengths, --batches, --rounds and --threads must be at least 1")
    rows = []
    for words, batch in points:
        for model in args.models:
            rows.append(run_point(model, words, batch, args))
            print(
                f"{model}, {batch} sentences of {words} words: {rows[-1]['note'] or 'done'}",
                file=sys.stderr,
                flush=True,
            )
    threads = f"{args.threads} threads, torch {torch.__version__}, medians of {args.rounds} steps"
    print(write(rows, f"{device_name(args.device)}, {threads}", args.output), end="")
    return int(any(row.get("failed") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
