"""Multi-head attention over the edges of a graph: one operator with interchangeable backends."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import torch
from torch import Tensor

from graphdep.io.extras import needs
from graphdep.io.limits import check_shape, check_share
from graphdep.nn.attention.dense import dense_attention, full_attention, serves_full
from graphdep.nn.attention.dispatch import auto_backend, check_backend
from graphdep.nn.attention.fused.fused_attention import fused_attention, missing, refusal
from graphdep.nn.attention.layout import Adj, AttentionLayout
from graphdep.nn.attention.pairs import HAS_SCATTER, reference_attention, scatter_attention
from graphdep.nn.attention.relations import RelationVectors, add_rows

logger = logging.getLogger("graphdep.nn.attention")


def edge_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    edge_index: Adj,
    *,
    attn_bias: Tensor | None = None,
    score_scale: Tensor | None = None,
    edge_key: Tensor | RelationVectors | None = None,
    edge_value: Tensor | RelationVectors | None = None,
    clique: Tensor | None = None,
    ptr: Tensor | None = None,
    layout: AttentionLayout | None = None,
    dropout_p: float = 0.0,
    return_attention_weights: bool = False,
    backend: str = "auto",
) -> Tensor | tuple[Tensor, tuple[Tensor, Tensor]]:
    r"""Scaled dot-product attention in which a target node attends to the sources of its edges.

    .. math::
        s_{ij} = c_{ij} \frac{\mathbf{q}_i^{\top} (\mathbf{k}_j + \mathbf{e}^k_{ij})}{\sqrt{d}} + b_{ij},
        \quad \alpha_{ij} = \frac{\exp s_{ij}}{\sum_{l \in \mathcal{N}(i)} \exp s_{il}}, \quad
        \mathbf{o}_i = \sum_{j \in \mathcal{N}(i)} \alpha_{ij} (\mathbf{v}_j + \mathbf{e}^v_{ij})

    for a target :math:`i` and a source :math:`j`, in each head. :math:`\mathcal{N}(i)` are the sources of the
    edges that end in :math:`i`, and the nodes of :math:`i`'s clique, including :math:`i`; a pair that is an
    edge and in a clique counts once, with the score terms of the edge. A target without sources gets zeros.

    Weights under dropout, and weights of the pairs of a clique, are computed over all explicit pairs, by
    ``"scatter"`` or ``"reference"``, whatever the :obj:`backend`; for a clique this takes memory and time
    quadratic in its nodes. All backends return weights of explicit edges without dropout.

    ``torch.compile`` traces explicit pairs with ``backend="reference"`` or ``"auto"``, and the fused kernels
    on a layout that has its tiles (:attr:`AttentionLayout.tiles`). Cliques and the other backends break the
    graph, since their block sizes are data. Only ``"reference"`` supports second derivatives and the
    transforms of ``torch.func``.

    A non-finite state in one example may spread to examples in the same padded block; for a non-finite query,
    PyTorch's kernel for full blocks of equal size returns zeros.

    Args:
        query, key, value: Node states per head.
        edge_index: Edges, source -> target; or a prepared :class:`AttentionLayout`.
        attn_bias: :math:`b`, added to the scores of the edges. (default: 0)
        score_scale: :math:`c`, multiplies the scores of the edges. (default: 1)
        edge_key: :math:`\mathbf{e}^k`, added to the keys along the edges: a tensor, or
            :class:`RelationVectors`, which cost less. (default: 0)
        edge_value: :math:`\mathbf{e}^v`, added to the values along the edges, in the same forms. (default: 0)
        clique: Nodes of one example with the same number >= 0 see one another. (default: :obj:`None`)
        ptr: Example boundaries, which separate cliques of different examples. (default: one example)
        layout: A prepared :class:`AttentionLayout` of the same edges, shared by several calls; it replaces
            :obj:`clique` and :obj:`ptr`. (default: :obj:`None`)
        dropout_p: Probability to drop a weight; the caller passes 0 in evaluation. (default: :obj:`0.0`)
        return_attention_weights: Also return ``(pairs, alpha)``: all pairs, explicit edges first and in their
            order, and their weights before dropout. (default: :obj:`False`)
        backend: ``"reference"`` (plain PyTorch, accepts all inputs), ``"scatter"`` (pairs sorted by target,
            with torch-scatter: extra ``[scatter]``), ``"dense"`` (padded blocks, no repeated edges),
            ``"triton"`` (fused kernels on a GPU; needs triton; no repeated edges, sparse long blocks or terms
            of more than 254 edges in a row), ``"auto"`` (by device and density). (default: ``"auto"``)

    Shapes:
        - query, key, value: :math:`(|\mathcal{V}|, H, d)`
        - edge_index: :math:`(2, |\mathcal{E}|)`; clique: :math:`(|\mathcal{V}|)`; ptr: :math:`(B + 1)`
        - attn_bias, score_scale: :math:`(|\mathcal{E}|, H)`; edge_key, edge_value:
          :math:`(|\mathcal{E}|, H, d)`
        - output: :math:`(|\mathcal{V}|, H, d)`; alpha: :math:`(|\mathcal{P}|, H)`

    Raises:
        ValueError: If a shape, a node number, :obj:`dropout_p` or :obj:`backend` is invalid, the requested
            backend is not applicable (no torch-scatter; repeated edges; no triton or CUDA, float64, more than
            128 channels per head), or :obj:`layout` has other edges or modified tensors.
    """
    if isinstance(edge_index, AttentionLayout):
        if layout is not None:
            raise ValueError("'edge_index' is a layout: leave out 'layout'")
        layout = edge_index
    elif layout is None:
        layout = AttentionLayout(edge_index, query.size(0), clique=clique, ptr=ptr)
    elif not torch.compiler.is_compiling():
        layout.check_edges(edge_index)
    _check_states(query, key, value, layout, dropout_p)
    _check_edge_terms(query, layout, attn_bias, score_scale, edge_key, edge_value)
    attn_bias = _fold_edge_key(query, layout, attn_bias, score_scale, edge_key)
    options = (dropout_p, return_attention_weights)
    args = (query, key, value, layout, attn_bias, score_scale, edge_value, *options)
    if torch.compiler.is_compiling():
        traceable = _traceable(backend, *args)
        if traceable is not None:
            return _attend(traceable, *args)
    return _attend_eagerly(backend, *args)


def _traceable(backend: str, query: Tensor, key: Tensor, value: Tensor, *args: Any) -> str | None:
    """The backend, if ``torch.compile`` can trace it; the fused kernels are an operator over tiles, which
    must already exist.
    """
    layout = args[0]
    if backend == "triton" or (backend == "auto" and query.is_cuda):
        tiles = layout.ready_tiles
        served = tiles is not None and refusal(query, tiles, _has_edge_values(*args)) is None
        if served and not _needs_pairs(*args):
            return "triton"
    return "reference" if layout.clique is None and backend in ("auto", "reference") else None


@torch.compiler.disable(reason="block sizes are data: use layout.materialize()")
def _attend_eagerly(backend: str, query: Tensor, key: Tensor, value: Tensor, *args: Any) -> Any:
    """Not traced, since the blocks of each batch would recompile."""
    name = _choose(backend, args[0], query, _has_edge_values(*args))
    return _attend(name, query, key, value, *args)


def _needs_pairs(layout: AttentionLayout, *args: Any) -> bool:
    """Whether weights are requested that blocks do not give: for pairs of a clique, or before dropout."""
    dropout_p, weights = args[-2:]
    return weights and (dropout_p > 0 or layout.clique is not None)


def _has_edge_values(layout: AttentionLayout, *args: Any) -> bool:
    """Whether the call reads or returns one value per edge."""
    attn_bias, score_scale, edge_value, _, weights = args
    return weights or any(x is not None for x in (attn_bias, score_scale, edge_value))


def _attend(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: AttentionLayout,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    edge_value: Tensor | RelationVectors | None,
    dropout_p: float,
    return_attention_weights: bool,
) -> Tensor | tuple[Tensor, tuple[Tensor, Tensor]]:
    """Attention by the named backend."""
    terms = (attn_bias, score_scale, edge_value)
    options = (dropout_p, return_attention_weights)
    has_terms = any(term is not None for term in terms)
    if name == "dense" and not (has_terms or return_attention_weights) and serves_full(query, dropout_p):
        nodes = layout.full_block
        if nodes is not None:
            return full_attention(query, key, value, nodes, dropout_p)
    if name in ("dense", "triton") and not _needs_pairs(layout, *terms, *options):
        need_alpha = return_attention_weights or edge_value is not None
        if name == "dense":
            out, alpha = dense_attention(query, key, value, layout, *terms[:2], dropout_p, need_alpha)
        else:
            num_weights = layout.num_edges if need_alpha else 0
            out, alpha = fused_attention(query, key, value, layout.tiles, *terms[:2], dropout_p, num_weights)
        if edge_value is not None and alpha is not None:
            out = out + _sum_edge_values(edge_value, alpha, layout).to(out.dtype)
        if return_attention_weights and alpha is not None:
            return out, (layout.pairs, alpha.to(query.dtype))
        return out
    # All other cases need explicit pairs, and so do requested weights of all pairs.
    vectors = edge_value.expand() if isinstance(edge_value, RelationVectors) else edge_value
    pairs, attn_bias, score_scale, vectors = _write_out(layout, attn_bias, score_scale, vectors)
    terms = (attn_bias, score_scale, vectors)
    if name == "scatter":
        out, alpha = scatter_attention(query, key, value, layout.materialize(), *terms, dropout_p)
    else:
        out, alpha = reference_attention(query, key, value, pairs, *terms, dropout_p)
    return (out, (pairs, alpha)) if return_attention_weights else out


def _choose(backend: str, layout: AttentionLayout, query: Tensor, numbered: bool) -> str:
    check_backend(backend)
    _check_fused(backend, missing(query.device))
    if layout.num_nodes == 0:
        return "reference"
    if backend == "triton":
        _check_fused(backend, refusal(query, layout.tiles, numbered))
    if backend == "scatter" and not HAS_SCATTER:
        raise ValueError(
            f"backend='scatter' {needs('scatter', 'torch-scatter')}, built with --no-build-isolation; "
            "backend='reference' gives the same result without it"
        )
    if backend == "dense" and layout.has_repeated_edges:
        raise ValueError(
            "backend='dense' cannot serve repeated edges: coalesce 'edge_index' or use 'reference'"
        )
    if backend != "auto":
        return backend
    if query.is_cuda:
        reason = missing(query.device) or refusal(query, layout.tiles, numbered)
        if reason is None:
            return "triton"
        _warn_slow(reason.split(" (got")[0])
    return auto_backend(
        area=layout.area,
        pairs=layout.num_pairs,
        repeated=layout.has_repeated_edges,
        on_cuda=query.is_cuda,
        scatter=HAS_SCATTER,
    )


@cache
def _warn_slow(reason: str) -> None:
    """Once per reason: a GPU run must not be slow silently."""
    logger.warning("attention on the GPU runs without the fused kernels: backend='triton' %s", reason)


def _check_fused(backend: str, reason: str | None) -> None:
    if backend == "triton" and reason is not None:
        raise ValueError(f"backend='triton' {reason}")


def _fold_edge_key(
    query: Tensor,
    layout: AttentionLayout,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    edge_key: Tensor | RelationVectors | None,
) -> Tensor | None:
    """The key term of an edge as a score term: c * q.e / sqrt(d) + b."""
    if edge_key is None:
        return attn_bias
    target = layout.edge_index[1]
    query = query * query.size(-1) ** -0.5  # first, since the products can overflow float16
    if isinstance(edge_key, RelationVectors):
        term = edge_key.dot(query, target)
    else:
        product = query[target] * edge_key
        term = product.sum(dim=-1, dtype=torch.promote_types(product.dtype, torch.float32))
    if score_scale is not None:
        term = term * score_scale
    return term if attn_bias is None else term + attn_bias


def _sum_edge_values(edge_value: Tensor | RelationVectors, alpha: Tensor, layout: AttentionLayout) -> Tensor:
    """The contribution of the value terms of the edges to the output."""
    target = layout.edge_index[1]
    if isinstance(edge_value, RelationVectors):
        return edge_value.sum(alpha, target, layout.num_nodes)
    return add_rows(alpha.unsqueeze(-1) * edge_value.to(alpha.dtype), target, layout.num_nodes)


def _write_out(
    layout: AttentionLayout, *terms: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """All pairs, and the terms of the edges (bias, scale, value), neutral for pairs of a clique only."""
    extra = layout.pairs.size(1) - layout.num_edges
    padded = [
        x if x is None or extra == 0 else torch.cat([x, x.new_full((extra, *x.shape[1:]), fill)])
        for x, fill in zip(terms, (0.0, 1.0, 0.0))
    ]
    return layout.pairs, padded[0], padded[1], padded[2]


def _check_states(
    query: Tensor, key: Tensor, value: Tensor, layout: AttentionLayout, dropout_p: float
) -> None:
    check_shape("query", query, layout.num_nodes, "heads", "d")
    check_shape("key", key, *query.shape)
    check_shape("value", value, *query.shape)
    check_share("dropout_p", dropout_p)


def _check_edge_terms(
    query: Tensor, layout: AttentionLayout, *terms: Tensor | RelationVectors | None
) -> None:
    names = ("attn_bias", "score_scale", "edge_key", "edge_value")
    for name, term in zip(names, terms):
        shape = (layout.num_edges, query.size(1), query.size(2))[: 3 if name.startswith("edge") else 2]
        if term is not None:
            check_shape(name, term, *shape)
