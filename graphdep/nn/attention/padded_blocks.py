"""The nodes of a batch as a few groups of padded blocks: what the dense backend computes with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor
from torch_geometric.utils import cumsum

from graphdep.nn.attention._on_cpu import on_cpu

#: Numbers in a vector of the processor. Softmax and products over 31 columns take longer than over 32, so
#: that a width which is nearly a multiple is made one; fewer columns than one vector are the worst.
VECTOR, NEARLY = 16, 1.125
#: Neighbouring blocks are joined to runs of no more nodes than this.
JOINED = 32
#: Slots that a bucket may have because its runs differ before a further bucket costs less, as many or this
#: share of all.
PADDING, SHARE = 32, 1 / 64


@dataclass(frozen=True)
class Runs:
    """Runs of whole blocks: small neighbours are joined, so that no bucket is of tiny ones.

    Args:
        size: Nodes of every run, ``[runs]``.
        order: The runs by bucket, ``[runs]``.
        shapes: (runs, nodes that each is padded to) of every bucket.
    """

    size: Tensor
    order: Tensor
    shapes: list[tuple[int, int]]

    @property
    def area(self) -> int:
        """Pairs of all buckets."""
        return sum(runs * nodes * nodes for runs, nodes in self.shapes)


@dataclass(frozen=True)
class Bucket:
    """Runs of nearly equal size, padded to the largest of them.

    Args:
        start: Slot of the first node; a bucket's slots are contiguous.
        area: Place of the first pair among those of all buckets.
        shape: (runs, nodes a run).
        mask: ``[runs, 1, nodes, nodes]``, added to the scores: 0 where the row (target) may attend to the
            column (source), else -inf; 0 in rows that may attend to nothing. :obj:`None` where all may.
    """

    start: int
    area: int
    shape: tuple[int, int]
    mask: Tensor | None

    def nodes_of(self, x: Tensor, heads: int) -> Tensor:
        """The bucket's part ``[runs * heads, nodes, d]`` of what slots have, ``[slots * heads, d]``."""
        runs, nodes = self.shape
        part = x[self.start * heads : (self.start + runs * nodes) * heads]
        return part.view(runs * heads, nodes, x.size(-1))

    def pairs_of(self, x: Tensor, heads: int) -> Tensor:
        """The bucket's part ``[runs * heads, nodes, nodes]`` of what pairs have, ``[area * heads]``."""
        runs, nodes = self.shape
        part = x[self.area * heads : (self.area + runs * nodes * nodes) * heads]
        return part.view(runs * heads, nodes, nodes)


