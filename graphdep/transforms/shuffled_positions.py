"""Words in random order, for models that know the order by positions."""

from __future__ import annotations

import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.transforms._hash import unsigned
from graphdep.transforms._options import constructor_repr, count
from graphdep.transforms._write import write
from graphdep.transforms.nodes import Nodes
from graphdep.transforms.tree_transform import WordTable


class ShuffledPositions(BaseTransform):
    r"""Gives the words of each utterance their positions in another order: the control that has everything of
    a text but the order of its words. The pieces of a word stay together; ROOT, [CLS] and other nodes keep
    their places, and so do trees and edges, which name nodes.

    The order depends on the seed and on the words of the utterance alone, so equal sentences are shuffled
    alike. Models that read words node by node, such as an LSTM, do not see it.

    Args:
        seed: A whole number >= 0. (default: :obj:`0`)

    Raises:
        ValueError: If :obj:`seed` is none of those, or the data has no positions.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import ShuffledPositions
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> ShuffledPositions()(to_data([sentence])).position
        tensor([0, 4, 1, 3, 2])
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = count("seed", seed)

    def forward(self, data: Data) -> Data:
        nodes = Nodes(data)
        words = WordTable.of(nodes)
        row = torch.full_like(nodes.index, -1).index_copy(0, words.node, words.row)[nodes.first]
        moved = (row >= 0).nonzero().view(-1)
        block, old = nodes.block[moved], nodes["position"][moved]
        chance = unsigned(words.chance(self.seed))[row[moved]]
        places = _sorted(old, block)
        # By utterance, then by the chance of the word, then as the pieces stand.
        order = _sorted(old, row[moved])
        order = order[chance[order].argsort(stable=True)]
        order = order[block[order].argsort(stable=True)]
        position = nodes["position"].index_copy(0, moved[order], old[places])
        return write(data, {"position": position}, nodes.ptr, nodes.ptr)

    def __repr__(self) -> str:
        return constructor_repr(self)


def _sorted(value: torch.Tensor, within: torch.Tensor) -> torch.Tensor:
    order = value.argsort(stable=True)
    return order[within[order].argsort(stable=True)]
