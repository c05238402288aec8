"""The edges of a layer that has its own."""

from __future__ import annotations

import copy

import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.nn.attention import AttentionLayout
from graphdep.transforms import resolve


def implicit_edges(edges: str | BaseTransform) -> BaseTransform:
    """A preset in the form that takes the least memory, or a transform as it is."""
    return resolve(edges) if isinstance(edges, BaseTransform) else resolve(edges, implicit=True)


@torch.compiler.disable  # the number of edges is data
def own_layout(data: Data, edges: BaseTransform) -> AttentionLayout:
    """The layout of edges that are built from the nodes of the data, whatever edges it has.

    Args:
        data: The nodes. It is left as it is.
        edges: Builds the edges.

    Raises:
        ValueError: If they join two examples, there are none, or :obj:`edges` changes the nodes.
    """
    bare = copy.copy(data)
    for key in [key for key in data.keys() if key.startswith("edge_") or key == "clique"]:  # noqa: SIM118
        del bare[key]  # they are other layers', and a tree transform would refuse them
    own = edges(bare)
    if own.num_nodes != data.num_nodes:
        raise ValueError(
            f"'edges' must keep the nodes of the data (it makes {own.num_nodes} of {data.num_nodes})"
        )
    if own.edge_index is None and "clique" not in own:
        raise ValueError(f"'edges' ({edges}) builds no edges: put an edge constructor at its end")
    return AttentionLayout.of(own)
