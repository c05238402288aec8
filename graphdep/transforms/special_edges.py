"""Edges between special nodes and all nodes of their example."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from graphdep.data import NodeType
from graphdep.transforms._options import node_type_names
from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes


class SpecialEdges(EdgeConstructor):
    r"""Special nodes attend to the nodes of their example, and these to them, each to itself included.

    Without it [CLS] would see nothing but itself in `"Improving Retrieval-based Dialogue System via
    Syntax-Informed Attention" <https://arxiv.org/abs/2303.06605>`_, which does not say how special tokens are
    treated; in "Augmenting Transformers with Enhanced Dependency Structures by Treating Relations as New
    Words" by Chen, Li and Huang (Eq. 1) it is :math:`i = 0 \vee j = 0`.

    Args:
        node_types: Types of the special nodes, as :class:`~graphdep.NodeType` or by name.
            (default: CLS, SEP and EOU)
        others: Types of the nodes that they are joined with. (default: all)

    Raises:
        ValueError: If there is no such node type.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import SpecialEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> SpecialEdges(["ROOT"], others=["WORD"])(to_data([sentence])).edge_index
        tensor([[1, 2, 3, 4, 0, 0, 0, 0],
                [0, 0, 0, 0, 1, 2, 3, 4]])
    """

    def __init__(
        self,
        node_types: Iterable[NodeType | str] = (NodeType.CLS, NodeType.SEP, NodeType.EOU),
        *,
        others: Iterable[NodeType | str] = tuple(NodeType),
    ) -> None:
        self.node_types = node_type_names(node_types)
        self.others = node_type_names(others)

    def build(self, nodes: Nodes) -> EdgeSet:
        special = nodes.is_type(self.node_types).nonzero().view(-1)
        start = nodes.ptr[nodes.example[special]]
        owner, other = expand_ranges(start, nodes.ptr[nodes.example[special] + 1] - start)
        wanted = nodes.is_type(self.others)[other]
        special, other = special[owner[wanted]], other[wanted]
        return EdgeSet(nodes, torch.cat([special, other]), torch.cat([other, special]))
