"""A parse without labels."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.transforms._options import constructor_repr, refuse_keys
from graphdep.transforms.nodes import Nodes
from graphdep.vocab import RelationVocab


class Unlabelled(BaseTransform):
    r"""Gives all arcs the label ``dep``: the ablation that leaves nothing of a parse but its shape.

    :obj:`deprel` and, where the data has it, :obj:`arc_type` are written anew; nodes that depend on nothing
    keep NONE or SELF. It stands before what reads labels: :class:`RelationNodes`, :class:`TreePathTypes`.

    Raises:
        ValueError: If the data has relation nodes or types of edges, which would keep their labels.
    """

    def forward(self, data: Data) -> Data:
        refuse_keys(data, self, ("edge_type", "arc_node_index"))
        nodes, out = Nodes(data), copy.copy(data)
        out["deprel"] = _without_label(nodes["deprel"])
        if "arc_type" in data:
            out["arc_type"] = _without_label(data["arc_type"])
        return out  # of the sizes that it had, so that a batch is cut into examples as before

    def __repr__(self) -> str:
        return constructor_repr(self)


def _without_label(relation: Tensor) -> Tensor:
    return torch.where(relation > RelationVocab.SELF, RelationVocab()["dep"], relation)
