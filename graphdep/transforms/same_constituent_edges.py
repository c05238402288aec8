"""Edges between the words of a constituent."""

from __future__ import annotations

import torch

from graphdep.transforms._options import count
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces
from graphdep.transforms.phrases import Phrases


class SameConstituentEdges(EdgeConstructor):
    r"""Words of the same constituent attend to each other and to themselves, if it is low enough.

    .. math::
        \mathcal{E} = \{(j, i) : \exists p : i \in p, j \in p, h(p) \le \text{max\_height}\}

    where :math:`h(p)` is 1 for a constituent of words alone, else one more than that of the highest in it. No
    phrase nodes are needed.

    Args:
        max_height: The highest constituents whose words see each other; :obj:`None` for all.
            (default: :obj:`None`)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)
        implicit: Do not write the pairs out, see :class:`CompleteEdges`. (default: :obj:`False`)

    Raises:
        ValueError: If an option is wrong or the data has no constituents.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import SameConstituentEdges
        >>> phrases = [("S", 0, 3), ("NP", 0, 2)]
        >>> tree = ["big", "dogs", "bark"], [2, 3, 0], ["amod", "nsubj", "root"]
        >>> data = to_data([Sentence(*tree, constituents=phrases)], root=False, phrases="spans")
        >>> SameConstituentEdges(max_height=1)(data).edge_index
        tensor([[0, 1, 0, 1],
                [0, 0, 1, 1]])
    """

    def __init__(self, max_height: int | None = None, *, pieces: str = "all", implicit: bool = False) -> None:
        self.max_height = None if max_height is None else count("max_height", max_height, 1)
        if not isinstance(implicit, bool):
            raise ValueError(f"'implicit' must be True or False (got {implicit!r})")
        self.pieces, self.implicit = check_pieces(pieces), implicit

    def build(self, nodes: Nodes) -> EdgeSet:
        phrases = Phrases(nodes)
        phrase, word = phrases.inside
        if self.max_height is not None:
            low = phrases.height[phrase] <= self.max_height
            phrase, word = phrase[low], word[low]
        # Those that are low enough are nested, so the outermost one of each word makes a clique; its number
        # is that of its first word in the example, which no other one of these has.
        outermost = torch.full_like(nodes.index, phrases.first.numel())
        outermost = outermost.scatter_reduce(0, word, phrase, "amin")
        clique = torch.full_like(nodes.index, -1)
        clique[word] = nodes.local[phrases.first[outermost[word]]]
        if self.pieces == "all":
            clique = clique[nodes.first]
        found = EdgeSet(nodes, nodes.index[:0], nodes.index[:0], clique)
        return found if self.implicit else found.materialize()
