"""Edges with a share of errors: simulated parsing errors."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import cumsum

from graphdep.transforms._hash import example_hash, mix, permute, unsigned
from graphdep.transforms._options import choice, count
from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes


class RewiredEdges(EdgeConstructor):
    r"""A share of the right pairs masked and as many wrong ones let through: the parsing errors of appendix C
    of `"Modeling Compositionality with Dependency Graph for Dialogue Generation"
    <https://aclanthology.org/2022.suki-1.2/>`_.

    Of the R pairs of an example, round(p R) are taken out and as many pairs that are not in the set put in
    (fewer where the scope has not that many). That is one reading: the paper says neither how many wrong
    pairs are let through nor among which. Self loops, and pairs with a ROOT node, are neither counted, masked
    nor added: that ROOT sees its utterance (Eq. 2, u = 0) is no result of a parse. Which pairs depends on the
    seed and on what the example holds, not on its place in a batch nor on the time.

    Args:
        edges: The right edges.
        p: Share of the pairs that are wrong, from 0 to 1.
        seed: A whole number >= 0. (default: :obj:`0`)
        scope: Wrong pairs are drawn within each ``"utterance"`` or in the whole ``"example"``.
            (default: ``"utterance"``)

    Raises:
        ValueError: If an argument is none of those.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import DependencyEdges, RewiredEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = to_data([sentence], root=False)
        >>> DependencyEdges("governor")(data).edge_index.tolist()
        [[0, 3, 2], [1, 1, 3]]
        >>> RewiredEdges(DependencyEdges("governor"), p=0.5)(data).edge_index.tolist()
        [[1, 0, 2], [0, 3, 3]]
    """

    def __init__(self, edges: EdgeConstructor, p: float, seed: int = 0, *, scope: str = "utterance") -> None:
        if not isinstance(edges, EdgeConstructor):
            raise ValueError(f"'edges' must be an edge constructor (got {edges!r})")
        if not 0 <= p <= 1:
            raise ValueError(f"'p' must be from 0 to 1 (got {p!r})")
        self.edges = edges
        self.p = float(p)
        self.seed = count("seed", seed)
        self.scope = choice("scope", scope, ("utterance", "example"))

    def build(self, nodes: Nodes) -> EdgeSet:
        source, target = self.edges.build(nodes).materialize().edge_index
        root = nodes.is_type(("ROOT",))
        kept = (source == target) | root[source] | root[target]
        always = source[kept], target[kept]
        source, target = source[~kept], target[~kept]
        chance = example_hash(nodes, self.seed)
        example = nodes.example[target]
        size = example.bincount(minlength=chance.numel())
        errors = (self.p * size.double()).round().long()
        kept = _rank(nodes, chance, source, target, cumsum(size)) >= errors[example]
        wrong_source, wrong_target = self._wrong(nodes, chance, source, target, errors)
        source = torch.cat([always[0], source[kept], wrong_source])
        return EdgeSet(nodes, source, torch.cat([always[1], target[kept], wrong_target]))

    def _wrong(
        self, nodes: Nodes, chance: Tensor, source: Tensor, target: Tensor, errors: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Pairs that are not in the set: picked by their rank among all those, which are never listed."""
        group = nodes.block if self.scope == "utterance" else nodes.example
        # A ROOT node is a group of its own, so that no wrong pair has one.
        alone = group.max() + 1 + nodes.index
        group = torch.where(nodes.is_type(("ROOT",)), alone, group).unique(return_inverse=True)[1]
        pairs = _PairNumbers(nodes, group)
        inside = pairs.group[source] == pairs.group[target]
        source, target = torch.cat([source[inside], nodes.index]), torch.cat([target[inside], nodes.index])
        taken = pairs.number(source, target).sort().values
        used = nodes.example[target].bincount(minlength=chance.numel())
        free = pairs.per_example - used
        example, rank = expand_ranges(torch.zeros_like(free), errors.minimum(free))
        rank = permute(rank, free[example], mix(chance)[example])
        rank = rank + cumsum(free)[example]
        # Before taken[k] there are taken[k] - k free numbers.
        before = torch.searchsorted(
            taken - torch.arange(taken.numel(), device=taken.device), rank, right=True
        )
        return pairs.pair(rank + before)


class _PairNumbers:
    """Numbers all pairs of nodes of one group, group after group, target by target."""

    def __init__(self, nodes: Nodes, group: Tensor) -> None:
        self.group = group
        self.size = group.bincount()
        self.order = group.argsort(stable=True)
        self.start = cumsum(self.size)
        self.place = torch.empty_like(self.order).index_copy(0, self.order, nodes.index) - self.start[group]
        self.base = cumsum(self.size * self.size)
        totals = torch.zeros_like(nodes.ptr[:-1])
        self.per_example = totals.index_add(0, nodes.example, self.size[group])

    def number(self, source: Tensor, target: Tensor) -> Tensor:
        group = self.group[target]
        return self.base[group] + self.place[target] * self.size[group] + self.place[source]

    def pair(self, number: Tensor) -> tuple[Tensor, Tensor]:
        group = torch.searchsorted(self.base, number, right=True) - 1
        within, size = number - self.base[group], self.size[group]
        target = within.div(size, rounding_mode="floor")
        start = self.start[group]
        return self.order[start + within - target * size], self.order[start + target]


def _rank(nodes: Nodes, chance: Tensor, source: Tensor, target: Tensor, start: Tensor) -> Tensor:
    """The place of each pair among those of its example in random order."""
    example = nodes.example[target]
    number = mix(mix(nodes.local[target]) ^ nodes.local[source])
    order = unsigned(mix(chance[example] ^ number)).argsort(stable=True)
    order = order[example[order].argsort(stable=True)]
    place = torch.arange(order.numel(), device=order.device)
    return torch.empty_like(order).index_copy(0, order, place - start[example[order]])
