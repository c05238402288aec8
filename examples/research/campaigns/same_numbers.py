"""The same seed gives the same result; inputs that are empty, infinite or of few bits are no trouble; memory
does not grow.

Run: python examples/research/campaigns/same_numbers.py [--seed N] [--count N] [--minutes N] [--write]
"""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from harness import ROOT, Bounds, Tally, main, timed
from works import FAMILIES, SIZES

from graphdep.nn import conv as convs
from graphdep.nn.attention import edge_attention
from tests.kit.backends import TOLERANCES, assert_close, random_states, run_backend

BACKENDS = ("reference", "dense", "auto")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
_OPTIONS: dict[str, dict[str, Any]] = {
    "GatedRelationConv": {"num_relations": 7},
    "RelationKeyValueConv": {"num_relations": 7},
}


def run(bounds: Bounds, folder: Path) -> Iterator[Tally]:
    for name, kind in KINDS.items():
        if bounds.wants(name):
            yield kind(bounds.part(len(KINDS)), folder)


# -- attention ----------------------------------------------------------------------------------------------


def _graph(rng: random.Random) -> tuple[int, torch.Tensor]:
    """Nodes and edges: none, one node, nodes without an edge, several edges between two."""
    nodes = rng.choice((0, 1, 1, 2, 5, 30))
    edges = 0 if nodes == 0 else rng.choice((0, 1, nodes, 4 * nodes))
    pairs = [[rng.randrange(nodes) for _ in range(edges)] for _ in range(2)]
    pairs = [list(row) for row in zip(*dict.fromkeys(zip(*pairs)))] or [[], []]
    return nodes, torch.tensor(pairs, dtype=torch.long).reshape(2, -1)


def _backends(bounds: Bounds, folder: Path) -> Tally:
    """Every backend in 32 and 16 bits against float64, with gradients."""
    tally, rng = Tally("numbers", "backends, with gradients", bounds.seed), bounds.random("backends")
    with timed(tally):
        while bounds.more(tally.cases):
            nodes, edges = _graph(rng)
            states = random_states(nodes, edges.size(1), generator=torch.Generator().manual_seed(tally.cases))
            backend, dtype = rng.choice(BACKENDS), rng.choice(DTYPES)
            inputs = {**{name: x.to(dtype) for name, x in states.items()}, "edge_index": edges}
            label = f"{backend}, {dtype}, {nodes} nodes, {edges.size(1)} edges"
            try:
                exact = run_backend("reference", inputs, torch.float64)
                assert_close(run_backend(backend, inputs), exact, TOLERANCES[dtype], label)
            except AssertionError as error:
                tally.add("losses", str(error))
            except Exception as error:
                tally.add("crashes", f"{label}: {error!r}")
            else:
                tally.add("valid")
    return tally


def _convs(bounds: Bounds, folder: Path) -> Tally:
    """Every conv in 32 and 16 bits: finite outputs and gradients of its inputs and weights."""
    tally, rng = Tally("numbers", "convs, with gradients", bounds.seed), bounds.random("convs")
    names = [name for name in convs.__all__ if name != "ConstituentConv"]
    with timed(tally):
        while bounds.more(tally.cases):
            name, dtype, (nodes, edges) = rng.choice(names), rng.choice(DTYPES), _graph(rng)
            label = f"{name}, {dtype}, {nodes} nodes, {edges.size(1)} edges"
            torch.manual_seed(tally.cases)
            layer = getattr(convs, name)(8, 4, heads=2, **_OPTIONS.get(name, {})).to(dtype)
            x = torch.randn(nodes, 8).to(dtype).requires_grad_()
            # LISA asks for marks, GATE and those with relations for types of edges.
            kind = torch.ones if name == "LISAConv" else torch.zeros
            typed = (
                () if name in ("AttentionConv", "DAMConv", "DRAConv", "SIAConv") else (kind(edges.size(1)),)
            )
            types = [one.bool() if name == "LISAConv" else one.long() for one in typed]
            try:
                out = layer(x, edges, *types)
                (out * out).sum().backward()
            except Exception as error:
                tally.add("crashes", f"{label}: {error!r}")
                continue
            values = [out, x.grad, *(p.grad for p in layer.parameters() if p.grad is not None)]
            good = out.dtype == dtype and all(bool(value.isfinite().all()) for value in values)
            tally.add("valid" if good else "losses", label)
    return tally


