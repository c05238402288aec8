"""One node for each constituent, carrying its label."""

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
from graphdep.transforms.phrases import Phrases
from graphdep.vocab.vocab import PhraseVocab


class PhraseNodes(BaseTransform):
    r"""Appends a PHRASE node for every constituent after the nodes of its example, in preorder, as
    ``to_data(..., phrases=True)`` does; data that has them already is left as it is, and other options than
    the defaults are refused there, which would have no effect.

    A phrase node has the id of its label (:class:`~graphdep.vocab.PhraseVocab`) as :obj:`deprel` and, where
    the data has it, as :obj:`input_ids`; :obj:`utterance` and :obj:`segment` of its words; depth and
    :obj:`word` -1; and is its own governor. Its first and last word stay in :obj:`phrase_index`.

    Args:
        position: As of :class:`RelationNodes`, but that ``"first"`` takes the position of the first word.
            (default: ``"sequence"``)
        labels: Keep the labels; else all are ``X``. (default: :obj:`True`)

    Shapes:
        - every key of the node table: :math:`(|\mathcal{V}| + |\mathcal{P}|)`
        - ``phrase_node_index``: :math:`(|\mathcal{P}|)`, the node of each constituent

    Raises:
        ValueError: If :obj:`position` is unknown, the data has no constituents, or it has relation nodes or
            node features :obj:`x`; or phrase nodes, and an option is not the default.

    Example:
        >>> from graphdep import NodeType, Sentence, to_data
        >>> from graphdep.transforms import PhraseNodes
        >>> phrases = [("S", 0, 2), ("NP", 0, 1)]
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"], constituents=phrases)
        >>> data = PhraseNodes()(to_data([sentence], root=False, phrases="spans"))
        >>> [NodeType(t).name for t in data.node_type.tolist()], data.phrase_index.tolist()
        (['WORD', 'WORD', 'PHRASE', 'PHRASE'], [[0, 0], [1, 0]])
    """

    def __init__(self, position: str = "sequence", *, labels: bool = True) -> None:
        self.position = choice("position", position, ("sequence", "first", "zero", "none"))
        self.labels = labels

    def forward(self, data: Data) -> Data:
        if "phrase_node_index" in data:
            if (self.position, self.labels) != ("sequence", True):
                raise ValueError(
                    f"the data has phrase nodes already, which {self} would leave as they are: make it with "
                    "phrases='spans'"
                )
            return data
        refuse_keys(data, self, ("arc_node_index", "x"))
        nodes = Nodes(data)
        first = Phrases(nodes).first
        example = nodes.example[first]
        start = cumsum(example.bincount(minlength=nodes.ptr.numel() - 1))
        rank = torch.arange(first.numel(), device=first.device) - start[example]
        columns = self._columns(nodes, first, rank)
        return insert_nodes(nodes, example, rank, columns, index_key="phrase_node_index")

    def _columns(self, nodes: Nodes, first: Tensor, rank: Tensor) -> dict[str, Tensor]:
        minus, label = torch.full_like(first, -1), nodes["phrase_type"]
        if not self.labels:
            label = torch.full_like(label, PhraseVocab.UNK)
        columns = {
            "node_type": torch.full_like(first, NodeType.PHRASE),
            "deprel": label,
            "depth": minus,
            "word": minus,
            "clique": minus,
            "mark": torch.zeros_like(first),
            "input_ids": label,
            "utterance": nodes["utterance"][first],
        }
        if "segment" in nodes.data:
            columns["segment"] = nodes["segment"][first]
        if "position" in nodes.data:
            columns["position"] = self._positions(nodes, first, rank)
        return columns

    def _positions(self, nodes: Nodes, first: Tensor, rank: Tensor) -> Tensor:
        position = nodes["position"]
        if self.position in ("zero", "none"):
            return torch.full_like(first, 0 if self.position == "zero" else -1)
        if self.position == "first":
            return position[first]
        last = position.new_zeros(nodes.ptr.numel() - 1)
        last = last.scatter_reduce(0, nodes.example, position, "amax")
        return last[nodes.example[first]] + 1 + rank

    def __repr__(self) -> str:
        return constructor_repr(self)
