"""Values that models derive from a batch, computed on the CPU before the batch moves to a device."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Set
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.nn.attention.layout import AttentionLayout, attach_layout, refuse_unread
from graphdep.transforms.fingerprint import identity

DataT = TypeVar("DataT", bound=Data)
P = ParamSpec("P")
T = TypeVar("T")

#: Key of the preparation state: :obj:`False` while :func:`prepare` runs, :obj:`True` afterwards. It is also
#: the prefix of all prepared columns.
PREPARED = "prepared"


def prepare(
    model: nn.Module,
    batch: DataT,
    device: torch.device | str | None = None,
    *,
    rows: int | None = None,
) -> DataT:
    """A copy of the batch with everything that the model would otherwise read from the device, such as the
    ROOT nodes and the attention blocks, so that a training step never synchronizes.

    Call it on the CPU, after the transform that builds the edges; ``to`` and ``pin_memory`` move all of it.
    It checks the values of the batch, so the model does not check them again. The result is for this model
    only; after a change of the batch, prepare it again. Models also run without it, but then synchronize.

    A module whose ``forward`` reads values has a method ``prepare_batch(data, device)``, which calls the
    functions that read them (marked with :func:`kept`) and checks the values.

    Args:
        model: Any module; its own method ``prepare_batch`` and those of all modules in it are called.
        batch: One example or a batch, with edges if the model needs them.
        device: The target device. (default: the device of the batch)
        rows: Rows of every tile, as in :func:`~graphdep.nn.attention.attach_layout`. (default: by the batch)

    Raises:
        ValueError: If the model does not accept the values of the batch.

    Example:
        >>> from torch_geometric.data import Batch
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn import prepare
        >>> from graphdep.nn.conv import DRAConv
        >>> from graphdep.nn.models import ClassificationHead, GraphTransformer, SentenceModel
        >>> from graphdep.transforms import resolve
        >>> encoder = GraphTransformer(7, lambda layer: DRAConv(8, 4, heads=2), hidden_channels=8)
        >>> model = SentenceModel(encoder, ClassificationHead(8, 2))
        >>> data = to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"]))
        >>> batch = prepare(model, resolve("dra")(Batch.from_data_list([data, data])))
        >>> batch.prepared_root_nodes
        tensor([0, 3])
        >>> model(batch).shape
        torch.Size([2, 2])
    """
    data = copy.copy(batch)
    for key in [key for key in data.keys() if key.startswith(PREPARED)]:  # noqa: SIM118
        del data[key]
    given = next((value.device for value in data._store.values() if isinstance(value, Tensor)), "cpu")
    where = torch.device(given if device is None else device)
    if data.get("edge_index") is not None or "clique" in data:
        data = attach_layout(data, where, rows=rows)
    data[PREPARED] = False
    _prepare(model, data, where)
    for value in data._store.values():
        if isinstance(value, AttentionLayout):
            value.prepare(where, rows=rows)
    data[PREPARED] = True
    return data


def _prepare(module: nn.Module, data: Data, device: torch.device) -> None:
    own = getattr(module, "prepare_batch", None)
    # A module that reads another batch, such as a frozen encoder, returns ALONE to skip its submodules.
    if own is None or own(data, device) is not ALONE:
        for child in module.children():
            _prepare(child, data, device)


#: Return value of a module's ``prepare_batch`` if its submodules do not read the batch.
ALONE = object()


def is_prepared(data: Data) -> bool:
    """Whether :func:`prepare` has checked the values of the data."""
    return data.get(PREPARED) is True


def kept(function: Callable[Concatenate[Data, P], T]) -> Callable[Concatenate[Data, P], T]:
    """Marks a function that reads values of data, and otherwise only ``options``: :func:`prepare` stores its
    result in columns ``prepared_<name>``, from which later calls return it.

    The result is a tensor, a number, a layout, a :class:`~graphdep.nn.attention.layout.TensorContainer`, or a
    tuple of these with one column per item.
    """
    name = function.__name__.lstrip("_")

    @functools.wraps(function)
    def run(data: Data, *options: P.args, **more: P.kwargs) -> T:
        key = "_".join([name, *map(str, options)])
        found = known(data, key)
        if found is None:
            found = function(data, *options, **more)
            if data.get(PREPARED) is False:
                keep(data, key, found)
        return found

    return run  # type: ignore[return-value]


def keep(data: Data, name: str, value: Any) -> None:
    """Adds a value to data in preparation, as one column, or as several for a tuple."""
    if not isinstance(value, tuple):
        data[f"{PREPARED}_{name}"] = value
        return
    for number, part in enumerate(value):
        data[f"{PREPARED}_{name}_{number}"] = part


def known(data: Data, name: str) -> Any:
    """The value that :func:`keep` added, or :obj:`None`."""
    if PREPARED not in data:
        return None
    one = data.get(f"{PREPARED}_{name}")
    if one is not None:
        return one
    parts: list[Any] = []
    while (part := data.get(f"{PREPARED}_{name}_{len(parts)}")) is not None:
        parts.append(part)
    return tuple(parts) or None


def no_states(data: Data) -> Tensor:
    """Node states without channels, ``[num_nodes, 0]``, for checking a readout."""
    return torch.zeros(data.node_type.numel(), 0, device=data.node_type.device)


@torch.compiler.disable  # the number of edges is data
def own_layout(data: Data, edges: BaseTransform, reads: Set[str]) -> AttentionLayout:
    """The layout of the edges built from the nodes of the data, whatever edges the data has."""
    name = f"layout_{_name_of(edges)}" if PREPARED in data else ""
    layout = known(data, name)
    if layout is None:
        layout = _own_layout(data, edges, reads)
        if data.get(PREPARED) is False:
            keep(data, name, layout)
    return layout


def _own_layout(data: Data, edges: BaseTransform, reads: Set[str]) -> AttentionLayout:
    bare = copy.copy(data)
    for key in data.keys():  # noqa: SIM118
        if key.startswith(("edge_", PREPARED)) or key == "clique":
            del bare[key]  # they belong to other layers; tree transforms reject them
    own = edges(bare)
    if own.num_nodes != data.num_nodes:
        raise ValueError(
            f"'edges' must keep the nodes of the data (it makes {own.num_nodes} of {data.num_nodes})"
        )
    refuse_unread(own, reads, edges)
    return AttentionLayout.of(own)


@functools.lru_cache(maxsize=64)
def _name_of(edges: BaseTransform) -> str:
    """Eight digits of a digest of the transform, the same in every process."""
    return identity(edges)[-9:-1]
