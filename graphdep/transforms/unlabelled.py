"""A parse without labels."""

from __future__ import annotations

import copy

from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.transforms._options import constructor_repr, refuse_keys
from graphdep.vocab import RelationVocab


class Unlabelled(BaseTransform):
    r"""Gives all arcs the label ``dep``: the ablation that leaves nothing of a parse but its shape.

    :obj:`deprel` and, where the data has it, :obj:`arc_type` are merged as
    :meth:`RelationVocab.merge(labels=False) <graphdep.RelationVocab.merge>` does it: ``root`` is a label as
    any other, also that of a root word without a ROOT node, and so of no arc. NONE, SELF and UNK, which are
    no labels, stay. It stands before what reads labels: :class:`RelationNodes`, :class:`TreePathTypes`.

    Raises:
        ValueError: If the data has no :obj:`deprel`, or has relation nodes or types of edges, which would
            keep their labels.

    Example:
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.transforms import Unlabelled
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = Unlabelled()(to_data([sentence]))
        >>> [RelationVocab().label(int(r)) for r in data.deprel]
        ['[SELF]', 'dep', 'dep', 'dep', 'dep']
    """

    def forward(self, data: Data) -> Data:
        refuse_keys(data, self, ("edge_type", "arc_node_index"))
        if "deprel" not in data:
            raise ValueError("Unlabelled merges labels: the data has no 'deprel'")
        out = copy.copy(data)  # also for who calls forward() itself; sizes stay, and with them a batch's cuts
        for key in ("deprel", "arc_type"):
            if key in data:
                out[key] = RelationVocab.merge(data[key], labels=False)
        return out

    def __repr__(self) -> str:
        return constructor_repr(self)
