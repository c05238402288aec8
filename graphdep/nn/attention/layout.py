"""The pairs of nodes that may attend, prepared once and shared by all layers."""

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
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from graphdep.io.limits import check_choice, check_shape
from graphdep.nn.attention.dispatch import PAIRS_PER_EDGE_CPU, on_cpu
from graphdep.nn.attention.fused.fused_attention import missing
from graphdep.nn.attention.tiles import ROWS, AttentionTiles, build_tiles
from graphdep.transforms.edge_set import MARKS, TYPES
from graphdep.transforms.nodes import Nodes, NodeTableStorage, check_within_examples
from graphdep.transforms.presets import resolve

#: Width of a SIMD vector. Softmax and products over 31 columns are slower than over 32, so a width that is
#: nearly a multiple is rounded up; widths below one vector are slowest.
VECTOR, NEARLY = 16, 1.125
#: Neighbouring blocks are joined to runs of at most this many nodes.
JOINED = 32
#: Padding in a bucket before a further bucket costs less: the larger of this number of slots and this share
#: of all slots.
PADDING, SHARE = 32, 1 / 64


@dataclass(frozen=True)
class Runs:
    """Runs of whole blocks: small neighbours are joined, so that no bucket has tiny runs.

    Args:
        size: Number of nodes in each run, ``[runs]``.
        order: The runs, sorted by bucket, ``[runs]``.
        shapes: (runs, padded nodes per run) of each bucket.
    """

    size: Tensor
    order: Tensor
    shapes: list[tuple[int, int]]

    @property
    def area(self) -> int:
        """Number of pairs in all buckets."""
        return sum(runs * nodes * nodes for runs, nodes in self.shapes)


@dataclass(frozen=True)
class Bucket:
    """Runs of nearly equal size, padded to the largest.

    Args:
        start: Slot of the first node; the slots of a bucket are contiguous.
        area: Index of the first pair among the pairs of all buckets.
        shape: (runs, nodes per run).
        mask: ``[runs, 1, nodes, nodes]``, added to the scores: 0 if the row (target) may attend to the column
            (source), else -inf; 0 in rows without any source. :obj:`None` if all pairs may attend.
    """

    start: int
    area: int
    shape: tuple[int, int]
    mask: Tensor | None

    def nodes_of(self, x: Tensor, heads: int) -> Tensor:
        """The slots ``[runs * heads, nodes, d]`` of the bucket in ``x``, ``[slots * heads, d]``."""
        runs, nodes = self.shape
        part = x[self.start * heads : (self.start + runs * nodes) * heads]
        return part.view(runs * heads, nodes, x.size(-1))

    def pairs_of(self, x: Tensor, heads: int) -> Tensor:
        """The pairs ``[runs * heads, nodes, nodes]`` of the bucket in ``x``, ``[area * heads]``."""
        runs, nodes = self.shape
        part = x[self.area * heads : (self.area + runs * nodes * nodes) * heads]
        return part.view(runs * heads, nodes, nodes)


@dataclass(eq=False)
class PaddedBlocks:
    """Runs of whole blocks, sorted into buckets by size.

    Every node has a *slot*. Padding slots repeat the first node of their run; no slot attends to them, and
    their own output is never read.

    Args:
        buckets: The buckets, the largest runs first.
        node_of: Node of each slot.
        slot: Slot of each node.
        start, width: First slot of the run of each slot, and number of slots of that run.
        dead: Slots that may attend to nothing, including all padding; :obj:`None` without such slots.
        empty: Nodes that may attend to nothing; :obj:`None` without such nodes.
        edge_area, edge_width: Index of the first pair of each edge's run, and number of slots of that run.
        edge_offset: Index of each edge among the pairs of its run.
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
        """``(into, back, dead)``: row indices that move ``[num_nodes * heads, d]`` into the buckets ``[runs,
        heads, nodes, d]``, in order, and back; and the rows of dead slots there.
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
        """Indices of the edges among the scores of all buckets, ``[num_edges * heads]``."""
        if heads not in self._flat:
            head = torch.arange(heads, device=self.slot.device)
            area = self.edge_width * self.edge_width
            place = (self.edge_area * heads + self.edge_offset)[:, None] + head * area[:, None]
            self._flat[heads] = place.view(-1)
        return self._flat[heads]


