"""Edges along the arcs of the dependency tree."""

from __future__ import annotations

import torch
from torch import Tensor

from graphdep.transforms._options import choice
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces


class DependencyEdges(EdgeConstructor):
    r"""Edges along dependency arcs, as in `"Modeling Compositionality with Dependency Graph for Dialogue
    Generation" <https://aclanthology.org/2022.suki-1.2/>`_ (Eq. 2, second line).

    .. math::
        \mathcal{E} = \{(d, g) : g \text{ governs } d\} \quad (\texttt{towards="governor"})

    A root word that is its own governor has no arc.

    Args:
        towards: Where information flows: ``"governor"`` gives dependent -> governor (the governor attends
            to its dependents, as in DRA), ``"dependent"`` gives governor -> dependent (as in LISA),
            ``"both"`` both. (default: ``"governor"``)
        arcs: ``"basic"`` takes the tree (:obj:`governor_index`), ``"all"`` every arc of :obj:`arc_index`,
            which holds the enhanced graph where that was read. (default: ``"basic"``)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is none of those.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import DependencyEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> DependencyEdges("governor")(to_data([sentence], root=False)).edge_index
        tensor([[0, 3, 2],
                [1, 1, 3]])
    """

    def __init__(self, towards: str = "governor", *, arcs: str = "basic", pieces: str = "all") -> None:
        self.towards = choice("towards", towards, ("governor", "dependent", "both"))
        self.arcs = choice("arcs", arcs, ("basic", "all"))
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        governor, dependent = self._arcs(nodes)
        governor, dependent, _ = nodes.spread(governor, dependent, self.pieces)
        if self.towards == "governor":
            return EdgeSet(nodes, dependent, governor)
        if self.towards == "dependent":
            return EdgeSet(nodes, governor, dependent)
        return EdgeSet(nodes, torch.cat([governor, dependent]), torch.cat([dependent, governor]))

    def _arcs(self, nodes: Nodes) -> tuple[Tensor, Tensor]:
        if self.arcs == "all":
            governor, dependent = nodes.first[nodes["arc_index"]]
            return governor, dependent
        dependent = (nodes.parent >= 0).nonzero().view(-1)
        return nodes.parent[dependent], dependent
