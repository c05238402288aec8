"""Edges that stay visible among all pairs."""

from __future__ import annotations

from torch_geometric.data import Data

from graphdep.transforms._write import write_edges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes


class MarkedEdges(EdgeConstructor):
    r"""All pairs of one constructor, those of another written out among them.

    The set of pairs is ``edges | among``. A union keeps a pair that is in a clique out of
    :obj:`edge_index`, since it would say nothing new; here all pairs of :obj:`edges` are written, so that a
    layer can treat them in another way than the rest, as :class:`~graphdep.nn.conv.LISAConv` does.

    Args:
        edges: The pairs to write to :obj:`edge_index`.
        among: What gives :obj:`clique`; it must not write pairs of its own, which could not be told from
            those of :obj:`edges`.

    Raises:
        ValueError: If :obj:`among` writes pairs out or gives no cliques.
    """

    def __init__(self, edges: EdgeConstructor, among: EdgeConstructor) -> None:
        self.edges, self.among = edges, among

    def build(self, nodes: Nodes) -> EdgeSet:
        return self.edges.build(nodes) | self.among.build(nodes)

    def forward(self, data: Data) -> Data:
        nodes = Nodes(data)
        among = self.among.build(nodes)
        if among.clique is None or among.edge_index.size(1):
            raise ValueError(f"'among' must give cliques and nothing else (got {self.among!r})")
        return write_edges(nodes, self.edges.build(nodes).materialize().edge_index, among.clique)