@on_cpu
def join_blocks(block: Tensor) -> Runs:
    """The runs of nodes with given blocks, ``[num_nodes]``, ascending; on the CPU."""
    size = block.new_tensor(_join(torch.bincount(block).tolist()))
    order = size.argsort(descending=True, stable=True)
    return Runs(size, order, _shapes(size[order].tolist(), max(PADDING, SHARE * block.numel())))


@on_cpu
def pad_blocks(edge_index: Tensor, group: Tensor | None, runs: Runs) -> PaddedBlocks:
    """The padded blocks of a set of pairs, on the CPU."""
    size, order = runs.size, runs.order
    wide = size.new_tensor([nodes for count, nodes in runs.shapes for _ in range(count)])
    start, area = cumsum(wide)[:-1], cumsum(wide * wide)[:-1]  # of the runs, sorted by bucket
    first = cumsum(size)  # first node of each run
    run = torch.empty_like(order).index_copy_(0, order, torch.arange(order.numel(), device=order.device))
    run = run.repeat_interleave(size)  # of each node
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
    if group is not None:  # of each slot
        number = group.double().masked_fill_(group < 0, torch.nan)  # NaN equals nothing
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
    """Sizes of the runs after joining neighbouring blocks of these sizes."""
    runs: list[int] = []
    for size in sizes:
        if runs and runs[-1] + size <= JOINED:
            runs[-1] += size
        else:
            runs.append(size)
    return runs


