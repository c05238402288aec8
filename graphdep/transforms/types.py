"""Edge types: arc labels, and codes of short paths through the tree."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import lexsort

from graphdep.io.limits import check_between, check_count, check_flag
from graphdep.transforms.controls import RewiredEdges
from graphdep.transforms.edge_set import (
    DISTANCES,
    MARKS,
    TYPES,
    EdgeConstructor,
    EdgeSet,
    EdgeTransform,
    _Combined,
    lowest_common,
    near_pairs,
    steps_of,
)
from graphdep.transforms.edges import MarkedEdges
from graphdep.transforms.nodes import (
    Nodes,
    check_pieces,
    contains,
    pair_keys,
    pairs_of,
    sorted_unique,
    write_edges,
)
from graphdep.transforms.options import constructor_repr, require_key
from graphdep.vocab.relations import RelationVocab


def _code_table() -> Tensor:
    size = RelationVocab.max_path + 1
    paths = [
        [RelationVocab.path(a, b) if a + b < size else RelationVocab.NONE for b in range(size)]
        for a in range(size)
    ]
    return torch.nn.functional.pad(torch.tensor(paths), (0, 1, 0, 1), value=RelationVocab.NONE)


_CODES = _code_table()  # [a, b] -> id; index -1 is "too far"


class TreePathTypes(EdgeTransform):
    r"""Gives every edge the relation between its target and its source: the relation matrix with infilling of
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
    than a threshold, 2 in the example", which would only give the arcs, so "at most 2" must be meant.

    Edges keep their pairs, sorted by target. In implicit data, pairs of a :obj:`clique` with a type other
    than NONE become explicit; the others stay implicit and have no relation. Other ``edge_*`` keys are
    dropped, since their rows no longer fit. All pairs of pieces of two words have the type of the words, and
    pieces of one word SELF; with ``pieces="first"`` only first pieces have relations, and every node has SELF
    with itself.

    Args:
        max_distance: Longest path that gets a code; 1 types arcs only. (default: :obj:`2`)
        self_type: Give self pairs SELF instead of NONE. (default: :obj:`True`)
        pieces: See above. (default: ``"all"``)

    Shapes:
        - ``edge_type``: :math:`(|\mathcal{E}|)`, long

    Raises:
        ValueError: If :obj:`max_distance` is negative or larger than the longest path with an id, or if the
            data has no edges.

    Example:
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.transforms import CompleteEdges, TreePathTypes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = TreePathTypes()(CompleteEdges()(to_data([sentence], root=False)))
        >>> [RelationVocab().label(int(r)) for r in data.edge_type[:4]]  # what "I" is to each word
        ['[SELF]', 'nsubj', '[NONE]', 'path(1,1)']
    """

    carries = frozenset({TYPES, DISTANCES})
    drops = frozenset({MARKS})

    def __init__(self, max_distance: int = 2, *, self_type: bool = True, pieces: str = "all") -> None:
        self.max_distance = check_count("max_distance", max_distance)
        check_between("max_distance", max_distance, 0, RelationVocab.max_path)
        self.self_type = bool(self_type)
        self.pieces = check_pieces(pieces)

    def write(self, nodes: Nodes) -> Data:
        data = nodes.data
        clique = data.get("clique", None)
        key = "edge_index" if clique is None else "edge_index_explicit"
        require_key(data, key, "put a transform that builds edges before TreePathTypes")
        edge_index = data[key]
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
        source, target, pair = nodes.piece_pairs(source, target, self.pieces)
        return source, target, kind if pair is None else kind[pair]

    def _loops(self, nodes: Nodes) -> tuple[Tensor, Tensor, Tensor]:
        loops = nodes.index if self.pieces == "first" else nodes.index[nodes.first == nodes.index]
        loops = loops if self.self_type else loops[:0]
        return loops, loops, torch.full_like(loops, RelationVocab.SELF)


class PositionTypes(EdgeTransform):
    r"""Gives every edge the distance between its nodes in the text, without a tree, from `"Self-Attention
    with Relative Position Representations" <https://arxiv.org/abs/1803.02155>`_ (section 3.2).

    .. math::
        r_{ij} = \begin{cases}
            (\min(p_i - p_j, k), 0) & p_j < p_i \\
            (0, \min(p_j - p_i, k)) & p_j > p_i \\
            \text{SELF} & j = i
        \end{cases}

    where :math:`i` attends to :math:`j`, both are words of one utterance, :math:`p` are their positions, and
    :math:`k` is :obj:`clip`. All other pairs have NONE, except a node with itself. Types are the path codes
    of :class:`~graphdep.RelationVocab` for a tree in which each word depends on the word before it. The paper
    uses :math:`k = 16` and finds no difference between 2 and 64. Pieces count like words.

    Edges keep their pairs; in implicit data, typed pairs become explicit beside the cliques.

    Args:
        clip: Distances above it share its type; from 1 to 8. (default: :obj:`8`)

    Shapes:
        - ``edge_type``: :math:`(|\mathcal{E}|)`, long

    Raises:
        ValueError: If :obj:`clip` is not from 1 to 8, or the data has no edges or positions.

    Example:
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.transforms import CompleteEdges, PositionTypes
        >>> words = Sentence.chain(["I", "saw", "big", "dogs"])
        >>> data = PositionTypes(2)(CompleteEdges()(to_data([words], root=False)))
        >>> [RelationVocab().label(int(r)) for r in data.edge_type[:4]]  # what "I" sees
        ['[SELF]', 'path(0,1)', 'path(0,2)', 'path(0,2)']
    """

    carries = frozenset({TYPES, DISTANCES})
    drops = frozenset({MARKS})

    def __init__(self, clip: int = 8) -> None:
        self.clip = check_count("clip", clip)
        check_between("clip", clip, 1, RelationVocab.max_path)

    def write(self, nodes: Nodes) -> Data:
        clique = nodes.data.get("clique", None)
        key = "edge_index" if clique is None else "edge_index_explicit"
        require_key(nodes.data, key, "put a transform that builds edges before PositionTypes")
        source, target = nodes.data[key]
        pairs = EdgeSet(nodes, source, target, clique).materialize().edge_index
        edge_type = self._type_of(nodes, pairs)
        if clique is not None:
            source, target = clique[pairs]
            kept = (edge_type != RelationVocab.NONE) | (source != target) | (source < 0)
            pairs, edge_type = pairs[:, kept], edge_type[kept]
        return write_edges(nodes, pairs, clique, edge_type=edge_type)

    def _type_of(self, nodes: Nodes, edge_index: Tensor) -> Tensor:
        source, target = edge_index
        position = nodes["position"]
        behind = (position[target] - position[source]).clamp(-self.clip, self.clip)
        kind = _CODES.to(source.device)[behind.clamp(min=0), (-behind).clamp(min=0)]
        words = nodes.is_type(("WORD",))[edge_index].all(dim=0)
        kind = kind.where(words & (nodes.block[source] == nodes.block[target]), RelationVocab.NONE)
        return kind.where(source != target, RelationVocab.SELF)


class ArcTypes(EdgeTransform):
    r"""Gives every edge the label of the arc of :obj:`arc_index` between its two nodes.

    .. math::
        r_{ij} = \begin{cases}
            \text{SELF} & i = j \\
            \text{label}(a) & a \text{ leads from } j \text{ to } i \\
            \text{label}(a)^{-1} & a \text{ leads from } i \text{ to } j \\
            \text{NONE} & \text{otherwise}
        \end{cases}

    where :math:`i` attends to :math:`j`. Of several arcs between two nodes, an arc towards :math:`i` takes
    precedence over an arc away from it, then the smallest id. Edges must be explicit, as those of
    :class:`OwnEdges` are. Pieces have the types of their words.

    Shapes:
        - ``edge_type``: :math:`(|\mathcal{E}|)`, long, ids of :class:`~graphdep.RelationVocab`

    Raises:
        ValueError: If the data has no edges, or implicit ones (:obj:`clique`).

    Example:
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.transforms import ArcTypes, OwnEdges
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
        >>> data = ArcTypes()(OwnEdges()(to_data(sentence, root=False)))
        >>> [RelationVocab().label(int(relation)) for relation in data.edge_type]
        ['nsubj', 'nsubj^-1']
    """

    carries = frozenset({TYPES, DISTANCES})  # GATE reads a labelled arc as distance 1
    drops = frozenset({MARKS})

    def write(self, nodes: Nodes) -> Data:
        data = nodes.data
        if "clique" in data:
            raise ValueError("'clique': ArcTypes needs explicit edges (implicit=False)")
        require_key(data, "edge_index", "put a transform that builds edges before ArcTypes")
        explicit = EdgeSet(nodes, data["edge_index"][0], data["edge_index"][1]).edge_index
        source, target = nodes.first[explicit]
        governor, dependent = nodes.first[nodes["arc_index"]]
        keys = torch.cat([pair_keys(governor, dependent), pair_keys(dependent, governor)])
        kind = torch.cat([nodes["arc_type"], RelationVocab.inverse(nodes["arc_type"])])
        turned = torch.arange(2, device=kind.device).repeat_interleave(governor.numel())
        # The first of equal keys wins: arcs towards the dependent, then the smallest id.
        order = lexsort([kind, turned, keys])
        kind, keys = kind[order], keys[order]
        asked = pair_keys(source, target)
        edge_type = torch.full_like(asked, RelationVocab.NONE)
        if keys.numel():
            place = torch.searchsorted(keys, asked).clamp(max=keys.numel() - 1)
            edge_type = torch.where(keys[place] == asked, kind[place], edge_type)
        edge_type = torch.where(source == target, RelationVocab.SELF, edge_type)
        return write_edges(nodes, explicit, None, edge_type=edge_type)


def _sorted(keys: Tensor, edge_type: Tensor) -> tuple[Tensor, Tensor]:
    keys, order = keys.sort()
    fresh = torch.ones_like(keys, dtype=torch.bool)
    torch.ne(keys[1:], keys[:-1], out=fresh[1:])
    return keys[fresh], edge_type[order[fresh]]


class MergeTypes(BaseTransform):
    r"""Merges edge types, to measure how much the difference between them helps.

    Apply it after :class:`TreePathTypes`. Without :obj:`labels` every arc has the label ``dep``, so only its
    direction and the path codes differ. Without :obj:`directions` an arc has the same type from both ends,
    and the path codes :math:`(a, b)` and :math:`(b, a)` are merged.

    Args:
        labels: Keep labels apart. (default: :obj:`False`)
        directions: Keep directions apart. (default: :obj:`True`)

    Shapes:
        - ``edge_type``: :math:`(|\mathcal{E}|)`, long

    Raises:
        ValueError: If an argument is not a bool, or the data has no ``edge_type``.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import MergeTypes, resolve
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = resolve("dt")(to_data([sentence]))
        >>> len(data.edge_type.unique()), len(MergeTypes()(data).edge_type.unique())
        (13, 7)
    """

    carries: frozenset[str] = frozenset()

    def __init__(self, *, labels: bool = False, directions: bool = True) -> None:
        self.labels = check_flag("labels", labels)
        self.directions = check_flag("directions", directions)

    def forward(self, data: Data) -> Data:
        require_key(data, "edge_type", "put TreePathTypes() before MergeTypes")
        out = copy.copy(data)  # for direct callers of forward()
        out.edge_type = RelationVocab.merge(data.edge_type, labels=self.labels, directions=self.directions)
        return out

    def __repr__(self) -> str:
        return constructor_repr(self)


class CompactTypes(BaseTransform):
    r"""Numbers edge types from 1 on, for layers of one's own with weights for each type, such as PyG's
    :class:`~torch_geometric.nn.conv.RGCNConv`; 0 stands for every other type.

    Of the 800 ids of a :class:`~graphdep.RelationVocab` the trees of a corpus have some fifty.
    Graphs with these numbers are for layers that know them: the models of the library read the ids.

    Args:
        types: The ids that are numbered, in this order.

    Attributes:
        num_types: How many types there are with 0, the :obj:`num_relations` of a layer.

    Shapes:
        - ``edge_type``: :math:`(|\mathcal{E}|)`, long

    Raises:
        ValueError: If an id is there twice, or the data has no ``edge_type``.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import CompactTypes, resolve
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> train = [resolve("dt-related")(to_data([sentence], root=False))]
        >>> compact = CompactTypes.of(train)
        >>> compact.num_types, compact(train[0]).edge_type.max().item()
        (11, 10)
    """

    carries: frozenset[str] = frozenset()
    drops = frozenset({TYPES, DISTANCES})

    def __init__(self, types: Iterable[int]) -> None:
        self.types = [check_count("types", one) for one in types]
        twice = [one for one in self.types if self.types.count(one) > 1]
        if twice:
            raise ValueError(f"'types' has an id twice (got {twice[0]})")
        self.num_types = len(self.types) + 1

    @classmethod
    def of(cls, graphs: Iterable[Data]) -> CompactTypes:
        """The types that occur in graphs, those of a training set.

        Args:
            graphs: Graphs with edges, such as a dataset.
        """
        found: set[int] = set()
        for data in graphs:
            require_key(data, "edge_type", "put a transform that types edges before CompactTypes")
            found.update(data.edge_type.unique().tolist())
        return cls(sorted(found))

    def forward(self, data: Data) -> Data:
        require_key(data, "edge_type", "put a transform that types edges before CompactTypes")
        out = copy.copy(data)
        types, order = torch.tensor(self.types, dtype=torch.long, device=data.edge_type.device).sort()
        place = torch.searchsorted(types, data.edge_type)
        known = contains(types, data.edge_type)
        out.edge_type = torch.zeros_like(data.edge_type)
        out.edge_type[known] = order[place[known]] + 1
        return out

    def __repr__(self) -> str:
        return constructor_repr(self)


_Part = tuple[BaseTransform, Tensor]


@dataclass(frozen=True, eq=False)
class EdgeOrigins:
    r"""The parts of a transform that made each of its edges.

    A part is one constructor in the expression of the transform, even if repeated. An edge of ``a | b`` is
    made by each side that has it, an edge of ``a & b`` by both, and an edge of ``a - b`` by ``a``:

    .. math::
        o_p(a \cup b) = o_p(a) \cup o_p(b), \quad
        o_p(a \cap b) = (o_p(a) \cup o_p(b)) \cap (a \cap b), \quad
        o_p(a \setminus b) = o_p(a) \cap (a \setminus b)

    In :class:`RewiredEdges` the parts make the right edges, and the rewiring itself the wrong ones. An
    unknown transform is one part. The origins of a batch are those of its examples, one after the other.

    Args:
        data: The data with explicit edges.
        parts: The parts, in the order of the expression.
        made_by: Whether each part made each edge; every edge has at least one part.

    Shapes:
        - made_by: :math:`(|\mathcal{E}|, P)`, bool, rows as in ``data.edge_index``

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import EdgeOrigins, resolve
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> origins = EdgeOrigins.of(resolve("lisa"), to_data([sentence], root=False))
        >>> [type(part).__name__ for part in origins.parts], origins.edge_index.tolist()
        (['DependencyEdges', 'SelfLoops'], [[1, 1, 3, 1], [0, 1, 2, 3]])
        >>> origins.made_by.int().tolist()
        [[1, 0], [0, 1], [1, 0], [1, 0]]
    """

    data: Data
    parts: tuple[BaseTransform, ...]
    made_by: Tensor

    @property
    def edge_index(self) -> Tensor:
        """The edges, row 0 the source, row 1 the target: ``[2, E]``."""
        return self.data.edge_index

    @classmethod
    def of(cls, edges: BaseTransform, data: Data) -> EdgeOrigins:
        """The edges that a transform adds to data, with their parts.

        Args:
            edges: A constructor, the transform of a preset, or any other that writes edges.
            data: One example or a batch, without edges.

        Raises:
            ValueError: If the transform writes no edges.
        """
        parts: list[_Part] = []
        for step in steps_of(edges):
            made = step(data)
            before, now = _keys(data), _keys(made)
            if now is not None and (before is None or not torch.equal(before, now)):
                parts = _parts_of(step, data, now)
            data = made
        keys = _keys(data)
        if keys is None:
            raise ValueError(f"{edges!r} writes no edges")
        columns = [contains(part, keys) for _, part in parts]
        made_by = torch.stack(columns, dim=1) if columns else keys.new_zeros(keys.numel(), 0).bool()
        return cls(_written_out(data, keys), tuple(part for part, _ in parts), made_by)


def _parts_of(step: BaseTransform, data: Data, keys: Tensor) -> list[_Part]:
    if isinstance(step, MarkedEdges):
        nodes = Nodes(data)
        return [*_parts(step.edges, nodes), *_parts(step.among, nodes)]
    if isinstance(step, EdgeConstructor):
        return _parts(step, Nodes(data))
    return [(step, keys)]


def _parts(edges: EdgeConstructor, nodes: Nodes) -> list[_Part]:
    """The parts of a constructor, each with the keys of its pairs that are in the whole set."""
    if isinstance(edges, _Combined):
        found = _parts(edges.left, nodes)
        if edges.symbol != "-":
            found += _parts(edges.right, nodes)
        return found if edges.symbol == "|" else _restrict(found, _keys_of(edges, nodes))
    if isinstance(edges, RewiredEdges):
        keys, right = _keys_of(edges, nodes), _keys_of(edges.edges, nodes)
        return [*_restrict(_parts(edges.edges, nodes), keys), (edges, keys[~contains(right, keys)])]
    return [(edges, _keys_of(edges, nodes))]


def _keys_of(edges: EdgeConstructor, nodes: Nodes) -> Tensor:
    return edges.edge_set(nodes).materialize().keys


def _restrict(parts: list[_Part], keys: Tensor) -> list[_Part]:
    return [(part, own[contains(keys, own)]) for part, own in parts]


def _keys(data: Data) -> Tensor | None:
    """The keys of all edges, including those of cliques; :obj:`None` without edges."""
    clique: Any = data.get("clique")
    edge_index = data.get("edge_index" if clique is None else "edge_index_explicit")
    if edge_index is None:
        return None
    if clique is None:
        return sorted_unique(pair_keys(edge_index[0], edge_index[1]))
    return EdgeSet(Nodes(data), edge_index[0], edge_index[1], clique).materialize().keys


def _written_out(data: Data, keys: Tensor) -> Data:
    """The data with all pairs in ``edge_index``, and their types and marks, if it has them."""
    clique = data.get("clique")
    given = data.get("edge_index" if clique is None else "edge_index_explicit")
    place = torch.searchsorted(keys, pair_keys(given[0], given[1]))
    columns = {}
    for key, rest in (("edge_type", RelationVocab.NONE), ("edge_mark", 0)):
        if key in data:
            columns[key] = data[key].new_full((keys.numel(),), rest).index_copy(0, place, data[key])
    return write_edges(Nodes(data), pairs_of(keys), None, **columns)
