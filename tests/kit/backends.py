"""Random graphs to test the backends of edge attention, which must agree and not wait for the GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from graphdep.nn.attention import edge_attention

DIFFERENTIABLE = ("query", "key", "value", "attn_bias", "score_scale", "edge_key", "edge_value")

# Largest difference allowed, as a share of the largest entry of the tensor (or of 1). float32: a sum of a few
# thousand products, each rounded to 2^-24. bfloat16 rounds to 2^-9 = 0.002; score, weight, message and their
# gradients are rounded one after the other, and a score of 4 that is off by 2^-9 moves its weight by 0.8 %.
# float16 rounds to 2^-12.
TOLERANCES = {torch.float64: 1e-10, torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}


def random_states(
    num_nodes: int,
    num_edges: int,
    *,
    heads: int = 2,
    channels: int = 4,
    terms: Sequence[str] = DIFFERENTIABLE[3:],
    generator: torch.Generator | None = None,
) -> dict[str, Tensor]:
    """Random float64 arguments of ``edge_attention``: the node states, and those of the edges' ``terms``."""
    nodes = dict.fromkeys(("query", "key", "value"), (num_nodes, heads, channels))
    edges = {"attn_bias": (num_edges, heads), "score_scale": (num_edges, heads)}
    vectors = dict.fromkeys(("edge_key", "edge_value"), (num_edges, heads, channels))
    shapes = {name: shape for name, shape in (edges | vectors).items() if name in terms}
    return {
        name: torch.randn(shape, dtype=torch.float64, generator=generator)
        for name, shape in (nodes | shapes).items()
    }


def run_backend(
    backend: str, inputs: Mapping[str, Any], dtype: torch.dtype | None = None
) -> dict[str, Tensor]:
    """Output of one backend, and the gradients of a fixed random weighting of it.

    Args:
        backend: A backend of :func:`~graphdep.nn.attention.edge_attention`.
        inputs: Its arguments by name.
        dtype: Type to which the floating-point arguments are cast. (default: theirs)

    Returns:
        ``"output"`` and ``"grad <name>"`` of every differentiable argument that was given.
    """
    arguments = dict(inputs)
    for name in DIFFERENTIABLE:
        if arguments.get(name) is not None:
            arguments[name] = arguments[name].detach().to(dtype or arguments[name].dtype).requires_grad_()
    out = edge_attention(**arguments, backend=backend)
    assert isinstance(out, Tensor)
    leaves = {name: arguments[name] for name in DIFFERENTIABLE if arguments.get(name) is not None}
    weighting = torch.randn(out.shape, generator=torch.Generator().manual_seed(0)).to(out)
    grads = torch.autograd.grad(out, list(leaves.values()), weighting)
    return {"output": out.detach(), **{f"grad {name}": grad for name, grad in zip(leaves, grads)}}


def assert_close(
    got: Mapping[str, Tensor], expected: Mapping[str, Tensor], tolerance: float, label: str
) -> None:
    """Asserts that results are finite and differ by at most ``tolerance`` times the largest entry (or 1)."""
    assert got.keys() == expected.keys(), f"{label}: {[*got]} != {[*expected]}"
    for name, value in got.items():
        other = expected[name].to(value.device, torch.float64)
        assert value.shape == other.shape, f"{label}: {name} has shape {[*value.shape]} != {[*other.shape]}"
        assert bool(value.isfinite().all()), f"{label}: {name} is not finite"
        if value.numel() == 0:
            continue
        difference = float((value.double() - other).abs().max())
        allowed = tolerance * max(1.0, float(other.abs().max()))
        assert difference <= allowed, f"{label}: {name} differs by {difference:.2g} (allowed {allowed:.2g})"


