"""The plain backend over pairs of nodes, and the one over segments."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch_geometric.utils import scatter, softmax

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
    exact = torch.promote_types(query.dtype, torch.float32)  # a sum kept in bfloat16 stops growing at 256
    query = query * query.size(-1) ** -0.5  # first, as the products can be too large for float16
    return (query.index_select(0, target) * key.index_select(0, source)).sum(dim=-1, dtype=exact)


class SegmentReductions(NamedTuple):
    r"""Reductions of rows that are sorted into runs, some of them empty, by PyTorch alone.

    The same to the bit in every run, gradients too: what is added up is added in one order. On the CPU a sum
    is an ``index_add``, the fastest there (``examples/research/benchmarks/attention.py``);
    elsewhere, where that adds in whatever order threads come, it is ``torch.segment_reduce``.

    Args:
        run: The run of each row, ascending.
        rowptr: The bounds of the runs, :math:`0 = p_0 \le \ldots \le p_S`.

    Shapes:
        - run: :math:`(R)`; rowptr: :math:`(S + 1)`; rows :math:`(R, \ldots)`, runs :math:`(S, \ldots)`
    """

    run: Tensor
    rowptr: Tensor

    def sum(self, rows: Tensor) -> Tensor:
        """The sum of each run; zeros where it is empty."""
        return _Sum.apply(rows, self)

    def max(self, rows: Tensor) -> Tensor:
        """The maximum of each run, without a gradient; negative infinity where it is empty."""
        if not adds_in_order(rows):
            return _segment_reduce(rows, "max", self.rowptr, float("-inf"))
        index = self.run.view(-1, *[1] * (rows.dim() - 1)).expand_as(rows)
        least = rows.new_full((self.rowptr.numel() - 1, *rows.shape[1:]), float("-inf"))
        return least.scatter_reduce_(0, index, rows, "amax")

    def spread(self, runs: Tensor) -> Tensor:
        """For each row the entry of its run."""
        return _Spread.apply(runs, self)


def adds_in_order(rows: Tensor) -> bool:
    """Whether ``index_add`` adds rows in their order, as on the CPU."""
    return rows.device.type == "cpu"


class _Sum(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, by: SegmentReductions) -> Tensor:
        ctx.by = by
        if not adds_in_order(rows):
            return _segment_reduce(rows, "sum", by.rowptr, 0)
        return rows.new_zeros(by.rowptr.numel() - 1, *rows.shape[1:]).index_add_(0, by.run, rows)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _Spread.apply(grads[0], ctx.by), None


class _Spread(Function):
    @staticmethod
    def forward(ctx: Any, runs: Tensor, by: SegmentReductions) -> Tensor:
        ctx.by = by
        return runs.index_select(0, by.run)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _Sum.apply(grads[0], ctx.by), None


def _segment_reduce(rows: Tensor, reduce: str, rowptr: Tensor, initial: float) -> Tensor:
    return torch.segment_reduce(
        rows.contiguous(), reduce, offsets=rowptr, axis=0, unsafe=True, initial=initial
    )


class ScatterReductions(NamedTuple):
    """As :class:`SegmentReductions`, by the kernels of torch-scatter.

    Args:
        run, rowptr: As of :class:`SegmentReductions`.

    Raises:
        ImportError: At the first call, if there is no torch-scatter.
    """

    run: Tensor
    rowptr: Tensor

    def sum(self, rows: Tensor) -> Tensor:
        from torch_scatter import segment_csr

        return segment_csr(rows, self.rowptr, reduce="sum")

    def max(self, rows: Tensor) -> Tensor:
        from torch_scatter import segment_csr

        return segment_csr(rows, self.rowptr, reduce="max")

    def spread(self, runs: Tensor) -> Tensor:
        from torch_scatter import gather_csr

        # Of no rows its gradient would be whatever stood in memory.
        return gather_csr(runs, self.rowptr) if self.run.numel() else runs[:0]


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
