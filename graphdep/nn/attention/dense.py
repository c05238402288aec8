"""The dense backend: padded blocks, and complete graphs of equal size without padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from graphdep.io.limits import check_shape, check_share
from graphdep.nn.attention.layout import AttentionLayout, PaddedBlocks, TensorContainer
from graphdep.nn.dropout import scaled_mask


def full_attention(query: Tensor, key: Tensor, value: Tensor, nodes: int, dropout_p: float) -> Tensor:
    """Full attention within consecutive blocks of ``nodes`` nodes; all ``[num_nodes, heads, d]``."""
    q, k, v = (x.to(query.dtype).unflatten(0, (-1, nodes)).transpose(1, 2) for x in (query, key, value))
    with torch.autocast(query.device.type, enabled=False):  # like the other backends: states keep their dtype
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)
    return out.transpose(1, 2).flatten(0, 1)


def serves_full(query: Tensor, dropout_p: float) -> bool:
    """Whether full attention uses a fused kernel and is not slower than padded blocks."""
    # On a CPU with dropout, PyTorch uses the unfused implementation.
    return dropout_p == 0 or query.is_cuda


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
    """Attention block by block; also returns the weights of the explicit edges ``[num_edges, heads]``, after
    dropout.
    """
    out, alpha = _DenseAttention.apply(
        query, key, value, attn_bias, score_scale, layout, dropout_p, need_alpha
    )
    return out, alpha


class _DenseAttention(torch.autograd.Function):
    # Written by hand: autograd would keep a score-sized tensor for each of scale, bias and mask. Here only
    # the edges with score terms are updated, and q, k, v are moved by row copies in both directions.

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
                # Score terms can be smaller than the precision of a score in half precision.
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
        if torch.is_grad_enabled():  # create_graph=True: the graph would be wrong
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
    """In place. 16-bit weights do not sum to 1 exactly; the difference would distort the gradient."""
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
    """Adds the terms of the edges to their scores in place; returns the scores before, ``[num_edges,
    heads]``, for the gradient of the scale.
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
    """In place, since scores take most of the memory."""
    for bucket in blocks.buckets:
        pairs = bucket.pairs_of(score, heads)
        if bucket.mask is not None:
            view = pairs.view(bucket.shape[0], heads, *pairs.shape[1:])
            # The score of a masked pair can overflow float16, and inf - inf is NaN.
            half = view.dtype == torch.float16
            view.masked_fill_(bucket.mask < 0, -torch.inf) if half else view.add_(bucket.mask)
        torch.softmax(pairs, -1, out=pairs)
    return score


#: On a GPU, blocks have a power of two of queries and of keys per example, at least this many: CUDA graphs
#: need few different sizes, and the wasted work is small compared to the projections.
WIDTH = 16


@torch.compiler.disable  # block sizes are data: each batch would recompile
def packed_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: PackedLayout | tuple[Tensor, Tensor],
    *,
    causal: bool = False,
    dropout_p: float = 0.0,
) -> Tensor:
    r"""Scaled dot-product attention in which queries attend only to the keys of their own example.

    .. math::
        \mathbf{o}_i = \sum_{j} \mathrm{softmax}_j \left(
        \frac{\mathbf{q}_i^{\top} \mathbf{k}_j}{\sqrt{d}} \right) \mathbf{v}_j

    for each head, from `"Attention Is All You Need" <https://arxiv.org/abs/1706.03762>`_ (Eq. 1); :math:`j`
    runs over the keys of :math:`i`'s example, only up to :math:`i` if :obj:`causal`. The rows of all examples
    are concatenated without padding. Internally, examples of similar length are padded to blocks, only for
    the attention. Queries of an example without keys get zeros.

    Args:
        query, key, value: States per head.
        layout: ``(query_ptr, key_ptr)``, the boundaries of the examples; or a :class:`PackedLayout` of them,
            to be shared by several calls.
        causal: A query attends only to keys up to its own position; needs as many queries as keys. (default:
            :obj:`False`)
        dropout_p: Probability to drop a weight; the caller passes 0 in evaluation. (default: :obj:`0.0`)

    Shapes:
        - query: :math:`(N_q, H, d)`; key, value: :math:`(N_k, H, d)`; query_ptr, key_ptr: :math:`(B + 1)`
        - output: :math:`(N_q, H, d)`

    Raises:
        ValueError: If shapes, :obj:`layout` or :obj:`dropout_p` are invalid, or :obj:`causal` is set and the
            numbers of queries and keys of an example differ.
    """
    _check(query, key, value, dropout_p)
    if not isinstance(layout, PackedLayout):
        layout = PackedLayout(*layout)
    layout.check(query.size(0), key.size(0), causal)
    outputs = [_attend(query, key, value, block, causal, dropout_p) for block in layout.blocks]
    outputs = [out.to(query.dtype) for out in outputs]
    if layout.has_blind:
        outputs.append(query.new_zeros(1, *query.shape[1:]))
    rows = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
    return rows.index_select(0, layout.back)


