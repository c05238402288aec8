"""The plain backend: gathers and scatters over all pairs, nothing else. It never refuses."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.utils import scatter, softmax


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
    exact = torch.promote_types(query.dtype, torch.float32)  # a sum kept in bfloat16 stops growing at 256
    query = query * query.size(-1) ** -0.5  # first, as the products can be too large for float16
    score = (query.index_select(0, target) * key.index_select(0, source)).sum(dim=-1, dtype=exact)
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
