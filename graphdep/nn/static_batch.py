"""Batches in one buffer, and memory on a device for them that a CUDA graph may read."""

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

#: Bytes that a tensor in the buffer starts at a multiple of.
_ALIGNED = 16
#: Sizes of batches that are remembered.
_KEPT = 1024
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


@dataclass(frozen=True, eq=False)
class FlatBatch:
    """A batch that is filled and prepared, in one buffer: a single copy takes it to a device. A
    :class:`Flattener` makes it, also in a loader's workers.

    Args:
        buffer: The bytes of all tensors.
        size: Equal for batches that the same memory holds.
        skeleton: Where the tensors lie, and the batch without their values.
        num_graphs: Examples, without those that fill the batch.
        rows: The example of each row of the outputs; :obj:`None` for a row an example.
    """

    buffer: Tensor = field(repr=False)
    size: str
    skeleton: bytes = field(repr=False)
    num_graphs: int
    rows: list[int] | None = field(default=None, repr=False)

    def pin_memory(self) -> Self:
        """The same in memory from which a GPU copies while the CPU goes on."""
        return replace(self, buffer=self.buffer.pin_memory())

    def on(self, device: torch.device | str) -> Batch:
        """The batch on a device, the examples that fill it among the others."""
        return StaticBatch(self, torch.device(device)).batch


class Flattener:
    """Fills a batch, prepares it for a model and writes it into one buffer, on the CPU: all that a step needs
    before its copy to the device. Call it in a loader's workers, after the edges are built.

    Args:
        model: The model, whose modules :func:`~graphdep.nn.prepare` batches; no weight is read.
        device: Where the model is.
        filler: Brings batches to a few sizes. (default: :obj:`None`)
        rows: Gives the example of each row of the model's outputs for a batch. (default: a row an example)
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
        """Whether :meth:`stop` was called, in this process or another."""
        return bool(self._stopped)

    def stop(self) -> None:
        """Tells the workers of a loader, too, that nobody reads flat batches any more."""
        self._stopped.fill_(True)

    @on_cpu
    def __call__(self, batch: Batch) -> FlatBatch:
        """The batch with edges, on the CPU, in one buffer.

        Raises:
            UnservedPairsError: If the fused kernels cannot serve its pairs.
            NotStaticError: If no batch can be written into one buffer for this model.
        """
        dense = any(getattr(module, "backend", None) == "dense" for module in self.model.modules())
        if dense and self.tiles:
            raise NotStaticError("backend='dense' reads which pairs there are")
        full = batch if self.filler is None else self.filler(batch)
        full = prepare(self.model, full, self.device, rows=TILE_ROWS if self.tiles else None)
        tensors = padded_tensors(full, self.tiles, self._ragged)
        size = size_of(full, tensors)
        places, end = _places(tensors)
        if size not in self._skeletons:
            if len(self._skeletons) == _KEPT:
                self._skeletons.clear()
            digest = hashlib.blake2b(repr(size).encode(), digest_size=16).hexdigest()
            self._skeletons[size] = digest, _pickled((places, full))
        buffer = torch.zeros(end, dtype=torch.uint8)
        for name, place in places.items():
            place.of(buffer).copy_(tensors[name])
        rows = None if self.rows is None else self.rows(batch).tolist()
        return FlatBatch(buffer, *self._skeletons[size], batch.num_graphs, rows)


def _places(tensors: dict[str, Tensor]) -> tuple[dict[str, Place], int]:
    """Where each tensor lies in a buffer, and how long that is."""
    places, end = {}, 0
    for name, tensor in tensors.items():
        places[name] = Place(end, tuple(tensor.shape), tensor.dtype)
        end += -(-places[name].bytes // _ALIGNED) * _ALIGNED
    return places, end


class _WithoutValues(pickle.Pickler):
    """Pickles tensors by their shapes alone."""

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
    """Memory on a device for batches of one size, and the batch that lies there.

    All tensors lie in one buffer, so that :meth:`load` is a single copy. :attr:`batch` has views of it, whose
    addresses never change; :meth:`renew` it before a function reads it.

    Args:
        flat: The first batch that is loaded.
        device: Where the memory is.
    """

    def __init__(self, flat: FlatBatch, device: torch.device) -> None:
        places, batch = pickle.loads(flat.skeleton)  # which this process or its workers made
        self.buffer = torch.zeros(flat.buffer.numel(), dtype=torch.uint8, device=device)
        self.views = {name: place.of(self.buffer) for name, place in places.items()}
        self.load(flat)
        self.batch = self._batch_of_views(batch)
        self.renew()

    def load(self, flat: FlatBatch) -> None:
        """Writes another batch of the same size into the memory."""
        # From pinned memory, which is kept until it has been copied, nothing waits.
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
        """Makes the layouts anew, of what lies in the buffer now: they keep what is worked out of them."""
        for key, layout in self._layouts.items():
            made = layout()
            made._written = made._versions
            self.batch[key] = made
        for key in self._layouts:
            self.batch[key].bind(self.batch._store)
