"""The base class of everything that builds a set of edges, and the set operators."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable

from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.transforms._options import constructor_repr
from graphdep.transforms._write import write_edges
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes


class EdgeConstructor(BaseTransform):
    r"""Base class of transforms that build a set of edges from the node table.

    ``a | b``, ``a & b`` and ``a - b`` are again constructors. Applied to a
    :class:`~torch_geometric.data.Data` or to a :class:`~torch_geometric.data.Batch`, on any device, a
    constructor writes :obj:`edge_index` in place of all earlier edges; it never joins two examples.

    :obj:`edge_index` holds every pair, unless a part was told to be ``implicit``. Then the data has
    :obj:`clique`, which stands for its pairs, :obj:`edge_index_explicit` with the others, and **no**
    :obj:`edge_index`, so that nothing takes a part of the pairs for all of them. Such data is read by
    :meth:`AttentionLayout.of(data) <graphdep.nn.attention.AttentionLayout.of>`.

    A pair of **words** stands for all pairs of their pieces with ``pieces="all"``, and for the pair of
    their first pieces with ``pieces="first"``; with one node a word both are the same.

    Shapes:
        - ``edge_index``: :math:`(2, |\mathcal{E}|)`, row 0 the source, row 1 the target; sorted by target,
          then source. The target attends to the source.
        - ``edge_index_explicit``: the same, of implicit data: the pairs that are in no clique, and those that
          have a type
        - ``clique``: :math:`(|\mathcal{V}|)`, long: nodes of one example with the same number >= 0 see one
          another, each node itself included; -1 is in no clique.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import DependencyEdges, SelfLoops
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> edges = DependencyEdges("governor") | SelfLoops("tops")
        >>> edges(to_data([sentence])).edge_index
        tensor([[0, 2, 1, 4, 3],
                [0, 0, 2, 2, 4]])
    """

    @abstractmethod
    def build(self, nodes: Nodes) -> EdgeSet:
        """The set of edges between ``nodes``."""

    def forward(self, data: Data) -> Data:
        edges = self.build(Nodes(data))
        return write_edges(edges.nodes, edges.edge_index, edges.clique)

    def __or__(self, other: EdgeConstructor) -> EdgeConstructor:
        return _combine(self, "|", other)

    def __and__(self, other: EdgeConstructor) -> EdgeConstructor:
        return _combine(self, "&", other)

    def __sub__(self, other: EdgeConstructor) -> EdgeConstructor:
        return _combine(self, "-", other)

    def __repr__(self) -> str:
        return constructor_repr(self)


_OPERATORS: dict[str, Callable[[EdgeSet, EdgeSet], EdgeSet]] = {
    "|": operator.or_,
    "&": operator.and_,
    "-": operator.sub,
}


class _Combined(EdgeConstructor):
    """Two constructors joined by a set operator; prints as the expression that made it."""

    def __init__(self, left: EdgeConstructor, symbol: str, right: EdgeConstructor) -> None:
        self.left, self.symbol, self.right = left, symbol, right

    def build(self, nodes: Nodes) -> EdgeSet:
        return _OPERATORS[self.symbol](self.left.build(nodes), self.right.build(nodes))

    def __repr__(self) -> str:
        return f"({self.left!r} {self.symbol} {self.right!r})"


def _combine(left: EdgeConstructor, symbol: str, right: object) -> EdgeConstructor:
    if not isinstance(right, EdgeConstructor):
        return NotImplemented
    return _Combined(left, symbol, right)
