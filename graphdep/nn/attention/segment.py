"""Segment reductions over pairs sorted by target, with torch-scatter."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from graphdep.nn.attention.layout import AttentionLayout


def segment_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: AttentionLayout,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    edge_value: Tensor | None,
    dropout_p: float,
) -> tuple[Tensor, Tensor]:
    """As :func:`reference_attention`, over the pairs of a (materialised) layout."""
    try:
        from torch_scatter import gather_csr, segment_csr
    except ImportError:
        raise ValueError(
            "backend='segment' needs torch-scatter: pip install --no-build-isolation torch-scatter"
        ) from None

    order, rowptr = layout.by_target
    source, target = layout.pairs[:, order]
    exact = torch.promote_types(query.dtype, torch.float32)  # a sum kept in bfloat16 stops growing at 256
    score = (query.index_select(0, target) * key.index_select(0, source)).sum(dim=-1, dtype=exact)
    score = score / query.size(-1) ** 0.5
    if score_scale is not None:
        score = score * score_scale[order]
    if attn_bias is not None:
        score = score + attn_bias[order]
    shifted = score - gather_csr(segment_csr(score.detach(), rowptr, reduce="max"), rowptr)
    weight = shifted.exp()
    alpha = weight / gather_csr(segment_csr(weight, rowptr, reduce="sum"), rowptr)
    message = value.index_select(0, source)
    message = message if edge_value is None else message + edge_value[order]
    message = message * F.dropout(alpha, dropout_p).unsqueeze(-1)
    out = segment_csr(message, rowptr, reduce="sum")
    return out.to(query.dtype), alpha[order.argsort()].to(query.dtype)
