"""What attention needs to know about a set of pairs, computed once and shared by all layers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.storage import GlobalStorage
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from graphdep.io.limits import check_choice, check_shape
from graphdep.nn.attention.dispatch import PAIRS_AN_EDGE_CPU, on_cpu
from graphdep.nn.attention.fused.fused_attention import missing
from graphdep.nn.attention.tiles import ROWS, AttentionTiles, build_tiles
from graphdep.transforms.edge_set import MARKS, TYPES
from graphdep.transforms.nodes import Nodes, check_within_examples
from graphdep.transforms.presets import resolve

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
    _rows: dict[int, tuple[Tensor, Tensor, Tensor | None]] = field(default_factory=dict, init=False)
    _flat: dict[int, Tensor] = field(default_factory=dict, init=False)

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


@on_cpu
def join_blocks(block: Tensor) -> Runs:
    """The runs of nodes with these blocks, ``[num_nodes]``, ascending; on the CPU."""
    size = block.new_tensor(_join(torch.bincount(block).tolist()))
    order = size.argsort(descending=True, stable=True)
    return Runs(size, order, _shapes(size[order].tolist(), max(PADDING, SHARE * block.numel())))


@on_cpu
def pad_blocks(edge_index: Tensor, group: Tensor | None, runs: Runs) -> PaddedBlocks:
    """The padded blocks of a set of pairs, on the CPU."""
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


#: Where data has a layout of its own.
LAYOUT_KEY = "edge_layout"
# What a layout is made of.
_SOURCES = ("edge_index", "edge_index_explicit", "clique", "ptr", "batch", "edge_type", "edge_mark")
# What only the CPU needs, and what is of the tensors of one place.
_STAYS = ("_host", "_runs", "_sources", "block")


class AttentionLayout:
    r"""The pairs of nodes that may attend, prepared for every backend.

    A pair may attend if it is an edge or if both nodes are in one clique; a pair that is both is one pair.
    What a backend needs (all pairs written out, or padded blocks) is computed on first use and kept, so build
    one layout a batch, with :meth:`of`, and hand it to all layers in the place of :obj:`edge_index`.

    Args:
        edge_index: Explicit edges ``[2, num_edges]``, source -> target.
        num_nodes: Number of nodes.
        clique: ``[num_nodes]``; nodes of one example with the same number >= 0 see one another.
            (default: :obj:`None`)
        ptr: Example boundaries ``[num_examples + 1]``, which tell equal clique numbers of different examples
            apart. (default: one example)
        edge_type: Relations of the edges ``[num_edges]``, for convs that read them. (default: :obj:`None`)
        edge_mark: Which edges are marked ``[num_edges]``, for convs that tell them from the others.
            (default: :obj:`None`)

    Raises:
        ValueError: If a shape or dtype is wrong or a node does not exist.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.nn.attention import AttentionLayout
        >>> from graphdep.transforms import resolve
        >>> data = resolve("transformer", implicit=True)(to_data([Sentence.chain(["She", "sings"])]))
        >>> layout = AttentionLayout.of(data)
        >>> layout.num_nodes, layout.num_edges, layout.pairs.shape
        (3, 0, torch.Size([2, 9]))
    """

    _moved_already: dict[int, Any]  # while a storage moves it

    def __init__(
        self,
        edge_index: Tensor,
        num_nodes: int,
        *,
        clique: Tensor | None = None,
        ptr: Tensor | None = None,
        edge_type: Tensor | None = None,
        edge_mark: Tensor | None = None,
    ) -> None:
        _check(edge_index, num_nodes, clique, ptr)
        self.edge_index, self.num_nodes, self.clique, self.ptr = edge_index, num_nodes, clique, ptr
        self.edge_type, self.edge_mark = edge_type, edge_mark
        self._sources: dict[str, tuple[Any, int | None]] = {}
        self._written = self._versions
        if clique is None:  # known at once, as torch.compile needs it
            vars(self).update(group=None, pairs=edge_index)

    @classmethod
    @torch.compiler.disable  # the number of edges is data
    def of(cls, data: Data) -> AttentionLayout:
        """The layout of the edges that the data has, written out or implicit; that which
        :func:`~graphdep.nn.attention.attach_layout` gave it, as long as it is of these edges.

        Args:
            data: One example or a batch, with or without the node table of :func:`graphdep.to_data`.

        Raises:
            ValueError: If the data has no edges, or cliques beside an :obj:`edge_index` of another transform,
                an edge joins two examples, or the node table does not fit the nodes
                (:class:`~graphdep.transforms.Nodes`).
        """
        attached = data.get(LAYOUT_KEY) if isinstance(data, Data) else None
        if isinstance(attached, AttentionLayout) and attached.is_of(data._store):
            return attached
        nodes, clique = Nodes(data), data.get("clique")
        edge_index = data.edge_index
        if edge_index is None and clique is not None:
            edge_index = data.get("edge_index_explicit")
        elif clique is not None:
            raise ValueError(
                "the data has an 'edge_index' beside the 'clique' of implicit edges: which are meant? Build "
                "the edges without implicit=True before another transform adds some"
            )
        if edge_index is None:
            raise ValueError(
                "the data has no 'edge_index': apply an edge constructor, e.g. resolve('transformer')"
            )
        edge_index = dense_edges(edge_index)
        check_within_examples(edge_index, data.get("batch"))
        # A batch may come without 'ptr', but never may its cliques be one.
        ptr = nodes.ptr if "batch" in data else data.get("ptr")
        own = {key: data.get(key) for key in ("edge_type", "edge_mark")}
        layout = cls(edge_index, data.num_nodes, clique=clique, ptr=ptr, **own)
        if layout.edge_mark is not None:
            _ = layout.marked  # how many there are torch.compile cannot find out
        if edge_index.is_cuda and missing(edge_index.device) is None:
            _ = layout.tiles  # nor can it trace how they are made
        return layout

    def __repr__(self) -> str:
        size = f"{self.num_nodes} nodes, {self.num_edges} edges"
        return f"{type(self).__name__}({size}, clique={self.clique is not None})"

    @property
    def num_edges(self) -> int:
        return self.edge_index.size(1)

    @cached_property
    def num_pairs(self) -> int:
        """Pairs that may attend; a pair that is an edge and in a clique counts twice."""
        group = self._host.group
        if group is None:
            return self.num_edges
        sizes = group[group >= 0].unique(return_counts=True)[1]
        return self.num_edges + int(sizes.square().sum())

    @cached_property
    def group(self) -> Tensor | None:
        """``clique`` made unique over examples, ``[num_nodes]``; -1 for nodes in no clique."""
        if self.clique is None or self.ptr is None:
            return self.clique
        sizes = self.ptr.diff()
        example = torch.arange(sizes.numel(), device=sizes.device).repeat_interleave(
            sizes, output_size=self.num_nodes
        )
        number = example * (self.clique.max() + 1 if self.num_nodes else 1) + self.clique
        return number.where(self.clique >= 0, self.clique)

    @cached_property
    def pairs(self) -> Tensor:
        """All pairs ``[2, num_pairs]``: the explicit edges in their order, then the pairs that only a clique
        has.
        """
        if self.group is None:
            return self.edge_index
        pairs = _clique_pairs(self.group)
        known = torch.isin(_key(pairs, self.num_nodes), _key(self.edge_index, self.num_nodes))
        return torch.cat([self.edge_index, pairs[:, ~known]], dim=1)

    @cached_property
    def marks(self) -> Tensor:
        """Numbers of the marked edges; where none has a mark, of those that are written out beside
        cliques.
        """
        if self.edge_mark is not None:
            return self.edge_mark.nonzero().view(-1)
        return torch.arange(0 if self.clique is None else self.num_edges, device=self.edge_index.device)

    @cached_property
    def marked(self) -> AttentionLayout:
        """The edges :obj:`marks` alone."""
        return AttentionLayout(self.edge_index[:, self.marks], self.num_nodes)

    @cached_property
    def by_target(self) -> tuple[Tensor, Tensor]:
        """``(order, rowptr)``: a stable sort of :obj:`pairs` by target and the bounds of each target's
        run.
        """
        node, order = self.pairs[1].sort(stable=True)
        return order, cumsum(torch.bincount(node, minlength=self.num_nodes))

    @cached_property
    def has_repeated_edges(self) -> bool:
        key = _key(self.edge_index, self.num_nodes)
        if bool((key[1:] > key[:-1]).all()):  # already coalesced, as edge constructors leave it
            return False
        return key.unique().numel() < key.numel()

    @cached_property
    def area(self) -> int:
        """Pairs that the padded blocks hold: what the dense backend has to compute."""
        return self._host._runs.area

    @cached_property
    def padded(self) -> PaddedBlocks:
        """The pairs as the dense backend computes with them."""
        host, device = self._host, self.edge_index.device
        return _move(pad_blocks(host.edge_index, host.group, host._runs), lambda x: x.to(device))

    @cached_property
    def _runs(self) -> Runs:
        return join_blocks(self.block)

    @cached_property
    def block(self) -> Tensor:
        """Block of every node, ``[num_nodes]``, ascending: the smallest contiguous runs that no pair
        leaves.
        """
        low, high = torch.minimum(*self.edge_index), torch.maximum(*self.edge_index)
        if self.group is not None:
            last = _last_of_group(self.group)
            low, high = (
                torch.cat([low, torch.arange(self.num_nodes, device=low.device, dtype=low.dtype)]),
                torch.cat([high, last]),
            )
        # A block ends with a node over whose end no pair reaches.
        begun, ended = (torch.bincount(x, minlength=self.num_nodes) for x in (low, high))
        is_end = (begun - ended).cumsum(0) == 0
        return is_end.cumsum(0) - is_end.long()

    @cached_property
    def whole_block(self) -> int | None:
        """Nodes of each block, where blocks are of equal size and all their pairs may attend: attention is
        then that of a padded batch without padding. Else :obj:`None`.
        """
        host = self._host
        low, high = (int(x) for x in torch.bincount(host.block, minlength=1).aminmax())
        if low < high or high == 0:
            return None
        nodes = high
        if host.group is not None:
            group = host.group.view(-1, nodes)
            return nodes if bool(((group == group[:, :1]) & (group >= 0)).all()) else None
        every = self.num_edges == self.num_nodes * nodes and not self.has_repeated_edges
        return nodes if every else None

    @cached_property
    def _host(self) -> AttentionLayout:
        """The same pairs on the CPU, where steps that depend on their values wait for no device."""
        if self.edge_index.device.type == "cpu":
            return self
        clique, ptr = (x if x is None else x.cpu() for x in (self.clique, self.ptr))
        return AttentionLayout(self.edge_index.cpu(), self.num_nodes, clique=clique, ptr=ptr)

    def prepare(
        self, device: torch.device | str | None = None, *, rows: int | None = None
    ) -> AttentionLayout:
        """Computes what the backends need now, so that a device is not waited for later; the same layout.

        Args:
            device: Where it will be used: for CUDA with triton also :attr:`tiles`, and padded blocks only
                where the fused kernels refuse these pairs. (default: where it is)
            rows: Rows of every tile: 16, 32 or 64. (default: as few as hold the longest block of at most 64)
        """
        if rows is not None:
            check_choice("rows", rows, ROWS)
        if self.num_nodes == 0:
            return self
        there = self.edge_index.device if device is None else torch.device(device)
        for part in (vars(self).get("marked"), vars(self).get("_explicit")):  # only where a conv reads it
            if part is not None and part is not self:
                part.prepare(there)
        if there.type == "cuda" and missing(there) is None:
            if rows is not None and ("tiles" not in vars(self) or self.tiles.block != rows):
                self.tiles = self._tiles(rows)
            if self.tiles.refusal(numbered=True) is None:
                return self
        _ = self.area, self.has_repeated_edges, self.whole_block
        if self.area <= PAIRS_AN_EDGE_CPU * self.num_pairs:  # else "auto" does not ask for it
            _ = self.padded
        return self

    @cached_property
    def tiles(self) -> AttentionTiles:
        """The pairs for the fused kernels. Made on the CPU, and best before the layout moves: then nothing
        waits for the device.
        """
        return self._tiles()

    @property
    def ready_tiles(self) -> AttentionTiles | None:
        """The tiles if they have been made: ``torch.compile`` cannot trace how."""
        return self.__dict__.get("tiles")

    def _tiles(self, rows: int | None = None) -> AttentionTiles:
        host, device = self._host, self.edge_index.device
        tiles = build_tiles(host.edge_index, host.block, host.group, rows=rows)
        return _move(tiles, lambda x: x.to(device))

    def to(self, device: torch.device | str | None = None, non_blocking: bool = False) -> AttentionLayout:
        """The same on a device, with all that has been computed."""
        if device is None or torch.device(device) == self.edge_index.device:
            return self
        return self._moved(lambda x: x.to(device, non_blocking=non_blocking))

    def cpu(self) -> AttentionLayout:
        return self.to("cpu")

    def cuda(self, device: int | str | None = None, non_blocking: bool = False) -> AttentionLayout:
        return self.to("cuda" if device is None else torch.device(device), non_blocking)

    def pin_memory(self) -> AttentionLayout:
        """The same in memory from which a GPU may copy while the CPU goes on."""
        return self._moved(lambda x: x.pin_memory())

    def clone(self) -> AttentionLayout:
        return self._moved(lambda x: x.clone())

    def _moved(self, how: Callable[[Tensor], Tensor]) -> AttentionLayout:
        new = object.__new__(type(self))
        values = {name: x for name, x in vars(self).items() if name not in _STAYS}
        if self.clique is not None:
            values.pop("group", None)
        done = values.pop("_moved_already", {})  # what goes by two names is moved once
        for name, value in values.items():
            if id(value) not in done:
                done[id(value)] = _move(value, how)
            vars(new)[name] = done[id(value)]
        vars(new).update(_host=self._host, _sources={})  # what is still to be computed is computed there
        new._written = new._versions
        return new

    @property
    def _versions(self) -> tuple[int | None, ...]:
        return tuple(map(_version, (self.edge_index, self.clique, self.ptr)))

    def check_edges(self, edge_index: Tensor | None = None) -> None:
        """Raises :class:`ValueError` if its tensors were written into since it was made of them, or if they
        are not :obj:`edge_index`. Writes through ``.data`` and ``.numpy()`` are not seen, nor those into
        tensors of inference mode; on a GPU, which would wait, other tensors are known by their size alone.
        """
        if self._written != self._versions:
            raise ValueError(
                "'edge_index', 'clique' or 'ptr' was changed in place after the AttentionLayout was made of "
                "it: make a new one"
            )
        if edge_index is None or edge_index is self.edge_index:
            return
        same = edge_index.shape == self.edge_index.shape
        if same and edge_index.device.type == self.edge_index.device.type == "cpu":
            same = torch.equal(edge_index, self.edge_index)
        if not same:
            raise ValueError(
                f"'layout' is of {self.num_edges} edges that are not the {edge_index.size(-1)} of "
                "'edge_index': give it layout.edge_index, or no layout"
            )

    def bind(self, store: Any) -> None:
        """Makes it the layout of the tensors that a storage has now."""
        found = {key: store.get(key) for key in _SOURCES}
        self._sources = {key: (x, _version(x)) for key, x in found.items()}

    def is_of(self, store: Any) -> bool:
        """Whether a storage has the tensors that it was made of, and nobody wrote into them since."""
        found = ((store.get(key), *known) for key, known in self._sources.items())
        same = all(x is known and _version(x) == version and not _is_blind(x) for x, known, version in found)
        return same and bool(self._sources) and store.num_nodes == self.num_nodes

    def __getstate__(self) -> dict[str, Any]:
        same = all(_version(x) == version for x, version in self._sources.values())
        return vars(self) | {"_sources": self._sources if same else {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)  # in another process tensors count their writes anew
        self._sources = {key: (x, _version(x)) for key, (x, _) in self._sources.items()}
        self._written = self._versions

    def materialize(self) -> AttentionLayout:
        """The same pairs, all of them explicit; the same layout each time."""
        return self if self.group is None else self._explicit

    @cached_property
    def _explicit(self) -> AttentionLayout:
        new = self.pairs.size(1) - self.num_edges  # of no relation (0) and without a mark
        columns = [None if x is None else F.pad(x, (0, new)) for x in (self.edge_type, self.edge_mark)]
        return AttentionLayout(
            self.pairs, self.num_nodes, ptr=self.ptr, edge_type=columns[0], edge_mark=columns[1]
        )


class Moves:
    """Base of what is made of a batch and goes with it: objects whose attributes are tensors, objects like
    itself, layouts, numbers, and tuples and lists of these.
    """

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """The same on a device."""
        return self.moved(lambda x: x.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """The same in memory from which a GPU may copy while the CPU goes on."""
        return self.moved(lambda x: x.pin_memory())

    def moved(self, how: Callable[[Tensor], Tensor]) -> Self:
        """The same with another tensor for each that is in it, in a fixed order."""
        new = copy.copy(self)
        vars(new).update({name: _move(value, how) for name, value in vars(self).items()})
        return new


def _move(value: Any, how: Callable[[Tensor], Tensor]) -> Any:
    """The same with another tensor for each that is in it."""
    if isinstance(value, AttentionLayout):
        return value._moved(how)
    if isinstance(value, Moves):
        return value.moved(how)
    if isinstance(value, (tuple, list)):
        parts = [_move(part, how) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        named = {x.name: _move(getattr(value, x.name), how) for x in fields(value) if x.init}
        return replace(value, **named)
    return how(value) if isinstance(value, Tensor) else value


def _version(x: Any) -> int | None:
    return None if not isinstance(x, Tensor) or x.is_inference() else x._version


def _is_blind(x: Any) -> bool:
    """Whether nobody can say if a tensor was written into: on the CPU, where a new layout costs little."""
    return isinstance(x, Tensor) and x.is_inference() and x.device.type == "cpu"


#: What a conv takes for its edges.
Adj: TypeAlias = Tensor | AttentionLayout


def dense_edges(edge_index: object) -> Tensor:
    """A plain ``[2, num_edges]`` of what a caller has for edges, or :class:`ValueError`."""
    if edge_index is None:
        raise ValueError(
            "'edge_index' is None: edges that are built with implicit=True have cliques in its place. Pass "
            "AttentionLayout.of(data), or build them without implicit=True"
        )
    if not isinstance(edge_index, Tensor) or edge_index.layout != torch.strided:
        kind = type(edge_index).__name__
        raise ValueError(
            "'edge_index' must be an AttentionLayout or a dense tensor [2, num_edges], not a sparse matrix "
            f"(got {kind})"
        )
    return edge_index.as_tensor() if hasattr(edge_index, "as_tensor") else edge_index


def refuse_clique(clique: Tensor | None, why: str) -> None:
    """Raises :class:`ValueError`, which says why, if there are cliques."""
    if clique is not None:
        raise ValueError(f"{why}: build the edges without implicit=True")


def _check(edge_index: Tensor, num_nodes: int, clique: Tensor | None, ptr: Tensor | None) -> None:
    check_shape("edge_index", edge_index, 2, "num_edges", dtype=torch.long)
    if clique is not None:
        check_shape("clique", clique, num_nodes, dtype=torch.long)
    if ptr is not None:
        check_shape("ptr", ptr, "num_examples + 1", dtype=torch.long)
    # Elsewhere the checks of values would stall the device, or break a graph; indexing fails there by itself.
    if edge_index.device.type != "cpu" or torch.compiler.is_compiling():
        return
    low, high = (int(x) for x in edge_index.aminmax()) if edge_index.numel() else (0, -1)
    if low < 0 or high >= num_nodes:
        raise ValueError(
            f"'edge_index' names node {low if low < 0 else high}, but there are {num_nodes} nodes"
        )
    if ptr is not None and (int(ptr[0]) != 0 or int(ptr[-1]) != num_nodes or bool((ptr.diff() < 0).any())):
        raise ValueError(f"'ptr' must ascend from 0 to the {num_nodes} nodes (got {ptr.tolist()})")


def _key(pairs: Tensor, num_nodes: int) -> Tensor:
    return pairs[1] * num_nodes + pairs[0]


def _last_of_group(group: Tensor) -> Tensor:
    """For every node the last node of its clique; a node in no clique is its own."""
    node = torch.arange(group.numel(), device=group.device)
    number = group.unique(return_inverse=True)[1]
    last = torch.zeros_like(number).scatter_reduce(0, number, node, "amax")
    return node.where(group < 0, last[number])


def _clique_pairs(group: Tensor) -> Tensor:
    """All ordered pairs of nodes with the same number >= 0, sorted by target, self-pairs included."""
    member = (group >= 0).nonzero().view(-1)
    number = group[member].unique(return_inverse=True)[1]
    count = torch.bincount(number)
    order = number.argsort(stable=True)
    start = cumsum(count)
    width = count[number]
    target = member.repeat_interleave(width)
    step = torch.arange(target.numel(), device=group.device) - cumsum(width)[:-1].repeat_interleave(width)
    source = member[order][start[number].repeat_interleave(width) + step]
    return torch.stack([source, target])


DataT = TypeVar("DataT", bound=Data)


class LaidOutStorage(GlobalStorage):
    """PyG's storage, whose layout stays that of the tensors when both are moved."""

    def apply(self, func: Callable, *args: str) -> LaidOutStorage:
        layout = self.get(LAYOUT_KEY)
        if args or not isinstance(layout, AttentionLayout) or not layout.is_of(self):
            return super().apply(func, *args)
        before = {key: self.get(key) for key in _SOURCES}
        del self[LAYOUT_KEY]
        super().apply(func)
        # What both have is moved once.
        layout._moved_already = {id(x): self.get(key) for key, x in before.items() if x is not None}
        try:
            self[LAYOUT_KEY] = moved = func(layout)
        except Exception:  # as PyG does with what is neither a move nor a copy: it is of other tensors then
            self[LAYOUT_KEY] = moved = layout
        del layout._moved_already
        if moved is not layout:
            moved.bind(self)
        return self


