"""Types of edges, also of those that PyG's ToUndirected has merged, and the parts that have made them."""

from __future__ import annotations

import pytest
import torch
import torch_geometric.transforms as T
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep import RelationVocab, Sentence, to_data
from graphdep.data import NodeType
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import DRAConv, GATEConv, GatedRelationConv
from graphdep.testing import assert_same_data
from graphdep.transforms import (
    PRESETS,
    AncestorEdges,
    CompactTypes,
    CompleteEdges,
    DependencyEdges,
    EdgeOrigins,
    PositionTypes,
    RewiredEdges,
    RootEdges,
    SelfLoops,
    ShuffledPositions,
    SpanPathEdges,
    TreeDistanceEdges,
    TreePathTypes,
    resolve,
)
from graphdep.transforms.fingerprint import with_marks
from tests.kit.strategies import examples
from tests.kit.trees import WITH_CLIQUES, SlowTree, attended

distances = st.integers(0, 4)
pieces = st.sampled_from(["all", "first"])
edges = st.sampled_from(
    [
        CompleteEdges("utterance", implicit=True),
        CompleteEdges("example"),
        DependencyEdges("both") | SelfLoops(),
        CompleteEdges("example", node_types=["WORD"], implicit=True) | RootEdges() | SelfLoops(),
    ]
)


def slow_type(slow, s, t, distance, self_type, pieces):
    i, j = (t, s) if pieces == "first" else (slow.first[t], slow.first[s])
    if i == j:
        return RelationVocab.SELF if self_type else RelationVocab.NONE
    path = slow.path(i, j)
    if path is None or sum(path) > distance:
        return RelationVocab.NONE
    if path == (1, 0):
        return int(slow.data.deprel[i])
    if path == (0, 1):
        return int(RelationVocab.inverse(slow.data.deprel[j]))
    return RelationVocab.path(*path)


@given(examples(), edges, distances, st.booleans(), pieces)
def test_against_networkx(data, edges, distance, self_type, pieces):
    before = edges(data)
    slow = SlowTree(data)
    got = attended(TreePathTypes(distance, self_type=self_type, pieces=pieces)(before))
    assert got == {(s, t): slow_type(slow, s, t, distance, self_type, pieces) for s, t in attended(before)}


@given(examples(), edges, st.integers(1, 8))
def test_distances_in_the_text(data, edges, most):
    word = data.node_type == NodeType.WORD

    def slow(j, i):
        if i == j:
            return RelationVocab.SELF
        if not (word[i] and word[j]) or data.utterance[i] != data.utterance[j]:
            return RelationVocab.NONE
        apart = int(data.position[i] - data.position[j])
        near = min(abs(apart), most)
        return RelationVocab.path(near, 0) if apart > 0 else RelationVocab.path(0, near)

    before = edges(data)
    got = attended(PositionTypes(most)(before))
    assert got == {(s, t): slow(s, t) for s, t in attended(before)}


def test_distances_follow_positions_that_are_shuffled():
    data = CompleteEdges()(to_data([Sentence.chain(["x"] * 5)], root=False))
    shuffled = ShuffledPositions(0)(data)
    assert shuffled.position.tolist() != data.position.tolist()
    apart = (shuffled.position[data.edge_index[1]] - shuffled.position[data.edge_index[0]]).tolist()
    codes = [RelationVocab.path(max(d, 0), max(-d, 0)) if d else RelationVocab.SELF for d in apart]
    assert PositionTypes()(shuffled).edge_type.tolist() == codes


def test_only_related_pairs_of_a_clique_are_written_out():
    data = TreePathTypes(1)(
        CompleteEdges("utterance", implicit=True)(to_data([Sentence.chain(["x"] * 5)] * 2))
    )
    assert data.num_edges == 2 * (6 + 5 + 5)
    assert (data.edge_type != RelationVocab.NONE).all()
    assert data.clique.tolist() == [0] * 6 + [1] * 6


