"""The pairs that may attend, as input of the fused kernels: one byte per pair of a block."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields, replace
from functools import cached_property

import torch
from torch import Tensor

from graphdep.nn.attention.dispatch import (
    FEW_PAIRS,
    NUMBERED_EDGES,
    PAIRS_PER_EDGE_FUSED,
    TILE_ROWS,
    on_cpu,
)

#: Byte of a pair that may attend and has no terms.
PLAIN = 255
#: Allowed numbers of rows in a tile.
ROWS = (16, 32, TILE_ROWS)


@dataclass(frozen=True)
class AttentionTiles:
    """Integers for the fused kernels, made once per batch and shared by all layers and heads.

    *Sorted* edges are in the order of their targets, then of their sources. The byte of a pair is 0 if it may
    not attend, 255 if it may, and ``r`` in 1..254 if it is the ``r``-th sorted edge of its row.

    Args:
        block: Rows of a tile of the ``tile`` kernel: 16, 32 or 64.
        unserved: Why bytes cannot express these pairs, and all tensors are empty; :obj:`None` if they can.
        unnumbered: Why some edges have no number; :obj:`None` if all have one.
        rowptr: Start of the sorted edges of each row, ``[num_nodes + 1]``.
        edge: Index of each sorted edge in ``edge_index``, ``[num_edges]``; empty if already sorted.
        tile: First row and number of rows, ``[tiles, 2]``; a tile has whole blocks, at most ``block`` rows.
        slot: Bytes of the tiles, ``[tiles, block, block]``.
        flash: First row and length of the block, first row of the 64 rows in it, first of their byte tiles,
            ``[row_tiles, 4]``; for blocks that are longer than a tile.
        flash_slot: Bytes in tiles of 64 x 64, row tile by row tile of each block, ``[byte_tiles, 64, 64]``.
        flash_used: 0 for byte tiles to skip, ``[byte_tiles]``.
    """

    block: int
    unserved: str | None
    unnumbered: str | None
    rowptr: Tensor
    edge: Tensor
    tile: Tensor
    slot: Tensor
    flash: Tensor
    flash_slot: Tensor
    flash_used: Tensor

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors, in the order of the fields."""
        return [getattr(self, name) for name in TENSORS]

    @cached_property  # a lock: torch.compile cannot trace it in 3.11
    def by_name(self) -> dict[str, Tensor]:
        """All tensors by field name."""
        return {name: getattr(self, name) for name in TENSORS}

    def refusal(self, numbered: bool) -> str | None:
        """Why the kernels cannot serve these pairs, :obj:`None` if they can; ``numbered`` for calls with
        terms or weights of the edges.
        """
        return self.unserved or (self.unnumbered if numbered else None)


TENSORS = tuple(field.name for field in fields(AttentionTiles) if field.type == "Tensor")


@on_cpu
def build_tiles(
    edge_index: Tensor, block: Tensor, group: Tensor | None, *, rows: int | None = None
) -> AttentionTiles:
    """The tiles of a set of pairs, on the CPU.

    Args:
        edge_index: Edges, ``[2, num_edges]``.
        block: Block of each node, ``[num_nodes]``, ascending.
        group: Clique of each node, ``[num_nodes]``, -1 for none; :obj:`None` without cliques.
        rows: Rows of a tile: 16, 32 or 64. Then ``edge`` is never empty, so that batches of equal size have
            tensors of equal shape, whatever their block lengths and edge order. (default: the fewest for the
            longest block of at most 64 nodes)
    """
    num_nodes = block.numel()
    source, target, edge, repeated = _sort(edge_index, num_nodes)
    rowptr = torch.searchsorted(target, torch.arange(num_nodes + 1))
    rank = torch.arange(target.numel()) - rowptr[target]
    size = torch.bincount(block)
    if rows is not None and edge is None:
        edge = torch.arange(target.numel())
    rows = _tile_rows(size) if rows is None else rows
    long = size > rows
    unserved = REPEATED if repeated else _sparse(size, block, long, target, group)
    if unserved:
        return replace(build_tiles(edge_index[:, :0], block[:0], None), unserved=unserved)
    start = size.cumsum(0) - size
    byte = (rank + 1).where(rank < NUMBERED_EDGES, torch.tensor(PLAIN)).to(torch.uint8)
    tile, slot = _tiles(start, size, long, group, (source, target, byte), rows)
    flash, flash_slot = _flash(start, size, long, group, (source, target, byte))
    int32 = {
        "rowptr": rowptr,
        "edge": torch.zeros(0) if edge is None else edge,
        "tile": tile,
        "flash": flash,
        "flash_used": flash_slot.flatten(1).any(dim=1),
    }
    return AttentionTiles(
        block=rows,
        unserved=None,
        unnumbered=UNNUMBERED if bool((rank >= NUMBERED_EDGES).any()) else None,
        slot=slot,
        flash_slot=flash_slot,
        **{name: x.to(torch.int32).contiguous() for name, x in int32.items()},
    )


REPEATED = "cannot serve repeated edges: coalesce 'edge_index' or use 'reference'"
UNNUMBERED = f"cannot serve more than {NUMBERED_EDGES} edges with terms or weights in one row"


def _tile_rows(size: Tensor) -> int:
    """The fewest rows that hold the longest block, among blocks that fit into a tile."""
    small = size[size <= TILE_ROWS]
    longest = int(small.max()) if small.numel() else 0
    return next(rows for rows in ROWS if longest <= rows)


