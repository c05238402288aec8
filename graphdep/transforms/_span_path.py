"""Marked spans in trees: the word that is nearest to the root, and the way from one span to the other."""

from __future__ import annotations

import torch
from torch import Tensor

from graphdep.transforms.nodes import Nodes


def in_span(nodes: Nodes, span: int) -> Tensor:
    """Whether each node belongs to a word of a span, 1 or 2: ``[N]``."""
    return (nodes.mark & span) > 0


def top_words(nodes: Nodes, span: int) -> Tensor:
    """The word of a span, 1 or 2, that is nearest to the root, the first of several, by its first piece; -1
    where an example has no word of it: ``[examples]``.
    """
    words = (in_span(nodes, span) & nodes.in_tree & (nodes["word"] >= 0)).nonzero().view(-1)
    size = max(nodes.num_nodes, 1)
    none = torch.iinfo(torch.long).max
    best = torch.full_like(nodes.ptr[1:], none)
    best = best.scatter_reduce(0, nodes.example[words], nodes["depth"][words] * size + words, "amin")
    return torch.where(best < none, best % size, -1)


def path_words(nodes: Nodes) -> Tensor:
    """Whether each node is the first piece of a word on the way through the tree from the top word of the
    first span to that of the second, both ends included: ``[N]``. An example without one of them has no way;
    ROOT is no word, and in a tree of several roots the way is that to the root of each.
    """
    first, second = top_words(nodes, 1), top_words(nodes, 2)
    above_first, above_second = _upwards(nodes, first), _upwards(nodes, second)
    shared = above_first & above_second
    depth = torch.where(shared, nodes["depth"], -1)
    lowest = torch.full_like(first, -1).scatter_reduce(0, nodes.example, depth, "amax")
    path = (above_first ^ above_second) | (shared & (depth == lowest[nodes.example]))
    return path & ((first >= 0) & (second >= 0))[nodes.example] & (nodes["word"] >= 0)


def _upwards(nodes: Nodes, word: Tensor) -> Tensor:
    """Whether each node is one of the words or above one: ``[N]``."""
    above = torch.zeros_like(nodes.index, dtype=torch.bool)
    word = word[word >= 0]
    for _ in range(int(nodes["depth"].max()) + 1 if word.numel() else 0):
        above[word] = True
        word = nodes.parent[word]
        word = word[word >= 0]
    return above
