"""The trees of a batch level by level, for encoders that go up or down them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._utterances import root_nodes


class TreeLevels:
    r"""All nodes of the same depth form a level, over the whole batch.

    The dependents of a level are just the level below it, so a step up or down needs no other states, and a
    batch takes as many steps as its deepest tree has levels. The last level are the ROOT nodes.

    Args:
        data: A node table with ROOT nodes.

    Attributes:
        order: The nodes of the trees, deepest level first: ``[nodes in trees]``.
        sizes: Number of nodes of each level, deepest first.
        governors: Per level, except for the last, the place of each node's governor in the next one.

    Raises:
        ValueError: If the data has no ROOT nodes, or a depth is not one more than that of the governor.
    """

    def __init__(self, data: Data) -> None:
        check_trees(data)
        depth, governor = data.depth, data.governor_index
        self.num_nodes = depth.numel()
        nodes = (depth >= 0).nonzero().view(-1)
        self.order = nodes[depth[nodes].argsort(descending=True, stable=True)]
        level = depth[self.order]
        count = torch.bincount(level)
        self.sizes: list[int] = count.flip(0).tolist()
        below = count.flip(0).cumsum(0).flip(0) - count  # nodes in deeper levels
        place = torch.empty_like(depth)
        place[self.order] = torch.arange(level.numel(), device=level.device) - below[level]
        self.governors = place[governor[self.order]].split(self.sizes)[:-1]

    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        """The rows of each level, deepest first; ``x`` has the rows of :attr:`order`."""
        return x.split(self.sizes)

    def join(self, levels: list[Tensor]) -> Tensor:
        """One row a node, in the order of the nodes, from the rows of each level; zeros outside the trees."""
        x = torch.cat(levels)
        return x.new_zeros(self.num_nodes, x.size(-1)).index_copy_(0, self.order, x)


def sum_children(x: Tensor, governor: Tensor, size: int) -> Tensor:
    """For each of ``size`` governors the sum of the rows of its dependents."""
    return x.new_zeros(size, x.size(-1)).index_add_(0, governor, x)


def check_trees(data: Data) -> None:
    """Raises :class:`ValueError` unless trees have ROOT nodes and depths that fit their governors."""
    root_nodes(data)
    depth, governor = data.depth, data.governor_index
    wrong = ((depth > 0) & (depth[governor] != depth - 1)).nonzero().view(-1)
    if wrong.numel():
        node = int(wrong[0])
        above = int(governor[node])
        raise ValueError(
            f"node {node} of depth {int(depth[node])} has governor {above} of depth {int(depth[above])}: "
            "every tree needs a ROOT node, and a depth of one more at each arc"
        )
