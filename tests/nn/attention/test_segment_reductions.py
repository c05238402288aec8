from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphdep.nn.attention import segment as segment_reductions
from graphdep.nn.attention.segment import ScatterReductions, SegmentReductions


@st.composite
def runs(draw: st.DrawFn) -> tuple[Tensor, list[int]]:
    """Rows ``[R, 2, 3]`` of whole numbers, and how many each run has."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    seed = draw(st.integers(0, 9))
    rows = torch.randint(-9, 9, (sum(sizes), 2, 3), generator=torch.Generator().manual_seed(seed))
    return rows.double(), sizes


def reductions(sizes: list[int]) -> SegmentReductions:
    size = torch.tensor(sizes)
    rowptr = torch.cat([torch.zeros(1, dtype=torch.long), size.cumsum(0)])
    return SegmentReductions(torch.arange(len(sizes)).repeat_interleave(size), rowptr)


def check(by: SegmentReductions | ScatterReductions, rows: Tensor, sizes: list[int], empty: float) -> None:
    parts = rows.split(sizes)
    rows = rows.clone().requires_grad_()
    assert by.sum(rows).equal(torch.stack([part.sum(0) for part in parts]))
    greatest = [part.amax(0) if len(part) else torch.full((2, 3), empty).double() for part in parts]
    assert by.max(rows.detach()).equal(torch.stack(greatest))
    spread = by.spread(by.sum(rows))
    assert spread.equal(torch.cat([part.sum(0).expand_as(part) for part in parts]))
    (grad,) = torch.autograd.grad(spread.sum(), rows)  # a row is in as many sums as its run has rows
    assert grad.equal(torch.cat([torch.full_like(part, len(part)) for part in parts]))


@given(runs())
def test_runs_reduce_as_in_a_loop(drawn: tuple[Tensor, list[int]]) -> None:
    rows, sizes = drawn
    check(reductions(sizes), rows, sizes, float("-inf"))


@given(runs())
def test_where_index_add_adds_in_any_order(drawn: tuple[Tensor, list[int]]) -> None:
    rows, sizes = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_reductions, "adds_in_order", lambda rows: False)
        check(reductions(sizes), rows, sizes, float("-inf"))


@pytest.mark.scatter
@given(runs())
def test_torch_scatter_reduces_alike(drawn: tuple[Tensor, list[int]]) -> None:
    rows, sizes = drawn
    check(ScatterReductions(*reductions(sizes)), rows, sizes, 0.0)
