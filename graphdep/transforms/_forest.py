"""Trees of a whole batch at once: ancestors, Euler tours and pairs that are near one another."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch_geometric.utils import cumsum

from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.nodes import Nodes


def ancestors(nodes: Nodes, distance: int) -> list[Tensor]:
    """Per k = 0 ... ``distance`` the ancestor k arcs above each node, -1 where there is none.

    Shorter where no node is that deep; k = 0 is the node itself, -1 outside the trees.
    """
    levels = [torch.where(nodes.in_tree, nodes.index, -1)]
    for _ in range(distance):
        above = _follow(nodes.parent, levels[-1])
        if not bool((above >= 0).any()):
            break
        levels.append(above)
    return levels


def _follow(parent: Tensor, node: Tensor) -> Tensor:
    return torch.where(node >= 0, parent[node.clamp(min=0)], -1)


def near_pairs(nodes: Nodes, distance: int) -> Iterator[tuple[int, int, Tensor, Tensor]]:
    """All ordered pairs of different nodes at most ``distance`` arcs apart, once each.

    Yields ``(a, b, i, j)``: the lowest common ancestor is ``a`` arcs above the nodes ``i`` and ``b`` arcs
    above the nodes ``j``. Found by joining nodes on shared ancestors, so the work is that of the answer.
    """
    up = ancestors(nodes, distance)
    for a in range(len(up)):
        for b in range(max(a, 1), min(distance - a + 1, len(up))):
            i, j = _descent(up, b) if a == 0 else _join(up, a, b)
            yield a, b, i, j
            if a != b:
                yield b, a, j, i


def _descent(up: list[Tensor], b: int) -> tuple[Tensor, Tensor]:
    below = (up[b] >= 0).nonzero().view(-1)
    return up[b][below], below


def _join(up: list[Tensor], a: int, b: int) -> tuple[Tensor, Tensor]:
    below = (up[b] >= 0).nonzero().view(-1)
    below = below[up[b][below].argsort(stable=True)]
    count = up[b][below].bincount(minlength=up[b].numel())
    i = (up[a] >= 0).nonzero().view(-1)
    meet = up[a][i]
    pair, place = expand_ranges(cumsum(count)[meet], count[meet])
    i, j = i[pair], below[place]
    # Nodes whose paths join before ``meet`` have a lower common ancestor.
    apart = up[a - 1][i] != up[b - 1][j]
    return i[apart], j[apart]


def lowest_common(nodes: Nodes, i: Tensor, j: Tensor, distance: int) -> tuple[Tensor, Tensor]:
    """Arcs from ``i`` and from ``j`` up to their lowest common ancestor; -1 where that is too far or none."""
    up = ancestors(nodes, distance)
    above, below = torch.full_like(i, -1), torch.full_like(i, -1)
    for a in range(len(up)):
        for b in range(min(distance - a + 1, len(up))):
            # Common ancestors further up have both distances larger, so the first match is the lowest.
            match = (up[a][i] >= 0) & (up[a][i] == up[b][j]) & (above < 0)
            above, below = torch.where(match, a, above), torch.where(match, b, below)
    return above, below


def euler_tour(nodes: Nodes) -> tuple[Tensor, Tensor, Tensor]:
    r"""Numbers nodes so that subtrees are ranges: i is j or an ancestor of j iff
    ``enter[i] <= enter[j] < leave[i]``.

    The tour of each tree is a linked list of two items a node (entering and leaving it), ranked by pointer
    jumping: :math:`O(n \log n)` work in :math:`\log n` rounds, whatever the depth.

    Returns ``enter``, ``leave`` and the nodes in the order of entering.

    Raises:
        ValueError: If governors form a cycle.
    """
    size = nodes.num_nodes
    after = _tour_list(nodes.parent)
    rank = (torch.arange(2 * size, device=after.device) < size).long()  # counts entered nodes
    for _ in range((2 * size).bit_length()):
        further = after[after]
        if torch.equal(further, after):
            break
        rank = rank + rank[after]
        after = further
    root = after[:size] - size
    # A tour that goes round a cycle never comes to the leaving of a node without governor.
    if bool((root < 0).any()) or bool((nodes.parent[root] >= 0).any()):
        raise ValueError("'governor_index' has a cycle")
    total = rank[:size][root]
    start = cumsum(torch.where(nodes.parent < 0, rank[:size], 0))[:-1]
    enter = start[root] + total - rank[:size]
    leave = start[root] + total - rank[size:]
    return enter, leave, torch.empty_like(enter).scatter_(0, enter, nodes.index)


def _tour_list(parent: Tensor) -> Tensor:
    """The item after each item: i enters node i, n + i leaves it; leaving a root comes last."""
    size = parent.numel()
    index = torch.arange(size, device=parent.device)
    children = parent.argsort(stable=True)[int((parent < 0).sum()) :]
    count = parent[children].bincount(minlength=size)
    enter_next, leave_next = index + size, torch.where(parent >= 0, parent + size, index + size)
    has_child = (count > 0).nonzero().view(-1)
    enter_next[has_child] = children[cumsum(count)[has_child]]
    siblings = parent[children[1:]] == parent[children[:-1]]
    leave_next[children[:-1][siblings]] = children[1:][siblings]
    return torch.cat([enter_next, leave_next])
