from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.attention import tiles as module
from graphdep.nn.attention.layout import _move
from graphdep.nn.attention.tiles import PLAIN, ROWS, TENSORS, AttentionTiles, build_tiles
from tests.kit.backends import random_graph


def layout_of(graph: dict) -> AttentionLayout:
    return AttentionLayout(
        graph["edge_index"], int(graph["ptr"][-1]), clique=graph["clique"], ptr=graph["ptr"]
    )


def read(tiles: AttentionTiles, num_nodes: int) -> Counter:
    """All (target, source, the caller's number of the edge or None) that the kernels would go through."""
    number = tiles.edge.tolist() if tiles.edge.numel() else range(10**6)
    rowptr, found = tiles.rowptr.tolist(), Counter()

    def add(i: int, j: int, byte: int) -> None:
        if byte:
            found[i, j, number[rowptr[i] + byte - 1] if byte != PLAIN else None] += 1

    for (start, length), slot in zip(tiles.tile.tolist(), tiles.slot.tolist()):
        for i, row in enumerate(slot):
            for j, byte in enumerate(row):
                assert byte == 0 or max(i, j) < length
                add(start + i, start + j, byte)
    for start, length, first, byte_tile in tiles.flash.tolist():
        wide = -(-length // 64)
        for c in range(wide):
            at = byte_tile + first // 64 * wide + c
            assert bool(tiles.flash_used[at]) == bool(tiles.flash_slot[at].any())
            for i, j in tiles.flash_slot[at].nonzero().tolist():
                assert max(first + i, c * 64 + j) < length
                add(start + first + i, start + c * 64 + j, int(tiles.flash_slot[at, i, j]))
    return found


def expected(layout: AttentionLayout) -> Counter:
    pairs = layout.pairs.t().tolist()
    return Counter((i, j, e if e < layout.num_edges else None) for e, (j, i) in enumerate(pairs))


def rows(tiles: AttentionTiles) -> list[int]:
    """The rows that some program writes."""
    found = [node for start, length in tiles.tile.tolist() for node in range(start, start + length)]
    for start, length, first, _ in tiles.flash.tolist():
        found += range(start + first, start + min(first + 64, length))
    return sorted(found)


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(0, 80), min_size=1, max_size=4),
    degree=st.floats(0.0, 4.0),
    clique=st.booleans(),
    hub=st.booleans(),
    shuffled=st.booleans(),
    seed=st.integers(0, 100),
    fixed=st.sampled_from([None, *ROWS]),
)
def test_the_kernels_go_through_every_pair_once(fixed, **options):
    layout = layout_of(random_graph(options.pop("sizes"), **options))
    tiles = build_tiles(layout.edge_index, layout.block, layout.group, rows=fixed)
    assert read(tiles, layout.num_nodes) == expected(layout)
    assert rows(tiles) == [*range(layout.num_nodes)]
    assert tiles.refusal(numbered=True) is None
    if fixed:  # shapes tell nothing of the longest block and of the order of the edges
        assert tiles.block == tiles.slot.size(1) == fixed
        assert tiles.edge.numel() == layout.num_edges


def test_neighbouring_blocks_share_a_tile():
    clique = torch.arange(8).repeat_interleave(torch.tensor([20, 30, 10, 40, 70, 5, 64, 1]))
    layout = AttentionLayout(torch.zeros(2, 0, dtype=torch.long), 240, clique=clique)
    # 70 stands on its own, and nothing is joined over it.
    assert layout.tiles.tile.tolist() == [[0, 60], [60, 40], [170, 5], [175, 64], [239, 1]]
    assert layout.tiles.flash.tolist() == [[100, 70, 0, 0], [100, 70, 64, 0]]


@pytest.mark.parametrize(("longest", "block"), [(1, 16), (16, 16), (17, 32), (32, 32), (33, 64), (64, 64)])
def test_tiles_are_as_small_as_the_largest_block_allows(longest, block):
    layout = AttentionLayout(torch.zeros(2, 0, dtype=torch.long), longest, clique=torch.zeros(longest).long())
    assert layout.tiles.block == block == layout.tiles.slot.size(1)


def test_an_edge_beyond_the_254th_has_no_number_and_no_terms():
    node = torch.arange(300)
    full = torch.stack([node.repeat(300), node.repeat_interleave(300)])
    star = torch.stack([node, torch.zeros_like(node)])
    for layout in (AttentionLayout(full, 300), AttentionLayout(star, 300, clique=torch.zeros(300).long())):
        assert layout.tiles.flash.size(0) == 5
        assert layout.tiles.refusal(numbered=False) is None
        assert "more than 254 edges with terms" in layout.tiles.refusal(numbered=True)
    assert AttentionLayout(full[:, node[:254]], 300).tiles.refusal(numbered=True) is None


@pytest.mark.parametrize("clique", [None, torch.tensor([0, 0, -1])], ids=["edges", "clique"])
def test_repeated_edges_are_refused(clique):
    tiles = AttentionLayout(torch.tensor([[1, 1, 2], [0, 0, 0]]), 3, clique=clique).tiles
    assert "repeated edges" in tiles.refusal(numbered=False)
    assert not any(x.numel() for x in tiles.tensors if x is not tiles.rowptr)


def test_long_blocks_need_a_share_of_edges(monkeypatch):
    def chains(count: int, nodes: int) -> AttentionLayout:
        node = torch.arange(count * nodes)
        ends = node % nodes == nodes - 1
        return AttentionLayout(torch.stack([node, node + 1])[:, ~ends], node.numel())

    assert chains(2, 300).tiles.refusal(numbered=False) is None  # few pairs, however sparse
    monkeypatch.setattr(module, "FEW_PAIRS", 1000)
    tiles = chains(2, 300).tiles
    expected = "serves long blocks with an edge in 256 pairs (got 598 in 180000)"
    assert tiles.refusal(numbered=False) == expected
    assert not any(x.numel() for x in tiles.tensors if x is not tiles.rowptr)
    assert chains(9, 64).tiles.refusal(numbered=False) is None  # no block is long
    assert chains(9, 250).tiles.refusal(numbered=False) is None  # 251 pairs an edge
    clique = torch.zeros(600).long()  # whose pairs are as many as its bytes
    whole = AttentionLayout(torch.zeros(2, 0, dtype=torch.long), 600, clique=clique)
    assert whole.tiles.refusal(numbered=False) is None


def test_a_graph_without_nodes_has_no_tiles():
    tiles = AttentionLayout(torch.zeros(2, 0, dtype=torch.long), 0).tiles
    assert rows(tiles) == []
    assert tiles.refusal(numbered=True) is None


def test_tiles_move_whole():
    tiles = layout_of(random_graph([100], degree=1.0)).tiles
    moved = _move(tiles, lambda x: x.to("meta"))
    assert {x.device.type for x in moved.tensors} == {"meta"}
    assert len(TENSORS) == len(moved.tensors) == 7
    assert moved.block == tiles.block
    assert all(x.dtype in (torch.int32, torch.uint8) for x in tiles.tensors)
    assert all(x.is_contiguous() for x in tiles.tensors)


@pytest.mark.cuda
def test_tiles_of_a_layout_on_a_gpu_are_there():
    graph = random_graph([100, 5], degree=1.0)
    there = {name: None if x is None else x.cuda() for name, x in graph.items()}
    for mine, other in zip(layout_of(there).tiles.tensors, layout_of(graph).tiles.tensors):
        assert mine.is_cuda
        assert torch.equal(mine.cpu(), other)
