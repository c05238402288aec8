"""Batches in one buffer, and their static memory on a device for CUDA graphs."""

from __future__ import annotations

import copy
import hashlib
import io
import mmap
import pickle
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch

from graphdep.data.filler import Filler, capacity
from graphdep.data.stored_batches import is_index
from graphdep.nn.attention.dense import PackedLayout
from graphdep.nn.attention.dispatch import TILE_ROWS, on_cpu
from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.attention.tiles import TENSORS
from graphdep.nn.prepared import prepare

#: Alignment of tensors in the buffer, in bytes.
_ALIGNED = 16
#: Largest number of remembered batch sizes.
_MAX_SIZES = 1024
# Keys of the nodes that edges added.
_ADDED_NODES = ("arc_node_index", "phrase_node_index")
_OF_LAYOUT = ("edge_index", "clique", "ptr", "edge_type", "edge_mark")


class NotStaticError(Exception):
    """The model's inputs from a batch do not fit into static memory; the message says why."""


class UnservedPairsError(NotStaticError):
    """The fused kernels cannot serve the pairs of this batch."""


@dataclass(frozen=True)
class Place:
    """Offset, shape and type of a tensor in the buffer."""

    start: int
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def bytes(self) -> int:
        return self.dtype.itemsize * torch.Size(self.shape).numel()

    def of(self, buffer: Tensor) -> Tensor:
        """The tensor at this place."""
        return buffer[self.start : self.start + self.bytes].view(self.dtype).view(self.shape)


def padded_tensors(batch: Batch, tiles: bool, ragged: Set[str] = frozenset()) -> dict[str, Tensor]:
    """The tensors of a prepared batch by name; edges, and with :obj:`tiles` the lists of the fused kernels,
    are padded to shared sizes.

    A padding edge is a self loop of the last node, which belongs to a filler example, and is in no tile.
    Padding among the nodes that edges added is that node, too. Columns whose length differs between examples,
    such as arcs, are left out, except edges and the columns in :obj:`ragged`.

    Raises:
        UnservedPairsError: If the fused kernels cannot serve the pairs.
        NotStaticError: If the size of a value that the model reads differs between batches, such as the
            levels of trees.
    """
    found: dict[str, Tensor] = {}
    for key in _kept_columns(batch, ragged):
        value = batch[key]
        if isinstance(value, AttentionLayout):
            found |= {f"{key}.{name}": x for name, x in _layout_tensors(batch, value, tiles)}
        elif isinstance(value, Tensor):
            more = key.startswith("edge_") or key in _ADDED_NODES
            found[key] = _up_to_capacity(value, key, batch.num_nodes) if more else value
        elif isinstance(value, PackedLayout):
            found |= {f"{key}.{number}": x for number, x in enumerate(_tensors_of(value))}
        elif not isinstance(value, int | float | str | None):
            raise NotStaticError(f"the model reads {type(value).__name__}, of varying size")
    return found


def size_of(batch: Batch, tensors: dict[str, Tensor]) -> tuple[Any, ...]:
    """Key of a static memory: the sizes of all tensors, and all numbers."""
    numbers = tuple((key, _numbers(batch[key])) for key in sorted(batch.keys()))
    return numbers, tuple((name, tuple(x.shape), x.dtype) for name, x in tensors.items())


def _numbers(value: Any) -> Any:
    """The plain values of a column, including those inside an object."""
    if value is None or isinstance(value, int | float | str):
        return value
    if isinstance(value, list | tuple):
        return tuple(map(_numbers, value))
    if isinstance(value, Tensor | AttentionLayout):
        return None
    return tuple((name, _numbers(part)) for name, part in vars(value).items())


def _next_view(views: list[Tensor], _: Tensor) -> Tensor:
    return views.pop()


def _tensors_of(value: PackedLayout) -> list[Tensor]:
    """The tensors of a layout, in the order in which they move."""
    found: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        found.append(x)
        return x

    value.apply(keep)
    return found