def _odd(bounds: Bounds, folder: Path) -> Tally:
    """NaN and infinity are seen where they come in, and by edges stay there: rows that do not see them are as
    without them. Dense blocks multiply by weights of 0 as well, so that more rows may have them: a row is as
    without them, or says so.
    """
    tally, rng = Tally("numbers", "NaN and infinity", bounds.seed), bounds.random("odd")
    with timed(tally):
        while bounds.more(tally.cases):
            nodes, edges = _graph(rng)
            if nodes < 2:
                nodes, edges = 3, torch.tensor([[0, 1, 2, 1], [0, 1, 1, 2]])
            states = random_states(nodes, 0, terms=(), generator=torch.Generator().manual_seed(tally.cases))
            backend, odd = rng.choice(BACKENDS), rng.choice((float("nan"), float("inf"), -float("inf")))
            plain = edge_attention(**states, edge_index=edges, backend=backend)
            states["value"][0] = odd
            found = edge_attention(**states, edge_index=edges, backend=backend)
            sees = torch.zeros(nodes, dtype=torch.bool)
            sees[edges[1][edges[0] == 0]] = True
            rows = found.isfinite().all(-1).all(-1) if backend in ("dense", "auto") else ~sees
            same = torch.equal(found[rows], plain[rows]) and not found[sees].isfinite().all(-1).any()
            tally.add("valid" if same else "losses", f"{backend}: {odd} changes other rows, or is lost")
    return tally


# -- runs --------------------------------------------------------------------------------------------------


def _runs(bounds: Bounds, folder: Path) -> Tally:
    """The same run in another process with other hashes: equal to the last bit. With two threads PyTorch adds
    up the gradients of a LayerNorm in another order: the scores are equal to four digits.
    """
    tally = Tally("numbers", "same seed, other process and 2 threads", bounds.seed)
    with timed(tally):
        for number in range(len(FAMILIES)):
            if not bounds.more(number):
                break
            name = FAMILIES[number]
            first, other, threads = (_fresh(folder, name, *given) for given in (("1", 1), ("2", 1), ("3", 2)))
            for place, found in ((0, other), (1, threads)):
                same = len(found) == 2 == len(first) and found[place] == first[place]
                tally.add("valid" if same else "losses", f"{name}: {first} and {found}")
    return tally


def _fresh(folder: Path, name: str, hashes: str, threads: int) -> list[str]:
    """What a run in a process of its own gets: a digest of all, and its scores."""
    code = f"import sys; sys.path.append({str(Path(__file__).parent)!r})\n{_CODE}"
    env = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(threads)}
    given = [sys.executable, "-c", code, str(folder), name, str(threads)]
    done = subprocess.run(given, env=env, capture_output=True, text=True, check=False)
    return done.stderr[-300:].split("\n") if done.returncode else done.stdout.strip().split("\n")[-2:]


_CODE = """
import hashlib, torch
from pathlib import Path
from harness import command
from works import training
torch.set_num_threads(int(sys.argv[3]))
folder = Path(sys.argv[1])
(work,) = [work for work in training(folder, folder / "work") if work.name == f"train, {sys.argv[2]}"]
work.fresh()
try:
    work.action()
except SystemExit as end:
    assert not end.code, end.code
(run,) = found = work.result()
print(hashlib.sha256(repr(found).encode()).hexdigest())
print({name: round(value, 4) for name, value in run[1]["metrics"].items()})
"""


# -- memory ------------------------------------------------------------------------------------------------


