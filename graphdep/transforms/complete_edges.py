"""All pairs of nodes."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from graphdep.data import NodeType
from graphdep.transforms._options import choice, node_type_names
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes


class CompleteEdges(EdgeConstructor):
    r"""All nodes of an utterance or of an example attend to one another, as in `"Attention Is All You Need"
    <https://arxiv.org/abs/1706.03762>`_.

    The pairs are written out, so that any layer can read them. With ``implicit=True`` the data has the node
    key :obj:`clique` in their place, which takes memory for the nodes alone; see :class:`EdgeConstructor`.
    Attention gives the same result over both.

    Args:
        scope: ``"utterance"`` or ``"example"``. (default: ``"example"``)
        node_types: Types of the nodes that take part, as :class:`~graphdep.NodeType` or by name.
            (default: all)
        implicit: Write :obj:`clique` and no :obj:`edge_index`. (default: :obj:`False`)

    Raises:
        ValueError: If an option is none of those.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import CompleteEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> CompleteEdges()(to_data([sentence])).edge_index.shape
        torch.Size([2, 25])
        >>> CompleteEdges(implicit=True)(to_data([sentence])).clique
        tensor([0, 0, 0, 0, 0])
    """

    def __init__(
        self,
        scope: str = "example",
        *,
        node_types: Iterable[NodeType | str] = tuple(NodeType),
        implicit: bool = False,
    ) -> None:
        self.scope = choice("scope", scope, ("utterance", "example"))
        self.node_types = node_type_names(node_types)
        self.implicit = bool(implicit)

    def build(self, nodes: Nodes) -> EdgeSet:
        number = nodes["utterance"] if self.scope == "utterance" else torch.zeros_like(nodes.index)
        if len(self.node_types) < len(NodeType):
            number = torch.where(nodes.is_type(self.node_types), number, -1)
        edges = EdgeSet(nodes, nodes.index[:0], nodes.index[:0], number)
        return edges if self.implicit else edges.materialize()
