"""A layout that goes with the batch whose edges it is of."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch_geometric.data import Data
from torch_geometric.data.storage import GlobalStorage

from graphdep.nn.attention.layout import LAYOUT_KEY, AttentionLayout

DataT = TypeVar("DataT", bound=Data)


class LaidOutStorage(GlobalStorage):
    """PyG's storage, whose layout stays that of the tensors when both are moved."""

    def apply(self, func: Callable, *args: str) -> LaidOutStorage:
        layout = self.get(LAYOUT_KEY)
        current = isinstance(layout, AttentionLayout) and layout.is_of(self)
        super().apply(func, *args)
        moved = self.get(LAYOUT_KEY)
        # What is neither a move nor a copy fails on a layout, and leaves it what it was: of other tensors.
        if current and moved is not layout:
            moved.bind(self)
        return self


def attach_layout(data: DataT, device: torch.device | str | None = None) -> DataT:
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

    Raises:
        ValueError: As of :meth:`AttentionLayout.of`.

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
    layout.prepare(device)
    store: Any = data._store
    layout.bind(store)
    data[LAYOUT_KEY] = layout
    object.__setattr__(store, "__class__", LaidOutStorage)  # the storage takes attributes for its own
    return data
