"""Sums and maxima over runs of rows, each with its gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function


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
