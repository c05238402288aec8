"""Segment reductions over pairs sorted by target, by PyTorch alone or by torch-scatter."""

from __future__ import annotations

from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import Tensor

from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.attention.scatter_reductions import ScatterReductions
from graphdep.nn.attention.segment_reductions import SegmentReductions, adds_in_order

#: Whether torch-scatter is there.
HAS_SCATTER = find_spec("torch_scatter") is not None


def segment_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: AttentionLayout,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    edge_value: Tensor | None,
    dropout_p: float,
    scatter: bool = False,
) -> tuple[Tensor, Tensor]:
    """As :func:`reference_attention`, over the pairs of a (materialised) layout; with :obj:`scatter` by
    torch-scatter, else by PyTorch alone, and then the same to the bit in every run.
    """
    order, rowptr = layout.by_target
    target = layout.pairs[1].index_select(0, order)
    runs = (ScatterReductions if scatter else SegmentReductions)(target, rowptr)
    exact = torch.promote_types(query.dtype, torch.float32)  # a sum kept in bfloat16 stops growing at 256
    query = query * query.size(-1) ** -0.5  # first, as the products can be too large for float16
    score = (runs.spread(query) * _of_sources(key, layout, scatter)).sum(dim=-1, dtype=exact)
    if score_scale is not None:
        score = score * score_scale.index_select(0, order)
    if attn_bias is not None:
        score = score + attn_bias.index_select(0, order)
    weight = (score - runs.spread(runs.max(score.detach()))).exp()
    alpha = weight / runs.spread(runs.sum(weight))
    message = _of_sources(value, layout, scatter)
    message = message if edge_value is None else message + edge_value.index_select(0, order)
    message = message * F.dropout(alpha, dropout_p).unsqueeze(-1)
    return runs.sum(message).to(query.dtype), alpha.index_select(0, order.argsort()).to(query.dtype)


def _of_sources(nodes: Tensor, layout: AttentionLayout, scatter: bool) -> Tensor:
    """The source's row for each pair, in the order of the targets."""
    order, _ = layout.by_target
    if scatter or adds_in_order(nodes):
        return nodes.index_select(0, layout.pairs[0].index_select(0, order))
    by_source, rowptr = layout.by_source
    runs = SegmentReductions(layout.pairs[0].index_select(0, by_source), rowptr)
    # A permutation: of each row there is one, so that nothing is added up in its gradient.
    return runs.spread(nodes).index_select(0, by_source.argsort().index_select(0, order))
