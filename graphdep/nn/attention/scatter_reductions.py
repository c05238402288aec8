"""Sums and maxima over runs of rows, by torch-scatter."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


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
