"""Edges between words and the relation nodes of their arcs."""

from __future__ import annotations

import torch

from graphdep.transforms._options import choice
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces


class RelationEdges(EdgeConstructor):
    r"""A relation node and the two words of its arc attend to each other, and each relation node to itself:
    :math:`E'` of "Augmenting Transformers with Enhanced Dependency Structures by Treating Relations as New
    Words" by Chen, Li and Huang (Eq. 1).

    The third row of Eq. 1, read literally, lets words attend to relations only: that is ``"to_word"``. Its
    text and Figure 1 argue for both ways.

    Args:
        direction: ``"to_relation"``: word -> relation node (which attends to the words), ``"to_word"``:
            relation node -> word, ``"both"``, or ``"none"``, which leaves relation nodes to themselves.
            (default: ``"both"``)
        pieces: See :class:`EdgeConstructor`; the paper takes ``"first"``. (default: ``"all"``)

    Raises:
        ValueError: If an option is unknown or the data has no relation nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RelationEdges, RelationNodes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = RelationNodes()(to_data([sentence], root=False))
        >>> RelationEdges("to_word")(data).edge_index
        tensor([[4, 4, 6, 5, 5, 6, 4, 5, 6],
                [0, 1, 1, 2, 3, 3, 4, 5, 6]])
    """

    def __init__(self, direction: str = "both", *, pieces: str = "all") -> None:
        self.direction = choice("direction", direction, ("both", "to_relation", "to_word", "none"))
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        if "arc_node_index" not in nodes.data:
            raise ValueError("RelationEdges joins words and relation nodes: put RelationNodes() before it")
        relation = nodes["arc_node_index"]
        word, arc, _ = nodes.spread(
            nodes.first[nodes["arc_index"]].flatten(), relation.repeat(2), self.pieces
        )
        source, target = [relation], [relation]
        if self.direction in ("both", "to_relation"):
            source, target = [*source, word], [*target, arc]
        if self.direction in ("both", "to_word"):
            source, target = [*source, arc], [*target, word]
        return EdgeSet(nodes, torch.cat(source), torch.cat(target))
