"""Attention by the Triton kernels: their limits and their launch."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from graphdep.io.extras import is_installed, needs
from graphdep.nn.attention.dispatch import TILE_ROWS
from graphdep.nn.attention.fused.kernels import (
    flash_backward_columns,
    flash_backward_rows,
    flash_forward,
    tile_backward,
    tile_forward,
)
from graphdep.nn.attention.tiles import TENSORS, AttentionTiles

# Warps per program, by rows: the number without register spills when compiled ahead of time for sm_80, sm_90
# and sm_120 (tests/nn/attention/fused/test_kernels.py); not measured.
TILE_WARPS = {16: (1, 2), 32: (4, 4), 64: (4, 8)}  # forward, backward
FLASH_SHAPES = {"forward": (32, 4), "rows": (32, 8), "columns": (32, 8)}  # columns or rows per step, warps
#: Dropout compares random numbers of this many bits.
DROPOUT_BITS = 24

Tiles = dict[str, Tensor]


def forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    seed: Tensor | None,
    tiles: Tiles,
    dropout_p: float,
    num_weights: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Output, weights of ``num_weights`` explicit edges after dropout, and log-sum-exp of each row."""
    num_nodes, heads, _ = query.shape
    states, common = _arguments(
        query, key, value, attn_bias, score_scale, seed, tiles, dropout_p, num_weights > 0
    )
    out = query.new_empty(query.shape)
    alpha = query.new_zeros((num_weights, heads), dtype=torch.float32)  # some edges may be in no tile
    lse = query.new_empty((num_nodes, heads), dtype=torch.float32)
    weights_to = alpha if num_weights else None
    with _on(query):
        if grid := tiles["tile"].size(0):
            bytes_ = (tiles["tile"], tiles["slot"], tiles["rowptr"], tiles["edge"])
            _tile(tile_forward, 0, grid, (*states, out, weights_to, *bytes_), common, tiles)
        if grid := tiles["flash"].size(0):
            args = (*states, out, lse, weights_to, *_flash_data(tiles))
            _flash(flash_forward, "forward", grid, args, common)
    return out, alpha, lse


