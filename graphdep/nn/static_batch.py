"""A batch whose tensors stay where they are, so that a CUDA graph may read them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch

from graphdep.data.filler import capacity
from graphdep.data.stored_batches import is_index
from graphdep.nn.attention.dense import PackedLayout
from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.attention.tiles import TENSORS

#: Bytes that a tensor in the buffer starts at a multiple of.
_ALIGNED = 16
# Which nodes edges have added.
_OF_NODES = ("arc_node_index", "phrase_node_index")
_OF_LAYOUT = ("edge_index", "clique", "ptr", "edge_type", "edge_mark")


class NotStaticError(Exception):
    """What a model reads of batches cannot be held in static memory; the message says why."""


class UnservedPairsError(NotStaticError):
    """The fused kernels cannot serve the pairs of this batch."""


@dataclass(frozen=True)
class Place:
    """Where a tensor lies in the buffer, and what it is."""

    start: int
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def bytes(self) -> int:
        return self.dtype.itemsize * torch.Size(self.shape).numel()

    def of(self, buffer: Tensor) -> Tensor:
        """The tensor that lies there."""
        return buffer[self.start : self.start + self.bytes].view(self.dtype).view(self.shape)


def padded_tensors(batch: Batch, tiles: bool, ragged: Set[str] = frozenset()) -> dict[str, Tensor]:
    """The tensors of a prepared batch by their names; edges, and with :obj:`tiles` the lists of the fused
    kernels, are brought to sizes that batches share.

    A further edge leads from the last node, which is that of a filler example, to itself; no tile has it. A
    further node among those that edges have added is that node, too. Columns of another length in each
    example, such as arcs, are left out, except edges and those in :obj:`ragged`.

    Raises:
        UnservedPairsError: If the fused kernels cannot serve its pairs.
        NotStaticError: If the model reads something whose size is another one in each batch, such as the
            levels of trees.
    """
    found: dict[str, Tensor] = {}
    for key in _kept_columns(batch, ragged):
        value = batch[key]
        if isinstance(value, AttentionLayout):
            found |= {f"{key}.{name}": x for name, x in _layout_tensors(batch, value, tiles)}
        elif isinstance(value, Tensor):
            more = key.startswith("edge_") or key in _OF_NODES
            found[key] = _up_to_capacity(value, key, batch.num_nodes) if more else value
        elif isinstance(value, PackedLayout):
            found |= {f"{key}.{number}": x for number, x in enumerate(_tensors_of(value))}
        elif not isinstance(value, int | float | str | None):
            raise NotStaticError(f"the model reads {type(value).__name__}, of another size in each batch")
    return found


def size_of(batch: Batch, tensors: dict[str, Tensor]) -> tuple[Any, ...]:
    """What batches in the same static memory have in common: the sizes of all tensors, and all numbers."""
    numbers = tuple((key, _numbers(batch[key])) for key in sorted(batch.keys()))
    return numbers, tuple((name, tuple(x.shape), x.dtype) for name, x in tensors.items())


def _numbers(value: Any) -> Any:
    """The plain values of a column, those inside of an object too."""
    if value is None or isinstance(value, int | float | str):
        return value
    if isinstance(value, list | tuple):
        return tuple(map(_numbers, value))
    if isinstance(value, Tensor | AttentionLayout):
        return None
    return tuple((name, _numbers(part)) for name, part in vars(value).items())


def _next(views: list[Tensor], _: Tensor) -> Tensor:
    return views.pop()


def _tensors_of(value: PackedLayout) -> list[Tensor]:
    """The tensors of a layout, in the order in which they move."""
    found: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        found.append(x)
        return x

    value.moved(keep)
    return found


def _kept_columns(batch: Batch, ragged: Set[str]) -> list[str]:
    nodes = batch.ptr.diff()

    def kept(key: str) -> bool:
        known = batch._slice_dict.get(key)
        if known is None or key.startswith("edge_") or key in (*_OF_NODES, *ragged):
            return True
        sizes = known.diff()
        return bool(torch.equal(sizes, nodes) or (sizes == sizes[0]).all())

    left = {key for key in batch.keys() if not kept(key)}  # noqa: SIM118
    left |= {f"{key}_{ending}" for key in left for ending in ("batch", "ptr")}
    return sorted(key for key in batch.keys() if key not in left)  # noqa: SIM118


def _up_to_capacity(value: Tensor, key: str, num_nodes: int) -> Tensor:
    index = is_index(key)
    size = value.size(-1 if index else 0)
    if size == 0:
        return value
    fill = num_nodes - 1 if index else 0
    if not index and value.dim() > 1:
        return F.pad(value, (0, 0) * (value.dim() - 1) + (0, capacity(size) - size))
    return F.pad(value, (0, capacity(size) - size), value=fill)


def _layout_tensors(batch: Batch, layout: AttentionLayout, tiles: bool) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a layout that the batch has not, and its tiles."""
    shared = _names_of_shared(batch, layout)
    for name in _OF_LAYOUT:
        value = getattr(layout, name)
        if value is not None and name not in shared:
            more = name.startswith("edge_")
            yield name, _up_to_capacity(value, name, layout.num_nodes) if more else value
    if not tiles:
        return
    made = layout.tiles
    if (refusal := made.refusal(numbered=True)) is not None:
        raise UnservedPairsError(f"the fused attention {refusal}")
    for name in TENSORS:
        value = getattr(made, name)
        if name == "edge":  # whose place is its number, or which is written out
            value = value if value.numel() else torch.arange(layout.num_edges, dtype=value.dtype)
            value = F.pad(value, (0, capacity(layout.num_edges) - value.numel()))
        elif name != "rowptr" and value.size(0):
            # A tile of no rows is an empty program.
            more = _most_tiles(name, value.size(0), made.block, layout.num_nodes) - value.size(0)
            value = F.pad(value, (0, 0) * (value.dim() - 1) + (0, more))
        yield f"tiles.{name}", value


