"""Edges between constituents and what they are made of."""

from __future__ import annotations

import torch

from graphdep.transforms._options import choice
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces
from graphdep.transforms.phrases import Phrases


class ConstituentEdges(EdgeConstructor):
    r"""The edges of the constituency tree: a phrase node with the phrases and the words directly in it.

    Args:
        direction: ``"up"``: part -> constituent (which attends to its parts), ``"down"``: constituent
            -> part, or ``"both"``. (default: ``"both"``)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is unknown or the data has no phrase nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import ConstituentEdges
        >>> phrases = [("S", 0, 2), ("NP", 0, 1)]
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"], constituents=phrases)
        >>> ConstituentEdges("up")(to_data([sentence], root=False, phrases=True)).edge_index
        tensor([[1, 3, 0],
                [2, 2, 3]])
    """

    def __init__(self, direction: str = "both", *, pieces: str = "all") -> None:
        self.direction = choice("direction", direction, ("both", "up", "down"))
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        phrases = Phrases(nodes)
        node, mother = phrases.node, phrases.mother
        inner = mother >= 0
        word = (phrases.innermost >= 0).nonzero().view(-1)
        part = torch.cat([node[inner], word])
        whole = torch.cat([node[mother[inner]], node[phrases.innermost[word]]])
        part, whole, _ = nodes.spread(part, whole, self.pieces)
        if self.direction == "up":
            return EdgeSet(nodes, part, whole)
        if self.direction == "down":
            return EdgeSet(nodes, whole, part)
        return EdgeSet(nodes, torch.cat([part, whole]), torch.cat([whole, part]))