def assert_backends_equal(
    inputs: Mapping[str, Any],
    backends: Sequence[str] = ("reference", "dense", "auto"),
    *,
    dtype: torch.dtype = torch.float32,
    tolerance: float | None = None,
) -> dict[str, dict[str, Tensor]]:
    r"""Asserts that backends give the same output and gradients, each pair of them, and as in float64.

    Args:
        inputs: Arguments of :func:`~graphdep.nn.attention.edge_attention` by name, on any device.
        backends: Backends to compare.
        dtype: Type to compute in. (default: :obj:`torch.float32`)
        tolerance: Largest difference, as a share of the largest entry. (default: by :obj:`dtype`)

    Returns:
        The results of every backend, as :func:`run_backend` gives them.

    Raises:
        AssertionError: If two results differ, or one is not finite or not of :obj:`dtype`.
    """
    tolerance = TOLERANCES[dtype] if tolerance is None else tolerance
    rounded = {
        name: x.to(dtype) if name in DIFFERENTIABLE and x is not None else x for name, x in inputs.items()
    }
    exact = run_backend("reference", rounded, torch.float64)
    results = {backend: run_backend(backend, rounded) for backend in backends}
    for backend, result in results.items():
        for name, value in result.items():
            assert value.dtype == dtype, f"{backend}: {name} is {value.dtype}, not {dtype}"
        assert_close(result, exact, tolerance, f"{backend} in {dtype}, against float64")
    for left, right in combinations(backends, 2):
        assert_close(results[left], results[right], 2 * tolerance, f"{left} against {right} in {dtype}")
    return results


def random_graph(
    sizes: Sequence[int],
    *,
    degree: float = 3.0,
    clique: bool = False,
    hub: bool = False,
    shuffled: bool = False,
    seed: int = 0,
) -> dict[str, Tensor | None]:
    """Edges within examples: ``edge_index``, ``clique`` and ``ptr`` of ``edge_attention``.

    Args:
        sizes: Number of nodes of each example.
        degree: Mean number of edges per node; some nodes have none.
        clique: Whether the nodes of an example also form a clique, except every seventh node of the batch.
        hub: Whether the first node of an example reads all nodes, and the middle one is read by all.
        shuffled: Whether the edges are in random order; else they are sorted by target and source.
        seed: Seed of the random numbers.
    """
    generator = torch.Generator().manual_seed(seed)
    edges, start = [torch.zeros(2, 0, dtype=torch.long)], [0]
    for size in sizes:
        there = torch.rand(size, size, generator=generator) < degree / max(size, 1)
        if hub and size:
            there[0] = there[:, size // 2] = True
        edges.append(there.nonzero().t().flip(0) + start[-1])
        start.append(start[-1] + size)
    edge_index = torch.cat(edges, dim=1)
    if shuffled:
        edge_index = edge_index[:, torch.randperm(edge_index.size(1), generator=generator)]
    number = None
    if clique:
        number = torch.zeros(start[-1], dtype=torch.long)
        number[::7] = -1
    return {"edge_index": edge_index.contiguous(), "clique": number, "ptr": torch.tensor(start)}


# Their results have sizes or are numbers that only the data tells: on a GPU they wait for it.
_ALWAYS = (
    "_local_scalar_dense bincount equal is_nonzero masked_select nonzero unique_consecutive unique_dim "
    "_unique _unique2"
).split()


@contextmanager
def no_waits(device: torch.device | str) -> Iterator[None]:
    """Raises :class:`RuntimeError` for an operation in the context that waits for the GPU.

    On CUDA this is torch's own check. On the CPU it detects operators that would wait: numbers read from
    tensors, sizes that depend on values, masks as indices; it does not detect ``tolist()`` and copies between
    devices.

    Args:
        device: Device of the tensors.
    """
    if torch.device(device).type != "cuda":
        with _Refused():
            yield
        return
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


class _Refused(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        sized = name == "repeat_interleave" and (kwargs or {}).get("output_size") is None
        if name in _ALWAYS or (sized and func._overloadname != "self_int") or _has_mask(name, args):
            raise RuntimeError(f"aten.{name} would wait for the GPU")
        return func(*args, **(kwargs or {}))


def _has_mask(name: str, args: tuple[Any, ...]) -> bool:
    """Whether a tensor is indexed by a mask, except to write one value to all places."""
    if name not in ("index", "index_put", "index_put_", "_index_put_impl_"):
        return False
    masked = any(isinstance(x, Tensor) and x.dtype in (torch.bool, torch.uint8) for x in args[1])
    return masked and (name == "index" or args[2].numel() != 1)
