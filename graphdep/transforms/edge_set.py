"""A set of node pairs: some written out, some implied by cliques."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from graphdep.transforms._ranges import contains, expand_ranges, pair_keys, pairs_of, sorted_unique
from graphdep.transforms.nodes import Nodes


class EdgeSet:
    r"""Pairs (source, target) of the nodes of one example or of a batch, and their set algebra.

    A pair is in the set if it is a column of :obj:`edge_index` **or** if both nodes have the same number
    >= 0 in :obj:`clique` and belong to one example. Whether :obj:`clique` is there depends on how the set
    was built, never on the nodes, so that a batch and its examples have the same keys.

    Args:
        nodes: The nodes.
        source, target: The pairs that are written out, in any order and with repetitions.
        clique: Numbers of cliques, each meant inside one example; -1 is in none. (default: :obj:`None`)

    Shapes:
        - ``edge_index``: :math:`(2, |\mathcal{E}|)`, sorted by target, then source, without repetitions
          and without pairs of a clique
        - ``clique``: :math:`(|\mathcal{V}|)`, long

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import EdgeSet, Nodes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> nodes = Nodes(to_data([sentence]))
        >>> next_word = EdgeSet(nodes, nodes.index[:-1], nodes.index[1:])
        >>> (next_word | EdgeSet(nodes, nodes.index, nodes.index)).edge_index
        tensor([[0, 0, 1, 1, 2, 2, 3, 3, 4],
                [0, 1, 1, 2, 2, 3, 3, 4, 4]])
    """

    def __init__(self, nodes: Nodes, source: Tensor, target: Tensor, clique: Tensor | None = None) -> None:
        self.nodes, self.clique = nodes, clique
        # Sorting is what a set costs, so it waits until somebody looks: a union sorts once.
        self._keys = pair_keys(source, target)

    @classmethod
    def _of_keys(cls, nodes: Nodes, keys: list[Tensor], clique: Tensor | None = None) -> EdgeSet:
        out = cls.__new__(cls)
        out.nodes, out.clique, out._keys = nodes, clique, torch.cat(keys)
        return out

    @cached_property
    def keys(self) -> Tensor:
        """One number a written-out pair, ascending: ``[E]``."""
        keys = sorted_unique(self._keys)
        return keys if self.clique is None else keys[~_covers(self.clique, keys)]

    @cached_property
    def edge_index(self) -> Tensor:
        """The pairs that are written out, row 0 the source, row 1 the target: ``[2, E]``."""
        return pairs_of(self.keys)

    def materialize(self) -> EdgeSet:
        """The same set with every pair written out."""
        if self.clique is None:
            return self
        return self._of_keys(self.nodes, [self._keys, _pairs(self.nodes, self.clique)])

    def __or__(self, other: EdgeSet) -> EdgeSet:
        clique, rest = _unite(self.nodes, self.clique, other.clique)
        return self._of_keys(self.nodes, [self._keys, other._keys, rest], clique)

    def __and__(self, other: EdgeSet) -> EdgeSet:
        both = [self._keys[contains(other.keys, self._keys)]]
        if other.clique is not None:
            both.append(self._keys[_covers(other.clique, self._keys)])
        if self.clique is not None:
            both.append(other._keys[_covers(self.clique, other._keys)])
        clique = None
        if self.clique is not None and other.clique is not None:
            clique = _refine(self.nodes, self.clique, other.clique)
        return self._of_keys(self.nodes, both, clique)

    def __sub__(self, other: EdgeSet) -> EdgeSet:
        # A clique without some of its pairs is no clique, so what is left of one has to be written out.
        keys = self.materialize()._keys
        keep = ~contains(other.keys, keys)
        if other.clique is not None:
            keep &= ~_covers(other.clique, keys)
        return self._of_keys(self.nodes, [keys[keep]])


def _covers(clique: Tensor, keys: Tensor) -> Tensor:
    source, target = clique[pairs_of(keys)]
    return (source == target) & (source >= 0)


def _groups(nodes: Nodes, clique: Tensor) -> Tensor:
    """Numbers cliques through the batch; nodes in none share one number after all others."""
    inside = clique >= 0
    group = nodes.example * (clique.max() + 1) + clique
    return torch.where(inside, group, group.max() + 1)


def _pairs(nodes: Nodes, clique: Tensor) -> Tensor:
    """The keys of all pairs of cliques, ascending."""
    if not clique.numel():
        return clique
    group = _groups(nodes, clique).unique(return_inverse=True)[1]
    count = group.bincount()
    start = count.cumsum(0) - count
    target = nodes.index[clique >= 0]
    # Members keep their order, so that sources ascend within a target.
    order = group.argsort(stable=True)
    owner, member = expand_ranges(start[group[target]], count[group[target]])
    return pair_keys(order[member], target[owner])


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
