from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.attention import tiles as module
from graphdep.nn.attention.dispatch import CSR, FLASH, TILE
from graphdep.nn.attention.tiles import PLAIN, TENSORS, AttentionTiles
from tests.kit.backends import random_graph

KERNELS = {"tile": TILE, "flash": FLASH, "csr": CSR}


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
    for row in [*tiles.light_rows.tolist(), *tiles.hub_rows.tolist()]:
        for e in range(rowptr[row], rowptr[row + 1]) if row >= 0 else ():
            found[row, int(tiles.source[e]), number[e]] += 1
    return found


def expected(layout: AttentionLayout) -> Counter:
    pairs = layout.pairs.t().tolist()
    return Counter((i, j, e if e < layout.num_edges else None) for e, (j, i) in enumerate(pairs))


def rows(tiles: AttentionTiles) -> list[int]:
    """The rows that some program writes."""
    found = [node for start, length in tiles.tile.tolist() for node in range(start, start + length)]
    for start, length, first, _ in tiles.flash.tolist():
        found += range(start + first, start + min(first + 64, length))
    return sorted(found + [x for x in [*tiles.light_rows.tolist(), *tiles.hub_rows.tolist()] if x >= 0])


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(0, 80), min_size=1, max_size=4),
    degree=st.floats(0.0, 4.0),
    clique=st.booleans(),
    hub=st.booleans(),
    shuffled=st.booleans(),
    seed=st.integers(0, 100),
)
def test_the_kernels_go_through_every_pair_once(**options):
    layout = layout_of(random_graph(options.pop("sizes"), **options))
    assert read(layout.tiles, layout.num_nodes) == expected(layout)
    assert rows(layout.tiles) == [*range(layout.num_nodes)]
    assert layout.tiles_with_terms is layout.tiles
    assert layout.tiles.refusal is None


@pytest.mark.parametrize("kernel", KERNELS)
def test_any_kernel_has_the_same_pairs(monkeypatch, kernel):
    layout = layout_of(random_graph([40, 3, 21], hub=True, shuffled=True))
    monkeypatch.setattr(module, "kernel_of_blocks", lambda nodes, *_: torch.full_like(nodes, KERNELS[kernel]))
    tiles = layout.tiles
    used = [tiles.tile.size(0), tiles.flash.size(0), tiles.light_rows.numel() + tiles.hub_rows.numel()]
    assert [kernel for kernel, count in zip(KERNELS, used) if count] == [kernel]
    assert read(tiles, 64) == expected(layout)


def test_columns_have_the_edges_of_rows():
    layout = layout_of(random_graph([200], degree=1.0, hub=True, shuffled=True))
    tiles = layout.tiles
    assert tiles.hub_columns.tolist() == [100]
    assert tiles.hub_rows.tolist() == [0]
    found = Counter()
    for node in [*tiles.light_columns.tolist(), *tiles.hub_columns.tolist()]:
        for at in range(*tiles.colptr[node : node + 2].tolist()) if node >= 0 else ():
            e = int(tiles.by_source[at])
            found[int(tiles.target[e]), node, int(tiles.edge[e])] += 1
    assert found == expected(layout)
    assert tiles.light_columns.numel() % 16 == 0 == tiles.light_rows.numel() % 16


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


def test_an_edge_beyond_the_254th_has_no_number_until_terms_ask_for_one():
    node = torch.arange(300)
    star = torch.stack([node, torch.zeros_like(node)])
    full = torch.stack([node.repeat(300), node.repeat_interleave(300)])
    layout = AttentionLayout(full, 300)
    assert layout.tiles.has_unnumbered
    assert layout.tiles.flash.size(0) == 5
    assert layout.tiles_with_terms.flash.size(0) == 0
    assert layout.tiles_with_terms.hub_rows.numel() == 300
    assert not layout.tiles_with_terms.has_unnumbered
    beside = AttentionLayout(star, 300, clique=torch.zeros(300).long())
    assert beside.tiles.refusal is None
    assert "more than 254 edges with terms in one row beside a clique" in beside.tiles_with_terms.refusal


def test_repeated_edges_are_gathered_but_not_beside_a_clique():
    twice = torch.tensor([[1, 1, 2], [0, 0, 0]])
    layout = AttentionLayout(twice, 3)
    assert layout.tiles.refusal is None
    assert read(layout.tiles, 3) == expected(layout)
    beside = AttentionLayout(twice, 3, clique=torch.tensor([0, 0, -1]))
    assert "repeated edges beside a clique" in beside.tiles.refusal


def test_a_graph_without_nodes_has_no_tiles():
    tiles = AttentionLayout(torch.zeros(2, 0, dtype=torch.long), 0).tiles
    assert rows(tiles) == []
    assert tiles.refusal is None


def test_tiles_move_whole():
    tiles = layout_of(random_graph([100], degree=1.0)).tiles
    moved = tiles.to("meta")
    assert {x.device.type for x in moved.tensors} == {"meta"}
    assert len(TENSORS) == len(moved.tensors) == 15
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