def _most_tiles(name: str, number: int, rows: int, num_nodes: int) -> int:
    """How many tiles there is memory for; for those of short blocks, as many in all batches of equally many
    nodes.
    """
    if name.startswith("flash"):
        return 1 << max(6, (number - 1).bit_length())
    # Two neighbours have more than a tile's rows together, but where a long block stands between them.
    most = 2 * -(-num_nodes // rows) + 1
    return most if number <= most else 2 * most


def _names_of_shared(batch: Batch, layout: AttentionLayout) -> dict[str, str]:
    """By the name of a layout's tensor, the column of the batch that it is."""
    columns = {id(batch[key]): key for key in batch.keys() if isinstance(batch[key], Tensor)}  # noqa: SIM118
    return {
        name: columns[id(getattr(layout, name))]
        for name in _OF_LAYOUT
        if id(getattr(layout, name)) in columns
    }


class StaticBatch:
    """Memory for batches of one size, and the batch that lies there.

    All tensors lie in one buffer, so that :meth:`load` is a single copy. :attr:`batch` has views of it, whose
    addresses never change; :meth:`renew` it before a function reads it.

    Args:
        batch: A prepared batch on the CPU (:func:`graphdep.nn.prepare`), the first that is loaded.
        tensors: What :func:`padded_tensors` gives for it.
        device: Where the buffer lies.
        tiles: Whether layouts get the tiles of the fused kernels, or their pairs alone.
    """

    def __init__(
        self, batch: Batch, tensors: dict[str, Tensor], device: torch.device, tiles: bool = True
    ) -> None:
        self.places, end = {}, 0
        for name, tensor in tensors.items():
            place = Place(end, tuple(tensor.shape), tensor.dtype)
            self.places[name] = place
            end += -(-place.bytes // _ALIGNED) * _ALIGNED
        cuda = device.type == "cuda"
        self.buffer = torch.zeros(end, dtype=torch.uint8, device=device)
        # While one is copied from, the next batch is written to the other.
        self._hosts = [torch.zeros(end, dtype=torch.uint8, pin_memory=cuda) for _ in range(1 + cuda)]
        self._copied: list[Any] = [None] * len(self._hosts)
        self._turn = 0
        self.views = {name: place.of(self.buffer) for name, place in self.places.items()}
        self._tiles = tiles
        self.load(tensors)
        self.batch = self._batch_of_views(batch)

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Writes another batch of the same sizes into the buffer."""
        turn, self._turn = self._turn, (self._turn + 1) % len(self._hosts)
        if self._copied[turn] is not None:
            self._copied[turn].synchronize()
        host = self._hosts[turn]
        for name, place in self.places.items():
            place.of(host).copy_(tensors[name])
        self.buffer.copy_(host, non_blocking=True)
        if self.buffer.is_cuda:
            self._copied[turn] = torch.cuda.Event()
            self._copied[turn].record()

    def _batch_of_views(self, batch: Batch) -> Batch:
        new = copy.copy(batch)
        self._layouts: dict[str, Callable[[], AttentionLayout]] = {}
        for key in batch.keys():  # noqa: SIM118
            value = batch[key]
            if isinstance(value, AttentionLayout):
                self._layouts[key] = self._layout_of_views(key, batch, value)
            elif key in self.views:
                new[key] = self.views[key]
            elif isinstance(value, PackedLayout):
                views = [self.views[f"{key}.{number}"] for number in range(len(_tensors_of(value)))][::-1]
                new[key] = value.moved(partial(_next, views))
            elif isinstance(value, Tensor):
                del new[key]
        return new

    def _layout_of_views(
        self, key: str, batch: Batch, layout: AttentionLayout
    ) -> Callable[[], AttentionLayout]:
        shared = _names_of_shared(batch, layout)
        names = [name for name in _OF_LAYOUT if getattr(layout, name) is not None]
        parts = {name: self.views[shared.get(name, f"{key}.{name}")] for name in names}
        edge_index, nodes = parts.pop("edge_index"), layout.num_nodes

        def pairs() -> AttentionLayout:
            return AttentionLayout(edge_index, nodes, **parts)

        if not self._tiles:
            return pairs
        made = layout.tiles
        views: dict[str, Any] = {name: self.views[f"{key}.tiles.{name}"] for name in TENSORS}
        tiles = replace(made, **views)

        def tiled() -> AttentionLayout:
            new = pairs()
            vars(new).update(tiles=tiles)
            return new

        return tiled

    def renew(self) -> None:
        """Makes the layouts anew, of what lies in the buffer now: they keep what is worked out of them."""
        for key, layout in self._layouts.items():
            made = layout()
            made._written = made._versions
            self.batch[key] = made
        for key in self._layouts:
            self.batch[key].bind(self.batch._store)
