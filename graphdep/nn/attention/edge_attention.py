"""Multi-head attention over the edges of a graph: one operator, several backends, equal results."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import torch
from torch import Tensor

from graphdep.io.extras import needs
from graphdep.io.limits import check_shape, check_share
from graphdep.nn.attention.dense import dense_attention, serves_whole, whole_attention
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

    for a target :math:`i`, a source :math:`j`, each head on its own. :math:`\mathcal{N}(i)` are the sources
    of the edges that end in :math:`i`, and the nodes of :math:`i`'s clique, :math:`i` included; a pair that
    is an edge and in a clique is one pair, with the edge's score terms. A target without any source gets
    zeros.

    Weights under dropout, and those of a clique's pairs, are computed over all pairs written out, by
    ``"scatter"`` or ``"reference"``, whichever :obj:`backend` is asked for: with cliques that takes memory
    and time by the square of their nodes. Those of explicit edges without dropout all backends give.

    ``torch.compile`` traces pairs that are written out, with ``backend="reference"`` or ``"auto"``, and the
    fused kernels on a layout that has its tiles (:attr:`AttentionLayout.tiles`). Cliques and the other
    backends break the graph, since the sizes of their blocks are data. Second derivatives and transforms of
    ``torch.func`` are for ``"reference"`` alone.

    What is not finite in one example may make others so that share a padded block with it; and for a query
    that is not finite PyTorch's kernel for complete blocks of one size gives zeros.

    Args:
        query, key, value: Node states per head.
        edge_index: Edges, source -> target; or a prepared :class:`AttentionLayout`, as convs take it.
        attn_bias: :math:`b`, added to the scores of the edges. (default: 0)
        score_scale: :math:`c`, multiplies the scores of the edges. (default: 1)
        edge_key: :math:`\mathbf{e}^k`, added to the keys along the edges: tensors, or
            :class:`RelationVectors`, which cost less. (default: 0)
        edge_value: :math:`\mathbf{e}^v`, added to the values along the edges, likewise. (default: 0)
        clique: Nodes of one example with the same number >= 0 see one another. (default: :obj:`None`)
        ptr: Example boundaries, which tell cliques of different examples apart. (default: one example)
        layout: A prepared :class:`AttentionLayout` of the same edges, shared by several calls; then
            :obj:`clique` and :obj:`ptr` are taken from it. (default: :obj:`None`)
        dropout_p: Probability to drop a weight; the caller passes 0 in evaluation. (default: :obj:`0.0`)
        return_attention_weights: Also return ``(pairs, alpha)``: all pairs, the explicit edges first and in
            their order, with their weights before dropout. (default: :obj:`False`)
        backend: ``"reference"`` (plain PyTorch, never refuses), ``"scatter"`` (pairs sorted by target, by
            torch-scatter: extra ``[scatter]``), ``"dense"`` (padded blocks, no repeated edges), ``"triton"``
            (fused kernels on a GPU; needs triton, refuses repeated edges, sparse long blocks and terms of
            more than 254 edges in a row), ``"auto"`` (by device and density). (default: ``"auto"``)

    Shapes:
        - query, key, value: :math:`(|\mathcal{V}|, H, d)`
        - edge_index: :math:`(2, |\mathcal{E}|)`; clique: :math:`(|\mathcal{V}|)`; ptr: :math:`(B + 1)`
        - attn_bias, score_scale: :math:`(|\mathcal{E}|, H)`; edge_key, edge_value:
          :math:`(|\mathcal{E}|, H, d)`
        - output: :math:`(|\mathcal{V}|, H, d)`; alpha: :math:`(|\mathcal{P}|, H)`

    Raises:
        ValueError: If a shape, a node number, :obj:`dropout_p` or :obj:`backend` is wrong, or the backend
            asked for cannot serve (no torch-scatter; repeated edges; without triton or CUDA, float64, more
            than 128 channels a head); if :obj:`layout` is of other edges, or its tensors were written into.
    """
    if isinstance(edge_index, AttentionLayout):
        if layout is not None:
            raise ValueError("'edge_index' is a layout: give no other as 'layout'")
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
    """The backend that serves if ``torch.compile`` can trace it: the fused one is an operator, of tiles that
    are there already.
    """
    layout = args[0]
    if backend == "triton" or (backend == "auto" and query.is_cuda):
        tiles = layout.ready_tiles
        served = tiles is not None and refusal(query, tiles, _has_numbers(*args)) is None
        if served and not _needs_pairs(*args):
            return "triton"
    return "reference" if layout.clique is None and backend in ("auto", "reference") else None


@torch.compiler.disable(reason="the sizes of blocks are data: layout.materialize() has written-out pairs")
def _attend_eagerly(backend: str, query: Tensor, key: Tensor, value: Tensor, *args: Any) -> Any:
    """Tracing the blocks would compile anew for every batch."""
    name = _choose(backend, args[0], query, _has_numbers(*args))
    return _attend(name, query, key, value, *args)


def _needs_pairs(layout: AttentionLayout, *args: Any) -> bool:
    """Whether weights are asked for that blocks do not give: of pairs of a clique, or before dropout."""
    dropout_p, weights = args[-2:]
    return weights and (dropout_p > 0 or layout.clique is not None)


def _has_numbers(layout: AttentionLayout, *args: Any) -> bool:
    """Whether something is read or written an edge."""
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
    """The attention by the backend of that name."""
    terms = (attn_bias, score_scale, edge_value)
    options = (dropout_p, return_attention_weights)
    has_terms = any(term is not None for term in terms)
    if name == "dense" and not (has_terms or return_attention_weights) and serves_whole(query, dropout_p):
        nodes = layout.whole_block
        if nodes is not None:
            return whole_attention(query, key, value, nodes, dropout_p)
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
    # Everything else works on pairs written out; asking for all weights is asking for just that.
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
            "backend='reference' does the same without it"
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
        _say_slow(reason.split(" (got")[0])
    return auto_backend(
        area=layout.area,
        pairs=layout.num_pairs,
        repeated=layout.has_repeated_edges,
        on_cuda=query.is_cuda,
        scatter=HAS_SCATTER,
    )


@cache
def _say_slow(reason: str) -> None:
    """Once for each reason: what is slower than it could be on a GPU must not be so silently."""
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
    """The keys' edge term is a score term too: c * q.e / sqrt(d) + b."""
    if edge_key is None:
        return attn_bias
    target = layout.edge_index[1]
    query = query * query.size(-1) ** -0.5  # first, as the products can be too large for float16
    if isinstance(edge_key, RelationVectors):
        term = edge_key.dot(query, target)
    else:
        product = query[target] * edge_key
        term = product.sum(dim=-1, dtype=torch.promote_types(product.dtype, torch.float32))
    if score_scale is not None:
        term = term * score_scale
    return term if attn_bias is None else term + attn_bias


def _sum_edge_values(edge_value: Tensor | RelationVectors, alpha: Tensor, layout: AttentionLayout) -> Tensor:
    """What the edges' own values add to the output."""
    target = layout.edge_index[1]
    if isinstance(edge_value, RelationVectors):
        return edge_value.sum(alpha, target, layout.num_nodes)
    return add_rows(alpha.unsqueeze(-1) * edge_value.to(alpha.dtype), target, layout.num_nodes)


def _write_out(
    layout: AttentionLayout, *terms: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """All pairs, and the edges' terms (bias, scale, value) with neutral entries for pairs of a clique
    only.
    """
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