def attach_layout(data: DataT, device: torch.device | str | None = None, *, rows: int | None = None) -> DataT:
    """A copy of the data with its :class:`~graphdep.nn.attention.AttentionLayout` as ``edge_layout``, which
    models then need not make.

    Where the batch is made, on the CPU, nothing waits for a device; ``to``, ``cuda`` and ``pin_memory`` move
    the layout with the batch, and so do the workers of a loader. :meth:`AttentionLayout.of` takes it as long
    as it is of the very tensors that the data has: once an edge is changed, or ``edge_index`` is replaced, it
    is made anew. ``batch[i]`` and ``to_data_list()`` give examples without it.

    Args:
        data: One example or a batch, with edges, written out or implicit.
        device: Where it will go, which decides what of the layout is made now: for CUDA the tiles of the
            fused kernels (:meth:`AttentionLayout.prepare`). (default: where the data is)
        rows: Rows of every tile, so that all batches have tiles of one shape: 16, 32 or 64. (default: by the
            longest block)

    Raises:
        ValueError: As of :meth:`AttentionLayout.of`, or if there are no tiles of so many :obj:`rows`.

    Example:
        >>> from torch_geometric.data import Batch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.nn.attention import AttentionLayout, attach_layout
        >>> from graphdep.transforms import resolve
        >>> sentences = [Sentence.chain(["She", "sings"]), Sentence.chain(["You", "do", "?"])]
        >>> batch = attach_layout(resolve("dra")(Batch.from_data_list([to_data([s]) for s in sentences])))
        >>> AttentionLayout.of(batch) is batch.edge_layout
        True
        >>> batch.edge_index = batch.edge_index.flip(0)
        >>> AttentionLayout.of(batch) is batch.edge_layout
        False
    """
    data = copy.copy(data)
    layout = AttentionLayout.of(data)
    layout.prepare(device, rows=rows)
    store: Any = data._store
    layout.bind(store)
    data[LAYOUT_KEY] = layout
    object.__setattr__(store, "__class__", LaidOutStorage)  # the storage takes attributes for its own
    return data


def implicit_edges(edges: str | BaseTransform) -> BaseTransform:
    """A preset in the form that takes the least memory, or a transform as it is."""
    return resolve(edges) if isinstance(edges, BaseTransform) else resolve(edges, implicit=True)


def refuse_unread(data: Data, reads: Set[str], edges: object) -> None:
    """Raises :class:`ValueError` where edges have types or marks that nobody reads."""
    for key, kind in (("edge_type", TYPES), ("edge_mark", MARKS)):
        if key in data and kind not in reads:
            raise ValueError(
                f"'edges' cannot be {edges!r}: they carry {key!r}, which nothing here reads (an encoder "
                "reads types once it has add_terms()); take the constructor of their pairs alone"
            )
