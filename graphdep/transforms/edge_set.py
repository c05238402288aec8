"""Sets of edges, and the base class of their constructors."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import torch
import torch_geometric.transforms
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from graphdep.transforms.nodes import (
    Nodes,
    check_between_nodes,
    check_within_examples,
    contains,
    expand_ranges,
    pair_keys,
    pairs_of,
    sorted_unique,
    write_edges,
)
from graphdep.transforms.options import constructor_repr


class EdgeSet:
    r"""A set of (source, target) pairs of nodes of one example or a batch, with set operators.

    A pair is in the set if it is a column of :obj:`edge_index` **or** if both nodes belong to one example and
    have the same number >= 0 in :obj:`clique`. Whether there is a :obj:`clique` depends on the constructor,
    never on the nodes, so a batch and its examples have the same keys.

    Args:
        nodes: The nodes.
        source, target: The explicit pairs, in any order; repetitions are allowed.
        clique: Clique of each node, numbered within its example; -1 for none. (default: :obj:`None`)

    Shapes:
        - ``edge_index``: :math:`(2, |\mathcal{E}|)`, sorted by target, then source, without repetitions and
          without pairs inside a clique
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
        # Sorting dominates the cost of a set, so it waits for the first read: a union sorts once.
        self._keys = pair_keys(source, target)

    @classmethod
    def _of_keys(cls, nodes: Nodes, keys: list[Tensor], clique: Tensor | None = None) -> EdgeSet:
        out = cls.__new__(cls)
        out.nodes, out.clique, out._keys = nodes, clique, torch.cat(keys)
        return out

    @cached_property
    def keys(self) -> Tensor:
        """One number per explicit pair, ascending: ``[E]``."""
        keys = sorted_unique(self._keys)
        return keys if self.clique is None else keys[~_covers(self.clique, keys)]

    @cached_property
    def edge_index(self) -> Tensor:
        """The explicit pairs; row 0 is the source, row 1 the target: ``[2, E]``."""
        return pairs_of(self.keys)

    def materialize(self) -> EdgeSet:
        """The same set with all pairs explicit, without cliques."""
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
        # A clique without some of its pairs is not a clique, so the remaining pairs become explicit.
        keys = self.materialize()._keys
        keep = ~contains(other.keys, keys)
        if other.clique is not None:
            keep &= ~_covers(other.clique, keys)
        return self._of_keys(self.nodes, [keys[keep]])


def _covers(clique: Tensor, keys: Tensor) -> Tensor:
    source, target = clique[pairs_of(keys)]
    return (source == target) & (source >= 0)


def _groups(nodes: Nodes, clique: Tensor) -> Tensor:
    """Numbers cliques across the batch; nodes without a clique share the largest number."""
    inside = clique >= 0
    group = nodes.example * (clique.max() + 1) + clique
    return torch.where(inside, group, group.max() + 1)


def _pairs(nodes: Nodes, clique: Tensor) -> Tensor:
    """The keys of all pairs inside cliques, ascending."""
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
    """The first node of each node's clique; nodes without a clique form one group: ``[N]``."""
    group = _groups(nodes, clique).unique(return_inverse=True)[1]
    first = torch.full_like(group, nodes.num_nodes).scatter_reduce_(0, group, nodes.index, "amin")
    return first[group]


def _inside(nodes: Nodes, fine: Tensor, coarse: Tensor) -> Tensor:
    """Whether each node's clique in ``fine`` lies inside one of ``coarse``; True if it has none: ``[N]``."""
    first = _first_member(nodes, fine)
    torn = (fine >= 0) & ((coarse < 0) | (coarse != coarse[first]))
    any_torn = torch.zeros_like(torn).scatter_reduce_(0, first, torn, "amax") if torn.numel() else torn
    return (fine < 0) | ~any_torn[first]


