"""Edges that stay visible among all pairs."""

from __future__ import annotations

import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.transforms._options import constructor_repr
from graphdep.transforms._ranges import contains
from graphdep.transforms._write import write_edges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.nodes import Nodes


class MarkedEdges(BaseTransform):
    r"""All pairs of one constructor, those of another written out among them.

    The set of pairs is ``edges | among``, and :obj:`edge_mark` tells those of :obj:`edges`, so that a layer
    can treat them in another way than the rest, as :class:`~graphdep.nn.conv.LISAConv` does. Where
    :obj:`among` is implicit, so is the data: :obj:`edge_index_explicit` then has all pairs of :obj:`edges`
    and no others. A set does not know which of its pairs are marked, so this is no :class:`EdgeConstructor`
    and part of no union.

    Args:
        edges: The pairs to mark.
        among: The other pairs. If it is implicit, it must give cliques and no pairs beside them.

    Shapes:
        - ``edge_mark``: :math:`(|\mathcal{E}|)`, bool

    Raises:
        ValueError: If one of them is no edge constructor, or :obj:`among` gives cliques and other pairs.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import CompleteEdges, DependencyEdges, MarkedEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> edges = MarkedEdges(DependencyEdges("dependent"), CompleteEdges())
        >>> edges(to_data([sentence], root=False)).edge_mark.view(4, 4).int()
        tensor([[0, 1, 0, 0],
                [0, 0, 0, 0],
                [0, 0, 0, 1],
                [0, 1, 0, 0]], dtype=torch.int32)
    """

    def __init__(self, edges: EdgeConstructor, among: EdgeConstructor) -> None:
        for name, constructor in (("edges", edges), ("among", among)):
            if not isinstance(constructor, EdgeConstructor):
                raise ValueError(f"'{name}' must be an edge constructor (got {constructor!r})")
        self.edges, self.among = edges, among

    def forward(self, data: Data) -> Data:
        nodes = Nodes(data)
        marked, among = self.edges.build(nodes).materialize(), self.among.build(nodes)
        if among.clique is None:
            every = marked | among
            return write_edges(nodes, every.edge_index, None, edge_mark=contains(marked.keys, every.keys))
        if among.edge_index.size(1):
            raise ValueError(
                f"'among' must give cliques and nothing else where it is implicit (got {self.among!r})"
            )
        mark = torch.ones_like(marked.keys, dtype=torch.bool)
        return write_edges(nodes, marked.edge_index, among.clique, edge_mark=mark)

    def __repr__(self) -> str:
        return constructor_repr(self)
