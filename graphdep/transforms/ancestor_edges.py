"""Edges from each word's ancestors in the tree."""

from __future__ import annotations

from graphdep.transforms._forest import euler_tour
from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces


class AncestorEdges(EdgeConstructor):
    r"""Each word attends to its ancestors: the intra-sentence mask of "Syntax-Informed Attention" (Eq. 3).

    .. math::
        \mathcal{E} = \{(j, i) : j \in A_i\}

    ROOT, where there is one, is an ancestor of all words of its utterance. A word is no ancestor of
    itself: Eq. 3's :math:`i = j` is :class:`SelfLoops`.

    Args:
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If :obj:`pieces` is unknown, or the governors of the data form a cycle.
    """

    def __init__(self, *, pieces: str = "all") -> None:
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        enter, leave, order = euler_tour(nodes)
        # The descendants of a node are those entered after it and before it is left.
        ancestor, place = expand_ranges(enter + 1, leave - enter - 1)
        source, target, _ = nodes.spread(ancestor, order[place], self.pieces)
        return EdgeSet(nodes, source, target)
