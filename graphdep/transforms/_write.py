"""The one place where transforms write: it keeps the bookkeeping of a ``Batch`` right."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import cumsum

from graphdep.transforms.nodes import Nodes


def write(
    data: Data, keys: Mapping[str, Tensor], ends: Tensor, ptr: Tensor, remove: Iterable[str] = ()
) -> Data:
    """Returns a copy of ``data`` with ``keys`` set and ``remove`` gone; ``data`` stays as it is.

    PyG gives neither a key set after batching back from ``to_data_list()``, nor does a shallow copy own
    the dictionaries that would make it so.

    Args:
        data: One example or a batch.
        keys: New values, all cut into examples alike.
        ends: Where the values of each example start and end: ``[examples + 1]``.
        ptr: Where the nodes of each example start and end: ``[examples + 1]``.
        remove: Keys that go.
    """
    out = copy.copy(data)
    followed = {key for key in keys if f"{key}_batch" in data}
    gone = {name for key in remove for name in (key, f"{key}_batch", f"{key}_ptr") if name in data}
    for key in gone:
        del out[key]
    for key, value in keys.items():
        out[key] = value
    for key in followed:
        out[f"{key}_batch"] = torch.arange(ends.numel() - 1, device=ends.device).repeat_interleave(
            ends.diff()
        )
        out[f"{key}_ptr"] = ends
    if hasattr(data, "_slice_dict"):
        ends, ptr = ends.cpu(), ptr.cpu()
        slices = {key: value for key, value in data._slice_dict.items() if key not in gone}
        incs = {key: value for key, value in data._inc_dict.items() if key not in gone}
        for key in keys:
            slices[key] = ends
            incs[key] = ptr[:-1] if "index" in key else torch.zeros_like(ptr[:-1])
        out._slice_dict, out._inc_dict = slices, incs
    return out


def write_edges(nodes: Nodes, edge_index: Tensor, clique: Tensor | None, **columns: Tensor) -> Data:
    """Returns a copy of the data with these edges, sorted by target, in place of all earlier ones.

    Beside cliques they are not all pairs, so that they do not go under the name that all layers read.

    Args:
        nodes: The nodes.
        edge_index: The edges ``[2, num_edges]``.
        clique: Stands for further pairs.
        **columns: Further keys with a row an edge, such as ``edge_type``.
    """
    data = nodes.data
    stale = [
        key for key in sorted(data.keys()) if key.startswith("edge_") and not key.endswith(("_batch", "_ptr"))
    ]
    keys = {"edge_index" if clique is None else "edge_index_explicit": edge_index, **columns}
    # The targets ascend, so the edges of an example are those whose target lies between its nodes.
    ends = torch.searchsorted(edge_index[1].contiguous(), nodes.ptr)
    remove = [key for key in (*stale, "clique") if key in data and key not in keys]
    out = write(data, keys, ends, nodes.ptr, remove)
    return out if clique is None else write(out, {"clique": clique}, nodes.ptr, nodes.ptr)


def ends_of(nodes: Nodes, members: Tensor) -> Tensor:
    """Where rows that belong to the nodes ``members``, example by example, start and end."""
    return cumsum(nodes.example[members].bincount(minlength=nodes.ptr.numel() - 1))


def insert_nodes(
    nodes: Nodes, example: Tensor, rank: Tensor, columns: dict[str, Tensor], index_key: str
) -> Data:
    """Returns a copy of the data with nodes added at the end of their examples.

    Args:
        nodes: The nodes there are.
        example: The example of each new node: ``[new]``.
        rank: Its place among the new nodes of that example: ``[new]``.
        columns: Values of the new nodes, ``[new]`` each; those for keys that the data lacks are ignored.
        index_key: The key to write the numbers of the new nodes to.
    """
    data, shift = nodes.data, cumsum(example.bincount(minlength=nodes.ptr.numel() - 1))
    ptr = nodes.ptr + shift
    old = nodes.index + shift[nodes.example]
    new = nodes.ptr[example + 1] + shift[example] + rank
    table = {key: column for key, column in columns.items() if key in data} | {"governor_index": new}
    rows = {}
    for key, column in table.items():
        values = old[nodes[key]] if "index" in key else nodes[key]
        size = nodes.num_nodes + new.numel()
        rows[key] = (
            values.new_empty(size).index_copy(0, old, values).index_copy(0, new, column.to(values.dtype))
        )
    out = write(data, rows, ptr, ptr)
    out = write(out, {index_key: new}, shift, ptr)
    for key in sorted(data.keys()):
        if "index" in key and key not in rows and not key.endswith(("_batch", "_ptr")):
            out = write(out, {key: old[data[key]]}, _ends(nodes, key), ptr)
    return _set_num_nodes(out, ptr)


def _ends(nodes: Nodes, key: str) -> Tensor:
    if hasattr(nodes.data, "_slice_dict"):
        return nodes.data._slice_dict[key].to(nodes.ptr.device)
    value = nodes.data[key]
    return ends_of(nodes, value[0] if value.dim() > 1 else value)


def _set_num_nodes(out: Data, ptr: Tensor) -> Data:
    """Corrects the counts of nodes on ``out``, which is a copy already."""
    if "batch" in out:
        out["batch"] = torch.arange(ptr.numel() - 1, device=ptr.device).repeat_interleave(ptr.diff())
    if "ptr" in out:
        out["ptr"] = ptr
    if "num_nodes" in out:
        out.num_nodes = int(ptr[-1])
    if hasattr(out, "_num_nodes"):
        out._num_nodes = ptr.diff().tolist()
    return out
