"""Edges that stay visible among all pairs."""

from __future__ import annotations

from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.transforms._options import constructor_repr
from graphdep.transforms._write import write_edges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.nodes import Nodes


class MarkedEdges(BaseTransform):
    r"""All pairs of one constructor, those of another written out among them.

    The set of pairs is ``edges | among``. A union keeps a pair that is in a clique out of
    :obj:`edge_index`, since it would say nothing new; here all pairs of :obj:`edges` are written, so that a
    layer can treat them in another way than the rest, as :class:`~graphdep.nn.conv.LISAConv` does. A set does
    not know which of its pairs are marked, so this is no :class:`EdgeConstructor` and part of no union.

    Args:
        edges: The pairs to write to :obj:`edge_index`.
        among: What gives :obj:`clique`; it must not write pairs of its own, which could not be told from
            those of :obj:`edges`.

    Raises:
        ValueError: If one of them is no edge constructor, or :obj:`among` writes pairs out or gives no
            cliques.
    """

    def __init__(self, edges: EdgeConstructor, among: EdgeConstructor) -> None:
        for name, constructor in (("edges", edges), ("among", among)):
            if not isinstance(constructor, EdgeConstructor):
                raise ValueError(f"'{name}' must be an edge constructor (got {constructor!r})")
        self.edges, self.among = edges, among

    def forward(self, data: Data) -> Data:
        nodes = Nodes(data)
        among = self.among.build(nodes)
        if among.clique is None or among.edge_index.size(1):
            raise ValueError(f"'among' must give cliques and nothing else (got {self.among!r})")
        return write_edges(nodes, self.edges.build(nodes).materialize().edge_index, among.clique)

    def __repr__(self) -> str:
        return constructor_repr(self)