def _sparse(size: Tensor, block: Tensor, long: Tensor, target: Tensor, group: Tensor | None) -> str | None:
    """Why the bytes of long blocks without a clique would cost more than gathering their edges."""
    plain = long.clone()
    if group is not None:
        plain[block[group >= 0]] = False
    pairs = int(size[plain].square().sum())
    if pairs <= FEW_PAIRS:
        return None
    edges = int(plain[block[target]].sum())
    served = f"serves long blocks with an edge in {PAIRS_PER_EDGE_FUSED} pairs"
    return None if pairs <= PAIRS_PER_EDGE_FUSED * edges else f"{served} (got {edges} in {pairs})"


def _sort(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor | None, bool]:
    """Source and target of the sorted edges, their order (:obj:`None` if unchanged), and whether an edge is
    repeated.
    """
    source, target = edge_index
    key = target * num_nodes + source
    order = None
    if not bool((key[1:] >= key[:-1]).all()):
        key, order = key.sort(stable=True)
        source, target = source[order], target[order]
    return source.contiguous(), target.contiguous(), order, bool((key[1:] == key[:-1]).any())


def _tiles(
    start: Tensor,
    size: Tensor,
    long: Tensor,
    group: Tensor | None,
    parts: tuple[Tensor, Tensor, Tensor],
    rows: int,
) -> tuple[Tensor, Tensor]:
    """Tiles and their bytes."""
    tile = torch.tensor(_join(start, size, long, rows), dtype=torch.long).view(-1, 2)
    slot = torch.zeros(tile.size(0), rows, rows, dtype=torch.uint8)
    if group is not None:
        node, used = _rows_of(tile[:, 0], tile[:, 1], rows)
        number = group[node].where(used, -1)
        slot[(number[:, :, None] == number[:, None, :]) & (number >= 0)[:, :, None]] = PLAIN
    at, place = _place(tile[:, 0], tile[:, 1], int(size.sum()))
    source, target, byte = parts
    number = at[target]
    mine = number >= 0
    if not bool(mine.all()):
        source, target, byte, number = source[mine], target[mine], byte[mine], number[mine]
    slot.view(-1)[(number * rows + place[target]) * rows + place[source]] = byte
    return tile, slot


def _join(start: Tensor, size: Tensor, long: Tensor, rows: int) -> list[tuple[int, int]]:
    """Runs of neighbouring small blocks, as many as fit into ``rows`` rows: ``(start, length)``."""
    runs = []
    # A run ends at the end of the last block that fits into its rows; larger blocks are in no run.
    ends = (start + size).tolist()
    walls = [*long.nonzero().view(-1).tolist(), len(ends)]
    first = 0
    for wall in walls:
        while first < wall:
            begin = ends[first - 1] if first else 0
            last = bisect_right(ends, begin + rows, first, wall)
            runs.append((begin, ends[last - 1] - begin))
            first = last
        first = wall + 1
    return runs


def _rows_of(start: Tensor, length: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Node of each tile row, ``[tiles, rows]``, and whether the row is used; unused rows have any node."""
    place = torch.arange(rows)
    used = place < length[:, None]
    return (start[:, None] + place).where(used, start[:, None]), used


def _place(start: Tensor, length: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Tile of each node (-1 for none), and its row there."""
    at = torch.full((num_nodes,), -1)
    place = torch.zeros(num_nodes, dtype=torch.long)
    number = torch.arange(start.numel()).repeat_interleave(length)
    local = torch.arange(number.numel()) - (length.cumsum(0) - length)[number]
    node = start[number] + local
    at[node], place[node] = number, local
    return at, place


def _flash(
    start: Tensor,
    size: Tensor,
    long: Tensor,
    group: Tensor | None,
    parts: tuple[Tensor, Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Row tiles of the long blocks and their bytes; the longest first, so that no kernel starts it last."""
    begin, length = start[long], size[long]
    order = length.argsort(descending=True, stable=True)
    begin, length = begin[order], length[order]
    wide = -(-length // TILE_ROWS)  # row tiles per block, and byte tiles per row tile
    first = (wide * wide).cumsum(0) - wide * wide
    number = torch.arange(length.numel()).repeat_interleave(wide)
    row = torch.arange(number.numel()) - (wide.cumsum(0) - wide)[number]
    flash = torch.stack([begin[number], length[number], row * TILE_ROWS, first[number]], dim=1)
    slot = torch.zeros(int((wide * wide).sum()), TILE_ROWS, TILE_ROWS, dtype=torch.uint8)
    if length.numel() == 0:
        return flash, slot
    if group is not None:
        node, used = _rows_of(flash[:, 0] + flash[:, 2], flash[:, 1] - flash[:, 2], TILE_ROWS)
        clique = group[node].where(used, -1)
        target_tile = torch.arange(flash.size(0)).repeat_interleave(wide[number])
        base = (wide.cumsum(0) - wide)[number]
        column = torch.arange(target_tile.numel()) - (wide[number].cumsum(0) - wide[number])[target_tile]
        left, right = clique[target_tile], clique[base[target_tile] + column]
        slot[(left[:, :, None] == right[:, None, :]) & (left >= 0)[:, :, None]] = PLAIN
    at, place = _place(begin, length, int(size.sum()))
    source, target, byte = parts
    mine = at[target] >= 0
    source, target, byte = source[mine], target[mine], byte[mine]
    block, i, j = at[target], place[target], place[source]
    number = first[block] + i // TILE_ROWS * wide[block] + j // TILE_ROWS
    slot.view(-1)[(number * TILE_ROWS + i % TILE_ROWS) * TILE_ROWS + j % TILE_ROWS] = byte
    return flash, slot
