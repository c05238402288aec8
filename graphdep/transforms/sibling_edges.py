"""Edges between the parts of a constituent."""

from __future__ import annotations

import torch
from torch_geometric.utils import cumsum

from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces
from graphdep.transforms.phrases import Phrases


class SiblingEdges(EdgeConstructor):
    r"""Phrases and words that are directly in the same constituent attend to each other, and so do those of
    an utterance that are in none; none attends to itself.

    Args:
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If the option is unknown or the data has no phrase nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import SiblingEdges
        >>> phrases = [("S", 0, 2), ("NP", 0, 1)]
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"], constituents=phrases)
        >>> SiblingEdges()(to_data([sentence], root=False, phrases=True)).edge_index
        tensor([[3, 1],
                [1, 3]])
    """

    def __init__(self, *, pieces: str = "all") -> None:
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        phrases = Phrases(nodes)
        word = ((nodes["word"] >= 0) & (nodes.first == nodes.index)).nonzero().view(-1)
        part = torch.cat([phrases.node, word])
        mother = torch.cat([phrases.mother, phrases.innermost[word]])
        group = torch.where(mother >= 0, mother, phrases.node.numel() + nodes.block[part])
        order = group.argsort(stable=True)
        group, part = group[order], part[order]
        count = group.bincount()
        one, other = expand_ranges(cumsum(count)[:-1][group], count[group])
        apart = one != other
        source, target, _ = nodes.spread(part[other[apart]], part[one[apart]], self.pieces)
        return EdgeSet(nodes, source, target)