def _unite(nodes: Nodes, left: Tensor | None, right: Tensor | None) -> tuple[Tensor | None, Tensor]:
    """The cliques of a union, and the keys of the pairs that these cliques cannot express.

    Each example keeps the cliques of ``right`` if they contain all cliques of ``left``, else those of
    ``left``; the other side's cliques that are not inside a kept one become explicit pairs.
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
    """Cliques of the nodes that share a clique in both, numbered by their first node in the example."""
    inside = (left >= 0) & (right >= 0)
    group = _groups(nodes, left) * (right.max() + 2) + right
    group = torch.where(inside, group, -1).unique(return_inverse=True)[1]
    first = torch.full_like(group, nodes.num_nodes).scatter_reduce_(0, group, nodes.index, "amin")
    return torch.where(inside, nodes.local[first[group]], -1)


# Kinds of information that edges carry beside their pairs. Transforms declare the kinds that they write
# (`carries`), layers and models the kinds that they read (`reads`).
TYPES = "types"
"""Each pair has a relation, in :obj:`edge_type`."""
DISTANCES = "distances"
"""The relation of each pair, in :obj:`edge_type`, tells how many arcs its words are apart."""
MARKS = "marks"
"""Each pair is marked or not, in :obj:`edge_mark`."""
NODES = "nodes"
"""There are additional nodes, for relations or phrases."""
CLIQUES = "cliques"
"""Pairs inside a :obj:`clique` are not in :obj:`edge_index`."""
ROOT = "ROOT"
"""A ROOT node sees some node other than ROOT."""
CLS = "[CLS]"
"""[CLS] sees a word."""
CLS_ALL = "[CLS] of all"
"""[CLS] sees all words of its example."""
_OF_EDGES = frozenset({TYPES, DISTANCES, MARKS, CLIQUES, ROOT, CLS, CLS_ALL})


class EdgeTransform(BaseTransform):
    """Base class of transforms that write edges or edge columns and leave the node table unchanged."""

    drops: frozenset[str] = _OF_EDGES
    """Kinds of earlier edges that this transform removes."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "carries" not in vars(cls) and {"build", "write", "forward"} & vars(cls).keys():
            cls.carries = None  # type: ignore[assignment,method-assign]  # the base declares its own edges

    @property
    def carries(self) -> frozenset[str] | None:
        """Kinds that edges carry after this transform, such as :data:`TYPES`; if :obj:`None`,
        :func:`~graphdep.transforms.carried.carried` tries the transform on a small batch.
        """
        return None

    @abstractmethod
    def write(self, nodes: Nodes) -> Data:
        """A copy of the data of ``nodes`` with the edges."""

    def forward(self, data: Data) -> Data:
        return self.write(Nodes(data))

    def __repr__(self) -> str:
        return constructor_repr(self)


class EdgeConstructor(EdgeTransform):
    r"""Base class of transforms that build a set of edges from the node table.

    ``a | b``, ``a & b`` and ``a - b`` are constructors, too. Applied to a :class:`~torch_geometric.data.Data`
    or a :class:`~torch_geometric.data.Batch`, on any device, a constructor replaces all earlier edges by its
    :obj:`edge_index`. Edges never join two examples: a :meth:`build` that does so raises an error.

    :obj:`edge_index` holds all pairs, unless a part is ``implicit``. Then the data has :obj:`clique` instead,
    :obj:`edge_index_explicit` with the pairs outside cliques, and **no** :obj:`edge_index`, so that no layer
    takes some of the pairs for all of them. Read such data with :meth:`AttentionLayout.of(data)
    <graphdep.nn.attention.AttentionLayout.of>`.

    A subclass may declare the kinds of information that its edges carry beside their pairs, such as types
    (:attr:`carries`); otherwise it is tried on a small batch.

    A pair of **words** stands for all pairs of their pieces with ``pieces="all"``, and for the pair of their
    first pieces with ``pieces="first"``. With one node per word both are the same.

    Shapes:
        - ``edge_index``: :math:`(2, |\mathcal{E}|)`, row 0 the source, row 1 the target; sorted by target,
          then source. The target attends to the source.
        - ``edge_index_explicit``: the same for implicit data, with the pairs outside cliques and all typed
          pairs
        - ``clique``: :math:`(|\mathcal{V}|)`, long: nodes of one example with the same number >= 0 attend to
          one another and to themselves; -1 is in no clique.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import DependencyEdges, SelfLoops
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> edges = DependencyEdges("governor") | SelfLoops("tops")
        >>> edges(to_data([sentence])).edge_index
        tensor([[0, 2, 1, 4, 3],
                [0, 0, 2, 2, 4]])
    """

    @abstractmethod
    def build(self, nodes: Nodes) -> EdgeSet:
        """The set of edges between ``nodes``."""

    def edge_set(self, nodes: Nodes) -> EdgeSet:
        """The edge set of :meth:`build`, checked, since subclasses may be custom code.

        Raises:
            TypeError: If :meth:`build` does not return an :class:`EdgeSet`.
        """
        edges = self.build(nodes)
        if not isinstance(edges, EdgeSet):
            raise TypeError(
                f"{type(self).__name__}.build() must return an EdgeSet, e.g. EdgeSet(nodes, source, target) "
                f"(got {type(edges).__name__})"
            )
        return edges

    def write(self, nodes: Nodes) -> Data:
        edges = self.edge_set(nodes)
        count = edges.nodes.num_nodes
        if edges.clique is not None and len(edges.clique) != count:
            raise ValueError(f"{self!r} has a clique for {len(edges.clique)} of {count} nodes")
        check_between_nodes(edges.edge_index, count, repr(self))
        check_within_examples(edges.edge_index, nodes.data.get("batch"), repr(self))
        return write_edges(edges.nodes, edges.edge_index, edges.clique)

    def __or__(self, other: EdgeConstructor) -> EdgeConstructor:
        return _combine(self, "|", other)

    def __and__(self, other: EdgeConstructor) -> EdgeConstructor:
        return _combine(self, "&", other)

    def __sub__(self, other: EdgeConstructor) -> EdgeConstructor:
        return _combine(self, "-", other)


