from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep import RelationVocab, Sentence, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.transforms import (
    PRESETS,
    AncestorEdges,
    CompleteEdges,
    DependencyEdges,
    EdgeOrigins,
    RewiredEdges,
    SelfLoops,
    SpanPathEdges,
    TreeDistanceEdges,
    resolve,
)
from graphdep.transforms.fingerprint import with_marks

FIRST = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
SECOND = Sentence(["It", "rains", "again"], [2, 0, 2], ["expl", "root", "advmod"])
COMPOSED = [
    DependencyEdges("governor") | AncestorEdges() | SelfLoops(),
    (DependencyEdges("both") | SelfLoops()) & TreeDistanceEdges(1),
    CompleteEdges() - (DependencyEdges("both") | SelfLoops()),
    CompleteEdges(implicit=True) | DependencyEdges(),
    RewiredEdges(DependencyEdges() | SelfLoops(), p=0.5),
    (TreeDistanceEdges(2) - SelfLoops()) | (CompleteEdges("utterance") & SelfLoops()),
    SpanPathEdges("arcs"),
]
EVERY = [*COMPOSED, *(resolve(name, implicit=implicit) for name in PRESETS for implicit in (False, True))]


def made_of(sentences: list[Sentence]) -> torch.Tensor:
    return with_marks(to_data(sentences, relations=RelationVocab()))


def pairs(origins: EdgeOrigins) -> list[tuple[int, int, tuple[bool, ...]]]:
    rows = zip(origins.edge_index.t().tolist(), origins.made_by.tolist())
    return [(source, target, tuple(made)) for (source, target), made in rows]


@pytest.mark.parametrize("edges", EVERY, ids=repr)
def test_edges_are_those_of_the_transform_and_each_has_a_part(edges):
    data = made_of([FIRST, SECOND])
    origins, layout = EdgeOrigins.of(edges, data), AttentionLayout.of(edges(data)).materialize()
    order = (layout.edge_index[1] * 1000 + layout.edge_index[0]).argsort()
    assert torch.equal(origins.edge_index, layout.edge_index[:, order])
    assert bool(origins.made_by.any(dim=1).all())
    if layout.edge_type is not None:
        assert torch.equal(origins.data.edge_type, layout.edge_type[order])


@pytest.mark.parametrize("edges", EVERY, ids=repr)
def test_a_batch_has_what_its_examples_have(edges):
    examples = [made_of([FIRST, SECOND]), made_of([SECOND]), made_of([FIRST])]
    whole = EdgeOrigins.of(edges, Batch.from_data_list(examples))
    single = [EdgeOrigins.of(edges, data) for data in examples]
    assert [repr(part) for part in whole.parts] == [repr(part) for part in single[0].parts]
    start, expected = 0, []
    for origins in single:
        expected += [(source + start, target + start, made) for source, target, made in pairs(origins)]
        start += origins.data.num_nodes
    assert pairs(whole) == expected
    back = whole.data.to_data_list()
    assert [data.edge_index.tolist() for data in back] == [o.edge_index.tolist() for o in single]


def by_hand(edges, data) -> dict[tuple[int, int], set[str]]:
    """The slow way: sets of pairs, by the operators that are written in the repr."""
    if hasattr(edges, "symbol"):
        left, right = by_hand(edges.left, data), by_hand(edges.right, data)
        both = {"|": left.keys() | right.keys(), "&": left.keys() & right.keys(), "-": left.keys() - right}
        right = {} if edges.symbol == "-" else right
        return {pair: left.get(pair, set()) | right.get(pair, set()) for pair in both[edges.symbol]}
    layout = AttentionLayout.of(edges(data)).materialize()
    return {tuple(pair): {repr(edges)} for pair in layout.edge_index.t().tolist()}


@pytest.mark.parametrize("edges", [e for e in COMPOSED if not isinstance(e, RewiredEdges)], ids=repr)
def test_parts_are_those_of_the_set_operators(edges):
    data = made_of([FIRST, SECOND])
    origins = EdgeOrigins.of(edges, data)
    names = [repr(part) for part in origins.parts]
    found = {(s, t): {n for n, yes in zip(names, made) if yes} for s, t, made in pairs(origins)}
    assert found == by_hand(edges, data)


def test_wrong_edges_come_from_the_noise():
    data, right = made_of([FIRST]), DependencyEdges()
    origins = EdgeOrigins.of(RewiredEdges(right, p=1.0), data)
    assert [type(part) for part in origins.parts] == [DependencyEdges, RewiredEdges]
    known = set(map(tuple, right(data).edge_index.t().tolist()))
    assert {(s, t) for s, t, (tree, _) in pairs(origins) if tree} < known
    assert not known & {(s, t) for s, t, (_, noise) in pairs(origins) if noise}


class Window(BaseTransform):
    """A transform of somebody else's."""

    def forward(self, data):
        node = torch.arange(data.num_nodes)
        data.edge_index = torch.stack([node[:-1], node[1:]])
        return data


def test_a_transform_that_is_not_known_is_one_part():
    data = to_data([FIRST])
    origins = EdgeOrigins.of(Window(), data)
    assert [type(part) for part in origins.parts] == [Window]
    assert origins.made_by.all()


def test_nothing_without_edges():
    with pytest.raises(ValueError, match="RelationNodes.* writes no edges"):
        EdgeOrigins.of(resolve("dam").transforms[0], to_data([FIRST]))
