"""Edges between each word and its ancestors in the tree."""

from __future__ import annotations

import torch

from graphdep.transforms._forest import euler_tour
from graphdep.transforms._options import choice
from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces


class AncestorEdges(EdgeConstructor):
    r"""Each word attends to its ancestors: the intra-sentence mask of `"Improving Retrieval-based Dialogue
    System via Syntax-Informed Attention" <https://arxiv.org/abs/2303.06605>`_ (Eq. 3).

    .. math::
        \mathcal{E} = \{(j, i) : j \in A_i\} \quad (\texttt{towards="descendant"})

    The paper's abstract says "between tokens and corresponding dependents" instead: the other direction, and
    both together, are options.

    ROOT, where there is one, is an ancestor of all words of its utterance. A word is no ancestor of
    itself: Eq. 3's :math:`i = j` is :class:`SelfLoops`.

    Args:
        towards: Where information flows: ``"descendant"`` gives ancestor -> word (the word attends to its
            ancestors), ``"ancestor"`` gives word -> ancestor (it attends to its descendants), ``"both"``
            both. (default: ``"descendant"``)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is none of those, or the governors of the data form a cycle.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import AncestorEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> AncestorEdges()(to_data([sentence], root=False)).edge_index
        tensor([[1, 1, 3, 1],
                [0, 2, 2, 3]])
    """

    def __init__(self, towards: str = "descendant", *, pieces: str = "all") -> None:
        self.towards = choice("towards", towards, ("descendant", "ancestor", "both"))
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        enter, leave, order = euler_tour(nodes)
        # The descendants of a node are those entered after it and before it is left.
        ancestor, place = expand_ranges(enter + 1, leave - enter - 1)
        ancestor, word, _ = nodes.spread(ancestor, order[place], self.pieces)
        if self.towards == "descendant":
            return EdgeSet(nodes, ancestor, word)
        if self.towards == "ancestor":
            return EdgeSet(nodes, word, ancestor)
        return EdgeSet(nodes, torch.cat([ancestor, word]), torch.cat([word, ancestor]))