def _kept_columns(batch: Batch, ragged: Set[str]) -> list[str]:
    nodes = batch.ptr.diff()

    def kept(key: str) -> bool:
        known = batch._slice_dict.get(key)
        if known is None or key.startswith("edge_") or key in (*_ADDED_NODES, *ragged):
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
    """The tensors of a layout that are not columns of the batch, and its tiles."""
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
        if name == "edge":  # either empty (already sorted) or complete
            value = value if value.numel() else torch.arange(layout.num_edges, dtype=value.dtype)
            value = F.pad(value, (0, capacity(layout.num_edges) - value.numel()))
        elif name != "rowptr" and value.size(0):
            # An empty tile is an empty program.
            more = _most_tiles(name, value.size(0), made.block, layout.num_nodes) - value.size(0)
            value = F.pad(value, (0, 0) * (value.dim() - 1) + (0, more))
        yield f"tiles.{name}", value


def _most_tiles(name: str, number: int, rows: int, num_nodes: int) -> int:
    """The number of tiles in static memory; for tiles of short blocks, it depends only on the number of
    nodes.
    """
    if name.startswith("flash"):
        return 1 << max(6, (number - 1).bit_length())
    # Two neighbouring tiles have more rows than one tile can hold, unless a long block separates them.
    most = 2 * -(-num_nodes // rows) + 1
    return most if number <= most else 2 * most


def _names_of_shared(batch: Batch, layout: AttentionLayout) -> dict[str, str]:
    """The names of a layout's tensors that are columns of the batch, with these columns."""
    columns = {id(batch[key]): key for key in batch.keys() if isinstance(batch[key], Tensor)}  # noqa: SIM118
    return {
        name: columns[id(getattr(layout, name))]
        for name in _OF_LAYOUT
        if id(getattr(layout, name)) in columns
    }


@dataclass(frozen=True, eq=False)
class FlatBatch:
    """A filled and prepared batch in one buffer, which needs a single copy to a device. A :class:`Flattener`
    makes it, also in the workers of a loader.

    Args:
        buffer: The bytes of all tensors.
        size: Equal for batches that fit into the same static memory.
        skeleton: The places of the tensors, and the batch without their values.
        num_graphs: Number of examples, without fillers.
        rows: The example of each output row; :obj:`None` for one row per example.
    """

    buffer: Tensor = field(repr=False)
    size: str
    skeleton: bytes = field(repr=False)
    num_graphs: int
    rows: list[int] | None = field(default=None, repr=False)

    def pin_memory(self) -> Self:
        """A copy in pinned memory, for asynchronous copies to a GPU."""
        return replace(self, buffer=self.buffer.pin_memory())

    def on(self, device: torch.device | str) -> Batch:
        """The batch on a device, including fillers."""
        return StaticBatch(self, torch.device(device)).batch


class Flattener:
    """Fills a batch, prepares it for a model and writes it into one buffer, on the CPU: everything that a
    step needs before the copy to the device. Call it in the workers of a loader, after the edges are built.

    Args:
        model: The model for whose modules :func:`~graphdep.nn.prepare` prepares batches; no weight is read.
        device: The device of the model.
        filler: Pads batches to a few sizes. (default: :obj:`None`)
        rows: Returns the example of each output row of the model for a batch. (default: one row per example)
    """

    def __init__(
        self,
        model: nn.Module,
        device: torch.device,
        *,
        filler: Filler | None = None,
        rows: Callable[[Batch], Tensor] | None = None,
    ) -> None:
        self.model, self.device, self.filler, self.rows = model, device, filler, rows
        self.tiles = device.type == "cuda"
        self._ragged = {"y"} if filler is None or filler.tokens is None else {"y", filler.tokens}
        self._skeletons: dict[Any, tuple[str, bytes]] = {}
        self._stopped = torch.frombuffer(mmap.mmap(-1, 1), dtype=torch.bool)

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called, in any process."""
        return bool(self._stopped)

    def stop(self) -> None:
        """Tells all processes, including the workers of a loader, that flat batches are no longer needed."""
        self._stopped.fill_(True)

    @on_cpu
    def __call__(self, batch: Batch) -> FlatBatch:
        """The batch with edges, on the CPU, in one buffer.

        Raises:
            UnservedPairsError: If the fused kernels cannot serve its pairs.
            NotStaticError: If batches for this model never fit into one buffer.
        """
        dense = any(getattr(module, "backend", None) == "dense" for module in self.model.modules())
        if dense and self.tiles:
            raise NotStaticError("backend='dense' depends on the values of the pairs")
        full = batch if self.filler is None else self.filler(batch)
        full = prepare(self.model, full, self.device, rows=TILE_ROWS if self.tiles else None)
        tensors = padded_tensors(full, self.tiles, self._ragged)
        size = size_of(full, tensors)
        places, end = _places(tensors)
        if size not in self._skeletons:
            if len(self._skeletons) == _MAX_SIZES:
                self._skeletons.clear()
            digest = hashlib.blake2b(repr(size).encode(), digest_size=16).hexdigest()
            self._skeletons[size] = digest, _pickled((places, full))
        buffer = torch.zeros(end, dtype=torch.uint8)
        for name, place in places.items():
            place.of(buffer).copy_(tensors[name])
        rows = None if self.rows is None else self.rows(batch).tolist()
        return FlatBatch(buffer, *self._skeletons[size], batch.num_graphs, rows)


def _places(tensors: dict[str, Tensor]) -> tuple[dict[str, Place], int]:
    """The place of each tensor in a buffer, and the length of the buffer."""
    places, end = {}, 0
    for name, tensor in tensors.items():
        places[name] = Place(end, tuple(tensor.shape), tensor.dtype)
        end += -(-places[name].bytes // _ALIGNED) * _ALIGNED
    return places, end


class _WithoutValues(pickle.Pickler):
    """Pickles only the shapes of tensors."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return _empty, (tuple(value.shape), value.dtype)
        return NotImplemented


def _pickled(value: Any) -> bytes:
    file = io.BytesIO()
    try:
        _WithoutValues(file).dump(value)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise NotStaticError(f"a column of the batch cannot be pickled: {error}") from None
    return file.getvalue()


def _empty(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


class StaticBatch:
    """Static memory on a device for batches of one size, and the batch loaded into it.

    All tensors are in one buffer, so :meth:`load` is a single copy. :attr:`batch` has views of the buffer,
    whose addresses never change; call :meth:`renew` before a function reads it.

    Args:
        flat: The first batch to load.
        device: The device of the memory.
    """

    def __init__(self, flat: FlatBatch, device: torch.device) -> None:
        places, batch = pickle.loads(flat.skeleton)  # made by this process or its workers
        self.buffer = torch.zeros(flat.buffer.numel(), dtype=torch.uint8, device=device)
        self.views = {name: place.of(self.buffer) for name, place in places.items()}
        self.load(flat)
        self.batch = self._batch_of_views(batch)
        self.renew()

    def load(self, flat: FlatBatch) -> None:
        """Loads another batch of the same size."""
        # A copy from pinned memory, which is kept until the copy is done, does not synchronize.
        given = flat.pin_memory() if self.buffer.is_cuda else flat
        self.buffer.copy_(given.buffer, non_blocking=True)

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
                new[key] = value.apply(partial(_next_view, views))
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

        if f"{key}.tiles.{TENSORS[0]}" not in self.views:
            return pairs
        views: dict[str, Any] = {name: self.views[f"{key}.tiles.{name}"] for name in TENSORS}
        tiles = replace(layout.tiles, **views)

        def tiled() -> AttentionLayout:
            new = pairs()
            vars(new).update(tiles=tiles)
            return new

        return tiled

    def renew(self) -> None:
        """Makes new layouts of the current content of the buffer, since layouts cache derived values."""
        for key, layout in self._layouts.items():
            made = layout()
            made._written = made._versions
            self.batch[key] = made
        for key in self._layouts:
            self.batch[key].bind(self.batch._store)
