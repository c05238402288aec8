"""One node for each arc, carrying its label."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from graphdep.data import NodeType
from graphdep.transforms._options import choice, constructor_repr, refuse_keys
from graphdep.transforms._write import insert_nodes
from graphdep.transforms.nodes import Nodes


class RelationNodes(BaseTransform):
    r"""Appends a RELATION node for every arc after the nodes of its example: the input of "Augmenting
    Transformers with Enhanced Dependency Structures by Treating Relations as New Words" by Chen, Li and
    Huang.

    A relation node has the arc's label as :obj:`deprel` and, where the data has it, as :obj:`input_ids`;
    :obj:`utterance` and :obj:`segment` of the dependent; depth and :obj:`word` -1; and is its own governor.
    Arcs are those of :obj:`arc_index`, so an enhanced graph gives a node to each of its arcs. Keys whose
    name contains ``index`` keep pointing to the same nodes.

    Args:
        position: Position of the relation nodes: ``"sequence"`` counts on from the largest position of the
            example, ``"dependent"`` takes that of the dependent, ``"zero"`` gives all 0, and ``"none"`` gives
            all -1, for which a :class:`~graphdep.nn.pretrained.PretrainedEncoder` adds neither a position nor
            a segment: section 3.3 of the paper gives relations a label and a type embedding and speaks of no
            other. Encoders expect places of all that they read, and a program that appends tokens gives them
            some unless it takes care not to; what the authors' has is not known. ``"sequence"``, which the
            results in examples/ have, is the default. (default: ``"sequence"``)

    Shapes:
        - every key of the node table: :math:`(|\mathcal{V}| + |\mathcal{A}|)`
        - ``arc_node_index``: :math:`(|\mathcal{A}|)`, the relation node of each arc

    Raises:
        ValueError: If :obj:`position` is unknown, if the data has relation nodes already, or if it has node
            features :obj:`x`, which relation nodes would lack.

    Example:
        >>> from graphdep import NodeType, Sentence, to_data
        >>> from graphdep.transforms import RelationNodes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = RelationNodes()(to_data([sentence], root=False))
        >>> [NodeType(t).name for t in data.node_type.tolist()]
        ['WORD', 'WORD', 'WORD', 'WORD', 'RELATION', 'RELATION', 'RELATION']
    """

    def __init__(self, position: str = "sequence") -> None:
        self.position = choice("position", position, ("sequence", "dependent", "zero", "none"))

    def forward(self, data: Data) -> Data:
        refuse_keys(data, self, ("arc_node_index", "x"))
        nodes = Nodes(data)
        dependent = nodes["arc_index"][1]
        example = nodes.example[dependent]
        order = example.argsort(stable=True)
        rank = torch.empty_like(order)
        start = cumsum(example.bincount(minlength=nodes.ptr.numel() - 1))
        rank[order] = torch.arange(order.numel(), device=order.device) - start[example[order]]
        columns = self._columns(nodes, dependent, rank)
        return insert_nodes(nodes, example, rank, columns, index_key="arc_node_index")

    def _columns(self, nodes: Nodes, dependent: Tensor, rank: Tensor) -> dict[str, Tensor]:
        minus, label = torch.full_like(dependent, -1), nodes["arc_type"]
        columns = {
            "node_type": torch.full_like(dependent, NodeType.RELATION),
            "deprel": label,
            "depth": minus,
            "word": minus,
            "clique": minus,
            "mark": torch.zeros_like(dependent),
            "input_ids": label,
            "utterance": nodes["utterance"][dependent],
        }
        if "segment" in nodes.data:
            columns["segment"] = nodes["segment"][dependent]
        if "position" in nodes.data:
            columns["position"] = self._positions(nodes, dependent, rank)
        return columns

    def _positions(self, nodes: Nodes, dependent: Tensor, rank: Tensor) -> Tensor:
        position = nodes["position"]
        if self.position == "zero":
            return torch.zeros_like(dependent)
        if self.position == "none":
            return torch.full_like(dependent, -1)
        if self.position == "dependent":
            return position[dependent]
        last = position.new_zeros(nodes.ptr.numel() - 1)
        last = last.scatter_reduce(0, nodes.example, position, "amax")
        return last[nodes.example[dependent]] + 1 + rank

    def __repr__(self) -> str:
        return constructor_repr(self)
