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
def test_by_target(layout: AttentionLayout) -> None:
    order, rowptr = layout.by_target
    target = layout.pairs[1]
    for node in range(layout.num_nodes):
        run = order[rowptr[node] : rowptr[node + 1]]
        assert run.tolist() == (target == node).nonzero().view(-1).tolist()


@given(layouts())
def test_blocks_hold_every_pair_once(layout: AttentionLayout) -> None:
    if layout.num_nodes == 0:  # never asked for
        return
    node_of, slot = layout._slots
    assert torch.equal(node_of[slot], torch.arange(layout.num_nodes))
    found = torch.zeros(layout.num_nodes, layout.num_nodes, dtype=torch.bool)
    area = 0
    for bucket in layout.buckets:
        blocks, nodes = bucket.shape
        area += blocks * nodes * nodes
        part = slice(bucket.start, bucket.start + blocks * nodes)
        node = node_of[part].view(blocks, nodes)
        used = ~layout.padding[part] if layout.padding is not None else torch.ones(blocks * nodes).bool()
        allowed = torch.ones(blocks, nodes, nodes).bool() if bucket.allowed is None else bucket.allowed
        assert not allowed[~used.view(blocks, nodes)].any(), "a padded slot attends"
        assert not allowed.mT[~used.view(blocks, nodes)].any(), "a padded slot is attended to"
        block, target, source = allowed.nonzero().t()
        found[node[block, target], node[block, source]] = True
        if bucket.allowed is not None:
            empty = ~allowed.any(dim=2, keepdim=True)
            assert bool(empty.any()) == (bucket.empty is not None)
            assert bucket.empty is None or torch.equal(bucket.empty, empty)
    assert area == layout.area
    assert torch.equal(found, may_attend(layout))


@given(layouts())
def test_materialize(layout: AttentionLayout) -> None:
    explicit = layout.materialize()
    assert explicit.group is None
    assert torch.equal(explicit.pairs, layout.pairs)


def test_examples_of_one_batch_share_no_block() -> None:
    layout = AttentionLayout(
        torch.tensor([[0, 2], [1, 3]]), 4, clique=torch.tensor([0, 0, 0, 0]), ptr=torch.tensor([0, 2, 4])
    )
    assert layout.area == 2 * 2 * 2
    assert layout.pairs.size(1) == 8


def test_repr() -> None:
    assert (
        str(AttentionLayout(torch.tensor([[0], [1]]), 3)) == "AttentionLayout(3 nodes, 1 edges, clique=False)"
    )
