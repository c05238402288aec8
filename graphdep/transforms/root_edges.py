"""Edges from the nodes of an utterance to its ROOT."""

from __future__ import annotations

from torch_geometric.utils import cumsum

from graphdep.transforms._options import choice
from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes


class RootEdges(EdgeConstructor):
    r"""ROOT attends to every node, itself included, as in `"Modeling Compositionality with Dependency Graph
    for Dialogue Generation" <https://aclanthology.org/2022.suki-1.2/>`_ (Eq. 2, :math:`u = 0`).

    Without ROOT nodes the set is empty.

    Args:
        scope: ``"utterance"``: every node -> the ROOT of its utterance; ``"example"``: every node -> every
            ROOT of its example. (default: ``"utterance"``)

    Raises:
        ValueError: If :obj:`scope` is neither.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RootEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> RootEdges()(to_data([sentence])).edge_index
        tensor([[0, 1, 2, 3, 4],
                [0, 0, 0, 0, 0]])
    """

    def __init__(self, scope: str = "utterance") -> None:
        self.scope = choice("scope", scope, ("utterance", "example"))

    def build(self, nodes: Nodes) -> EdgeSet:
        group = nodes.block if self.scope == "utterance" else nodes.example
        roots = nodes.is_type(("ROOT",)).nonzero().view(-1)
        order = group.argsort(stable=True)
        count = group.bincount()
        owner, member = expand_ranges(cumsum(count)[group[roots]], count[group[roots]])
        return EdgeSet(nodes, order[member], roots[owner])