_OPERATORS: dict[str, Callable[[EdgeSet, EdgeSet], EdgeSet]] = {
    "|": operator.or_,
    "&": operator.and_,
    "-": operator.sub,
}


class _Combined(EdgeConstructor):
    """Two constructors joined by a set operator; prints as the expression that made it."""

    def __init__(self, left: EdgeConstructor, symbol: str, right: EdgeConstructor) -> None:
        self.left, self.symbol, self.right = left, symbol, right

    @property
    def carries(self) -> frozenset[str] | None:
        left, right = self.left.carries, self.right.carries
        # The kinds of both sides do not tell those of an intersection or difference.
        return None if self.symbol != "|" or left is None or right is None else left | right

    def build(self, nodes: Nodes) -> EdgeSet:
        return _OPERATORS[self.symbol](self.left.edge_set(nodes), self.right.edge_set(nodes))

    def __repr__(self) -> str:
        return f"({self.left!r} {self.symbol} {self.right!r})"


def _combine(left: EdgeConstructor, symbol: str, right: object) -> EdgeConstructor:
    if not isinstance(right, EdgeConstructor):
        return NotImplemented
    return _Combined(left, symbol, right)


class Compose(torch_geometric.transforms.Compose):
    """PyG's ``Compose``, except that the steps share one ``Nodes`` until one of them changes the nodes."""

    def forward(self, data: Any) -> Any:
        if not isinstance(data, Data):
            return super().forward(data)
        nodes: Nodes | None = None
        for step in steps_of(self):
            if isinstance(step, EdgeTransform) and type(step).forward is EdgeTransform.forward:
                nodes = Nodes(data) if nodes is None else nodes.over(data)
                data = step.write(nodes)
            else:
                data, nodes = step(data), None
        return data


def steps_of(edges: BaseTransform) -> Iterator[BaseTransform]:
    """The steps of a transform, in the order in which they are applied."""
    if isinstance(edges, torch_geometric.transforms.Compose):
        for step in edges.transforms:
            yield from steps_of(step)
    else:
        yield edges


def ancestors(nodes: Nodes, distance: int) -> list[Tensor]:
    """For each k = 0 ... ``distance``, the ancestor k arcs above each node; -1 where there is none.

    The list is shorter if no node is that deep. For k = 0 it is the node itself, or -1 outside the trees.
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
    above the nodes ``j``. Joins nodes on shared ancestors, so the work is linear in the number of pairs.
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
    """Arcs from ``i`` and from ``j`` to their lowest common ancestor; -1 if it is too far or missing."""
    up = ancestors(nodes, distance)
    above, below = torch.full_like(i, -1), torch.full_like(i, -1)
    for a in range(len(up)):
        for b in range(min(distance - a + 1, len(up))):
            # Higher common ancestors have larger distances on both sides, so the first match is the lowest.
            match = (up[a][i] >= 0) & (up[a][i] == up[b][j]) & (above < 0)
            above, below = torch.where(match, a, above), torch.where(match, b, below)
    return above, below


def euler_tour(nodes: Nodes) -> tuple[Tensor, Tensor, Tensor]:
    r"""Numbers nodes so that subtrees are ranges: i is j or an ancestor of j iff
    ``enter[i] <= enter[j] < leave[i]``.

    The tour of each tree is a linked list with two items per node (entering and leaving it), ranked by
    pointer jumping: :math:`O(n \log n)` work in :math:`\log n` rounds at any depth.

    Returns ``enter``, ``leave`` and the nodes in the order of their ``enter``.
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
    # A tour of a cycle never leaves a node without a governor.
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