def _shapes(sizes: list[int], most: float) -> list[tuple[int, int]]:
    """(runs, nodes per run) of the buckets for runs of descending sizes, with at most ``most`` padding."""
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
    """Number of columns of a bucket whose largest run has this many nodes."""
    whole = -(-nodes // VECTOR) * VECTOR
    return whole if whole == VECTOR or whole <= NEARLY * nodes else nodes


def _make_buckets(runs: Runs, pair: Tensor, clique: Tensor | None) -> tuple[list[Bucket], Tensor]:
    """The buckets, and whether each slot may attend at all; ``clique`` of each slot, NaN without one."""
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


#: Key of a layout that is attached to data.
LAYOUT_KEY = "edge_layout"
# Keys of the data from which a layout is made.
_SOURCES = ("edge_index", "edge_index_explicit", "clique", "ptr", "batch", "edge_type", "edge_mark")
# Attributes that only the CPU needs, or that belong to tensors on one device.
_STAYS = ("_host", "_runs", "_sources", "block")


class AttentionLayout:
    r"""The pairs of nodes that may attend, prepared for every backend.

    A pair may attend if it is an edge or if both nodes are in one clique; if both hold, it is one pair. The
    input of each backend (all explicit pairs, or padded blocks) is computed on first use and kept, so build
    one layout per batch, with :meth:`of`, and pass it to all layers instead of :obj:`edge_index`.

    Args:
        edge_index: Explicit edges ``[2, num_edges]``, source -> target.
        num_nodes: Number of nodes.
        clique: ``[num_nodes]``; nodes of one example with the same number >= 0 see one another.
            (default: :obj:`None`)
        ptr: Example boundaries ``[num_examples + 1]``, which separate equal clique numbers of different
            examples. (default: one example)
        edge_type: Relations of the edges ``[num_edges]``, for convs that read them. (default: :obj:`None`)
        edge_mark: Whether each edge is marked, ``[num_edges]``, for convs that treat marked edges
            differently. (default: :obj:`None`)

    Raises:
        ValueError: If a shape or dtype is invalid or a node number is out of range.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.nn.attention import AttentionLayout
        >>> from graphdep.transforms import resolve
        >>> data = resolve("transformer", implicit=True)(to_data([Sentence.chain(["She", "sings"])]))
        >>> layout = AttentionLayout.of(data)
        >>> layout.num_nodes, layout.num_edges, layout.pairs.shape
        (3, 0, torch.Size([2, 9]))
    """

    _moved_already: dict[int, Any]  # set while a storage moves the layout

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
        if clique is None:  # computed eagerly for torch.compile
            vars(self).update(group=None, pairs=edge_index)

    @classmethod
    @torch.compiler.disable  # the number of edges is data
    def of(cls, data: Data) -> AttentionLayout:
        """The layout of the edges of the data, explicit or implicit; the layout from
        :func:`~graphdep.nn.attention.attach_layout`, if its edges have not changed.

        Args:
            data: One example or a batch, with or without the node table of :func:`graphdep.to_data`.

        Raises:
            ValueError: If the data has no edges, has cliques and an :obj:`edge_index` of another transform,
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
                "the edges without implicit=True before another transform adds edges"
            )
        if edge_index is None:
            raise ValueError(
                "the data has no 'edge_index': apply an edge constructor, e.g. resolve('transformer')"
            )
        edge_index = dense_edges(edge_index)
        check_within_examples(edge_index, data.get("batch"))
        # A batch may lack 'ptr', but its cliques must not be merged across examples.
        ptr = nodes.ptr if "batch" in data else data.get("ptr")
        own = {key: data.get(key) for key in ("edge_type", "edge_mark")}
        layout = cls(edge_index, data.num_nodes, clique=clique, ptr=ptr, **own)
        if layout.edge_mark is not None:
            _ = layout.marked  # torch.compile cannot trace their number
        if edge_index.is_cuda and missing(edge_index.device) is None:
            _ = layout.tiles  # torch.compile cannot trace their construction
        return layout

    def __repr__(self) -> str:
        size = f"{self.num_nodes} nodes, {self.num_edges} edges"
        return f"{type(self).__name__}({size}, clique={self.clique is not None})"

    @property
    def num_edges(self) -> int:
        return self.edge_index.size(1)

    @cached_property
    def num_pairs(self) -> int:
        """Number of pairs that may attend; a pair that is an edge and in a clique counts twice."""
        group = self._host.group
        if group is None:
            return self.num_edges
        sizes = group[group >= 0].unique(return_counts=True)[1]
        return self.num_edges + int(sizes.square().sum())

    @cached_property
    def group(self) -> Tensor | None:
        """``clique``, made unique across examples, ``[num_nodes]``; -1 for nodes without a clique."""
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
        """All pairs ``[2, num_pairs]``: explicit edges in their order, then pairs that only a clique has."""
        if self.group is None:
            return self.edge_index
        pairs = _clique_pairs(self.group)
        known = torch.isin(_key(pairs, self.num_nodes), _key(self.edge_index, self.num_nodes))
        return torch.cat([self.edge_index, pairs[:, ~known]], dim=1)

    @cached_property
    def marks(self) -> Tensor:
        """Indices of the marked edges; without marks, of all explicit edges beside cliques."""
        if self.edge_mark is not None:
            return self.edge_mark.nonzero().view(-1)
        return torch.arange(0 if self.clique is None else self.num_edges, device=self.edge_index.device)

    @cached_property
    def marked(self) -> AttentionLayout:
        """A layout of the edges :obj:`marks` only."""
        return AttentionLayout(self.edge_index[:, self.marks], self.num_nodes)

    @cached_property
    def by_target(self) -> tuple[Tensor, Tensor]:
        """``(order, rowptr)``: a stable sort of :obj:`pairs` by target, and the boundaries of targets."""
        node, order = self.pairs[1].sort(stable=True)
        return order, cumsum(torch.bincount(node, minlength=self.num_nodes))

    @cached_property
    def has_repeated_edges(self) -> bool:
        key = _key(self.edge_index, self.num_nodes)
        if bool((key[1:] > key[:-1]).all()):  # already coalesced, like the edges of constructors
            return False
        return key.unique().numel() < key.numel()

    @cached_property
    def area(self) -> int:
        """Number of pairs in the padded blocks: the work of the dense backend."""
        return self._host._runs.area

    @cached_property
    def padded(self) -> PaddedBlocks:
        """The pairs as padded blocks, for the dense backend."""
        host, device = self._host, self.edge_index.device
        return _move(pad_blocks(host.edge_index, host.group, host._runs), lambda x: x.to(device))

    @cached_property
    def _runs(self) -> Runs:
        return join_blocks(self.block)

    @cached_property
    def block(self) -> Tensor:
        """Block of each node, ``[num_nodes]``, ascending: blocks are the smallest contiguous runs without a
        pair between two of them.
        """
        low, high = torch.minimum(*self.edge_index), torch.maximum(*self.edge_index)
        if self.group is not None:
            last = _last_of_group(self.group)
            low, high = (
                torch.cat([low, torch.arange(self.num_nodes, device=low.device, dtype=low.dtype)]),
                torch.cat([high, last]),
            )
        # A block ends at a node if no pair crosses the end of that node.
        begun, ended = (torch.bincount(x, minlength=self.num_nodes) for x in (low, high))
        is_end = (begun - ended).cumsum(0) == 0
        return is_end.cumsum(0) - is_end.long()

    @cached_property
    def full_block(self) -> int | None:
        """Number of nodes per block if all blocks have equal size and all their pairs may attend: a batch
        that needs neither padding nor a mask. Else :obj:`None`.
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
        """The same pairs on the CPU, where steps that depend on values do not wait for a device."""
        if self.edge_index.device.type == "cpu":
            return self
        clique, ptr = (x if x is None else x.cpu() for x in (self.clique, self.ptr))
        return AttentionLayout(self.edge_index.cpu(), self.num_nodes, clique=clique, ptr=ptr)

    def prepare(
        self, device: torch.device | str | None = None, *, rows: int | None = None
    ) -> AttentionLayout:
        """Computes the input of the backends in advance, so that no layer waits for it; returns the layout.

        Args:
            device: The device that will use it: for CUDA with triton also computes :attr:`tiles`, and padded
                blocks only if the fused kernels refuse these pairs. (default: the device of the layout)
            rows: Rows of a tile: 16, 32 or 64. (default: the fewest for the longest block of at most 64)
        """
        if rows is not None:
            check_choice("rows", rows, ROWS)
        if self.num_nodes == 0:
            return self
        there = self.edge_index.device if device is None else torch.device(device)
        for part in (vars(self).get("marked"), vars(self).get("_explicit")):  # only if a conv reads them
            if part is not None and part is not self:
                part.prepare(there)
        if there.type == "cuda" and missing(there) is None:
            if rows is not None and ("tiles" not in vars(self) or self.tiles.block != rows):
                self.tiles = self._tiles(rows)
            if self.tiles.refusal(numbered=True) is None:
                return self
        _ = self.area, self.has_repeated_edges, self.full_block
        if self.area <= PAIRS_PER_EDGE_CPU * self.num_pairs:  # else "auto" does not use them
            _ = self.padded
        return self

    @cached_property
    def tiles(self) -> AttentionTiles:
        """The pairs as tiles for the fused kernels. They are built on the CPU, so build them before moving
        the layout to avoid a synchronization.
        """
        return self._tiles()

    @property
    def ready_tiles(self) -> AttentionTiles | None:
        """The tiles if they exist: ``torch.compile`` cannot trace their construction."""
        return self.__dict__.get("tiles")

    def _tiles(self, rows: int | None = None) -> AttentionTiles:
        host, device = self._host, self.edge_index.device
        tiles = build_tiles(host.edge_index, host.block, host.group, rows=rows)
        return _move(tiles, lambda x: x.to(device))

    def to(self, device: torch.device | str | None = None, non_blocking: bool = False) -> AttentionLayout:
        """A copy on a device, with everything computed so far."""
        if device is None or torch.device(device) == self.edge_index.device:
            return self
        return self._apply(lambda x: x.to(device, non_blocking=non_blocking))

    def cpu(self) -> AttentionLayout:
        return self.to("cpu")

    def cuda(self, device: int | str | None = None, non_blocking: bool = False) -> AttentionLayout:
        return self.to("cuda" if device is None else torch.device(device), non_blocking)

    def pin_memory(self) -> AttentionLayout:
        """A copy in pinned memory, for asynchronous copies to a GPU."""
        return self._apply(lambda x: x.pin_memory())

    def clone(self) -> AttentionLayout:
        return self._apply(lambda x: x.clone())

    def _apply(self, how: Callable[[Tensor], Tensor]) -> AttentionLayout:
        new = object.__new__(type(self))
        values = {name: x for name, x in vars(self).items() if name not in _STAYS}
        if self.clique is not None:
            values.pop("group", None)
        done = values.pop("_moved_already", {})  # an attribute with two names is moved once
        for name, value in values.items():
            if id(value) not in done:
                done[id(value)] = _move(value, how)
            vars(new)[name] = done[id(value)]
        vars(new).update(_host=self._host, _sources={})  # later steps are computed on the CPU
        new._written = new._versions
        return new

    @property
    def _versions(self) -> tuple[int | None, ...]:
        return tuple(map(_version, (self.edge_index, self.clique, self.ptr)))

    def check_edges(self, edge_index: Tensor | None = None) -> None:
        """Raises :class:`ValueError` if its tensors were modified in place, or if they are not
        :obj:`edge_index`. Writes through ``.data`` and ``.numpy()`` and into tensors of inference mode are
        not detected; on a GPU, to avoid a synchronization, other tensors are compared by size only.
        """
        if self._written != self._versions:
            raise ValueError(
                "'edge_index', 'clique' or 'ptr' was changed in place after its AttentionLayout was "
                "made: make a new one"
            )
        if edge_index is None or edge_index is self.edge_index:
            return
        same = edge_index.shape == self.edge_index.shape
        if same and edge_index.device.type == self.edge_index.device.type == "cpu":
            same = torch.equal(edge_index, self.edge_index)
        if not same:
            raise ValueError(
                f"'layout' has {self.num_edges} edges that are not the {edge_index.size(-1)} of "
                "'edge_index': give it layout.edge_index, or no layout"
            )

    def bind(self, store: Any) -> None:
        """Makes this the layout of the current tensors of a storage."""
        found = {key: store.get(key) for key in _SOURCES}
        self._sources = {key: (x, _version(x)) for key, x in found.items()}

    def is_of(self, store: Any) -> bool:
        """Whether the storage still has the tensors from which the layout was made, unmodified."""
        found = ((store.get(key), *known) for key, known in self._sources.items())
        same = all(
            x is known and _version(x) == version and not _hides_writes(x) for x, known, version in found
        )
        return same and bool(self._sources) and store.num_nodes == self.num_nodes

    def __getstate__(self) -> dict[str, Any]:
        same = all(_version(x) == version for x, version in self._sources.values())
        return vars(self) | {"_sources": self._sources if same else {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)  # tensor versions restart in another process
        self._sources = {key: (x, _version(x)) for key, (x, _) in self._sources.items()}
        self._written = self._versions

    def materialize(self) -> AttentionLayout:
        """The same pairs, all explicit; returns the same layout each time."""
        return self if self.group is None else self._explicit

    @cached_property
    def _explicit(self) -> AttentionLayout:
        new = self.pairs.size(1) - self.num_edges  # these have no relation (0) and no mark
        columns = [None if x is None else F.pad(x, (0, new)) for x in (self.edge_type, self.edge_mark)]
        return AttentionLayout(
            self.pairs, self.num_nodes, ptr=self.ptr, edge_type=columns[0], edge_mark=columns[1]
        )


class TensorContainer:
    """Base class of objects that move with a batch: their attributes are tensors, layouts, numbers, such
    objects, or tuples and lists of these.
    """

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """A copy on a device."""
        return self.apply(lambda x: x.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """A copy in pinned memory, for asynchronous copies to a GPU."""
        return self.apply(lambda x: x.pin_memory())

    def apply(self, how: Callable[[Tensor], Tensor]) -> Self:
        """A copy with ``how`` applied to each tensor in it, in a fixed order."""
        new = copy.copy(self)
        vars(new).update({name: _move(value, how) for name, value in vars(self).items()})
        return new


def _move(value: Any, how: Callable[[Tensor], Tensor]) -> Any:
    """A copy with ``how`` applied to each tensor in it."""
    if isinstance(value, AttentionLayout):
        return value._apply(how)
    if isinstance(value, TensorContainer):
        return value.apply(how)
    if isinstance(value, (tuple, list)):
        parts = [_move(part, how) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        named = {x.name: _move(getattr(value, x.name), how) for x in fields(value) if x.init}
        return replace(value, **named)
    return how(value) if isinstance(value, Tensor) else value


def _version(x: Any) -> int | None:
    return None if not isinstance(x, Tensor) or x.is_inference() else x._version


def _hides_writes(x: Any) -> bool:
    """Whether in-place writes to a tensor cannot be detected (on the CPU, where a new layout is cheap)."""
    return isinstance(x, Tensor) and x.is_inference() and x.device.type == "cpu"


#: The edges of a conv.
Adj: TypeAlias = Tensor | AttentionLayout


def dense_edges(edge_index: object) -> Tensor:
    """The edges as a plain ``[2, num_edges]`` tensor; raises :class:`ValueError` otherwise."""
    if edge_index is None:
        raise ValueError(
            "'edge_index' is None: edges built with implicit=True have cliques instead. Pass "
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
    """Raises :class:`ValueError`, with the reason, if there are cliques."""
    if clique is not None:
        raise ValueError(f"{why}: build the edges without implicit=True")


def _check(edge_index: Tensor, num_nodes: int, clique: Tensor | None, ptr: Tensor | None) -> None:
    check_shape("edge_index", edge_index, 2, "num_edges", dtype=torch.long)
    if clique is not None:
        check_shape("clique", clique, num_nodes, dtype=torch.long)
    if ptr is not None:
        check_shape("ptr", ptr, "num_examples + 1", dtype=torch.long)
    # On a GPU checks of values would synchronize, and break a graph; indexing fails there anyway.
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
    """The last node of each node's clique; a node without a clique stands for itself."""
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


class LaidOutStorage(NodeTableStorage):
    """A PyG storage that moves its layout along with its tensors."""

    def apply(self, func: Callable, *args: str) -> LaidOutStorage:
        layout = self.get(LAYOUT_KEY)
        if args or not isinstance(layout, AttentionLayout) or not layout.is_of(self):
            return super().apply(func, *args)
        before = {key: self.get(key) for key in _SOURCES}
        del self[LAYOUT_KEY]
        super().apply(func)
        # Tensors that both have are moved once.
        layout._moved_already = {id(x): self.get(key) for key, x in before.items() if x is not None}
        try:
            self[LAYOUT_KEY] = moved = func(layout)
        except Exception:  # func changes the tensors: drop the layout
            self[LAYOUT_KEY] = moved = layout
        del layout._moved_already
        if moved is not layout:
            moved.bind(self)
        return self


def attach_layout(data: DataT, device: torch.device | str | None = None, *, rows: int | None = None) -> DataT:
    """A copy of the data with its :class:`~graphdep.nn.attention.AttentionLayout` as ``edge_layout``, which
    saves models from making it.

    If the batch is made on the CPU, no step waits for a device; ``to``, ``cuda`` and ``pin_memory`` move the
    layout with the batch, and so do the workers of a loader. :meth:`AttentionLayout.of` uses it as long as
    the data has the same tensors: after a change of an edge, or another ``edge_index``, it makes a new one.
    ``batch[i]`` and ``to_data_list()`` give examples without it.

    Args:
        data: One example or a batch, with explicit or implicit edges.
        device: The target device, which decides what is computed now: for CUDA, the tiles of the fused
            kernels (:meth:`AttentionLayout.prepare`). (default: the device of the data)
        rows: Rows of a tile: 16, 32 or 64; a fixed number gives all batches tiles of one shape. (default: by
            the longest block)

    Raises:
        ValueError: As :meth:`AttentionLayout.of`, or if tiles cannot have this many :obj:`rows`.

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
    object.__setattr__(store, "__class__", LaidOutStorage)  # the storage would store the attribute
    return data


def implicit_edges(edges: str | BaseTransform) -> BaseTransform:
    """A preset in its implicit form, which takes the least memory, or a transform unchanged."""
    return resolve(edges) if isinstance(edges, BaseTransform) else resolve(edges, implicit=True)


def refuse_unread(data: Data, reads: Set[str], edges: object) -> None:
    """Raises :class:`ValueError` if edges have types or marks that no layer reads."""
    for key, kind in (("edge_type", TYPES), ("edge_mark", MARKS)):
        if key in data and kind not in reads:
            raise ValueError(
                f"'edges' cannot be {edges!r}: they carry {key!r}, which nothing here reads (an encoder "
                "reads types once it has add_terms()); use the constructor of their pairs alone, and for "
                "a layer of your own x = encoder(batch), then edges(batch)"
            )
