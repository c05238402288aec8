from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.attention.layout import JOINED, PADDING, SHARE, Runs, join_blocks

sizes = st.lists(st.integers(1, 70), max_size=60)


def runs_of(sizes: list[int]) -> Runs:
    return join_blocks(torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes, dtype=torch.long)))


@given(sizes)
def test_runs_are_of_whole_blocks_and_joined_ones_are_short(sizes: list[int]) -> None:
    ends = torch.tensor([0, *sizes]).cumsum(0).tolist()
    bounds = torch.cat([torch.zeros(1).long(), runs_of(sizes).size.cumsum(0)]).tolist()
    assert set(bounds) <= set(ends)
    for start, stop in pairwise(bounds):
        assert stop - start <= JOINED or ends.index(stop) == ends.index(start) + 1


@given(sizes)
def test_buckets_hold_all_runs_with_little_padding(sizes: list[int]) -> None:
    runs, done = runs_of(sizes), 0
    for count, width in runs.shapes:
        inside = runs.size[runs.order[done : done + count]]
        assert (inside <= width).all()
        most = max(PADDING, SHARE * sum(sizes))
        assert count * int(inside.max()) - int(inside.sum()) <= most
        done += count
    assert done == len(runs.order)
    assert sorted(runs.order.tolist()) == list(range(done))
    assert runs.area == sum(count * width**2 for count, width in runs.shapes)


@pytest.mark.parametrize("heads", [1, 3])
@given(sizes=sizes.filter(bool))
def test_rows_lead_to_slots_and_back(heads: int, sizes: list[int]) -> None:
    clique = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    layout = AttentionLayout(torch.empty(2, 0, dtype=torch.long), len(clique), clique=clique)
    into, back, dead = layout.padded.rows(heads)
    row = torch.arange(len(clique) * heads)
    assert torch.equal(row[into][back], row)
    unused = torch.ones(len(into)).bool().index_fill(0, back.long(), False).nonzero().view(-1)
    assert sorted([] if dead is None else dead.tolist()) == unused.tolist()
    for bucket in layout.padded.buckets:  # in a run of one head all nodes have that head
        head = bucket.nodes_of((row % heads)[into].view(-1, 1), heads).view(bucket.shape[0], heads, -1)
        assert torch.equal(head, torch.arange(heads)[:, None].expand_as(head))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_softmax_may_write_over_what_it_reads(dtype: torch.dtype) -> None:
    """The dense backend rests on it, forward and backward, and PyTorch does not promise it."""
    for width in (*range(1, 70), 144, 512):
        score = torch.randn(3, width, width).to(dtype)
        score[score > 1.5] = -torch.inf
        score[:, :, 0] = 0.0
        weight, grad = score.softmax(-1), torch.randn(3, width, width).to(dtype)
        expected = torch._softmax_backward_data(grad, weight, -1, dtype)
        assert torch.equal(torch.softmax(score, -1, out=score), weight)
        torch._softmax_backward_data(grad, weight, -1, dtype, grad_input=grad)
        assert torch.equal(grad, expected)
