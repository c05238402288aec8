"""Which part of a composed constructor each edge comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform, Compose

from graphdep.transforms._ranges import contains, pair_keys, pairs_of, sorted_unique
from graphdep.transforms.edge_constructor import EdgeConstructor, _Combined
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.marked_edges import MarkedEdges
from graphdep.transforms.nodes import Nodes
from graphdep.transforms.rewired_edges import RewiredEdges

_Part = tuple[BaseTransform, Tensor]


@dataclass(frozen=True, eq=False)
class EdgeOrigins:
    r"""Which parts of a transform have made each of its edges.

    Parts are the constructors that are written in it, each time that one is. An edge of ``a | b`` is made by
    those of the two that have it, one of ``a & b`` by both, one of ``a - b`` by ``a``:

    .. math::
        o_p(a \cup b) = o_p(a) \cup o_p(b), \quad
        o_p(a \cap b) = (o_p(a) \cup o_p(b)) \cap (a \cap b), \quad
        o_p(a \setminus b) = o_p(a) \cap (a \setminus b)

    Of :class:`RewiredEdges` the right edges are made by its parts and the wrong ones by itself; a transform
    that is not known is one part. What is made of a batch is what is made of its examples, one after the
    other.

    Args:
        data: The data with its edges written out.
        parts: The parts, in the order in which they are written.
        made_by: Which part has made which edge; each edge has at least one.

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
        """The edges that a transform gives data, with their parts.

        Args:
            edges: A constructor, a preset's transform, or any other that writes edges.
            data: One example or a batch, without edges.

        Raises:
            ValueError: If the transform writes no edges.
        """
        parts: list[_Part] = []
        for step in _steps(edges):
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


def _steps(edges: BaseTransform) -> Iterator[BaseTransform]:
    if isinstance(edges, Compose):
        for step in edges.transforms:
            yield from _steps(step)
    else:
        yield edges


def _parts_of(step: BaseTransform, data: Data, keys: Tensor) -> list[_Part]:
    if isinstance(step, MarkedEdges):
        nodes = Nodes(data)
        return [*_parts(step.edges, nodes), *_parts(step.among, nodes)]
    if isinstance(step, EdgeConstructor):
        return _parts(step, Nodes(data))
    return [(step, keys)]


def _parts(edges: EdgeConstructor, nodes: Nodes) -> list[_Part]:
    """The parts of a constructor, each with the keys of those of its pairs that are in the whole."""
    if isinstance(edges, _Combined):
        found = _parts(edges.left, nodes)
        if edges.symbol != "-":
            found += _parts(edges.right, nodes)
        return found if edges.symbol == "|" else _within(found, _built(edges, nodes))
    if isinstance(edges, RewiredEdges):
        keys, right = _built(edges, nodes), _built(edges.edges, nodes)
        return [*_within(_parts(edges.edges, nodes), keys), (edges, keys[~contains(right, keys)])]
    return [(edges, _built(edges, nodes))]


def _built(edges: EdgeConstructor, nodes: Nodes) -> Tensor:
    built: EdgeSet = edges.build(nodes)
    return built.materialize().keys


def _within(parts: list[_Part], keys: Tensor) -> list[_Part]:
    return [(part, own[contains(keys, own)]) for part, own in parts]


def _keys(data: Data) -> Tensor | None:
    """The keys of all edges, those of cliques too; :obj:`None` without edges."""
    clique: Any = data.get("clique")
    edge_index = data.get("edge_index" if clique is None else "edge_index_explicit")
    if edge_index is None:
        return None
    if clique is None:
        return sorted_unique(pair_keys(edge_index[0], edge_index[1]))
    return EdgeSet(Nodes(data), edge_index[0], edge_index[1], clique).materialize().keys


def _written_out(data: Data, keys: Tensor) -> Data:
    """The data with every pair in ``edge_index``, and their types and marks where it has those."""
    from graphdep.transforms._write import write_edges
    from graphdep.vocab import RelationVocab

    clique = data.get("clique")
    given = data.get("edge_index" if clique is None else "edge_index_explicit")
    place = torch.searchsorted(keys, pair_keys(given[0], given[1]))
    columns = {}
    for key, rest in (("edge_type", RelationVocab.NONE), ("edge_mark", 0)):
        if key in data:
            columns[key] = data[key].new_full((keys.numel(),), rest).index_copy(0, place, data[key])
    return write_edges(Nodes(data), pairs_of(keys), None, **columns)
