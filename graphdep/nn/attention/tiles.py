"""The pairs that may attend, as the fused kernels read them: bytes for blocks, sorted edges for the rest."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields, replace
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from graphdep.nn.attention.dispatch import (
    CSR,
    FLASH,
    NUMBERED_EDGES,
    TILE,
    TILE_ROWS,
    kernel_of_blocks,
    on_cpu,
)

#: Byte of a pair that may attend and has no terms.
PLAIN = 255
#: Rows and columns with more edges than this get a program of their own.
LIGHT_EDGES = 64
#: Rows of a program of the ``csr`` kernel.
CSR_ROWS = 16


@dataclass(frozen=True)
class AttentionTiles:
    """Integers for the fused kernels, made once a batch and shared by all layers and heads.

    *Sorted* edges are in the order of their targets, then of their sources. The byte of a pair is 0 where it
    may not attend, 255 where it may, and ``r`` in 1..254 where it is the ``r``-th sorted edge of its row.

    Args:
        block: Rows of a tile of the ``tile`` kernel: 16, 32 or 64.
        refusal: Why the kernels cannot serve these pairs; :obj:`None`: they can.
        has_unnumbered: Whether some edges have no number: such tiles serve calls without terms only.
        rowptr: Where each row's sorted edges start, ``[num_nodes + 1]``.
        edge: The caller's number of every sorted edge, ``[num_edges]``; empty where that is its place.
        source, target: Of the sorted edges, ``[num_edges]``; empty where no block goes to the ``csr`` kernel.
        colptr, by_source: Where each column's edges start in ``by_source``, and their places among the sorted
            ones; empty likewise.
        tile: First row and number of rows, ``[tiles, 2]``; whole blocks, joined to at most ``block`` rows.
        slot: Their bytes, ``[tiles, block, block]``.
        flash: First row and length of the block, first row of 64 in it, first of its byte tiles,
            ``[row_tiles, 4]``.
        flash_slot: Bytes, 64 x 64 at a time, a block's row tiles one after the other,
            ``[byte_tiles, 64, 64]``.
        flash_used: 0 for byte tiles that may be skipped, ``[byte_tiles]``.
        light_rows, hub_rows: Nodes that go to the ``csr`` kernel as targets, by their number of edges; the
            light ones filled up with -1 to a multiple of 16.
        light_columns, hub_columns: The same as sources.
    """

    block: int
    refusal: str | None
    has_unnumbered: bool
    rowptr: Tensor
    edge: Tensor
    source: Tensor
    target: Tensor
    colptr: Tensor
    by_source: Tensor
    tile: Tensor
    slot: Tensor
    flash: Tensor
    flash_slot: Tensor
    flash_used: Tensor
    light_rows: Tensor
    hub_rows: Tensor
    light_columns: Tensor
    hub_columns: Tensor

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors, in the order of the fields."""
        return [getattr(self, name) for name in TENSORS]

    @cached_property  # which torch.compile cannot trace under Python 3.11: it takes a lock
    def by_name(self) -> dict[str, Tensor]:
        """All tensors by the names of their fields."""
        return {name: getattr(self, name) for name in TENSORS}

    def to(self, device: torch.device | str, non_blocking: bool = False) -> AttentionTiles:
        """The same on a device."""
        moved = {name: getattr(self, name).to(device, non_blocking=non_blocking) for name in TENSORS}
        return replace(self, **moved)

    def clone(self) -> AttentionTiles:
        return replace(self, **{name: getattr(self, name).clone() for name in TENSORS})

    def pin_memory(self) -> AttentionTiles:
        """The same in memory from which a GPU may copy while the CPU goes on."""
        return replace(self, **{name: getattr(self, name).pin_memory() for name in TENSORS})


TENSORS = tuple(field.name for field in fields(AttentionTiles) if field.type == "Tensor")


@on_cpu
def build_tiles(
    edge_index: Tensor, block: Tensor, group: Tensor | None, *, number_all: bool = False
) -> AttentionTiles:
    """The tiles of a set of pairs, on the CPU."""
    num_nodes = block.numel()
    source, target, edge, twice = _sort(edge_index, num_nodes)
    rowptr = torch.searchsorted(target, torch.arange(num_nodes + 1))
    rank = torch.arange(target.numel()) - rowptr[target]
    size, edges, has_clique, repeated, many = _facts(block, group, target, twice, rank)
    kernel = kernel_of_blocks(size, edges, has_clique, repeated | many if number_all else repeated)
    start = size.cumsum(0) - size
    in_bytes = kernel[block[target]] != CSR
    byte = (rank + 1).where(rank < NUMBERED_EDGES, torch.tensor(PLAIN)).to(torch.uint8)
    parts = _edges_of_bytes(source, target, byte, in_bytes)
    tile, slot, rows = _tiles(start, size, kernel, group, parts)
    flash, flash_slot = _flash(start, size, kernel, group, parts)
    sparse = _sparse(source, target, rowptr, (kernel == CSR)[block])
    none = torch.zeros(0, dtype=torch.int32)
    int32 = {
        "rowptr": rowptr,
        "edge": none if edge is None else edge,
        "tile": tile,
        "flash": flash,
        "flash_used": flash_slot.flatten(1).any(dim=1),
        **sparse,
    }
    return AttentionTiles(
        block=rows,
        refusal=_refusal(has_clique, repeated, many if number_all else torch.zeros_like(many)),
        has_unnumbered=bool((many & (kernel != CSR)).any()),
        slot=slot,
        flash_slot=flash_slot,
        **{name: x.to(torch.int32).contiguous() for name, x in int32.items()},
    )


