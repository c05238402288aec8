from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep.nn.attention import AttentionLayout


@st.composite
def layouts(draw: st.DrawFn) -> AttentionLayout:
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    num_nodes = sum(sizes)
    node = st.integers(0, max(0, num_nodes - 1))
    pairs = draw(st.lists(st.tuples(node, node), max_size=10 if num_nodes else 0))
    edge_index = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t()
    clique = draw(st.none() | st.lists(st.integers(-1, 2), min_size=num_nodes, max_size=num_nodes))
    clique = None if clique is None else torch.tensor(clique, dtype=torch.long)
    return AttentionLayout(edge_index, num_nodes, clique=clique, ptr=torch.tensor([0, *sizes]).cumsum(0))


def may_attend(layout: AttentionLayout) -> torch.Tensor:
    """``[target, source]``, pair by pair."""
    allowed = torch.zeros(layout.num_nodes, layout.num_nodes, dtype=torch.bool)
    for source, target in layout.edge_index.t().tolist():
        allowed[target, source] = True
    example = torch.bucketize(torch.arange(layout.num_nodes), layout.ptr[1:], right=True)
    for i in range(layout.num_nodes if layout.clique is not None else 0):
        for j in range(layout.num_nodes):
            if layout.clique[i] == layout.clique[j] >= 0 and example[i] == example[j]:
                allowed[i, j] = True
    return allowed


@given(layouts())
def test_pairs(layout: AttentionLayout) -> None:
    source, target = layout.pairs
    assert torch.equal(layout.pairs[:, : layout.num_edges], layout.edge_index)
    found = torch.zeros(layout.num_nodes, layout.num_nodes, dtype=torch.long)
    found.index_put_((target, source), torch.tensor(1), accumulate=True)
    assert torch.equal(found > 0, may_attend(layout))
    assert int(found.clamp(min=1).sum()) - found.numel() == layout.num_edges - len(
        {tuple(pair) for pair in layout.edge_index.t().tolist()}
    )
    assert layout.has_repeated_edges == (
        len(set(map(tuple, layout.edge_index.t().tolist()))) < layout.num_edges
    )


@given(layouts())
def test_by_target_and_by_source(layout: AttentionLayout) -> None:
    for row, (order, rowptr) in ((1, layout.by_target), (0, layout.by_source)):
        for node in range(layout.num_nodes):
            run = order[rowptr[node] : rowptr[node + 1]]
            assert run.tolist() == (layout.pairs[row] == node).nonzero().view(-1).tolist()


@given(layouts())
def test_no_pair_leaves_its_block_and_none_could_be_smaller(layout: AttentionLayout) -> None:
    node = range(layout.num_nodes)
    may = may_attend(layout) | may_attend(layout).mT
    number, expected = 0, []
    for i in node:
        if i and not may[:i, i:].any():  # nothing reaches over the border before i
            number += 1
        expected.append(number)
    assert layout.block.tolist() == expected


@given(layouts())
def test_blocks_hold_every_pair_once(layout: AttentionLayout) -> None:
    if layout.num_nodes == 0:  # never asked for
        return
    padded = layout.padded
    assert torch.equal(padded.node_of[padded.slot], torch.arange(layout.num_nodes))
    found = torch.zeros(layout.num_nodes, layout.num_nodes, dtype=torch.bool)
    used = torch.zeros(len(padded.node_of), dtype=torch.bool).index_fill(0, padded.slot, True)
    area, alive = 0, torch.ones(len(used)).bool()
    alive[[] if padded.dead is None else padded.dead] = False
    for bucket in padded.buckets:
        runs, nodes = bucket.shape
        assert bucket.area == area
        area += runs * nodes * nodes
        part = slice(bucket.start, bucket.start + runs * nodes)
        node, real = padded.node_of[part].view(runs, nodes), used[part].view(runs, nodes)
        mask = torch.zeros(runs, 1, nodes, nodes) if bucket.mask is None else bucket.mask
        assert set(mask.unique().tolist()) <= {0.0, -torch.inf}
        allowed = (mask[:, 0] == 0) & alive[part].view(runs, nodes)[:, :, None]
        assert not allowed[~real].any(), "a slot that is left over attends"
        assert not allowed.mT[~real].any(), "a slot that is left over is attended to"
        assert (mask[:, 0] == 0).any(dim=2).all(), "no score is left for a softmax"
        run, target, source = allowed.nonzero().t()
        found[node[run, target], node[run, source]] = True
    assert area == layout.area
    assert torch.equal(found, may_attend(layout))
    empty = [] if padded.empty is None else padded.empty.tolist()
    assert empty == (~found.any(dim=1)).nonzero().view(-1).tolist()


@given(layouts())
def test_materialize(layout: AttentionLayout) -> None:
    explicit = layout.materialize()
    assert explicit.group is None
    assert torch.equal(explicit.pairs, layout.pairs)


def test_examples_of_one_batch_do_not_see_one_another() -> None:
    layout = AttentionLayout(
        torch.tensor([[0, 2], [1, 3]]), 4, clique=torch.tensor([0, 0, 0, 0]), ptr=torch.tensor([0, 2, 4])
    )
    assert layout.block.tolist() == [0, 0, 1, 1]
    assert layout.pairs.size(1) == 8


def test_repr() -> None:
    assert (
        str(AttentionLayout(torch.tensor([[0], [1]]), 3)) == "AttentionLayout(3 nodes, 1 edges, clique=False)"
    )
