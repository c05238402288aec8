"""Edges on the way through the tree between two marked spans."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import cumsum

from graphdep.transforms._options import choice, count
from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms._span_path import path_words
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces
from graphdep.transforms.self_loops import SelfLoops


class SpanPathEdges(EdgeConstructor):
    r"""Words on the way through the tree from one marked span to the other attend to one another, with the
    words near that way, as in `"Graph Convolution over Pruned Dependency Trees Improves Relation Extraction"
    <https://aclanthology.org/D18-1244/>`_.

    .. math::
        \mathcal{E} = \{(j, i) : i, j \in P_K\} \quad \text{or} \quad
        \{(j, i) : i, j \in P_K, \text{ one governs the other}\}

    where :math:`P_0` is the shortest path between the top words of the spans, those nearest to the root, both
    included, and :math:`P_K` has the words at most :math:`K` arcs below it: the paper's pruned tree, in the
    subtree of the lowest common ancestor. An example without two spans has no path.

    Args:
        pairs: ``"all"`` pairs of those words, or those of ``"arcs"`` between them, in both directions.
            (default: ``"all"``)
        distance: :math:`K`, the arcs that a word may be below the path. (default: :obj:`0`)
        loops: Every node of the example sees itself, too, so that none off the path is left without an edge
            (:class:`SelfLoops`). (default: :obj:`True`)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is wrong, or the data has no ``mark``
            (:func:`~graphdep.data.node_table`: bit 1 in the first span, bit 2 in the second).

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.data import mark_words
        >>> from graphdep.transforms import SpanPathEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = mark_words(to_data([sentence], root=False), [1, 0, 2, 2])
        >>> SpanPathEdges("arcs", loops=False)(data).edge_index
        tensor([[1, 0, 3, 1],
                [0, 1, 1, 3]])
    """

    def __init__(
        self, pairs: str = "all", *, distance: int = 0, loops: bool = True, pieces: str = "all"
    ) -> None:
        self.pairs = choice("pairs", pairs, ("all", "arcs"))
        self.distance, self.loops = count("distance", distance), bool(loops)
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        words = self._near(nodes, path_words(nodes))
        source, target = self._all(nodes, words) if self.pairs == "all" else self._arcs(nodes, words)
        source, target, _ = nodes.spread(source, target, self.pieces)
        edges = EdgeSet(nodes, source, target)
        return edges | SelfLoops(pieces=self.pieces).build(nodes) if self.loops else edges

    def _near(self, nodes: Nodes, words: Tensor) -> Tensor:
        below = nodes.parent >= 0
        for _ in range(self.distance):
            more = words | (below & words[nodes.parent.clamp(min=0)])
            if torch.equal(more, words):
                break
            words = more
        return words

    def _all(self, nodes: Nodes, words: Tensor) -> tuple[Tensor, Tensor]:
        word = words.nonzero().view(-1)
        example = nodes.example[word]
        size = example.bincount(minlength=nodes.ptr.numel() - 1)
        owner, member = expand_ranges(cumsum(size)[example], size[example])
        return word[member], word[owner]

    def _arcs(self, nodes: Nodes, words: Tensor) -> tuple[Tensor, Tensor]:
        below = words & (nodes.parent >= 0)
        dependent = (below & words[nodes.parent.clamp(min=0)]).nonzero().view(-1)
        governor = nodes.parent[dependent]
        return torch.cat([governor, dependent]), torch.cat([dependent, governor])
