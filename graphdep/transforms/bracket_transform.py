"""The base class of transforms that replace constituents."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from graphdep.transforms._options import choice, constructor_repr, refuse_keys
from graphdep.transforms._write import ends_of, write
from graphdep.transforms.nodes import Nodes
from graphdep.transforms.phrases import Phrases
from graphdep.transforms.tree_transform import WordTable
from graphdep.vocab.vocab import PhraseVocab

LABELS = ("drop", "keep")


class BracketTransform(BaseTransform):
    r"""Base class of transforms that put another binary tree of constituents over the words of each
    utterance: :math:`n - 1` of two words or more for :math:`n` words, and one for a word alone.

    Args:
        labels: ``"drop"``: all have the label ``X``. ``"keep"``: the k-th one of an utterance in preorder has
            the k-th label that the parse has there, over again from the first where there are more; an
            utterance without constituents has ``X``. (default: ``"drop"``)

    Raises:
        ValueError: If :obj:`labels` is neither, or the data has no constituents, or has phrase nodes or
            edges, which would be those of the old ones.
    """

    def __init__(self, *, labels: str = "drop") -> None:
        self.labels = choice("labels", labels, LABELS)

    @abstractmethod
    def spans(self, words: WordTable) -> tuple[Tensor, Tensor]:
        """First and last row of the constituent that belongs to the gap after each row but the last of its
        utterance, in the order of the rows: every word but the last of its utterance has one.
        """

    def forward(self, data: Data) -> Data:
        if "phrase_node_index" in data:
            raise ValueError(
                f"{self} comes before phrase nodes: make the data with phrases='spans', and the nodes behind "
                "it (PhraseNodes, or resolve('constituents'))"
            )
        refuse_keys(data, self, ("edge_index", "clique"))
        nodes = Nodes(data)
        old, words = Phrases(nodes), WordTable.of(nodes)
        first, last = self.spans(words)
        alone = words.row[words.size == 1]
        first, last = torch.cat([first, alone]), torch.cat([last, alone])
        order = last.argsort(descending=True, stable=True)
        order = order[first[order].argsort(stable=True)]  # preorder
        first, last = first[order], last[order]
        node = words.node[first]
        keys = {
            "phrase_index": torch.stack([node, words.node[last]]),
            "phrase_type": self._labels(nodes, old, words, first),
        }
        return write(data, keys, ends_of(nodes, node), nodes.ptr)

    def _labels(self, nodes: Nodes, old: Phrases, words: WordTable, first: Tensor) -> Tensor:
        plain = torch.full_like(first, PhraseVocab.UNK)
        kinds = nodes["phrase_type"]
        if self.labels == "drop" or not kinds.numel():
            return plain
        blocks = int(nodes.block.max()) + 1
        mine, theirs = nodes.block[words.node[first]], nodes.block[old.first]
        count = theirs.bincount(minlength=blocks)
        start, begin = cumsum(count), cumsum(mine.bincount(minlength=blocks))
        place = torch.arange(first.numel(), device=first.device) - begin[mine]
        taken = start[mine] + place % count[mine].clamp(min=1)
        return torch.where(count[mine] > 0, kinds[taken.clamp(max=kinds.numel() - 1)], plain)

    def __repr__(self) -> str:
        return constructor_repr(self)
