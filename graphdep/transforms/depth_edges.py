"""Edges between the upper nodes of all trees of an example."""

from __future__ import annotations

import torch
from torch_geometric.utils import cumsum

from graphdep.transforms._options import count
from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces


class DepthEdges(EdgeConstructor):
    r"""Nodes high up in their trees attend to one another, across the utterances of an example: the
    inter-sentence mask of `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 4).

    .. math::
        \mathcal{E} = \{(j, i) : d_i + d_j \leq \texttt{max\_sum}\}

    Both nodes may be of one utterance, and may be the same. Depth is 1 for a root word and 0 for ROOT,
    which takes part where it exists; nodes outside the trees (depth -1) never do.

    Args:
        max_sum: The largest sum of depths, :math:`m` in the paper.
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If :obj:`max_sum` is no whole number >= 0 or :obj:`pieces` is unknown.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import DepthEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> DepthEdges(max_sum=2)(to_data([sentence], root=False)).edge_index
        tensor([[1],
                [1]])
    """

    def __init__(self, max_sum: int, *, pieces: str = "all") -> None:
        self.max_sum = count("max_sum", max_sum)
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        depth = nodes["depth"]
        member = depth >= 0 if self.pieces == "all" else nodes.in_tree
        target = (member & (depth <= self.max_sum)).nonzero().view(-1)
        example, depth = nodes.example[target], depth[target]
        # Sorted by example and depth, the partners of a node are a prefix of its example.
        key = example * (self.max_sum + 1) + depth
        key, order = key.sort(stable=True)
        start = cumsum(example.bincount(minlength=nodes.ptr.numel() - 1))[example]
        end = torch.searchsorted(key, example * (self.max_sum + 1) + (self.max_sum - depth), right=True)
        owner, place = expand_ranges(start, end - start)
        return EdgeSet(nodes, target[order[place]], target[owner])
