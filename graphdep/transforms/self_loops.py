"""Edges from each node to itself."""

from __future__ import annotations

from graphdep.transforms._options import choice
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces


class SelfLoops(EdgeConstructor):
    r"""Every node attends to itself: :math:`\{(i, i)\}`.

    A word that sees itself sees all of its pieces, so with ``pieces="all"`` the pieces of one word see one
    another. With ``pieces="first"`` every piece sees itself alone, so that none is left without an edge.

    Args:
        only: ``"all"`` nodes, or ``"tops"``: those that are their own governor (ROOT, a root word without
            ROOT, nodes outside the trees), whose row would otherwise be empty in
            ``DependencyEdges("dependent")``. (default: ``"all"``)
        pieces: See above. (default: ``"all"``)

    Raises:
        ValueError: If an option is none of those.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import SelfLoops
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> SelfLoops("tops")(to_data([sentence], root=False)).edge_index
        tensor([[1],
                [1]])
    """

    def __init__(self, only: str = "all", *, pieces: str = "all") -> None:
        self.only = choice("only", only, ("all", "tops"))
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        loops = nodes.index
        if self.pieces == "all":
            loops = loops[nodes.first == loops]
        if self.only == "tops":
            loops = loops[nodes.parent[nodes.first[loops]] < 0]
        source, target, _ = nodes.spread(loops, loops, self.pieces)
        return EdgeSet(nodes, source, target)
