"""What gpu_check.py measures of attention on a GPU: graphdep's kernels and its peers (gpu_peers.py), forward
and backward, in sentences of one length and of 10 to 200 words.

Times are those of CUDA graphs in which every run is preceded by a write over a buffer twice the size of the
L2 cache, less the time of these writes; where a method cannot be captured, those of events around it, which
count what the GPU waits for, too. SDPA's mask and the terms of PyG's edges are made within the call, as their
users must; FlexAttention's mask is given; what our kernels need of a batch is made on the CPU where it is
collated, once for all layers: ``layout_us`` beside the times. And what no step goes below.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from attention import random_sentence
from gpu_peers import Method, Pairs, flex, graphdep, pyg, sdpa, varlen
from gpu_proofs import Bench, target
from torch import Tensor
from torch_geometric.data import Batch

from graphdep import to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.transforms import resolve

#: Peers that every workload is measured against; the others where a target names them.
SOME = ("triton", "dense", "pyg", "sdpa")
ALL = (*SOME, "pyg compiled", "flex", "varlen")
#: Edges, whether sentences are of one length, whether edges have terms, methods.
WORKLOADS: dict[str, tuple[str, bool, bool, tuple[str, ...]]] = {
    "DRA, 32 words": ("dra", True, False, ALL),
    "DT, 32 words": ("dt", True, True, ALL),
    "complete, 10 to 200 words": ("transformer", False, False, ALL),
    "DRA, 10 to 200 words": ("dra", False, False, SOME),
    "SIA, 10 to 200 words": ("sia", False, False, SOME),
    "DT, 10 to 200 words": ("dt", False, True, SOME),
    "DAM, 10 to 200 words": ("dam", False, False, SOME),
    "SIA, 32 words": ("sia", True, False, SOME),
    "DAM, 32 words": ("dam", True, False, SOME),
}
#: How many times as long as our kernels the peers take at least.
TARGETS: dict[str, dict[str, float]] = {
    "DRA, 32 words": {"pyg": 12, "pyg compiled": 3, "sdpa": 3, "flex": 2},
    "DT, 32 words": {"pyg": 50, "pyg compiled": 10, "sdpa": 2.5, "flex": 2, "varlen": 1},
    "complete, 10 to 200 words": {"pyg": 60, "pyg compiled": 12, "sdpa": 6, "flex": 2, "varlen": 1},
}
#: Times as long as memory takes to move what must be moved, at most.
MOST_OF_FLOOR = {"DRA, 32 words": 2.0, "DT, 32 words": 2.0, "complete, 10 to 200 words": 2.5}


def make_pairs(bench: Bench, name: str) -> Pairs:
    """The pairs and states of a workload."""
    preset, fixed, with_terms, _ = WORKLOADS[name]
    nodes = 64 if bench.tiny else 4096
    generator = torch.Generator().manual_seed(0)
    data = [to_data([random_sentence(words, generator)]) for words in lengths(nodes, fixed, bench.tiny)]
    # One step along the tree: three pairs of a word have a relation, itself among them.
    options: dict[str, Any] = {"max_distance": 1} if preset == "dt" else {}
    batch = resolve(preset, implicit=True, **options)(Batch.from_data_list(data))
    start = time.perf_counter()
    layout = AttentionLayout.of(batch).prepare(bench.device)
    if "triton" in bench.backends:
        _ = layout.tiles
    layout_us = (time.perf_counter() - start) * 1e6
    written, _ = layout.pairs, layout.padded
    heads, channels = bench.sizes
    like: dict[str, Any] = {"device": bench.device, "dtype": bench.low, "requires_grad": True}
    query, key, value = (torch.randn(batch.num_nodes, heads, channels, **like) for _ in range(3))
    terms = [torch.rand(layout.num_edges, heads, **like) for _ in range(2 if with_terms else 0)]
    moved = layout.to(bench.device)
    return Pairs(moved, written.to(bench.device), batch.ptr, (query, key, value), tuple(terms), layout_us)


def lengths(nodes: int, fixed: bool, tiny: bool) -> list[int]:
    """Words of sentences that have so many nodes in all, ROOT nodes included."""
    if fixed:
        words = 7 if tiny else 31
        return [words] * (nodes // (words + 1))
    source, found = random.Random(0), list[int]()
    low, high = (3, 20) if tiny else (10, 200)
    while sum(found) + len(found) < nodes:
        found.append(round(math.exp(source.uniform(math.log(low), math.log(high)))))
    return found


def methods(bench: Bench, pairs: Pairs, names: tuple[str, ...]) -> dict[str, Method | Exception]:
    """Each method; where it is not there, the error."""
    makers: dict[str, Callable[[], Method]] = {
        "triton": lambda: graphdep(pairs, "triton"),
        "dense": lambda: graphdep(pairs, "dense"),
        "pyg": lambda: pyg(pairs),
        "pyg compiled": lambda: pyg(pairs, compiled=not bench.tiny),
        "sdpa": lambda: sdpa(pairs),
        "flex": lambda: flex(pairs, compiled=not bench.tiny),
        "varlen": lambda: varlen(pairs),
    }
    found: dict[str, Method | Exception] = {}
    for name in names:
        if name == "triton" and name not in bench.backends:
            continue
        try:
            found[name] = makers[name]()
        except Exception as error:  # a peer that is not there leaves the others
            found[name] = error
    return found


def both_ways(method: Method) -> Callable[[], Any]:
    """Forward and backward pass, by a gradient that is there already; forward alone where there is none."""
    out = method.run()
    if not out.requires_grad:
        return method.run
    grad = torch.ones_like(out)
    return lambda: torch.autograd.grad(method.run(), method.inputs, grad, allow_unused=True)


def workload(name: str) -> Callable[[Bench], dict[str, Any]]:
    """The step that measures a workload."""

    def measure(bench: Bench) -> dict[str, Any]:
        pairs = make_pairs(bench, name)
        found: dict[str, Any] = {
            "nodes": pairs.states[0].size(0),
            "pairs": pairs.written.size(1),
            "layout_us": pairs.layout_us,
            "times": {},
        }
        found["edges with terms"] = pairs.terms[0].size(0) if pairs.terms else 0
        for key, method in methods(bench, pairs, WORKLOADS[name][3]).items():
            found["times"][key] = times_of(bench, method)
        found |= {"floor_us": floor(bench, pairs), "targets": []}
        own = found["times"].get("triton", {}).get("device_us")
        for peer, least in TARGETS.get(name, {}).items() if own else ():
            if other := found["times"].get(peer, {}).get("device_us"):
                found["targets"].append(target(f"{peer}, device time: times ours", other / own, least))
        if own and name in MOST_OF_FLOOR:
            ratio = own / found["floor_us"]
            found["targets"].append(
                target("ours, times as long as its bytes take", ratio, MOST_OF_FLOOR[name], most=True)
            )
        return found

    return measure


def times_of(bench: Bench, method: Method | Exception) -> dict[str, Any]:
    try:
        if isinstance(method, Exception):
            raise method
        call = both_ways(method)
        for _ in range(1 if bench.tiny else 5):
            call()
        bench.synchronize()
        return device_time(bench, call)
    except Exception as error:  # of a peer: the others still tell something
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def device_time(bench: Bench, call: Callable[[], Any]) -> dict[str, Any]:
    """Microseconds on the device, nothing of it in the L2 cache before; and how they were measured."""
    if bench.device == "cpu":
        return {"device_us": None, "how": "no GPU"}
    size = torch.cuda.get_device_properties(bench.device).L2_cache_size
    buffer = torch.empty(2 * size, dtype=torch.int8, device=bench.device)
    try:
        return {"device_us": by_graph(buffer, call), "how": "CUDA graph"}
    except RuntimeError:  # something that cannot be captured
        torch.cuda.synchronize()
        return {"device_us": by_events(buffer, call), "how": "events"}


def by_graph(buffer: Tensor, call: Callable[[], Any], count: int = 10, rounds: int = 10) -> float:
    def flushed() -> None:
        for _ in range(count):
            buffer.zero_()
            call()

    def flushes() -> None:
        for _ in range(count):
            buffer.zero_()

    found = [replayed(captured(work), rounds) for work in (flushed, flushes)]
    return (found[0] - found[1]) / count


def captured(work: Callable[[], Any]) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work()  # memory is found before
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def replayed(graph: torch.cuda.CUDAGraph, rounds: int) -> float:
    """Median microseconds of the graph."""
    graph.replay()
    return statistics.median(elapsed(graph.replay) for _ in range(rounds))


def repeated(work: Callable[..., Any], *args: Any, count: int = 50) -> float:
    """Microseconds of one of many calls in a graph."""
    return replayed(captured(lambda: [work(*args) for _ in range(count)]), 5) / count


def by_events(buffer: Tensor, call: Callable[[], Any], rounds: int = 30) -> float:
    found = []
    for _ in range(rounds):
        buffer.zero_()
        found.append(elapsed(call))
    return statistics.median(found)


def elapsed(call: Callable[[], Any]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e3


def floors(bench: Bench) -> dict[str, Any]:
    """What no step goes below: microseconds a launch, eager, of the host alone and in a graph; terabytes a
    second of copies, and TFLOP/s of a feed-forward layer's product, in graphs.
    """
    count, x = 10 if bench.tiny else 500, torch.zeros(1024, device=bench.device)

    def launches() -> None:
        for _ in range(count):
            x.add_(1.0)

    launches()
    bench.synchronize()
    start = time.perf_counter()
    launches()
    host = time.perf_counter() - start
    bench.synchronize()
    eager = time.perf_counter() - start
    found: dict[str, Any] = {
        "eager, us a launch": eager / count * 1e6,
        "host, us a launch": host / count * 1e6,
    }
    if bench.device == "cpu":
        return found
    found["graph, us a launch"] = replayed(captured(launches), 10) / count
    for size in (1,) if bench.tiny else (2, 8, 32, 512):
        pair = torch.empty(2, size * 2**20, dtype=torch.int8, device=bench.device)
        found[f"copy of {size} MB, TB/s"] = pair.numel() / repeated(pair[0].copy_, pair[1]) / 1e6
    torch.set_float32_matmul_precision("high")
    wide = 8 if bench.tiny else 768
    for rows in (8,) if bench.tiny else (768, 2048, 8192):
        for name, dtype in (("bf16", torch.bfloat16), ("TF32", torch.float32)):
            left = torch.randn(rows, wide, dtype=dtype, device=bench.device)
            flops = 8 * rows * wide**2 / repeated(left.matmul, left.new_ones(wide, 4 * wide))
            found[f"{rows} x {wide} x {4 * wide}, {name}, TFLOP/s"] = flops / 1e6
    torch.set_float32_matmul_precision("highest")
    return found


def floor(bench: Bench, pairs: Pairs) -> float | None:
    """Microseconds that it takes to read and write once what must be, at the rate of a copy."""
    if bench.device == "cpu":
        return None
    state = pairs.states[0].numel() * pairs.states[0].element_size()
    term = sum(x.numel() * x.element_size() for x in pairs.terms)
    # Forward: query, key, value, output. Backward: these and their gradients, without the output.
    moved = 4 * state + 7 * state + term + 2 * term
    source, copy = torch.empty(2, 2**28, dtype=torch.int8, device=bench.device)
    took = min(elapsed(lambda: copy.copy_(source)) for _ in range(11))
    return moved * took / (2 * source.numel())
