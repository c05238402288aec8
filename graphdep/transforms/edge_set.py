"""A set of node pairs: some written out, some implied by cliques."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graphdep.transforms._ranges import contains, expand_ranges, sorted_unique
from graphdep.transforms.nodes import Nodes


@dataclass(frozen=True, eq=False)
class EdgeSet:
    r"""Pairs (source, target) of the nodes of one example or of a batch, and their set algebra.

    A pair is in the set if it is a column of :obj:`edge_index` **or** if both nodes have the same number
    >= 0 in :obj:`clique` and belong to one example. Whether :obj:`clique` is there depends on how the set
    was built, never on the nodes, so that a batch and its examples have the same keys.

    Args:
        nodes: The nodes.
        edge_index: Pairs, row 0 the source, row 1 the target. Build them with :meth:`of`, which sorts.
        clique: Numbers of cliques, each meant inside one example; -1 is in none. (default: :obj:`None`)

    Shapes:
        - ``edge_index``: :math:`(2, |\mathcal{E}|)`, sorted by target, then source, without repetitions
          and without pairs of a clique
        - ``clique``: :math:`(|\mathcal{V}|)`, long
    """

    nodes: Nodes
    edge_index: Tensor
    clique: Tensor | None = None

    @classmethod
    def of(cls, nodes: Nodes, source: Tensor, target: Tensor, clique: Tensor | None = None) -> EdgeSet:
        """Sorts pairs in any order, with repetitions, and leaves out those that a clique implies."""
        return cls._of_keys(nodes, target * nodes.num_nodes + source, clique)

    @classmethod
    def _of_keys(cls, nodes: Nodes, keys: Tensor, clique: Tensor | None = None) -> EdgeSet:
        keys = sorted_unique(keys)
        target = keys.div(nodes.num_nodes, rounding_mode="floor")
        edge_index = torch.stack([keys - target * nodes.num_nodes, target])
        if clique is not None:
            edge_index = edge_index[:, ~_covers(clique, edge_index)]
        return cls(nodes, edge_index, clique)

    @property
    def keys(self) -> Tensor:
        """One number a written-out pair, ascending: ``[E]``."""
        return self.edge_index[1] * self.nodes.num_nodes + self.edge_index[0]

    def materialize(self) -> EdgeSet:
        """The same set with every pair written out."""
        if self.clique is None:
            return self
        return self._of_keys(self.nodes, torch.cat([self.keys, _pairs(self.nodes, self.clique)]))

    def __or__(self, other: EdgeSet) -> EdgeSet:
        clique, rest = _unite(self.nodes, self.clique, other.clique)
        return self._of_keys(self.nodes, torch.cat([self.keys, other.keys, rest]), clique)

    def __and__(self, other: EdgeSet) -> EdgeSet:
        keys = self.keys
        both = [keys[contains(other.keys, keys)]]
        if other.clique is not None:
            both.append(keys[_covers(other.clique, self.edge_index)])
        if self.clique is not None:
            both.append(other.keys[_covers(self.clique, other.edge_index)])
        clique = None
        if self.clique is not None and other.clique is not None:
            clique = _refine(self.nodes, self.clique, other.clique)
        return self._of_keys(self.nodes, torch.cat(both), clique)

    def __sub__(self, other: EdgeSet) -> EdgeSet:
        # A clique without some of its pairs is no clique, so what is left of one has to be written out.
        left = self.materialize()
        keep = ~contains(other.keys, left.keys)
        if other.clique is not None:
            keep &= ~_covers(other.clique, left.edge_index)
        return EdgeSet(self.nodes, left.edge_index[:, keep])


def _covers(clique: Tensor, edge_index: Tensor) -> Tensor:
    source, target = clique[edge_index[0]], clique[edge_index[1]]
    return (source == target) & (source >= 0)


def _groups(nodes: Nodes, clique: Tensor) -> Tensor:
    """Numbers cliques through the batch; nodes in none share one number after all others."""
    inside = clique >= 0
    group = nodes.example * (clique.max() + 1) + clique
    return torch.where(inside, group, group.max() + 1)


def _pairs(nodes: Nodes, clique: Tensor) -> Tensor:
    """The keys of all pairs of cliques, ascending."""
    group = _groups(nodes, clique).unique(return_inverse=True)[1]
    count = group.bincount()
    start = count.cumsum(0) - count
    target = nodes.index[clique >= 0]
    # Members keep their order, so that sources ascend within a target.
    order = group.argsort(stable=True)
    owner, member = expand_ranges(start[group[target]], count[group[target]])
    return target[owner] * nodes.num_nodes + order[member]


def _first_member(nodes: Nodes, clique: Tensor) -> Tensor:
    """The first node of each node's clique; nodes in none get the first of those: ``[N]``."""
    group = _groups(nodes, clique).unique(return_inverse=True)[1]
    first = torch.full_like(group, nodes.num_nodes).scatter_reduce_(0, group, nodes.index, "amin")
    return first[group]


def _inside(nodes: Nodes, fine: Tensor, coarse: Tensor) -> Tensor:
    """Whether each node's clique in ``fine`` lies inside one of ``coarse``; True outside all: ``[N]``."""
    first = _first_member(nodes, fine)
    torn = (fine >= 0) & ((coarse < 0) | (coarse != coarse[first]))
    any_torn = torch.zeros_like(torn).scatter_reduce_(0, first, torn, "amax") if torn.numel() else torn
    return (fine < 0) | ~any_torn[first]


def _unite(nodes: Nodes, left: Tensor | None, right: Tensor | None) -> tuple[Tensor | None, Tensor]:
    """The cliques of a union and the keys of the pairs that these cannot express.

    Decided example by example: where all of ``left`` lies inside ``right``, ``right`` is kept, else
    ``left``, and cliques of the other that stick out are written out.
    """
    none = nodes.index[:0]
    if left is None or right is None:
        return (right if left is None else left), none
    sticks_out = ~_inside(nodes, left, right)
    examples = torch.zeros(nodes.ptr.numel() - 1, dtype=torch.bool, device=none.device)
    swap = ~examples.index_put((nodes.example[sticks_out],), sticks_out.new_ones(()))[nodes.example]
    kept, other = torch.where(swap, right, left), torch.where(swap, left, right)
    return kept, _pairs(nodes, torch.where(_inside(nodes, other, kept), -1, other))


def _refine(nodes: Nodes, left: Tensor, right: Tensor) -> Tensor:
    """Cliques of the nodes that share one in both, numbered by their first node in the example."""
    inside = (left >= 0) & (right >= 0)
    group = _groups(nodes, left) * (right.max() + 2) + right
    group = torch.where(inside, group, -1).unique(return_inverse=True)[1]
    first = torch.full_like(group, nodes.num_nodes).scatter_reduce_(0, group, nodes.index, "amin")
    return torch.where(inside, nodes.local[first[group]], -1)
