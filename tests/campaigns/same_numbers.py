"""The same seed gives the same result; inputs that are empty, infinite or of few bits are no trouble; memory
does not grow.

Run: python tests/campaigns/same_numbers.py [--seed N] [--count N] [--minutes N] [--write]
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from harness import ROOT, Bounds, Tally, main, timed
from works import works

from graphdep.nn import conv as convs
from graphdep.nn.attention import edge_attention
from graphdep.testing.backends import TOLERANCES, assert_close, random_states, run_backend

BACKENDS = ("reference", "segment", "dense", "auto")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
_OPTIONS: dict[str, dict[str, Any]] = {
    "GatedRelationConv": {"num_relations": 7},
    "RelationKeyValueConv": {"num_relations": 7},
}


def run(bounds: Bounds, folder: Path) -> list[Tally]:
    attention = [kind(bounds.part(5)) for kind in (_backends, _convs, _odd)]
    return [*attention, _runs(bounds.part(5), folder), _memory(bounds.part(5), folder)]


# -- attention ----------------------------------------------------------------------------------------------


def _graph(rng: random.Random) -> tuple[int, torch.Tensor]:
    """Nodes and edges: none, one node, nodes without an edge, several edges between two."""
    nodes = rng.choice((0, 1, 1, 2, 5, 30))
    edges = 0 if nodes == 0 else rng.choice((0, 1, nodes, 4 * nodes))
    pairs = [[rng.randrange(nodes) for _ in range(edges)] for _ in range(2)]
    pairs = [list(row) for row in zip(*dict.fromkeys(zip(*pairs)))] or [[], []]
    return nodes, torch.tensor(pairs, dtype=torch.long).reshape(2, -1)


def _backends(bounds: Bounds) -> Tally:
    """Every backend in 32 and 16 bits against float64, with gradients."""
    tally, rng = Tally("numbers", "backends, with gradients", bounds.seed), bounds.random("backends")
    with timed(tally):
        while bounds.more(tally.cases):
            nodes, edges = _graph(rng)
            states = random_states(nodes, edges.size(1), generator=torch.Generator().manual_seed(tally.cases))
            backend, dtype = rng.choice(BACKENDS), rng.choice(DTYPES)
            inputs = {**{name: x.to(dtype) for name, x in states.items()}, "edge_index": edges}
            if nodes == 0:
                inputs["edge_index"] = edges
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


def _convs(bounds: Bounds) -> Tally:
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


def _odd(bounds: Bounds) -> Tally:
    """NaN and infinity are seen where they come in, and by edges stay there: rows that do not see them are as
    without them. Dense blocks multiply by weights of 0 as well, so that a whole example has them.
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
            dense = backend in ("dense", "auto")
            same = dense or torch.equal(found[~sees], plain[~sees])
            same = same and not found[sees].isfinite().all(-1).any()
            tally.add("valid" if same else "losses", f"{backend}: {odd} changes other rows, or is lost")
    return tally


# -- runs --------------------------------------------------------------------------------------------------


def _runs(bounds: Bounds, folder: Path) -> Tally:
    """The same run in another process with other hashes: equal to the last bit. With two threads PyTorch adds
    up the gradients of a LayerNorm in another order: the scores are equal to four digits.
    """
    tally = Tally("numbers", "same seed, other process and 2 threads", bounds.seed)
    names = [work.name for work in works(folder) if work.name.startswith("train, ")]
    with timed(tally):
        for number in range(max(1, bounds.count // 50)):
            if not bounds.more(number):
                break
            name = names[number % len(names)]
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
from works import works
torch.set_num_threads(int(sys.argv[3]))
(work,) = [work for work in works(Path(sys.argv[1])) if work.name == sys.argv[2]]
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
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _memory(bounds: Bounds, folder: Path) -> Tally:
    """Texts parsed and predicted, a hundred a step: from the second fifth on, memory grows by 5% at most."""
    import gc

    from works import SIZES

    from graphdep import load
    from graphdep.testing.tiny_corpus import write_tiny_sst
    from graphdep.training import TrainConfig, train

    tally = Tally("numbers", "memory of predictions, in hundreds", bounds.seed)
    settings = {**SIZES, **write_tiny_sst(folder / "sst-memory"), "max_epochs": 20}
    model = load(
        train(TrainConfig.of("dt", task="sst", **settings), folder / "memory")["checkpoint"], parser="chain"
    )
    before, texts = 0, [f"ann likes bob {number}" for number in range(100)]
    with timed(tally):
        while bounds.more(number := tally.cases):
            model.predict(texts)
            if number == bounds.count // 5:
                gc.collect()
                before = _resident()
            grown = _resident() / before - 1 if before else 0.0
            tally.add("valid" if grown <= 0.05 else "losses", f"{grown:.1%} more after {number} steps")
    return tally


if __name__ == "__main__":
    main(__doc__ or "", run, count=500)