@dataclass(frozen=True)
class Block:
    """Examples of similar length, padded to the longest.

    Args:
        shape: (examples, queries per example, keys per example).
        query, key: Row of each padded position, ``[examples * queries]`` and ``[examples * keys]``; padding
            repeats the first row of the example.
        mask: ``[examples, 1, 1, keys]``, False for padding; :obj:`None` without padding.
    """

    shape: tuple[int, int, int]
    query: Tensor
    key: Tensor
    mask: Tensor | None


class PackedLayout(TensorContainer):
    """The padded blocks of two packed batches, prepared once for all layers.

    Examples of similar length share a block. On a GPU all do: to compute padding takes less time there than
    to launch the kernels of another block, and the sizes of one block alone are those of many batches.

    Args:
        query_ptr, key_ptr: Where the rows of each example start and end, ``[num_examples + 1]``.
        device: Where it will be used. (default: where the bounds are)

    Raises:
        ValueError: If the two are not of equally many examples.
    """

    def __init__(self, query_ptr: Tensor, key_ptr: Tensor, device: torch.device | str | None = None) -> None:
        check_shape("key_ptr", key_ptr, *query_ptr.shape)
        on_gpu = torch.device(query_ptr.device if device is None else device).type == "cuda"
        # Row indices are computed on the CPU: on a GPU each of these small steps would synchronize.
        query_ptr, key_ptr, device = query_ptr.cpu(), key_ptr.cpu(), query_ptr.device
        sizes = torch.stack([query_ptr.diff(), key_ptr.diff()])
        self.num_queries, self.num_keys = int(query_ptr[-1]), int(key_ptr[-1])
        self.square = torch.equal(query_ptr, key_ptr)
        self.blocks: list[Block] = []
        back = torch.full((self.num_queries,), -1)
        used = 0
        for examples in _similar(sizes, on_gpu):
            longest = sizes[:, examples].amax(dim=1).tolist()
            sizes_there = (max(WIDTH, 1 << (size - 1).bit_length()) for size in longest)
            shape = (examples.numel(), *(sizes_there if on_gpu else longest))
            query, query_mask = _places(query_ptr[examples], sizes[0, examples], shape[1])
            key, key_mask = _places(key_ptr[examples], sizes[1, examples], shape[2])
            real = query_mask.view(-1).nonzero().view(-1)
            back[query[real]] = used + real
            used += query.numel()
            mask = None if not on_gpu and bool(key_mask.all()) else key_mask[:, None, None].to(device)
            self.blocks.append(Block(shape, query.to(device), key.to(device), mask))
        self.has_blind = used == 0 or bool((back < 0).any())
        self.back = back.where(back >= 0, torch.tensor(used)).to(device)  # the last row is zeros

    def __repr__(self) -> str:
        sizes = f"{self.num_queries} queries, {self.num_keys} keys, blocks={len(self.blocks)}"
        return f"{type(self).__name__}({sizes})"

    def check(self, num_queries: int, num_keys: int, causal: bool) -> None:
        """Raises :class:`ValueError` unless the layout has these numbers of rows."""
        if (num_queries, num_keys) != (self.num_queries, self.num_keys):
            raise ValueError(
                f"'layout' has {self.num_queries} queries and {self.num_keys} keys "
                f"(got {num_queries} and {num_keys})"
            )
        if causal and not self.square:
            raise ValueError("'causal' needs as many keys as queries in every example")


def _similar(sizes: Tensor, one_block: bool) -> list[Tensor]:
    """Groups of examples whose numbers of queries, and of keys, differ by a factor of about 2 at most; or a
    single group.

    Examples without queries or keys are in none.
    """
    some = (sizes > 0).all(dim=0).nonzero().view(-1)
    if some.numel() == 0:
        return []
    if one_block:
        return [some]
    step = sizes[:, some].double().log2().round().long()
    _, group = step.unique(dim=1, return_inverse=True)
    return [some[group == number] for number in range(int(group.max()) + 1)]


def _places(start: Tensor, size: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Row of each padded position ``[examples * width]``, and whether it is real ``[examples, width]``."""
    place = torch.arange(width)
    real = place < size[:, None]
    return (start[:, None] + place.where(real, torch.tensor(0))).view(-1), real


def _attend(
    query: Tensor, key: Tensor, value: Tensor, block: Block, causal: bool, dropout_p: float
) -> Tensor:
    examples, queries, keys = block.shape
    q = query.index_select(0, block.query).view(examples, queries, *query.shape[1:]).transpose(1, 2)
    k, v = (
        x.index_select(0, block.key).view(examples, keys, *x.shape[1:]).transpose(1, 2) for x in (key, value)
    )
    # Padding comes last, so a causal query does not see it anyway.
    mask = None if causal else block.mask
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout_p, is_causal=causal)
    return out.transpose(1, 2).flatten(0, 1)


def _check(query: Tensor, key: Tensor, value: Tensor, dropout_p: float) -> None:
    check_share("dropout_p", dropout_p)
    check_shape("query", query, "queries", "heads", "d")
    check_shape("key", key, "keys", *query.shape[1:])
    check_shape("value", value, *key.shape)
