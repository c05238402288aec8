"""Edges between constituents and all of their words."""

from __future__ import annotations

import torch

from graphdep.transforms._options import choice
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces
from graphdep.transforms.phrases import Phrases


class PhraseWordEdges(EdgeConstructor):
    r"""A phrase node and all words of its constituent, however deep they are in it, attend to each other, and
    each phrase node to itself: as :class:`RelationEdges` joins words and relation nodes.

    Args:
        direction: ``"to_phrase"``: word -> phrase node (which attends to the words), ``"to_word"``: phrase
            node -> word, ``"both"``, or ``"none"``, which leaves phrase nodes to themselves.
            (default: ``"both"``)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is unknown or the data has no phrase nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import PhraseWordEdges
        >>> phrases = [("S", 0, 2), ("NP", 0, 1)]
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"], constituents=phrases)
        >>> PhraseWordEdges("to_phrase")(to_data([sentence], root=False, phrases=True)).edge_index
        tensor([[0, 1, 2, 0, 3],
                [2, 2, 2, 3, 3]])
    """

    def __init__(self, direction: str = "both", *, pieces: str = "all") -> None:
        self.direction = choice("direction", direction, ("both", "to_phrase", "to_word", "none"))
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        phrases = Phrases(nodes)
        node = phrases.node
        phrase, word = phrases.inside
        word, whole, _ = nodes.spread(word, node[phrase], self.pieces)
        source, target = [node], [node]
        if self.direction in ("both", "to_phrase"):
            source, target = [*source, word], [*target, whole]
        if self.direction in ("both", "to_word"):
            source, target = [*source, whole], [*target, word]
        return EdgeSet(nodes, torch.cat(source), torch.cat(target))