def test_relation_matrix_of_a_sentence():
    r"""Section 2.3 of the paper: arc labels next to each other, distances to the common ancestor beyond."""
    relations = RelationVocab()
    data = to_data(
        [Sentence(["the", "little", "girl", "smiles"], [3, 3, 4, 0], ["det", "amod", "nsubj", "root"])]
    )
    data = TreePathTypes(2)(CompleteEdges("utterance")(data))
    matrix = [["[NONE]"] * 5 for _ in range(5)]
    for (s, t), kind in attended(data).items():
        matrix[t][s] = relations.label(kind)
    assert matrix == [
        ["[SELF]", "[NONE]", "[NONE]", "path(0,2)", "root^-1"],
        ["[NONE]", "[SELF]", "path(1,1)", "det", "path(2,0)"],
        ["[NONE]", "path(1,1)", "[SELF]", "amod", "path(2,0)"],
        ["path(2,0)", "det^-1", "amod^-1", "[SELF]", "nsubj"],
        ["root", "path(0,2)", "path(0,2)", "nsubj^-1", "[SELF]"],
    ]


def test_chain_of_100_000_words():
    data = TreePathTypes(3)(
        CompleteEdges("utterance", implicit=True)(to_data([Sentence.chain(["x"] * 100_000)]))
    )
    n = 100_001
    assert data.num_edges == n + 2 * sum(n - k for k in (1, 2, 3))


def test_edges_in_any_order_and_other_edge_keys():
    data = to_data([Sentence.chain(["x", "y"])])
    data.edge_index = torch.tensor([[2, 0, 2], [1, 1, 1]])
    data.edge_weight = torch.ones(3)
    got = TreePathTypes()(data)
    assert got.edge_index.tolist() == [[0, 2], [1, 1]]
    assert "edge_weight" not in got
    assert "edge_weight" in data


RELATIONS = RelationVocab(["strange"])
labels = directions = st.booleans()


def slow_merge(name: str, labels: bool, directions: bool) -> str:
    """By the names of relations."""
    inverse = name.endswith("^-1")
    if name.startswith("path"):
        a, b = name[5:-1].split(",")
        return name if directions else f"path({min(a, b)},{max(a, b)})"
    if name.startswith("["):
        return name
    base = name.removesuffix("^-1") if labels else "dep"
    return base + "^-1" * (inverse and directions)


@given(labels, directions)
def test_every_relation_by_its_name(labels, directions):
    ids = torch.arange(len(RELATIONS))
    merged = RelationVocab.merge(ids, labels=labels, directions=directions)
    names = [slow_merge(RELATIONS.label(i), labels, directions) for i in ids.tolist()]
    assert [RELATIONS.label(i) for i in merged.tolist()] == names


@given(examples(), st.lists(st.integers(0, 90), unique=True))
def test_types_are_numbered_as_a_loop_does_it(example, ids):
    data = resolve("dt")(example)
    expected = [ids.index(one) + 1 if one in ids else 0 for one in data.edge_type.tolist()]
    assert CompactTypes(ids)(data).edge_type.tolist() == expected


def test_all_types_of_a_training_set_have_a_number():
    trees = [Sentence(["a", "b", "c"], [0, 1, 1], ["root", label, "nsubj"]) for label in ("obj", "iobj")]
    train = [resolve("dt")(to_data([tree])) for tree in trees]
    compact = CompactTypes.of(train)
    numbers = {one for data in train for one in compact(data).edge_type.tolist()}
    assert numbers == {*range(1, compact.num_types)}
    other = resolve("dt")(to_data([Sentence(["a", "b"], [0, 1], ["root", "vocative"])]))
    assert 0 in compact(other).edge_type


def test_presets_merge():
    data = to_data([Sentence(["a", "b", "c"], [0, 1, 1], ["root", "obj", "nsubj"])])
    full, unlabelled = resolve("dt")(data), resolve("dt", labels=False)(data)
    assert unlabelled.edge_type.unique().numel() < full.edge_type.unique().numel()
    both = resolve("dt-related", labels=False, directions=False)(data)
    names = {RELATIONS.label(i) for i in both.edge_type.tolist()}
    assert names == {"[SELF]", "dep", "path(0,2)", "path(1,1)"}


