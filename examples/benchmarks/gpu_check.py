"""Does everything give on a GPU what it gives on the CPU, and how fast?

Compares the attention backends on CUDA (float32 and bfloat16, forward and backward), transforms, layers and
the model with themselves on the CPU, trains a small model, then runs the benchmark and `graphdep train` on
the self-written corpus. Parts whose packages are missing are left out and named. Usage:

    python examples/benchmarks/gpu_check.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, Vocab, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv, DAMConv, DRAConv, GatedRelationConv, SIAConv
from graphdep.nn.models import DependencyTransformer, RelatednessHead, SentencePairModel
from graphdep.testing import assert_same_data, random_sentence
from graphdep.testing.backends import TOLERANCES, assert_backends_equal, assert_close, random_states
from graphdep.transforms import PRESETS, resolve

VOCAB, RELATIONS = Vocab("abcdefgh"), RelationVocab()
Check = tuple[str, Callable[[], object]]


def make_batch(examples: int, longest: int = 30, seed: int = 0) -> Batch:
    """Pairs of random sentences; the label says whether the first has more words."""
    rng, data = random.Random(seed), []
    for _ in range(examples):
        pair = [random_sentence(rng, rng.randint(1, longest)) for _ in range(2)]
        data.append(to_data(pair, vocab=VOCAB, y=torch.tensor([int(len(pair[0]) > len(pair[1]))])))
    return Batch.from_data_list(data)


def graphs() -> Iterator[tuple[str, dict[str, Tensor | None]]]:
    """Arguments of ``edge_attention`` that each backend has had trouble with somewhere."""
    star = torch.stack([torch.arange(2000), torch.zeros(2000, dtype=torch.long)])
    nothing, ptr = torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 1, 40, 100])
    some = torch.randperm(100 * 100, generator=torch.Generator().manual_seed(0))[:300]
    pairs = torch.stack([some % 100, some // 100])
    clique = torch.arange(100) % 4 - 1
    yield "2000 sources of one target", {**random_states(2000, 2000), "edge_index": star}
    yield "random edges, empty rows", {**random_states(100, 300), "edge_index": pairs}
    yield "cliques", {**random_states(100, 0, terms=()), "edge_index": nothing, "clique": clique, "ptr": ptr}
    yield "cliques and edges", {**random_states(100, 300), "edge_index": pairs, "clique": clique, "ptr": ptr}
    yield "no edges", {**random_states(5, 0), "edge_index": nothing}
    yield "no nodes", {**random_states(0, 0), "edge_index": nothing}


def backend_checks(device: str) -> Iterator[Check]:
    backends = ["reference", "dense", "auto"] + ["segment"] * (find_spec("torch_scatter") is not None)
    for name, inputs in graphs():
        moved = {key: x if x is None else x.to(device) for key, x in inputs.items()}
        for dtype in (torch.float32, torch.bfloat16):
            label = f"backends {', '.join(backends)}: {name}, {dtype}"
            yield label, partial(assert_backends_equal, moved, backends, dtype=dtype)


def transform_checks(device: str) -> Iterator[Check]:
    batch = make_batch(4)
    for name in PRESETS:

        def check(name: str = name) -> None:
            for edges in (resolve(name), resolve(name, implicit=True)):
                assert_same_data(edges(batch.clone().to(device)).to("cpu"), edges(batch))

        yield f"edges: {name}", check


def results(module: nn.Module, data: Data, *inputs: Tensor, bfloat16: bool = False) -> dict[str, Tensor]:
    """Output and gradients of every parameter."""
    with torch.autocast(data.node_type.device.type, torch.bfloat16, enabled=bfloat16):
        if isinstance(module, AttentionConv):
            out = module(inputs[0], AttentionLayout.of(data))
        else:
            out = module(data)
    grads = torch.autograd.grad(out.float().sin().sum(), [*module.parameters()])
    return {"output": out.detach(), **dict(zip(dict(module.named_parameters()), grads))}


def model() -> SentencePairModel:
    torch.manual_seed(0)
    encoder = DependencyTransformer(len(VOCAB), len(RELATIONS), hidden_channels=60, ff_channels=60)
    return SentencePairModel(encoder, RelatednessHead(60, 2))


def layer_checks(device: str) -> Iterator[Check]:
    relations = {"num_relations": len(RELATIONS)}
    modules: list[tuple[str, nn.Module]] = [
        ("dra", DRAConv(24, 6, heads=4)),
        ("dra", DRAConv(24, 6, heads=4, residual=True)),
        ("sia", SIAConv(24, 6, heads=4)),
        ("sia", SIAConv(24, 6, heads=4, mask="multiplicative")),
        ("dam", DAMConv(24, 6, heads=4)),
        ("transformer", AttentionConv(24, 6, heads=4)),
        ("dt", GatedRelationConv(24, 6, heads=4, **relations)),  # type: ignore[arg-type]
        ("dt", GatedRelationConv(24, 6, heads=4, gate=None, **relations)),  # type: ignore[arg-type]
        ("dt", model()),
    ]
    for preset, module in modules:
        if preset not in PRESETS:
            print(f"left out: {module}, there is no preset {preset!r}")
            continue
        data = resolve(preset, implicit=True)(make_batch(4))
        inputs = [torch.randn(data.num_nodes, 24, generator=torch.Generator().manual_seed(0))]
        for bfloat16 in (False, True):

            def check(
                module: nn.Module = module,
                data: Data = data,
                inputs: list[Tensor] = inputs,
                low: bool = bfloat16,
            ) -> None:
                expected = results(module, data, *inputs)
                there = [
                    copy.deepcopy(module).to(device),
                    data.clone().to(device),
                    *(x.to(device) for x in inputs),
                ]
                tolerance = 0.1 if low else 10 * TOLERANCES[torch.float32]  # layers add up their roundings
                assert_close(results(*there, bfloat16=low), expected, tolerance, f"{device} against cpu")

            kind = "bfloat16 autocast" if bfloat16 else "float32"
            yield f"{type(module).__name__} on {preset} edges, {kind}", check


def train_by_hand(device: str) -> None:
    """Adam on 64 pairs, edges built on the device: the loss has to fall to a tenth."""
    net, data = model().to(device), make_batch(64, longest=10).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    losses = []
    for _ in range(60):
        loss = nn.functional.cross_entropy(net(resolve("dt", implicit=True)(data)), data.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 10, f"loss went from {losses[0]:.3f} to {losses[-1]:.3f}"


def train_by_command() -> None:
    """``graphdep train`` on the self-written corpus, one epoch."""
    from graphdep.datasets.mini.mini import write_mini

    with tempfile.TemporaryDirectory() as folder:
        write_mini(folder)
        command = [sys.executable, "-m", "graphdep", "train", "--root", folder, "--output", f"{folder}/run"]
        command += ["--max-epochs", "1", "--limit-train", "200", "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        print(json.dumps(json.loads(done.stdout)["metrics"]))


def benchmark(device: str, rounds: int) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    from attention import main

    main(["--device", device, "--rounds", str(rounds)])


def slow_checks(device: str, rounds: int) -> Iterator[Check]:
    missing = [name for name in ("lightning", "stanza", "typer") if find_spec(name) is None]
    missing += [] if find_spec("graphdep.datasets.mini.mini") else ["datasets/mini"]
    if missing:
        print(f"left out: graphdep train, which needs {', '.join(missing)}")
    else:
        yield "graphdep train on the self-written corpus", train_by_command
    if Path(__file__).with_name("attention.py").exists():
        yield "benchmark", lambda: benchmark(device, rounds)
    else:
        print("left out: the benchmark, attention.py is not beside this file")


def passes(name: str, check: Callable[[], object]) -> bool:
    try:
        check()
    except Exception:  # whatever it is, the other checks still tell something
        traceback.print_exc()
        print(f"FAILED {name}", flush=True)
        return False
    print(f"ok     {name}", flush=True)
    return True


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds of the benchmark; 0: none, nor training"
    )
    parser.add_argument("--device", default="cuda", help="cpu checks this file")
    args = parser.parse_args(argv)
    if args.device == "cuda":
        if not torch.cuda.is_available():
            print("No CUDA device here: nothing was checked.")
            return 0
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
        torch.set_float32_matmul_precision("highest")
    checks = [*backend_checks(args.device), *transform_checks(args.device), *layer_checks(args.device)]
    checks.append(("training by hand", lambda: train_by_hand(args.device)))
    checks += slow_checks(args.device, args.rounds) if args.rounds else []
    failed = [name for name, check in checks if not passes(name, check)]
    print(f"{len(checks) - len(failed)} of {len(checks)} checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
