"""Padded blocks, bucketed by length: batched matrix products instead of gathers over edges."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphdep.nn.attention.layout import AttentionLayout, Bucket
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
        into, back = layout.rows(heads)
        with torch.autocast(query.device.type, enabled=False):
            q, k, v = (_take_rows(x, into) for x in (query, key.to(query.dtype), value.to(query.dtype)))
            out = torch.empty_like(q)
            weights, raw_scores, dropped = [], [], []
            alpha = query.new_zeros(layout.num_edges, heads) if need_alpha else None
            for bucket in layout.buckets:
                qb, kb, vb, ob = (_bucket_view(x, bucket, heads) for x in (q, k, v, out))
                score = torch.baddbmm(qb.new_empty(()), qb, kb.mT, beta=0, alpha=channels**-0.5)
                if attn_bias is not None or score_scale is not None:
                    # What an edge adds can be smaller than the last digit of a score in half precision.
                    score = score.to(torch.promote_types(score.dtype, torch.float32))
                raw_scores.append(_apply_edge_terms(score, bucket, heads, attn_bias, score_scale))
                weight = _masked_softmax(score, bucket, heads).to(q.dtype)
                keep = _dropout_mask(weight, dropout_p)
                used = weight if keep is None else weight * keep
                torch.bmm(used, vb, out=ob)
                if alpha is not None:
                    alpha[bucket.edge] = _read(used, _flat(bucket, heads))
                weights.append(weight)
                dropped.append(keep)
        ctx.layout, ctx.dropped = layout, dropped
        ctx.has_bias, ctx.has_scale = attn_bias is not None, score_scale is not None
        ctx.dtypes = [x.dtype if x is not None else None for x in (query, key, value, attn_bias, score_scale)]
        ctx.save_for_backward(q, k, v, score_scale, *weights, *raw_scores)
        return out.index_select(0, back).view_as(query), alpha

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor, grad_alpha: Tensor | None) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # so under create_graph=True alone; the graph would be a wrong one
            raise RuntimeError("backend='dense' has no second derivative: use backend='reference'")
        q, k, v, score_scale, *saved = ctx.saved_tensors
        layout: AttentionLayout = ctx.layout
        heads, channels = grad_out.shape[1:]
        weights, raw_scores = saved[: len(layout.buckets)], saved[len(layout.buckets) :]
        into, back = layout.rows(heads)
        with torch.autocast(grad_out.device.type, enabled=False):
            grad = _take_rows(grad_out.to(q.dtype), into)  # padded rows have no weight to pass theirs on
            grad_q, grad_k, grad_v = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
            grad_bias = q.new_zeros(layout.num_edges, heads) if ctx.has_bias or ctx.has_scale else None
            grad_scale = torch.zeros_like(grad_bias) if ctx.has_scale and grad_bias is not None else None
            for i, bucket in enumerate(layout.buckets):
                qb, kb, vb, gb = (_bucket_view(x, bucket, heads) for x in (q, k, v, grad))
                weight, keep = weights[i], ctx.dropped[i]
                torch.bmm(
                    (weight if keep is None else weight * keep).mT,
                    gb,
                    out=_bucket_view(grad_v, bucket, heads),
                )
                grad_weight = torch.bmm(gb, vb.mT)
                if grad_alpha is not None:
                    flat = _flat(bucket, heads)
                    grad_weight.view(-1)[flat] += grad_alpha[bucket.edge].to(q.dtype)
                if keep is not None:
                    grad_weight *= keep
                grad_score = torch._softmax_backward_data(grad_weight, weight, -1, weight.dtype)
                if grad_bias is not None and bucket.edge.numel():
                    flat = _flat(bucket, heads)
                    grad_edge = _read(grad_score, flat)
                    grad_bias[bucket.edge] = grad_edge
                    if grad_scale is not None:
                        grad_scale[bucket.edge] = (grad_edge * raw_scores[i]).to(q.dtype)
                        _write(
                            grad_score, flat, grad_edge * score_scale.index_select(0, bucket.edge).to(q.dtype)
                        )
                for into_grad, a, b in ((grad_q, grad_score, kb), (grad_k, grad_score.mT, qb)):
                    view = _bucket_view(into_grad, bucket, heads)
                    torch.baddbmm(view, a, b, beta=0, alpha=channels**-0.5, out=view)
        grads: list[Tensor | None] = [
            x.index_select(0, back).view_as(grad_out) for x in (grad_q, grad_k, grad_v)
        ]
        grads += [grad_bias if ctx.has_bias else None, grad_scale]
        cast = [g if g is None else g.to(dtype) for g, dtype in zip(grads, ctx.dtypes)]
        return (*cast, None, None, None)


def _take_rows(x: Tensor, rows: Tensor) -> Tensor:
    return x.reshape(-1, x.size(-1)).index_select(0, rows)


def _bucket_view(x: Tensor, bucket: Bucket, heads: int) -> Tensor:
    blocks, nodes = bucket.shape
    start = bucket.start * heads
    return x[start : start + blocks * heads * nodes].view(blocks * heads, nodes, x.size(-1))


def _flat(bucket: Bucket, heads: int) -> Tensor:
    """Places of the bucket's edges in its scores ``[blocks * heads, nodes, nodes]``, as ``[edges,
    heads]``.
    """
    area = bucket.shape[1] ** 2
    head = torch.arange(heads, device=bucket.block.device)
    return (bucket.block[:, None] * heads + head) * area + bucket.offset[:, None]


def _read(score: Tensor, flat: Tensor) -> Tensor:
    return score.view(-1).index_select(0, flat.view(-1)).view_as(flat)


def _write(score: Tensor, flat: Tensor, value: Tensor) -> None:
    score.view(-1).scatter_(0, flat.view(-1), value.view(-1))


def _apply_edge_terms(
    score: Tensor, bucket: Bucket, heads: int, attn_bias: Tensor | None, score_scale: Tensor | None
) -> Tensor:
    """Changes the edges' scores in place; returns what they were, which the gradient of the scale needs."""
    if not bucket.edge.numel() or (attn_bias is None and score_scale is None):
        return score.new_empty(0)
    flat = _flat(bucket, heads)
    raw = _read(score, flat)
    changed = raw if score_scale is None else raw * score_scale.index_select(0, bucket.edge).to(raw.dtype)
    if attn_bias is not None:
        changed = changed + attn_bias.index_select(0, bucket.edge).to(raw.dtype)
    _write(score, flat, changed)
    return raw


def _masked_softmax(score: Tensor, bucket: Bucket, heads: int) -> Tensor:
    per_head = score.view(bucket.shape[0], heads, *score.shape[1:])
    if bucket.allowed is not None:
        per_head.masked_fill_(~bucket.allowed[:, None], -torch.inf)
    if bucket.empty is not None:
        per_head.masked_fill_(bucket.empty[:, None], 0.0)  # a row of -inf only would give NaN
    weight = score.softmax(dim=-1, dtype=torch.float32 if score.dtype != torch.float64 else None).to(
        score.dtype
    )
    if bucket.empty is not None:
        weight.view_as(per_head).masked_fill_(bucket.empty[:, None], 0.0)
    return weight


def _dropout_mask(weight: Tensor, dropout_p: float) -> Tensor | None:
    if dropout_p == 0.0:
        return None
    return scaled_mask(weight, dropout_p)