def test_edges_without_types_are_right(example):
    data = to_data([example])
    edges = T.ToUndirected()(resolve("dra")(data))
    both = attended((DependencyEdges("both") | RootEdges("utterance") | SelfLoops())(data))
    pairs = set(map(tuple, edges.edge_index.t().tolist()))
    assert pairs == set(both) | {(0, word) for word in range(10)}
    conv, x = DRAConv(8, 4, heads=2), torch.randn(10, 8)
    torch.testing.assert_close(conv(x, AttentionLayout.of(edges)), conv(x, edges.edge_index))


@pytest.mark.parametrize("name", ["dt", "dt-related"])
def test_sums_of_path_codes_are_no_relations(example, name):
    data = T.ToUndirected()(resolve(name)(to_data([example])))
    conv, x = GatedRelationConv(8, 4, heads=2, num_relations=len(RELATIONS)), torch.randn(10, 8)
    for edges in ((data.edge_index, data.edge_type), (AttentionLayout.of(data),)):
        with pytest.raises(
            ValueError, match="'edge_type' holds relation .* such as ToUndirected, add ids up"
        ):
            conv(x, *edges)


@pytest.mark.parametrize("max_distance", [1, 2])
def test_sums_of_self_are_no_relation(example, max_distance):
    data = T.ToUndirected()(resolve("gate", max_distance=max_distance)(to_data([example])))
    with pytest.raises(ValueError, match="'edge_type' holds relation 2, which no edge has"):
        GATEConv(8, 4, max_distance=max_distance)(torch.randn(10, 8), data.edge_index, data.edge_type)


@pytest.mark.parametrize("name", ["transformer", "dt", "g2g"])
def test_implicit_edges_are_left_alone(example, name):
    data = resolve(name, implicit=True)(to_data([example]))
    assert_same_data(T.ToUndirected()(data), data)


@pytest.mark.parametrize("name", ["dt", "g2g"])
def test_reduced_to_one_of_the_two_they_stay_relations(example, name):
    """What the transform can be told to do; which of two directions it keeps is its own affair."""
    data = T.ToUndirected(reduce="min")(resolve(name)(to_data([example])))
    kept = resolve(name, directions=False)(to_data([example]))
    before, after = (
        attended(kept),
        dict(zip(map(tuple, data.edge_index.t().tolist()), data.edge_type.tolist())),
    )
    assert before == after


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
EVERY = [*COMPOSED, *map(resolve, PRESETS), *(resolve(name, implicit=True) for name in WITH_CLIQUES)]


def made_of(sentences: list[Sentence]) -> torch.Tensor:
    return with_marks(to_data(sentences, relations=RelationVocab()))


def pairs(origins: EdgeOrigins) -> list[tuple[int, int, tuple[bool, ...]]]:
    rows = zip(origins.edge_index.t().tolist(), origins.made_by.tolist())
    return [(source, target, tuple(made)) for (source, target), made in rows]


@pytest.mark.parametrize("edges", EVERY, ids=repr)
def test_edges_are_those_of_the_transform_and_each_has_a_part(edges):
    """Of a batch they are those of its examples."""
    examples = [made_of([FIRST, SECOND]), made_of([SECOND]), made_of([FIRST])]
    whole, single = EdgeOrigins.of(edges, Batch.from_data_list(examples)), []
    start, expected = 0, []
    for data in examples:
        origins, layout = EdgeOrigins.of(edges, data), AttentionLayout.of(edges(data)).materialize()
        order = (layout.edge_index[1] * 1000 + layout.edge_index[0]).argsort()
        assert torch.equal(origins.edge_index, layout.edge_index[:, order])
        assert bool(origins.made_by.any(dim=1).all())
        if layout.edge_type is not None:
            assert torch.equal(origins.data.edge_type, layout.edge_type[order])
        assert [repr(part) for part in whole.parts] == [repr(part) for part in origins.parts]
        expected += [(source + start, target + start, made) for source, target, made in pairs(origins)]
        start += origins.data.num_nodes
        single.append(origins)
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
