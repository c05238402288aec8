"""Whether the backends of :func:`~graphdep.nn.attention.edge_attention` agree, on any device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

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
