"""The edges that a layer attends over."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.nn.attention import AttentionLayout
from graphdep.transforms import Nodes


def layout_of(data: Data, edges: BaseTransform | None = None) -> AttentionLayout:
    """The layout of a layer; see :func:`typed_layout_of`."""
    return typed_layout_of(data, edges)[0]


@torch.compiler.disable  # the number of edges is data
def typed_layout_of(data: Data, edges: BaseTransform | None = None) -> tuple[AttentionLayout, Tensor | None]:
    """The layout of a layer, over the edges of the data or over edges of its own, and the relation of each
    edge, where edges have types.

    Args:
        data: The nodes, with edges where the layer has none of its own. It is left as it is.
        edges: Builds the layer's own edges from the nodes. (default: :obj:`None`)

    Raises:
        ValueError: If there are no edges, they join two examples, or :obj:`edges` changes the nodes.
    """
    if edges is not None:
        data = _with_edges(data, edges)
    if data.edge_index is None:
        raise ValueError(
            "the data has no 'edge_index': apply an edge constructor, e.g. resolve('transformer')"
            if edges is None
            else f"'edges' ({edges}) builds no edges: put an edge constructor at its end"
        )
    _check_within_examples(data)
    # A batch may come without 'ptr', but never may its cliques be one.
    ptr = Nodes(data).ptr if "batch" in data else data.get("ptr")
    layout = AttentionLayout(data.edge_index, data.num_nodes, clique=data.get("clique"), ptr=ptr)
    return layout, data.get("edge_type")


def _with_edges(data: Data, edges: BaseTransform) -> Data:
    bare = copy.copy(data)
    for key in [key for key in data.keys() if key.startswith("edge_") or key == "clique"]:  # noqa: SIM118
        del bare[key]  # they are other layers', and a tree transform would refuse them
    own = edges(bare)
    if own.num_nodes != data.num_nodes:
        raise ValueError(
            f"'edges' must keep the nodes of the data (it makes {own.num_nodes} of {data.num_nodes})"
        )
    return own


@torch.compiler.disable  # reads values
def _check_within_examples(data: Data) -> None:
    """Raises :class:`ValueError` if an edge joins two examples; on a GPU a look would stall the device."""
    edges, batch = data.edge_index, data.get("batch")
    if batch is None or edges.device.type != "cpu" or not edges.numel():
        return
    source, target = batch[edges]
    if not torch.equal(source, target):
        first = int((source != target).nonzero()[0])
        raise ValueError(
            f"'edge_index' joins nodes of different examples (edge {first}: {edges[:, first].tolist()}): a "
            "transform of a batch must keep to its examples, see data.batch"
        )