def backward(
    grad_out: Tensor,
    grad_alpha: Tensor | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    seed: Tensor | None,
    lse: Tensor,
    tiles: Tiles,
    dropout_p: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of the states and the terms; empty for missing terms."""
    states, common = _arguments(
        query, key, value, attn_bias, score_scale, seed, tiles, dropout_p, grad_alpha is not None
    )
    grad_out = grad_out.contiguous()
    grad_alpha = None if grad_alpha is None else grad_alpha.contiguous()
    grads = [query.new_empty(query.shape) for _ in range(3)]
    # Zeros, since no kernel writes the gradient of an edge without a byte.
    terms = [query.new_empty(0) if x is None else x.new_zeros(x.shape) for x in (attn_bias, score_scale)]
    to = [None if x is None else grad for x, grad in zip((attn_bias, score_scale), terms)]
    delta = torch.empty_like(lse)
    incoming = (grad_out, grad_alpha)
    with _on(query):
        if grid := tiles["tile"].size(0):
            bytes_ = (tiles["tile"], tiles["slot"], tiles["rowptr"], tiles["edge"])
            _tile(tile_backward, 1, grid, (*states, *incoming, *grads, *to, *bytes_), common, tiles)
        if grid := tiles["flash"].size(0):
            kept = (*states, *incoming, lse, delta)
            data = _flash_data(tiles)
            _flash(flash_backward_rows, "rows", grid, (*kept, grads[0], *to, *data), common)
            _flash(flash_backward_columns, "columns", grid, (*kept, *grads[1:], *data), common)
    return grads[0], grads[1], grads[2], terms[0], terms[1]


def _arguments(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    seed: Tensor | None,
    tiles: Tiles,
    dropout_p: float,
    weights: bool,
) -> tuple[tuple[Tensor | None, ...], dict[str, Any]]:
    """The first arguments of all kernels, and their constants for specialisation."""
    if query.stride(2) != 1 or not query.stride() == key.stride() == value.stride():
        query, key, value = (x.contiguous() for x in (query, key, value))
    bias, scale = (None if x is None or x.numel() == 0 else x.contiguous() for x in (attn_bias, score_scale))
    channels = query.size(2)
    for term in (bias, scale):
        if term is not None and term.numel() >= 2**31:
            raise ValueError(
                f"backend='triton' serves terms of fewer than 2^31 numbers (got {[*term.shape]})"
            )
    threshold = round(dropout_p * 2**DROPOUT_BITS)
    kept = 1 - threshold / 2**DROPOUT_BITS
    common = {
        "stride_node": query.stride(0),
        "stride_head": query.stride(1),
        "threshold": threshold,
        "keep_scale": 1 / kept if kept else 0.0,
        "sm_scale": channels**-0.5,
        "H": query.size(1),
        "D": channels,
        "BLOCK_D": padded_channels(channels),
        "HAS_BIAS": bias is not None,
        "HAS_SCALE": scale is not None,
        "HAS_EDGE": tiles["edge"].numel() > 0,
        "DROPOUT": threshold > 0,
        "WEIGHTS": weights,
        "num_stages": 1,
    }
    return (query, key, value, bias, scale, seed), common


def padded_channels(channels: int) -> int:
    """Columns of a tile for ``channels``: tensor cores need powers of two, at least 16."""
    return max(16, 1 << (channels - 1).bit_length())


def precision(dtype: torch.dtype) -> str:
    """Precision of float32 products, following torch's setting; other types are exact anyway."""
    fast = dtype == torch.float32 and torch.get_float32_matmul_precision() != "highest"
    return "tf32" if fast else "ieee"


def _tile(kernel: Any, way: int, grid: int, args: tuple, common: dict[str, Any], tiles: Tiles) -> None:
    block = tiles["slot"].size(1)
    own = {"BLOCK": block, "PRECISION": precision(args[0].dtype), "num_warps": TILE_WARPS[block][way]}
    kernel[(grid * common["H"],)](*args, **common, **own)


def _flash(kernel: Any, name: str, grid: int, args: tuple, common: dict[str, Any]) -> None:
    step, warps = FLASH_SHAPES[name]
    own = {"TILE": TILE_ROWS, "STEP": step, "PRECISION": precision(args[0].dtype), "num_warps": warps}
    kernel[(grid * common["H"],)](*args, **common, **own)


def _flash_data(tiles: Tiles) -> tuple[Tensor, ...]:
    return tuple(tiles[name] for name in ("flash", "flash_slot", "flash_used", "rowptr", "edge"))


def _on(query: Tensor) -> AbstractContextManager[Any]:
    return torch.cuda.device(query.device) if query.is_cuda else nullcontext()


INSTALLED = is_installed("triton")
#: Whether kernels run under Triton's interpreter on the CPU, as decided at the first import of Triton.
INTERPRETED = INSTALLED and os.environ.get("TRITON_INTERPRET") == "1"
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
#: Largest number of channels per head in a program.
MOST_CHANNELS = 128

# Own schema, implementations and autograd: a call has half of the overhead of torch.library's custom_op and
# register_autograd.
_LIBRARY = torch.library.Library("graphdep", "DEF")
_LIBRARY.define(
    "fused_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor? score_scale, "
    "Tensor? seed, Tensor[] tiles, float dropout_p, SymInt num_weights) -> (Tensor, Tensor, Tensor)"
)
_LIBRARY.define(
    "fused_attention_backward(Tensor grad_out, Tensor? grad_alpha, Tensor query, Tensor key, Tensor value, "
    "Tensor? attn_bias, Tensor? score_scale, Tensor? seed, Tensor lse, Tensor[] tiles, float dropout_p) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    tiles: AttentionTiles,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    dropout_p: float,
    num_weights: int,
) -> tuple[Tensor, Tensor]:
    """Attention over the pairs of the tiles, and the weights of ``num_weights`` explicit edges (or none)
    after dropout, float32 ``[num_weights, heads]``.
    """
    seed = None
    if dropout_p > 0:  # on the device, from torch's generator, without synchronization
        seed = torch.randint(2**62, (1,), dtype=torch.int64, device=query.device)
    states = (query, key.to(query.dtype), value.to(query.dtype), attn_bias, score_scale, seed)
    # Only tracing needs an operator over tensors; its dispatch would cost time in every call.
    traced = torch.compiler.is_compiling() or type(query) is not Tensor
    out, alpha = _FusedAttention.apply(
        *states, dropout_p, num_weights, *(tiles.tensors if traced else (tiles,))
    )
    return out, alpha


def refusal(query: Tensor, tiles: AttentionTiles, numbered: bool) -> str | None:
    """Why the fused kernels cannot serve these states and pairs; :obj:`None` if they can.

    They need triton and CUDA (or ``TRITON_INTERPRET=1`` on the CPU), 16- or 32-bit floats, at most 128
    channels per head, fewer than 2^31 numbers in a tensor, and pairs that bytes can express
    (:meth:`~graphdep.nn.attention.tiles.AttentionTiles.refusal`).
    """
    return missing(query.device) or _refused_states(query) or tiles.refusal(numbered)


def missing(device: torch.device) -> str | None:
    """The missing requirement of the kernels on a device; :obj:`None` if there is none."""
    if not INSTALLED:
        return f"{needs('triton', 'triton')} and a CUDA device (got {device.type})"
    if device.type != "cuda" and not INTERPRETED:
        return (
            f"needs a CUDA device (got {device.type}); TRITON_INTERPRET=1, set before triton is "
            "imported, runs it slowly on the CPU"
        )
    if device.type == "cuda" and INTERPRETED:
        return "needs states on the CPU under TRITON_INTERPRET=1"
    return None


def _refused_states(query: Tensor) -> str | None:
    if query.dtype not in DTYPES:
        return f"serves float32, float16 and bfloat16 (got {query.dtype})"
    if INTERPRETED and query.dtype == torch.bfloat16:
        return "cannot serve bfloat16 under TRITON_INTERPRET=1: the interpreter multiplies it wrongly"
    if query.size(2) > MOST_CHANNELS:
        return f"serves at most {MOST_CHANNELS} channels per head (got {query.size(2)})"
    # Query, key and value may share one tensor, and a view may span more memory than its numbers.
    if max(query.numel() * 3, query.stride(0) * query.size(0)) >= 2**31:
        return f"serves tensors of fewer than 2^31 numbers (got {[*query.shape]}, three times)"
    return None


class _FusedAttention(torch.autograd.Function):
    """Autograd function over tiles, or over their tensors when tracing."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_bias: Tensor | None,
        score_scale: Tensor | None,
        seed: Tensor | None,
        dropout_p: float,
        num_weights: int,
        *tiles: Any,
    ) -> tuple[Tensor, Tensor]:
        states = (query, key, value, attn_bias, score_scale, seed)
        ctx.dropout_p, ctx.num_weights = dropout_p, num_weights
        if isinstance(tiles[0], AttentionTiles):
            out, alpha, lse = _launch().forward(*states, tiles[0].by_name, dropout_p, num_weights)
            ctx.tiles = tiles[0].by_name
            ctx.save_for_backward(*states, lse)
        else:
            out, alpha, lse = torch.ops.graphdep.fused_attention(*states, [*tiles], dropout_p, num_weights)
            ctx.tiles = None
            ctx.save_for_backward(*states, lse, *tiles)
        return out, alpha

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor, grad_alpha: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():  # only with create_graph=True
            raise RuntimeError("backend='triton' has no second derivative: use backend='reference'")
        query, key, value, attn_bias, score_scale, seed, lse, *tiles = ctx.saved_tensors
        grads = (grad_out, grad_alpha if ctx.num_weights else None)
        states = (query, key, value, attn_bias, score_scale, seed, lse)
        if ctx.tiles is None:
            found = torch.ops.graphdep.fused_attention_backward(*grads, *states, tiles, ctx.dropout_p)
        else:
            found = _launch().backward(*grads, *states, ctx.tiles, ctx.dropout_p)
        terms = (None if x is None else grad for x, grad in zip((attn_bias, score_scale), found[3:]))
        return (*found[:3], *terms, *([None] * (3 + max(len(tiles), 1))))


@cache
def _launch() -> Any:
    """The module of the kernels, imported at their first call."""
    return import_module("graphdep.nn.attention.fused.fused_attention")


def _forward(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    *states, tensors, dropout_p, num_weights = args
    return _launch().forward(*states, dict(zip(TENSORS, tensors)), dropout_p, num_weights)


def _backward(*args: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    *states, tensors, dropout_p = args
    return _launch().backward(*states, dict(zip(TENSORS, tensors)), dropout_p)


def _forward_shapes(query: Tensor, *args: Any) -> tuple[Tensor, Tensor, Tensor]:
    num_nodes, heads, _ = query.shape
    alpha, lse = (query.new_empty((n, heads), dtype=torch.float32) for n in (args[-1], num_nodes))
    return query.new_empty(query.shape), alpha, lse


def _backward_shapes(
    grad_out: Tensor, grad_alpha: Tensor | None, query: Tensor, *args: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    states = [query.new_empty(query.shape) for _ in range(3)]
    terms = [query.new_empty(0) if x is None else x.new_empty(x.shape) for x in args[2:4]]
    return states[0], states[1], states[2], terms[0], terms[1]


for _name, _run, _shapes in (
    ("fused_attention", _forward, _forward_shapes),
    ("fused_attention_backward", _backward, _backward_shapes),
):
    for _device in ("CPU", "CUDA"):
        _LIBRARY.impl(_name, _run, _device)
    torch.library.register_fake(f"graphdep::{_name}", _shapes, lib=_LIBRARY)
