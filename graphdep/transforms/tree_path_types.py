"""Types of edges: arc labels, and codes of short paths through the tree."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.transforms._forest import lowest_common, near_pairs
from graphdep.transforms._options import constructor_repr, count
from graphdep.transforms._ranges import pair_keys, pairs_of
from graphdep.transforms._write import write_edges
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes, check_pieces
from graphdep.vocab import RelationVocab


def _code_table() -> Tensor:
    size = RelationVocab.max_path + 1
    paths = [
        [RelationVocab.path(a, b) if a + b < size else RelationVocab.NONE for b in range(size)]
        for a in range(size)
    ]
    return torch.nn.functional.pad(torch.tensor(paths), (0, 1, 0, 1), value=RelationVocab.NONE)


_CODES = _code_table()  # [a, b] -> id; index -1 is "too far"


class TreePathTypes(BaseTransform):
    r"""Gives every edge the relation of its target to its source: the relation matrix with infilling of
    `"Integrating Dependency Tree into Self-attention for Sentence Representation"
    <https://arxiv.org/abs/2203.05918>`_.

    The type of the pair in which :math:`i` (target) attends to :math:`j` (source) is

    .. math::
        r_{ij} = \begin{cases}
            \text{deprel}_i & j \text{ governs } i \\
            \text{deprel}_j^{-1} & i \text{ governs } j \\
            (a, b) & a + b \leq \texttt{max\_distance} \\
            \text{NONE} & \text{otherwise}
        \end{cases}

    where :math:`a` and :math:`b` are the arcs from :math:`i` and from :math:`j` to their lowest common
    ancestor, and :math:`(0, 0)` is SELF. Ids are those of :class:`~graphdep.RelationVocab`. Nodes of
    different trees and nodes outside the trees have NONE (and SELF with themselves). The paper says "less
    than a threshold, 2 in the example", which would add nothing to the arcs: at most 2 is meant.

    Edges keep their pairs, sorted by target. Of the pairs of a :obj:`clique` (implicit data), those with
    another type than NONE are written out beside it; the others stay implicit and have no relation. Other
    ``edge_*`` keys are dropped, since their rows no longer fit. Pieces: all pairs of pieces of two words
    have the type of the words, pieces of one word SELF; with ``pieces="first"`` only first pieces have
    relations, and every node SELF with itself.

    Args:
        max_distance: Longest path that gets a code; 1 leaves the arcs alone. (default: :obj:`2`)
        self_type: Type self pairs SELF; else NONE. (default: :obj:`True`)
        pieces: See above. (default: ``"all"``)

    Shapes:
        - ``edge_type``: :math:`(|\mathcal{E}|)`, long

    Raises:
        ValueError: If :obj:`max_distance` is negative or larger than the longest path that has an id, or
            if the data has no edges.

    Example:
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.transforms import CompleteEdges, TreePathTypes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = TreePathTypes()(CompleteEdges()(to_data([sentence], root=False)))
        >>> [RelationVocab().label(int(r)) for r in data.edge_type[:4]]  # what "I" is to each word
        ['[SELF]', 'nsubj', '[NONE]', 'path(1,1)']
    """

    def __init__(self, max_distance: int = 2, *, self_type: bool = True, pieces: str = "all") -> None:
        self.max_distance = count("max_distance", max_distance)
        if max_distance > RelationVocab.max_path:
            raise ValueError(f"'max_distance' must be at most {RelationVocab.max_path} (got {max_distance})")
        self.self_type = bool(self_type)
        self.pieces = check_pieces(pieces)

    def forward(self, data: Data) -> Data:
        nodes = Nodes(data)
        clique = data.get("clique", None)
        edge_index = data.get("edge_index" if clique is None else "edge_index_explicit", None)
        if edge_index is None:
            raise ValueError("TreePathTypes types edges: put a transform that builds them before it")
        explicit = EdgeSet(nodes, edge_index[0], edge_index[1])
        edge_type = self._type_of(nodes, explicit.edge_index)
        if clique is None:
            return write_edges(nodes, explicit.edge_index, None, edge_type=edge_type)
        source, target, kind = self._related_pairs(nodes)
        inside = (clique[source] == clique[target]) & (clique[source] >= 0)
        keys = torch.cat([explicit.keys, pair_keys(source[inside], target[inside])])
        keys, edge_type = _sorted(keys, torch.cat([edge_type, kind[inside]]))
        return write_edges(nodes, pairs_of(keys), clique, edge_type=edge_type)

    def _type_of(self, nodes: Nodes, edge_index: Tensor) -> Tensor:
        """The type of each of the given pairs."""
        source, target = nodes.first[edge_index]
        kind = torch.full_like(source, RelationVocab.NONE)
        if kind.numel() == 0:
            return kind
        a, b = lowest_common(nodes, target, source, self.max_distance)
        kind = _CODES.to(kind.device)[a, b]
        deprel = nodes["deprel"]
        kind = torch.where((a == 1) & (b == 0), deprel[target], kind)
        kind = torch.where((a == 0) & (b == 1), RelationVocab.inverse(deprel[source]), kind)
        if self.pieces == "first":
            kind = torch.where((edge_index == nodes.first[edge_index]).all(0), kind, RelationVocab.NONE)
            source, target = edge_index
        return torch.where(
            source == target, RelationVocab.SELF if self.self_type else RelationVocab.NONE, kind
        )

    def _related_pairs(self, nodes: Nodes) -> tuple[Tensor, Tensor, Tensor]:
        """All pairs with a type other than NONE: source, target, type."""
        deprel, parts = nodes["deprel"], [self._loops(nodes)]
        for a, b, target, source in near_pairs(nodes, self.max_distance):
            if (a, b) == (1, 0):
                kind = deprel[target]
            elif (a, b) == (0, 1):
                kind = RelationVocab.inverse(deprel[source])
            else:
                kind = torch.full_like(target, RelationVocab.path(a, b))
            parts.append((source, target, kind))
        source, target, kind = (torch.cat(column) for column in zip(*parts))
        source, target, pair = nodes.spread(source, target, self.pieces)
        return source, target, kind if pair is None else kind[pair]

    def _loops(self, nodes: Nodes) -> tuple[Tensor, Tensor, Tensor]:
        loops = nodes.index if self.pieces == "first" else nodes.index[nodes.first == nodes.index]
        loops = loops if self.self_type else loops[:0]
        return loops, loops, torch.full_like(loops, RelationVocab.SELF)

    def __repr__(self) -> str:
        return constructor_repr(self)


def _sorted(keys: Tensor, edge_type: Tensor) -> tuple[Tensor, Tensor]:
    keys, order = keys.sort()
    fresh = torch.ones_like(keys, dtype=torch.bool)
    torch.ne(keys[1:], keys[:-1], out=fresh[1:])
    return keys[fresh], edge_type[order[fresh]]