def _resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class _Steps:
    """Counts steps of one kind of work: from the first fifth on, memory may grow by 5%."""

    def __init__(self, kind: str, most: int, bounds: Bounds) -> None:
        self.tally = Tally("numbers", f"memory of {kind}", bounds.seed)
        self.most, self.bounds, self.before = min(most, bounds.count), bounds, 0

    def more(self) -> bool:
        return self.tally.cases < self.most and self.bounds.more(self.tally.cases)

    def add(self) -> None:
        number = self.tally.cases
        if number == self.most // 5:
            self.before = _resident()
        grown = _resident() / self.before - 1 if self.before else 0.0
        self.tally.add("valid" if grown <= 0.05 else "losses", f"{grown:.1%} more after {number} steps")


def _epochs(bounds: Bounds, folder: Path) -> Tally:
    from lightning.pytorch import Callback

    from graphdep.training import train

    steps = _Steps("training, in epochs", 20, bounds)

    class Counted(Callback):
        def on_train_epoch_end(self, *given: Any) -> None:
            steps.add()

    with timed(steps.tally):
        train(_tiny_run(folder, max_epochs=steps.most), folder / "epochs", callbacks=[Counted()])
    return steps.tally


def _parsing(bounds: Bounds, folder: Path) -> Tally:
    """The bundled parser on a stream of texts, no two of which are the same. What it remembers of words has a
    bound (50,000 of them), which other words than these would not have reached in the first fifth.
    """
    from graphdep.parsing import resolve_parser

    steps, parser = _Steps("parsing, in hundreds of texts", 1000, bounds), resolve_parser("bundled")
    with timed(steps.tally):
        texts = (f"The dog {number % 500} chased {number // 500} cats." for number in range(100 * steps.most))
        for number, _ in enumerate(parser.iter_parse(texts), 1):
            if number % 100 == 0:
                steps.add()
                if not steps.more():
                    break
    return steps.tally


def _predictions(bounds: Bounds, folder: Path) -> Tally:
    from graphdep import load
    from graphdep.training import train

    steps = _Steps("predictions, in hundreds", 1000, bounds)
    model = load(train(_tiny_run(folder), folder / "predictions")["checkpoint"], parser="chain")
    with timed(steps.tally):
        while steps.more():
            model.predict([f"ann likes bob {steps.tally.cases} {number}" for number in range(100)])
            steps.add()
    return steps.tally


def _responses(bounds: Bounds, folder: Path) -> Tally:
    from graphdep import load
    from graphdep.training import TrainConfig, train
    from tests.kit.tiny_corpora import write_tiny_dialogues

    steps = _Steps("responses, in hundreds", 100, bounds)
    settings = {**SIZES, **write_tiny_dialogues(folder / "dialogues-memory"), "max_epochs": 1}
    config = TrainConfig.of("transformer-dra", task="dailydialog", min_freq=1, max_length=8, **settings)
    model = load(train(config, folder / "responses")["checkpoint"], parser="chain")
    with timed(steps.tally):
        while steps.more():
            model.respond([[f"ann likes bob {steps.tally.cases} {number}"] for number in range(100)])
            steps.add()
    return steps.tally


def _tiny_run(folder: Path, **settings: Any) -> Any:
    from graphdep.training import TrainConfig
    from tests.kit.tiny_corpora import write_tiny_sst

    given = {**SIZES, "max_epochs": 1, **write_tiny_sst(folder / "sst-memory"), **settings}
    return TrainConfig.of("dt", task="sst", **given)


KINDS = {
    "backends, with gradients": _backends,
    "convs, with gradients": _convs,
    "NaN and infinity": _odd,
    "same seed, other process and 2 threads": _runs,
    "memory of training, in epochs": _epochs,
    "memory of parsing, in hundreds of texts": _parsing,
    "memory of predictions, in hundreds": _predictions,
    "memory of responses, in hundreds": _responses,
}

if __name__ == "__main__":
    main(__doc__ or "", run, count=2000)
