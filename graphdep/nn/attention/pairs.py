"""The backends over explicit pairs of nodes: plain PyTorch and torch-scatter."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.utils import scatter, softmax

from graphdep.io.extras import is_installed
from graphdep.nn.attention.layout import AttentionLayout


def reference_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pairs: Tensor,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    edge_value: Tensor | None,
    dropout_p: float,
) -> tuple[Tensor, Tensor]:
    """Attention over explicit pairs; returns the output and the weights before dropout ``[num_pairs,
    heads]``.
    """
    source, target = pairs
    score = pair_scores(query, key, pairs)
    if score_scale is not None:
        score = score * score_scale
    if attn_bias is not None:
        score = score + attn_bias
    alpha = softmax(score, target, num_nodes=query.size(0))
    weight = F.dropout(alpha, dropout_p)
    message = value.index_select(0, source)
    message = message if edge_value is None else message + edge_value
    message = message * weight.unsqueeze(-1)
    out = scatter(message, target, dim=0, dim_size=query.size(0))
    return out.to(query.dtype), alpha.to(query.dtype)


def pair_scores(query: Tensor, key: Tensor, pairs: Tensor) -> Tensor:
    r"""The scaled products of pairs, :math:`\mathbf{q}_i^{\top} \mathbf{k}_j / \sqrt{d}`: ``[num_pairs,
    heads]``.
    """
    source, target = pairs
    exact = torch.promote_types(query.dtype, torch.float32)  # a bfloat16 sum of ones stops at 256
    query = query * query.size(-1) ** -0.5  # first, since the products can overflow float16
    return (query.index_select(0, target) * key.index_select(0, source)).sum(dim=-1, dtype=exact)


#: Whether torch-scatter is installed.
HAS_SCATTER = is_installed("torch_scatter")


def scatter_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: AttentionLayout,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    edge_value: Tensor | None,
    dropout_p: float,
) -> tuple[Tensor, Tensor]:
    """:func:`reference_attention` over the pairs of a (materialised) layout, by the kernels of torch-scatter
    for rows that are sorted by target.
    """
    from torch_scatter import gather_csr, segment_csr

    order, rowptr = layout.by_target
    source = layout.pairs[0].index_select(0, order)
    # Without rows, the gradient of gather_csr would be uninitialized memory.
    spread = gather_csr if order.numel() else lambda runs, _: runs[:0]
    exact = torch.promote_types(query.dtype, torch.float32)  # a bfloat16 sum of ones stops at 256
    query = query * query.size(-1) ** -0.5  # first, since the products can overflow float16
    score = (spread(query, rowptr) * key.index_select(0, source)).sum(dim=-1, dtype=exact)
    if score_scale is not None:
        score = score * score_scale.index_select(0, order)
    if attn_bias is not None:
        score = score + attn_bias.index_select(0, order)
    largest = segment_csr(score.detach(), rowptr, reduce="max")
    weight = (score - spread(largest, rowptr)).exp()
    alpha = weight / spread(segment_csr(weight, rowptr, reduce="sum"), rowptr)
    message = value.index_select(0, source)
    message = message if edge_value is None else message + edge_value.index_select(0, order)
    message = message * F.dropout(alpha, dropout_p).unsqueeze(-1)
    out = segment_csr(message, rowptr, reduce="sum")
    return out.to(query.dtype), alpha.index_select(0, order.argsort()).to(query.dtype)