def _sort(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Source and target of the sorted edges, the order (:obj:`None`: as they stood), and which repeat the
    one before.
    """
    source, target = edge_index
    key = target * num_nodes + source
    order = None
    if not bool((key[1:] >= key[:-1]).all()):
        key, order = key.sort(stable=True)
        source, target = source[order], target[order]
    twice = torch.zeros_like(key, dtype=torch.bool)
    twice[1:] = key[1:] == key[:-1]
    return source.contiguous(), target.contiguous(), order, twice


def _facts(
    block: Tensor, group: Tensor | None, target: Tensor, twice: Tensor, rank: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Of every block: nodes, edges, and whether it has a clique, an edge twice, a row with more edges than
    bytes can number.
    """
    size = torch.bincount(block)
    count = size.numel()
    at = block[target]
    has_clique = torch.zeros(count, dtype=torch.bool)
    if group is not None:
        has_clique[block[group >= 0]] = True
    flags = [has_clique, *(torch.zeros(count, dtype=torch.bool) for _ in range(2))]
    for flag, where in zip(flags[1:], (twice, rank >= NUMBERED_EDGES)):
        flag[at[where]] = True
    return size, torch.bincount(at, minlength=count), flags[0], flags[1], flags[2]


def _refusal(has_clique: Tensor, repeated: Tensor, many: Tensor) -> str | None:
    if bool((has_clique & repeated).any()):
        return "cannot serve repeated edges beside a clique: coalesce 'edge_index' or use 'reference'"
    if bool((has_clique & many).any()):
        return f"cannot serve more than {NUMBERED_EDGES} edges with terms in one row beside a clique"
    return None


def _edges_of_bytes(
    source: Tensor, target: Tensor, byte: Tensor, inside: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return (source, target, byte) if bool(inside.all()) else (source[inside], target[inside], byte[inside])


def _tiles(
    start: Tensor,
    size: Tensor,
    kernel: Tensor,
    group: Tensor | None,
    parts: tuple[Tensor, Tensor, Tensor],
) -> tuple[Tensor, Tensor, int]:
    """Tiles, their bytes, and the rows that they are padded to."""
    small = kernel == TILE
    longest = int(size[small].max()) if bool(small.any()) else 0
    rows = next(r for r in (16, 32, TILE_ROWS) if longest <= r)
    tile = torch.tensor(_join(start, size, small, rows), dtype=torch.long).view(-1, 2)
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
    return tile, slot, rows


def _join(start: Tensor, size: Tensor, small: Tensor, rows: int) -> list[tuple[int, int]]:
    """Runs of neighbouring small blocks, as many as fit into so many rows each: ``(start, length)``."""
    runs = []
    # A run ends with the last block that ends within its rows; no block larger than they are is in one.
    ends = (start + size).tolist()
    walls = [*(~small).nonzero().view(-1).tolist(), len(ends)]
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
    """Node of every row of tiles, ``[tiles, rows]``, and which rows are used; others are of any node."""
    place = torch.arange(rows)
    used = place < length[:, None]
    return (start[:, None] + place).where(used, start[:, None]), used


def _place(start: Tensor, length: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Tile of every node, -1: none, and its row there."""
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
    kernel: Tensor,
    group: Tensor | None,
    parts: tuple[Tensor, Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Row tiles of the long blocks, the longest first, so that no long one is begun last; and their bytes."""
    long = (kernel == FLASH).nonzero().view(-1)
    long = long[size[long].argsort(descending=True, stable=True)]
    begin, length = start[long], size[long]
    wide = -(-length // TILE_ROWS)  # row tiles of a block, and byte tiles of a row tile
    first = (wide * wide).cumsum(0) - wide * wide
    number = torch.arange(long.numel()).repeat_interleave(wide)
    row = torch.arange(number.numel()) - (wide.cumsum(0) - wide)[number]
    flash = torch.stack([begin[number], length[number], row * TILE_ROWS, first[number]], dim=1)
    slot = torch.zeros(int((wide * wide).sum()), TILE_ROWS, TILE_ROWS, dtype=torch.uint8)
    if long.numel() == 0:
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


def _sparse(source: Tensor, target: Tensor, rowptr: Tensor, sparse: Tensor) -> dict[str, Tensor]:
    """What the ``csr`` kernel reads."""
    node = sparse.nonzero().view(-1)
    if node.numel() == 0:
        nodes = ("light_rows", "hub_rows", "light_columns", "hub_columns")
        names = ("source", "target", "colptr", "by_source", *nodes)
        return dict.fromkeys(names, torch.zeros(0, dtype=torch.long))
    sorted_source, by_source = source.sort(stable=True)
    colptr = torch.searchsorted(sorted_source, torch.arange(rowptr.numel()))
    found = {"source": source, "target": target, "colptr": colptr, "by_source": by_source}
    for name, bounds in (("rows", rowptr), ("columns", colptr)):
        light = bounds.diff()[node] <= LIGHT_EDGES
        fill = -int(light.sum()) % CSR_ROWS
        found |= {f"light_{name}": F.pad(node[light], (0, fill), value=-1), f"hub_{name}": node[~light]}
    return found
