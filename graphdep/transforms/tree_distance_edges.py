"""Edges between words that are near one another in the tree."""

from __future__ import annotations

import torch

from graphdep.transforms._forest import near_pairs
from graphdep.transforms._options import count
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces


class TreeDistanceEdges(EdgeConstructor):
    r"""Words attend to words at most :obj:`max_distance` arcs away, as in `"GATE: Graph Attention Transformer
    Encoder for Cross-lingual Relation and Event Extraction" <https://arxiv.org/abs/2010.03009>`_ and in
    `"Improving BERT with Syntax-aware Local Attention" <https://arxiv.org/abs/2012.15150>`_.

    .. math::
        \mathcal{E} = \{(j, i) : \text{dist}(i, j) \leq \texttt{max\_distance}\}

    Every node, also one outside the trees, is at distance 0 from itself; a path may lead through ROOT;
    nodes of different trees are infinitely far apart.

    Args:
        max_distance: The largest number of arcs between two words, :math:`\delta` in GATE.
        pieces: See :class:`EdgeConstructor`; pieces of one word are at distance 0, and with ``"first"``
            other pieces see themselves alone. (default: ``"all"``)

    Raises:
        ValueError: If :obj:`max_distance` is no whole number >= 0 or :obj:`pieces` is unknown.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import TreeDistanceEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> TreeDistanceEdges(1)(to_data([sentence], root=False)).edge_index
        tensor([[0, 1, 0, 1, 3, 2, 3, 1, 2, 3],
                [0, 0, 1, 1, 1, 2, 2, 3, 3, 3]])
    """

    def __init__(self, max_distance: int, *, pieces: str = "all") -> None:
        self.max_distance = count("max_distance", max_distance)
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        loops = nodes.index if self.pieces == "first" else nodes.index[nodes.first == nodes.index]
        pairs = [(loops, loops), *(pair[2:] for pair in near_pairs(nodes, self.max_distance))]
        target, source = (torch.cat(column) for column in zip(*pairs))
        source, target, _ = nodes.spread(source, target, self.pieces)
        return EdgeSet(nodes, source, target)
