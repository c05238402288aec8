"""The edges of every layer of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.nn._layout import own_layout
from graphdep.nn.attention import AttentionLayout, EdgeTerms
from graphdep.nn.attention.edge_terms import write_out
from graphdep.nn.pretrained.graph_attention import LayerEdges


def edges_of_layers(
    data: Data,
    attentions: Sequence[nn.Module],
    edges: Mapping[int, BaseTransform],
    terms: Mapping[str, nn.Module] | nn.ModuleDict,
    backend: str = "auto",
    weights: list[tuple[Tensor, Tensor]] | None = None,
) -> LayerEdges:
    """What the layers attend over. Each set of edges has one layout, which its layers share.

    Args:
        data: The nodes, with edges unless all layers have edges of their own.
        attentions: The attention module of each layer.
        edges: What builds the edges of single layers.
        terms: What the edges of single layers add, by the layer's number. For a module whose ``untyped`` is
            ``"gate"``, the pairs of cliques are edges too.
        backend, weights: Of :class:`LayerEdges`.

    Raises:
        ValueError: If a layer has no edges, they join two examples, or the terms of a layer lack types of
            edges.
    """
    made = {transform: own_layout(data, transform) for transform in set(edges.values())}
    by_layer = {number: made[transform] for number, transform in edges.items()}
    own = {attentions[number]: layout for number, layout in by_layer.items()}
    shared = None
    if len(by_layer) < len(attentions):
        shared = AttentionLayout.of(data)
        by_layer = dict.fromkeys(range(len(attentions)), shared) | by_layer
    added = {}
    for number, module in terms.items():
        attention, layout = attentions[int(number)], by_layer[int(number)]
        edge_type = layout.edge_type
        if edge_type is None:
            raise ValueError(
                f"the edges of layer {number} have no 'edge_type', which its terms need: take edges with "
                "types, e.g. resolve('dt')"
            )
        if getattr(module, "untyped", "keep") == "gate":
            layout, edge_type = write_out(layout, edge_type)
            own[attention] = layout
        added[attention] = _terms_over(module, layout, edge_type)
    return LayerEdges(shared, own, added, backend, weights)


def _terms_over(
    module: nn.Module, layout: AttentionLayout, edge_type: Tensor
) -> Callable[[Tensor], EdgeTerms]:
    """What a layer's edges add, as a function of the states that it reads."""
    return lambda x: module(x, layout.edge_index, edge_type)
