"""What gpu_check.py proves of the attention on a device: right numbers, the same ones each time, no waiting,
memory that grows with the nodes.

Each proof takes a :class:`Bench` and gives what it found, for the report, or raises.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, Vocab, to_data
from graphdep.nn import prepare
from graphdep.nn.attention import AttentionLayout, attach_layout, edge_attention
from graphdep.nn.attention.fused.fused_attention import INTERPRETED, missing
from graphdep.nn.conv import AttentionConv, DAMConv, DRAConv, GatedRelationConv, SIAConv
from graphdep.nn.models import DependencyTransformer, RelatednessHead, SentencePairModel
from graphdep.transforms import PRESETS, resolve
from tests.kit.backends import (
    DIFFERENTIABLE,
    TOLERANCES,
    assert_close,
    no_waits,
    random_graph,
    random_states,
    run_backend,
)
from tests.kit.trees import random_sentence

VOCAB, RELATIONS = Vocab("abcdefgh"), RelationVocab()
#: Largest error of a backend, as so many times that of the plain one of the same type.
MOST_ERROR = 2.0
#: Largest gradient where the true one is 0, as a share of what its terms may be, which cancel out.
MOST_NOISE = 1e-5


@dataclass(frozen=True)
class Bench:
    """Where, how large, and until when: ``tiny`` sizes show on a CPU that a check itself is right."""

    device: str
    tiny: bool = False
    until: float = math.inf

    @property
    def seconds_left(self) -> float | None:
        """Of the minutes; :obj:`None`: any number."""
        return None if self.until == math.inf else max(1.0, self.until - time.monotonic())

    @property
    def low(self) -> torch.dtype:
        """The type of 16 bits; Triton's interpreter multiplies bfloat16 wrongly."""
        return torch.float16 if INTERPRETED else torch.bfloat16

    @property
    def backends(self) -> list[str]:
        fused = missing(torch.device(self.device)) is None
        return ["reference", "dense", "auto", *(["triton"] if fused else [])]

    @property
    def sizes(self) -> tuple[int, int]:
        """Heads, and channels a head."""
        return (2, 12) if self.tiny else (16, 48)

    def synchronize(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()


def target(of: str, value: float, bound: float, most: bool = False) -> dict[str, Any]:
    """A target, which is met where the value is at least the bound, or at most."""
    met = value <= bound if most else value >= bound
    return {"of": of, "ratio": value, "target": bound, "most": most, "met": met}


def graphs(bench: Bench) -> dict[str, dict[str, Tensor | None]]:
    """Pairs for each kernel, and such as something has had trouble with."""
    tiny = bench.tiny
    short, long = ([5, 9, 7], [66]) if tiny else ([7, 32, 20, 1, 64, 40] * 4, [400, 70, 65, 200])
    sparse, many = ([100], 70) if tiny else ([900, 400], 250)
    star = torch.stack([torch.arange(many), torch.zeros(many, dtype=torch.long)])
    found = {
        "tile: sparse edges, rows of none": random_graph(short, shuffled=True),
        "tile: cliques and edges": random_graph(short, clique=True, shuffled=True),
        "flash: cliques and edges": random_graph(long, clique=True),
        "flash: 20 edges a node": random_graph(long, degree=20.0),
        "flash: an edge a node": random_graph(sparse, degree=1.0, shuffled=True),
        "flash: one target of all": {"edge_index": star, "clique": None, "ptr": torch.tensor([0, many])},
        "no edges": random_graph([5], degree=0.0),
        "no nodes": random_graph([]),
    }
    for name, graph in found.items():
        if ": " in name:
            kernels = kernels_of(graph)
            assert name.partition(":")[0] in kernels, f"{name}: goes to {kernels}"
    return found


def kernels_of(graph: dict[str, Any]) -> set[str]:
    """The kernels that the blocks of a graph go to."""
    layout = AttentionLayout(
        graph["edge_index"], int(graph["ptr"][-1]), clique=graph["clique"], ptr=graph["ptr"]
    )
    return {name for name in ("tile", "flash") if layout.tiles.by_name[name].numel()}


def case(bench: Bench, graph: dict[str, Any], terms: tuple[str, ...] = DIFFERENTIABLE[3:]) -> dict[str, Any]:
    heads, channels = bench.sizes
    generator = torch.Generator().manual_seed(0)
    states = random_states(
        int(graph["ptr"][-1]),
        graph["edge_index"].size(1),
        heads=heads,
        channels=channels,
        terms=terms,
        generator=generator,
    )
    return {name: x if x is None else x.to(bench.device) for name, x in (states | graph).items()}


def rounded(inputs: dict[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    return {k: x.to(dtype) if k in DIFFERENTIABLE and x is not None else x for k, x in inputs.items()}


# -- right numbers -----------------------------------------------------------------------------------------


def errors_against_float64(bench: Bench) -> dict[str, Any]:
    """Every backend and type against the reference in float64. In 16 bits the error of each output and
    gradient is at most twice that of the plain backend in the same type (or of that type's last digits).
    """
    found: dict[str, Any] = {}
    for name, graph in graphs(bench).items():
        for dtype in dict.fromkeys((torch.float32, torch.float16, bench.low)):
            inputs = rounded(case(bench, graph), dtype)
            exact = run_backend("reference", inputs, torch.float64)
            plain = errors(run_backend("reference", inputs), exact)
            for backend in bench.backends[1:]:
                result = run_backend(backend, inputs)
                label = f"{backend}, {name}, {dtype}"
                assert_close(result, exact, TOLERANCES[dtype], label)
                worst = worst_ratio(errors(result, exact), plain, exact, dtype)
                found[label] = worst[0]
                low = dtype != torch.float32
                assert not low or worst[0] <= MOST_ERROR, (
                    f"{label}: {worst[1]} is off by {worst[0]:.2f} times as much"
                )
    return found


def errors(result: dict[str, Tensor], exact: dict[str, Tensor]) -> dict[str, float]:
    return {k: float((x.double() - exact[k]).abs().max()) if x.numel() else 0.0 for k, x in result.items()}


def worst_ratio(
    own: dict[str, float], plain: dict[str, float], exact: dict[str, Tensor], dtype: torch.dtype
) -> tuple[float, str]:
    """The largest of the errors as a multiple of the plain backend's, and whose it is."""
    ratios = []
    for name, value in own.items():
        size = float(exact[name].abs().max()) if exact[name].numel() else 0.0
        # A plain error may be 0 by luck, and sums in another order differ in their last digits.
        least = 4 * torch.finfo(dtype).eps * max(size, 1e-3)
        ratios.append((value / max(plain[name], least), name))
    return max(ratios)


def sharp_softmax(bench: Bench) -> dict[str, Any]:
    """Scores a hundred times as large, and equal values: the true gradients of queries and keys are 0. What
    is found in their place is noise, which taken from rounded outputs makes training unstable.
    """
    found = {}
    for name, graph in graphs(bench).items():
        if ": " not in name:
            continue
        inputs = rounded(case(bench, graph, terms=()), bench.low)
        inputs |= {key: inputs[key] * 10 for key in ("query", "key")}
        inputs["value"] = inputs["value"][:1].expand_as(inputs["value"]).contiguous()
        # Of a query's gradient: a channel of a key times what its weight would get.
        grad = float(inputs["value"].double().abs().sum(dim=2).max()) * 3
        term = grad * float(inputs["key"].abs().max()) / bench.sizes[1] ** 0.5
        for backend in bench.backends:
            noise = run_backend(backend, inputs)
            share = max(float(noise[f"grad {key}"].abs().max()) for key in ("query", "key")) / term
            found[f"{backend}, {name}"] = share
            # Plain backends compute in 16 bits; what is asked is asked of the kernels.
            if backend == "triton":
                assert share <= MOST_NOISE, f"{name}: gradients of {share:.2g} of a term where they are 0"
    return found


def equal_runs(bench: Bench) -> dict[str, Any]:
    """Two runs of the fused kernels are equal to the bit, with all terms and dropout."""
    if "triton" not in bench.backends:
        return {"left out": missing(torch.device(bench.device))}
    found = {}
    for name, graph in graphs(bench).items():
        for dropout_p in (0.1,) if bench.tiny else (0.0, 0.1):
            inputs = rounded(case(bench, graph), bench.low) | {"dropout_p": dropout_p}
            runs = []
            for _ in range(2):
                torch.manual_seed(0)
                runs.append(run_backend("triton", inputs))
            differ = [key for key in runs[0] if not torch.equal(runs[0][key], runs[1][key])]
            assert not differ, f"{name}, dropout {dropout_p}: two runs differ in {', '.join(differ)}"
            found[f"{name}, dropout {dropout_p}"] = True
    return found


# -- layers and models ------------------------------------------------------------------------------------


def make_batch(examples: int, longest: int = 30, seed: int = 0) -> Batch:
    """Pairs of random sentences; the label says whether the first has more words."""
    rng, data = random.Random(seed), []
    for _ in range(examples):
        pair = [random_sentence(rng, rng.randint(1, longest)) for _ in range(2)]
        data.append(to_data(pair, vocab=VOCAB, y=torch.tensor([int(len(pair[0]) > len(pair[1]))])))
    return Batch.from_data_list(data)


def model(size: int = 60) -> SentencePairModel:
    torch.manual_seed(0)
    encoder = DependencyTransformer(len(VOCAB), len(RELATIONS), hidden_channels=size, ff_channels=size)
    return SentencePairModel(encoder, RelatednessHead(size, 2))


def modules() -> Iterator[tuple[str, nn.Module]]:
    """Layers with the edges that they are for."""
    typed: dict[str, Any] = {"num_relations": len(RELATIONS)}
    yield "dra", DRAConv(24, 6, heads=4)
    yield "dra", DRAConv(24, 6, heads=4, residual=True)
    yield "sia", SIAConv(24, 6, heads=4)
    yield "sia", SIAConv(24, 6, heads=4, mask="multiplicative")
    yield "dam", DAMConv(24, 6, heads=4)
    yield "transformer", AttentionConv(24, 6, heads=4)
    yield "dt", GatedRelationConv(24, 6, heads=4, **typed)
    yield "dt", GatedRelationConv(24, 6, heads=4, gate=None, **typed)
    yield "dt", model()


def layers(bench: Bench) -> dict[str, Any]:
    """Layers and a model give on the device what they give on the CPU, in 32 bits and under autocast."""
    found = {}
    for preset, module in modules():
        data = resolve(preset, implicit=True)(make_batch(1 if bench.tiny else 4, 6 if bench.tiny else 30))
        x = torch.randn(data.num_nodes, 24, generator=torch.Generator().manual_seed(0))
        expected = results(module, data, x, torch.float32)
        there = attach_layout(data, bench.device).to(bench.device)
        module, x = module.to(bench.device), x.to(bench.device)
        for dtype in (torch.float32, torch.bfloat16):
            if INTERPRETED and dtype == torch.bfloat16:
                continue
            name = f"{type(module).__name__} on {preset} edges, {dtype}"
            tolerance = 10 * TOLERANCES[torch.float32] if dtype == torch.float32 else 0.1
            assert_close(results(module, there, x, dtype), expected, tolerance, name)
            found[name] = True
        module.to("cpu")
    return found


def results(module: nn.Module, data: Data, x: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
    """Output and gradients of every parameter."""
    with torch.autocast(x.device.type, torch.bfloat16, enabled=dtype == torch.bfloat16):
        out = run(module, data, x)
    grads = torch.autograd.grad(out.float().sin().sum(), [*module.parameters()])
    return {"output": out.detach(), **dict(zip(dict(module.named_parameters()), grads))}


def run(module: nn.Module, data: Data, x: Tensor) -> Tensor:
    return module(x, AttentionLayout.of(data)) if isinstance(module, AttentionConv) else module(data)


def edges(bench: Bench) -> dict[str, Any]:
    """Edge constructors give on the device what they give on the CPU."""
    from graphdep.testing import assert_same_data

    batch = make_batch(4, 8 if bench.tiny else 30)
    for name in PRESETS:
        for transform in (resolve(name), resolve(name, implicit=True)):
            assert_same_data(transform(batch.clone().to(bench.device)).to("cpu"), transform(batch))
    return {"presets": list(PRESETS)}


def no_waiting(bench: Bench) -> dict[str, Any]:
    """A forward and backward pass of each layer and a model over a prepared batch waits for nothing. SIA's
    multiplicative mask writes all pairs out in every call, and is left out.
    """
    found: dict[str, Any] = {}
    for preset, module in modules():
        if getattr(module, "mask", None) == "multiplicative":
            continue
        data = resolve(preset, implicit=True)(make_batch(1 if bench.tiny else 8, 6 if bench.tiny else 30))
        batch = prepare(module, data, bench.device)
        if bench.device != "cpu":
            batch = batch.pin_memory()
        elif "triton" in bench.backends:  # where `auto` does not take the fused kernels
            _ = batch.edge_layout.tiles
            use_fused(module)
        x, module = torch.randn(batch.num_nodes, 24, device=bench.device), module.to(bench.device)
        step(module, batch.to(bench.device), x)  # which compiles the kernels
        bench.synchronize()
        # On a CPU relations are checked in each call.
        with nullcontext() if (bench.device, preset) == ("cpu", "dt") else no_waits(bench.device):
            step(module, batch.to(bench.device, non_blocking=True), x)
        found[f"{type(module).__name__} on {preset} edges"] = True
        bench.synchronize()
    return found | attention_waits(bench)


def attention_waits(bench: Bench) -> dict[str, Any]:
    """Attention with all its terms alone, which checks no values on a CPU either."""
    found = {}
    for name, graph in graphs(bench).items():
        if "triton" not in bench.backends or ": " not in name:
            continue
        inputs = rounded(case(bench, graph), bench.low)
        layout = AttentionLayout(
            graph["edge_index"], inputs["query"].size(0), clique=graph["clique"], ptr=graph["ptr"]
        )
        _ = layout.tiles
        layout = layout.to(bench.device)
        terms = {key: inputs[key].requires_grad_() for key in DIFFERENTIABLE}
        for _ in range(2):  # the first compiles the kernels
            with no_waits(bench.device) if found.get(name) else nullcontext():
                out = edge_attention(
                    edge_index=layout.edge_index, layout=layout, dropout_p=0.1, backend="triton", **terms
                )
                torch.autograd.grad(out, [*terms.values()], torch.ones_like(out))
            bench.synchronize()
            found[name] = True
    return found


def use_fused(module: nn.Module) -> None:
    for part in module.modules():
        if hasattr(part, "backend"):
            part.backend = "triton"


def step(module: nn.Module, batch: Data, x: Tensor) -> None:
    run(module, batch, x).float().sum().backward()


def compiled(bench: Bench) -> dict[str, Any]:
    """A layer whose layout has its tiles is one graph for ``torch.compile``, with the same results."""
    if "triton" not in bench.backends:
        return {"left out": missing(torch.device(bench.device))}
    found = {}
    for preset in ("dra", "dt"):
        kind = DRAConv if preset == "dra" else GatedRelationConv
        options: dict[str, Any] = {} if preset == "dra" else {"num_relations": len(RELATIONS)}
        conv = kind(24, 6, heads=4, backend="triton", **options).to(bench.device)
        data = resolve(preset, implicit=True)(make_batch(1, 6))
        layout = AttentionLayout.of(data)
        _ = layout.tiles
        layout = layout.to(bench.device)
        x = torch.randn(data.num_nodes, 24, device=bench.device)
        # Tracing is what is asked here; on a CPU the rest would compile C++ for a minute.
        fast = torch.compile(conv, fullgraph=True, backend="aot_eager" if bench.tiny else "inductor")
        outs = []
        for function in (conv, fast):
            out = function(x, layout)
            outs.append([out, *torch.autograd.grad(out.sin().sum(), [*conv.parameters()])])
        difference = max(float((a - b).abs().max().detach()) for a, b in zip(*outs))
        assert difference < 1e-3, f"{preset}: compiled, results differ by {difference:.2g}"
        found[preset] = difference
    return found


# -- memory ----------------------------------------------------------------------------------------------


def memory(bench: Bench) -> dict[str, Any]:
    """What attention keeps for its backward pass, and on a GPU its peak, grows with the nodes: twice the
    sentences need twice as much, and sentences twice as long no more a node.
    """
    backend = "triton" if "triton" in bench.backends else "dense"
    base = 64 if bench.tiny else 4096
    short = 16 if bench.tiny else 32
    shapes = {"base": (base, short), "twice the sentences": (2 * base, short)}
    shapes["four times as long"] = (base, 4 * short)
    found: dict[str, Any] = {"backend": backend}
    for name, (nodes, length) in shapes.items():
        kept, peak = memory_of(bench, backend, nodes, length)
        found[name] = {"nodes": nodes, "length": length, "kept_bytes": kept, "peak_bytes": peak}
    if backend == "triton":
        for key in ("kept_bytes", "peak_bytes"):
            first, double, long = (found[name][key] for name in shapes)
            if first:
                assert double <= 2.1 * first, f"{key}: {double} for twice the sentences, {first} before"
                assert long <= 1.3 * first, f"{key}: {long} for longer sentences, {first} before"
    return found


def memory_of(bench: Bench, backend: str, nodes: int, length: int) -> tuple[int, int]:
    """Bytes that are kept for the backward pass of attention in cliques, and the peak (0 on a CPU)."""
    heads, channels = bench.sizes
    none = torch.zeros(2, 0, dtype=torch.long)
    clique = torch.arange(nodes) // length
    layout = AttentionLayout(none, nodes, clique=clique)
    _ = layout.tiles if backend == "triton" else layout.padded
    layout = layout.to(bench.device)
    states = [torch.randn(nodes, heads, channels, device=bench.device, dtype=bench.low) for _ in range(3)]
    query, key, value = (x.requires_grad_() for x in states)
    seen: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        seen[x.data_ptr()] = x.numel() * x.element_size()
        return x

    before = peak_of(bench, reset=True)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        out = edge_attention(query, key, value, none, layout=layout, backend=backend)
    assert isinstance(out, Tensor)
    torch.autograd.grad(out, (query, key, value), torch.ones_like(out))
    return sum(seen.values()), peak_of(bench) - before


def peak_of(bench: Bench, reset: bool = False) -> int:
    if bench.device == "cpu":
        return 0
    bench.synchronize()
    if reset:
        torch.cuda.reset_peak_memory_stats()
    return torch.cuda.max_memory_allocated()


PROOFS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "backends against float64": errors_against_float64,
    "sharp softmax": sharp_softmax,
    "two runs equal to the bit": equal_runs,
    "no waiting": no_waiting,
    "memory": memory,
    "edges on the device": edges,
    "layers and models": layers,
    "torch.compile": compiled,
}