@dataclass(eq=False)
class PaddedBlocks:
    """Runs of whole blocks, sorted into buckets by size.

    Every node has a *slot*. Slots that are left over repeat the first node of their run; nothing attends to
    them, and what they attend to is never read.

    Args:
        buckets: The buckets, the largest runs first.
        node_of: Node of every slot.
        slot: Slot of every node.
        start, width: First slot of the run of every slot, and how many there are.
        dead: Slots that may attend to nothing, all that are left over among them; :obj:`None`: there is none.
        empty: Nodes that may attend to nothing; :obj:`None`: there is none.
        edge_area, edge_width: Place of the first pair of every edge's run, and the slots of that run.
        edge_offset: Place of every edge among the pairs of its run.
    """

    buckets: list[Bucket]
    node_of: Tensor
    slot: Tensor
    start: Tensor
    width: Tensor
    dead: Tensor | None
    empty: Tensor | None
    edge_area: Tensor
    edge_width: Tensor
    edge_offset: Tensor
    _rows: dict[int, tuple[Tensor, Tensor, Tensor | None]] = field(default_factory=dict)
    _flat: dict[int, Tensor] = field(default_factory=dict)

    def rows(self, heads: int) -> tuple[Tensor, Tensor, Tensor | None]:
        """``(into, back, dead)``: row numbers that take ``[num_nodes * heads, d]`` to the buckets
        ``[runs, heads, nodes, d]`` one after the other, and back; and the rows of dead slots there.
        """
        if heads not in self._rows:
            head = torch.arange(heads, device=self.slot.device)
            first = self.start * heads + torch.arange(self.start.numel(), device=head.device) - self.start
            row = first[:, None] + head * self.width[:, None]
            into = torch.empty(row.numel(), dtype=torch.int32, device=head.device)
            into[row] = (self.node_of[:, None] * heads + head).int()
            dead = None if self.dead is None else row[self.dead].view(-1)
            self._rows[heads] = into, row[self.slot].view(-1).int(), dead
        return self._rows[heads]

    def flat(self, heads: int) -> Tensor:
        """Places of the edges among the scores of all buckets, ``[num_edges * heads]``."""
        if heads not in self._flat:
            head = torch.arange(heads, device=self.slot.device)
            area = self.edge_width * self.edge_width
            place = (self.edge_area * heads + self.edge_offset)[:, None] + head * area[:, None]
            self._flat[heads] = place.view(-1)
        return self._flat[heads]

    def to(self, device: torch.device | str, non_blocking: bool = False) -> PaddedBlocks:
        """The same on a device."""
        return self._moved(lambda x: x.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> PaddedBlocks:
        """The same in memory from which a GPU may copy while the CPU goes on."""
        return self._moved(lambda x: x.pin_memory())

    def clone(self) -> PaddedBlocks:
        return self._moved(lambda x: x.clone())

    def _moved(self, how: Callable[[Tensor], Tensor]) -> PaddedBlocks:
        def move(x: Tensor | None) -> Tensor | None:
            return x if x is None else how(x)

        values = {x.name: getattr(self, x.name) for x in fields(self) if x.name[0] != "_"}
        moved = {name: move(x) for name, x in values.items() if name != "buckets"}
        buckets = [replace(bucket, mask=move(bucket.mask)) for bucket in self.buckets]
        return PaddedBlocks(buckets=buckets, **moved)  # type: ignore[arg-type]


@on_cpu
def join_blocks(block: Tensor) -> Runs:
    """The runs of nodes with these blocks, ``[num_nodes]``, ascending; on the CPU."""
    size = block.new_tensor(_join(torch.bincount(block).tolist()))
    order = size.argsort(descending=True, stable=True)
    return Runs(size, order, _shapes(size[order].tolist(), max(PADDING, SHARE * block.numel())))


@on_cpu
def pad_blocks(edge_index: Tensor, group: Tensor | None, runs: Runs) -> PaddedBlocks:
    """The padded blocks of a set of pairs, on the CPU.

    Args:
        edge_index: Edges ``[2, num_edges]``, source -> target.
        group: Number of every node's clique, -1: none, ``[num_nodes]``; :obj:`None`: no cliques.
        runs: No pair leaves one.
    """
    size, order = runs.size, runs.order
    wide = size.new_tensor([nodes for count, nodes in runs.shapes for _ in range(count)])
    start, area = cumsum(wide)[:-1], cumsum(wide * wide)[:-1]  # of the runs by bucket
    first = cumsum(size)  # node of every run
    run = torch.empty_like(order).index_copy_(0, order, torch.arange(order.numel(), device=order.device))
    run = run.repeat_interleave(size)  # of every node
    node = torch.arange(run.numel(), device=run.device)
    place = node - first[:-1].repeat_interleave(size)
    slot = start.index_select(0, run) + place
    node_of = first[order].repeat_interleave(wide)
    node_of[slot] = node
    source, target = edge_index
    edge_run = run.index_select(0, target)
    edge_area, edge_width = area.index_select(0, edge_run), wide.index_select(0, edge_run)
    edge_offset = place.index_select(0, target) * edge_width + place.index_select(0, source)
    clique = None
    if group is not None:  # of every slot
        number = group.double().masked_fill_(group < 0, torch.nan)  # which is equal to nothing
        clique = number.new_full(node_of.shape, torch.nan).index_copy_(0, slot, number)
    buckets, sees = _make_buckets(runs, edge_area + edge_offset, clique)
    return PaddedBlocks(
        buckets=buckets,
        node_of=node_of,
        slot=slot,
        start=start.repeat_interleave(wide),
        width=wide.repeat_interleave(wide),
        dead=_where(~sees),
        empty=_where(~sees[slot]),
        edge_area=edge_area,
        edge_width=edge_width,
        edge_offset=edge_offset,
    )


def _join(sizes: list[int]) -> list[int]:
    """Nodes of the runs that neighbouring blocks of these sizes are joined to."""
    runs: list[int] = []
    for size in sizes:
        if runs and runs[-1] + size <= JOINED:
            runs[-1] += size
        else:
            runs.append(size)
    return runs


def _shapes(sizes: list[int], most: float) -> list[tuple[int, int]]:
    """(runs, nodes a run) of the buckets for runs of these sizes, descending, with padding up to a limit."""
    shapes: list[tuple[int, int]] = []
    largest, padding = 0, 0
    for size in sizes:
        if shapes and padding + largest - size <= most:
            count, width = shapes.pop()
        else:
            count, width, largest, padding = 0, _width(size), size, 0
        padding += largest - size
        shapes.append((count + 1, width))
    return shapes


def _width(nodes: int) -> int:
    """Columns of a bucket whose largest run has so many nodes."""
    whole = -(-nodes // VECTOR) * VECTOR
    return whole if whole == VECTOR or whole <= NEARLY * nodes else nodes


def _make_buckets(runs: Runs, pair: Tensor, clique: Tensor | None) -> tuple[list[Bucket], Tensor]:
    """The buckets, and whether each slot may attend to something; ``clique`` is of every slot, NaN: none."""
    mask = torch.full((runs.area,), -torch.inf, device=pair.device).index_fill_(0, pair, 0.0)
    buckets, sees = [], [pair.new_zeros(0, dtype=torch.bool)]
    start = area = 0
    for count, nodes in runs.shapes:
        part = mask[area : area + count * nodes * nodes].view(count, nodes, nodes)
        if clique is not None:
            number = clique[start : start + count * nodes].view(count, nodes)
            part.masked_fill_(number[:, :, None] == number[:, None, :], 0.0)
        sees.append((part.amax(dim=2) == 0).view(-1))
        part.view(-1, nodes).index_fill_(0, (~sees[-1]).nonzero().view(-1), 0.0)
        full = float(part.amin()) == 0
        buckets.append(Bucket(start, area, (count, nodes), None if full else part[:, None]))
        start, area = start + count * nodes, area + count * nodes * nodes
    return buckets, torch.cat(sees)


def _where(flags: Tensor) -> Tensor | None:
    return flags.nonzero().view(-1) if bool(flags.any()) else None
