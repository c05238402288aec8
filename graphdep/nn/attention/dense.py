"""Padded blocks, bucketed by length: batched matrix products instead of gathers over edges."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.attention.padded_blocks import PaddedBlocks
from graphdep.nn.dropout import scaled_mask


def dense_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: AttentionLayout,
    attn_bias: Tensor | None,
    score_scale: Tensor | None,
    dropout_p: float,
    need_alpha: bool,
) -> tuple[Tensor, Tensor | None]:
    """Attention block by block; also the weights of the explicit edges ``[num_edges, heads]`` (after
    dropout).
    """
    out, alpha = _DenseAttention.apply(
        query, key, value, attn_bias, score_scale, layout, dropout_p, need_alpha
    )
    return out, alpha


class _DenseAttention(torch.autograd.Function):
    # Written by hand because autograd would keep and sweep a score-sized tensor for each of scale, bias and
    # mask; here only the edges that have score terms are touched, and q, k, v move by row copies both ways.

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_bias: Tensor | None,
        score_scale: Tensor | None,
        layout: AttentionLayout,
        dropout_p: float,
        need_alpha: bool,
    ) -> tuple[Tensor, Tensor | None]:
        heads, channels = query.shape[1:]
        blocks, has_terms = layout.padded, attn_bias is not None or score_scale is not None
        into, back, _ = blocks.rows(heads)
        with torch.autocast(query.device.type, enabled=False):
            q, k, v = (_take_rows(x, into) for x in (query, key.to(query.dtype), value.to(query.dtype)))
            score = q.new_empty(layout.area * heads)
            for bucket in blocks.buckets:
                pairs, qb, kb = bucket.pairs_of(score, heads), *(bucket.nodes_of(x, heads) for x in (q, k))
                torch.baddbmm(pairs, qb, kb.mT, beta=0, alpha=channels**-0.5, out=pairs)
            raw = None
            if has_terms:
                # What an edge adds can be smaller than the last digit of a score in half precision.
                score = score.to(torch.promote_types(score.dtype, torch.float32))
                raw = _apply_edge_terms(score, blocks.flat(heads), attn_bias, score_scale)
            weight = _masked_softmax_(score, blocks, heads).to(q.dtype)
            keep = None if dropout_p == 0.0 else scaled_mask(weight, dropout_p)
            used = weight if keep is None else weight * keep
            out = torch.empty_like(q)
            for bucket in blocks.buckets:
                vb, ob = (bucket.nodes_of(x, heads) for x in (v, out))
                torch.bmm(bucket.pairs_of(used, heads), vb, out=ob)
            alpha = used.index_select(0, blocks.flat(heads)).view(-1, heads) if need_alpha else None
            result = out.index_select(0, back).view_as(query)
            if blocks.empty is not None:
                result.index_fill_(0, blocks.empty, 0.0)
        ctx.layout, ctx.has_bias = layout, attn_bias is not None
        ctx.dtypes = [x.dtype if x is not None else None for x in (query, key, value, attn_bias, score_scale)]
        ctx.save_for_backward(q, k, v, weight, keep, raw if score_scale is not None else None, score_scale)
        return result, alpha

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor, grad_alpha: Tensor | None) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # so under create_graph=True alone; the graph would be a wrong one
            raise RuntimeError("backend='dense' has no second derivative: use backend='reference'")
        q, k, v, weight, keep, raw, score_scale = ctx.saved_tensors
        heads, channels = grad_out.shape[1:]
        blocks: PaddedBlocks = ctx.layout.padded
        into, back, dead = blocks.rows(heads)
        grad_bias = grad_scale = None
        with torch.autocast(grad_out.device.type, enabled=False):
            grad = _take_rows(grad_out.to(q.dtype), into)
            if dead is not None:
                grad.index_fill_(0, dead, 0.0)
            grad_q, grad_k, grad_v = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
            score = torch.empty_like(weight)
            used = weight if keep is None else weight * keep
            for bucket in blocks.buckets:
                gb, vb, into_v = (bucket.nodes_of(x, heads) for x in (grad, v, grad_v))
                torch.bmm(bucket.pairs_of(used, heads).mT, gb, out=into_v)
                torch.bmm(gb, vb.mT, out=bucket.pairs_of(score, heads))
            if grad_alpha is not None:
                score[blocks.flat(heads)] += grad_alpha.to(q.dtype).reshape(-1)
            if keep is not None:
                score *= keep
            for bucket in blocks.buckets:
                _softmax_backward_(bucket.pairs_of(score, heads), bucket.pairs_of(weight, heads))
            if ctx.has_bias or score_scale is not None:
                flat = blocks.flat(heads)
                grad_bias = score.index_select(0, flat).view(-1, heads)
                if score_scale is not None:
                    grad_scale = (grad_bias * raw).to(q.dtype)
                    score.index_copy_(0, flat, (grad_bias * score_scale.to(q.dtype)).view(-1))
            for bucket in blocks.buckets:
                of_score = bucket.pairs_of(score, heads)
                for into_grad, a, x in ((grad_q, of_score, k), (grad_k, of_score.mT, q)):
                    view = bucket.nodes_of(into_grad, heads)
                    b = bucket.nodes_of(x, heads)
                    torch.baddbmm(view, a, b, beta=0, alpha=channels**-0.5, out=view)
        grads: list[Tensor | None] = [
            x.index_select(0, back).view_as(grad_out) for x in (grad_q, grad_k, grad_v)
        ]
        grads += [grad_bias if ctx.has_bias else None, grad_scale]
        cast = [g if g is None else g.to(dtype) for g, dtype in zip(grads, ctx.dtypes)]
        return (*cast, None, None, None)


def _softmax_backward_(grad: Tensor, weight: Tensor) -> None:
    """In place. Weights of 16 bits do not add up to 1, and what is missing would be a gradient of its own."""
    if weight.dtype in (torch.float16, torch.bfloat16):
        whole = weight.float()
        whole /= whole.sum(dim=-1, keepdim=True)
        grad.copy_(torch._softmax_backward_data(grad.float(), whole, -1, torch.float32))
    else:
        torch._softmax_backward_data(grad, weight, -1, weight.dtype, grad_input=grad)


def _take_rows(x: Tensor, rows: Tensor) -> Tensor:
    return x.reshape(-1, x.size(-1)).index_select(0, rows)


def _apply_edge_terms(
    score: Tensor, flat: Tensor, attn_bias: Tensor | None, score_scale: Tensor | None
) -> Tensor:
    """Changes the edges' scores in place; returns what they were ``[num_edges, heads]``, which the gradient
    of the scale needs.
    """
    term = attn_bias if attn_bias is not None else score_scale
    assert term is not None
    raw = score.index_select(0, flat).view_as(term)
    changed = raw if score_scale is None else raw * score_scale.to(raw.dtype)
    if attn_bias is not None:
        changed = changed + attn_bias.to(raw.dtype)
    score.index_copy_(0, flat, changed.view(-1))
    return raw


def _masked_softmax_(score: Tensor, blocks: PaddedBlocks, heads: int) -> Tensor:
    """In place, as scores are what takes most memory here."""
    for bucket in blocks.buckets:
        pairs = bucket.pairs_of(score, heads)
        if bucket.mask is not None:
            view = pairs.view(bucket.shape[0], heads, *pairs.shape[1:])
            # A product of nodes that may not attend can be too large for float16, and inf - inf is none.
            half = view.dtype == torch.float16
            view.masked_fill_(bucket.mask < 0, -torch.inf) if half else view.add_(bucket.mask)
        torch.softmax(pairs, -1, out=pairs)
    return score
