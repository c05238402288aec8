"""Edge constructors against their definitions over all pairs of words or nodes, and their set operators
against Python's sets.
"""

from __future__ import annotations

import operator

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import AddSelfLoops, ToUndirected

from graphdep import NodeType, RelationVocab, Sentence, to_data
from graphdep.data import mark_words
from graphdep.testing import assert_batch_law
from graphdep.transforms import (
    AncestorEdges,
    CompleteEdges,
    DependencyEdges,
    DepthEdges,
    EdgeConstructor,
    MarkedEdges,
    Nodes,
    OwnEdges,
    RelationEdges,
    RelationLinks,
    RelationNodes,
    RootEdges,
    SelfLoops,
    SpanPathEdges,
    SpecialEdges,
    TreeDistanceEdges,
    TreePathTypes,
    resolve,
)
from graphdep.transforms.edge_set import euler_tour
from tests.kit.strategies import example_lists, examples, marked_examples
from tests.kit.trees import SlowTree, attended

PIECES, SCOPES = st.sampled_from(["all", "first"]), st.sampled_from(["utterance", "example"])
KINDS = st.sets(st.sampled_from(list(NodeType)), min_size=1)


def ways(pairs, forth: bool, back: bool):
    """The pairs, those turned round, or both."""
    return (pairs if forth else set()) | ({(t, s) for s, t in pairs} if back else set())


def ancestors(edges, slow):
    down = {(above, word) for word in slow.tree for above in nx.ancestors(slow.tree, word)}
    return slow.piece_pairs(
        ways(down, edges.towards != "ancestor", edges.towards != "descendant"), edges.pieces
    )


def dependencies(edges, slow):
    down = {*slow.tree.edges}
    return slow.piece_pairs(
        ways(down, edges.towards != "governor", edges.towards != "dependent"), edges.pieces
    )


def depths(edges, slow):
    depth = slow.depth
    return slow.piece_pairs(
        {(s, t) for s in slow.tree for t in slow.tree if depth[s] + depth[t] <= edges.max_sum}, edges.pieces
    )


def distances(edges, slow):
    lengths = dict(nx.all_pairs_shortest_path_length(slow.tree.to_undirected()))
    words = {(s, t) for s in lengths for t in lengths[s] if lengths[s][t] <= edges.max_distance}
    return slow.piece_pairs(words | {(i, i) for i in range(slow.size)}, edges.pieces)


def complete(edges, slow):
    def wanted(s, t):
        there = {slow.kind[s].name, slow.kind[t].name} <= {*edges.node_types}
        return there and (edges.scope == "example" or slow.utterance[s] == slow.utterance[t])

    return slow.pairs(wanted)


def roots(edges, slow):
    def wanted(s, t):
        return slow.kind[t] == NodeType.ROOT and (
            edges.scope == "example" or slow.utterance[s] == slow.utterance[t]
        )

    return slow.pairs(wanted)


def loops(edges, slow):
    own = slow.pairs(lambda s, t: slow.first[s] == slow.first[t] if edges.pieces == "all" else s == t)
    if edges.only == "all":
        return own
    tops = {i for i in range(slow.size) if not [*slow.tree.pred.get(slow.first[i], ())]}
    return {(s, t) for s, t in own if t in tops}


def special(edges, slow):
    def wanted(s, t):
        s, t = slow.kind[s].name, slow.kind[t].name
        return (s in edges.node_types and t in edges.others) or (t in edges.node_types and s in edges.others)

    return slow.pairs(wanted)


def relations(edges, slow):
    pairs = {(node, node) for node in slow.data.arc_node_index.tolist()}
    for node, arc in zip(slow.data.arc_node_index.tolist(), slow.data.arc_index.t().tolist()):
        up = {(word, node) for word in arc}
        pairs |= ways(up, edges.direction in ("both", "to_relation"), edges.direction in ("both", "to_word"))
    return slow.piece_pairs(pairs, edges.pieces)


def links(_, slow):
    arcs = [*zip(slow.data.arc_node_index.tolist(), map(set, slow.data.arc_index.t().tolist()))]
    return {(source, target) for source, a in arcs for target, b in arcs if a & b}


def span_paths(edges, slow):
    words = path_words(slow, edges.distance)
    pairs = {(i, j) for i in words for j in words}
    if edges.pairs == "arcs":
        pairs &= ways({*slow.tree.edges}, True, True)
    own = loops(SelfLoops(pieces=edges.pieces), slow) if edges.loops else set()
    return slow.piece_pairs(pairs, edges.pieces) | own


def path_words(slow, distance: int) -> set[int]:
    marks = slow.data.mark.tolist()
    words = [node for node in slow.tree.nodes if slow.kind[node] == NodeType.WORD]
    tops = [
        min((n for n in words if marks[n] & span), key=lambda n: (slow.depth[n], n), default=None)
        for span in (1, 2)
    ]
    if None in tops:
        return set()
    graph = slow.tree.to_undirected()
    if nx.has_path(graph, *tops):
        path = {*nx.shortest_path(graph, *tops)}
    else:
        path = {*slow.upwards(tops[0]), *slow.upwards(tops[1])}
    path &= {*words}
    return {word for word in words if path & {*slow.upwards(word)[: distance + 1]}}


def of(kind, *arguments, **options):
    return st.builds(kind, *(st.sampled_from(choices.split()) for choices in arguments), **options)


WITH_RELATIONS = examples().map(RelationNodes())
DEFINITIONS = [
    (of(AncestorEdges, "descendant ancestor both", pieces=PIECES), examples(), ancestors),
    (of(DependencyEdges, "governor dependent both", pieces=PIECES), examples(), dependencies),
    (of(DepthEdges, max_sum=st.integers(0, 8), pieces=PIECES), examples(), depths),
    (of(TreeDistanceEdges, max_distance=st.integers(0, 6), pieces=PIECES), examples(), distances),
    (of(CompleteEdges, scope=SCOPES, node_types=KINDS, implicit=st.booleans()), examples(), complete),
    (of(RootEdges, scope=SCOPES), examples(), roots),
    (of(SelfLoops, "all tops", pieces=PIECES), examples(), loops),
    (of(SpecialEdges, node_types=KINDS, others=KINDS), examples(special=True), special),
    (of(RelationEdges, "both to_relation to_word none", pieces=PIECES), WITH_RELATIONS, relations),
    (of(RelationLinks), WITH_RELATIONS, links),
    (
        of(SpanPathEdges, "all arcs", distance=st.integers(0, 3), loops=st.booleans(), pieces=PIECES),
        marked_examples(),
        span_paths,
    ),
]


@pytest.mark.parametrize(
    ("edges", "datas", "pairs"), DEFINITIONS, ids=[row[2].__name__ for row in DEFINITIONS]
)
@given(draw=st.data())
def test_against_the_definition(edges, datas, pairs, draw):
    edges, data = draw.draw(edges), draw.draw(datas)
    got = edges(data)
    assert {*attended(got)} == pairs(edges, SlowTree(data))
    implicit = getattr(edges, "implicit", False)
    assert (("clique" in got), ("edge_index" in got)) == (implicit, not implicit)
    assert not implicit or got.edge_index_explicit.shape == (2, 0)


def test_direction_is_source_to_target():
    data = to_data([Sentence(["a", "b"], [2, 0], ["nsubj", "root"])], root=False)
    assert DependencyEdges("governor")(data).edge_index.tolist() == [[0], [1]]
    assert DependencyEdges("dependent")(data).edge_index.tolist() == [[1], [0]]


def test_the_pruned_tree_of_the_paper():
    # "He was not a relative of Mike Cane": the way from "He" to "Cane" leaves "not" out, one arc off has it.
    form = ["He", "was", "not", "a", "relative", "of", "Mike", "Cane"]
    deprel = ["nsubj", "cop", "neg", "det", "root", "case", "dep", "nmod"]
    data = mark_words(to_data([Sentence(form, [5, 5, 5, 5, 0, 8, 8, 5], deprel)]), [1, 0, 0, 0, 0, 0, 2, 2])
    for distance, words in ((0, ["He", "relative", "Cane"]), (1, form)):
        source, _ = SpanPathEdges("arcs", distance=distance, loops=False)(data).edge_index
        assert [form[node - 1] for node in source.unique().tolist()] == words


def test_enhanced_arcs():
    """A word with two governors, a cycle, two arcs between the same words, and an empty node."""
    deps = [[("2", "nsubj"), ("3", "nsubj:xsubj")], [("0", "root")], [("2", "xcomp"), ("3.1", "conj")]]
    empty = [("3.1", "x", *["_"] * 6, "2:conj", "_")]
    s = Sentence(["a", "b", "c"], [2, 0, 2], ["nsubj", "root", "xcomp"], deps=deps, empty=empty)
    data = to_data([s], arcs="enhanced")
    every = {(1, 2), (1, 3), (2, 0), (3, 2), (3, 4), (4, 2)}
    assert {*attended(OwnEdges("governor")(data))} == every
    assert {*attended(DependencyEdges()(data))} == {(1, 2), (2, 0), (3, 2)}
    deps = [[("2", "nsubj"), ("3", "nsubj:xsubj")], [("0", "root"), ("3", "acl")], [("2", "xcomp")]]
    deps += [[("3", "obj"), ("3", "obl")], [("4", "case")]]
    s = Sentence([*"abcde"], [2, 0, 2, 3, 4], ["nsubj", "root", "xcomp", "obj", "case"], deps=deps)
    data = RelationNodes()(to_data([s], arcs="enhanced", root=False))
    arcs = [(1, 0), (2, 0), (2, 1), (1, 2), (2, 3), (2, 3), (3, 4)]
    assert data.arc_index.t().tolist() == [[*arc] for arc in arcs]
    seen = {(k, m) for k, a in enumerate(arcs) for m, b in enumerate(arcs) if {*a} & {*b}}
    assert {(s - 5, t - 5) for s, t in attended(RelationLinks()(data))} == seen
    assert (4, 5) in seen
    assert (0, 6) not in seen


def test_nothing_to_join(example):
    assert SpecialEdges()(to_data([example])).num_edges == 0
    alone = to_data([Sentence.chain(["x"])], root=False)
    assert RelationLinks()(RelationNodes()(alone)).edge_index.shape == (2, 0)
    marked = mark_words(to_data([Sentence.chain(["a", "b"])]), [1, 0])  # one span has no path
    assert SpanPathEdges(loops=False)(marked).edge_index.shape == (2, 0)
    assert SpanPathEdges()(marked).edge_index.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert TreeDistanceEdges(10**9)(to_data([Sentence.chain(["x"] * 5)])).num_edges == 36


def test_long_sentences():
    """Time and memory are those of the edges, without recursion."""
    chain = to_data([Sentence.chain(["x"] * 100_000)])
    enter, leave, _ = euler_tour(Nodes(chain))
    assert torch.equal(enter, torch.arange(100_001))
    assert bool((leave == 100_001).all())
    implicit = CompleteEdges(implicit=True)(chain)
    assert implicit.edge_index_explicit.numel() == 0
    assert implicit.clique.numel() == 100_001
    assert TreeDistanceEdges(2)(chain).num_edges == 100_001 + 2 * 100_000 + 2 * 99_999
    data = AncestorEdges()(to_data([Sentence.chain(["x"] * 1000)], root=False))
    assert data.num_edges == 1000 * 999 // 2
    assert bool((data.edge_index[0] < data.edge_index[1]).all())
    wide = Sentence(["x"] * 50_001, [0] + [1] * 50_000, ["dep"] * 50_001)
    assert AncestorEdges()(to_data([wide], root=False)).edge_index[0].unique().tolist() == [0]
    utterance, example = (CompleteEdges(scope, implicit=True) for scope in ("utterance", "example"))
    for edges in (utterance | example, example & utterance):
        assert (edges | SelfLoops())(chain).num_edges == 0
    assert (DependencyEdges("both") & example)(chain).num_edges == 200_000
    assert (DependencyEdges("both") - example)(chain).num_edges == 0


@given(examples())
def test_euler_tour(data):
    nodes, slow = Nodes(data), SlowTree(data)
    enter, leave, order = euler_tour(nodes)
    assert sorted(enter.tolist()) == [*range(slow.size)]
    assert torch.equal(enter[order], torch.arange(slow.size))
    for i in slow.tree:
        below = {j for j in slow.tree if enter[i] <= enter[j] < leave[i]}
        assert below == nx.descendants(slow.tree, i) | {i}


@pytest.mark.parametrize("cycle", [[1, 0], [1, 2, 0], [0, 2, 1], [0, 2, 3, 1, 4]])
def test_cycles_are_refused(cycle, monkeypatch):
    data = to_data([Sentence.chain(["x"] * len(cycle))], root=False)
    data.governor_index = torch.tensor(cycle)
    with pytest.raises(ValueError, match="cannot have node . for its governor"):
        AncestorEdges()(data)
    monkeypatch.setattr("graphdep.transforms.nodes.check_table", lambda data: None)  # as on a GPU
    with pytest.raises(ValueError, match="'governor_index' has a cycle"):
        AncestorEdges()(data)


def test_no_stale_clique():
    data = to_data([Sentence.chain(["x"] * 3)])
    again = SelfLoops()(CompleteEdges(implicit=True)(data))
    assert not {"clique", "edge_index_explicit"} & {*again.keys()}
    assert again.num_edges == 4
    implicit = CompleteEdges(implicit=True)(SelfLoops()(data))
    assert "clique" in implicit
    assert "edge_index" not in implicit


def test_node_types_by_name():
    assert repr(CompleteEdges(node_types="WORD")) == repr(CompleteEdges(node_types=[NodeType.WORD]))


# -- set operators and marks ---------------------------------------------------------------------------------

ATOMS = st.sampled_from(
    [
        CompleteEdges("utterance", implicit=True),
        CompleteEdges("example", implicit=True),
        CompleteEdges("example", node_types=["WORD", "CLS"], implicit=True),
        CompleteEdges("utterance", node_types=["ROOT", "EOU", "WORD"], implicit=True),
        CompleteEdges("example"),
        DependencyEdges(),
        AncestorEdges(),
        RootEdges("example"),
        SelfLoops(),
        SpecialEdges(),
    ]
)
OPERATORS = {"|": operator.or_, "&": operator.and_, "-": operator.sub}
EXPRESSIONS = st.recursive(ATOMS, lambda e: st.tuples(e, st.sampled_from("|&-"), e), max_leaves=4)


def evaluated(expression, leaf):
    if isinstance(expression, EdgeConstructor):
        return leaf(expression)
    left, symbol, right = expression
    return OPERATORS[symbol](evaluated(left, leaf), evaluated(right, leaf))


def has_clique(expression):
    """Whether a set keeps a clique depends on how it is made, not on the data."""
    if isinstance(expression, EdgeConstructor):
        return isinstance(expression, CompleteEdges) and expression.implicit
    left, symbol, right = expression
    both = has_clique(left), has_clique(right)
    return {"|": any(both), "&": all(both), "-": False}[symbol]


@given(examples(special=True), EXPRESSIONS)
def test_against_python_sets(data, expression):
    got = evaluated(expression, lambda edges: edges)(data)
    assert {*attended(got)} == evaluated(expression, lambda edges: {*attended(edges(data))})
    assert ("clique" in got) == has_clique(expression)
    if "clique" in got:
        source, target = got.clique[got.edge_index_explicit]
        assert not bool(((source == target) & (source >= 0)).any()), "a pair of a clique is written out too"


@settings(max_examples=30)
@given(example_lists(max_size=3), EXPRESSIONS)
def test_law_of_expressions(datas, expression):
    assert_batch_law(evaluated(expression, lambda edges: edges), datas)


MARKED = DependencyEdges("both") | SelfLoops()


@settings(max_examples=30)
@given(examples(), st.booleans())
def test_marked_pairs_are_those_of_the_union(data, implicit):
    among = CompleteEdges("utterance", node_types=("WORD",), implicit=implicit)
    marked = MarkedEdges(MARKED, among)(data)
    assert {*attended(marked)} == {*attended((MARKED | among)(data))}
    edge_index = marked["edge_index_explicit" if implicit else "edge_index"]
    assert torch.equal(edge_index[:, marked.edge_mark], MARKED(data).edge_index)
    if implicit:
        assert marked.edge_mark.all()
        assert torch.equal(marked.clique, among(data).clique)
    marked = MarkedEdges(CompleteEdges("utterance", implicit=True), CompleteEdges(implicit=True))(data)
    assert torch.equal(marked.edge_index_explicit, CompleteEdges("utterance")(data).edge_index)


@pytest.mark.parametrize("combine", [operator.or_, operator.and_, operator.sub])
def test_what_is_part_of_no_set(combine):
    marked = MarkedEdges(MARKED, CompleteEdges("utterance"))
    for left, right in ((marked, SelfLoops()), (SelfLoops(), marked), (marked, marked)):
        with pytest.raises(TypeError, match="unsupported operand.*'MarkedEdges'"):
            combine(left, right)
    for other in ("dra", TreePathTypes()):
        with pytest.raises(TypeError, match="unsupported operand"):
            combine(SelfLoops(), other)


def test_own_edges_and_their_labels():
    """A graph with two governors, two arcs between two words, an arc both ways, and one from the root."""
    words, labels = [*"abcd"], ["likes", "knows", "sees"]
    edges = [
        [1, 2, "likes"],
        [3, 2, "knows"],
        [2, 1, "sees"],
        [1, 3, "sees"],
        [1, 3, "likes"],
        [0, 4, "knows"],
    ]
    row = {"words": words, "head": [0, 1, 1, 1], "deprel": ["root", "x", "x", "x"], "edges": edges}
    relations = RelationVocab(labels)
    data = to_data(row, arcs="enhanced", relations=relations)
    arcs = {(s, t) for s, t, _ in edges}
    assert {*attended(OwnEdges("governor")(data))} == {(t, s) for s, t in arcs}
    assert {*attended(OwnEdges("dependent")(data))} == arcs
    both = {*attended(OwnEdges()(data))}
    assert both == arcs | {(t, s) for s, t in arcs}
    kinds = attended(resolve("own-arcs")(data))
    names = {pair: relations.label(kind) for pair, kind in kinds.items()}
    assert names == {
        **{(node, node): "[SELF]" for node in range(5)},
        (1, 2): "likes",
        (2, 1): "sees",
        (3, 2): "knows",
        (2, 3): "knows^-1",
        (1, 3): "likes",
        (3, 1): "likes^-1",
        (0, 4): "knows",
        (4, 0): "knows^-1",
    }
    tree = {*attended((DependencyEdges("both") & OwnEdges())(data))}
    assert tree == {(1, 2), (2, 1), (1, 3), (3, 1)}


@pytest.mark.parametrize("change", [ToUndirected(), AddSelfLoops(), Data.sort], ids=["both", "loops", "sort"])
@pytest.mark.parametrize("direction", ["governor", "dependent"])
@pytest.mark.parametrize("words", [1, 2, 4])
def test_transforms_of_pyg_leave_the_arcs(change, direction, words):
    """Although there are as many edges as arcs, or as nodes."""
    sentence = Sentence([*"abcd"[:words]], [0, 1, 1, 2][:words], ["root", "obj", "punct", "det"][:words])
    data = DependencyEdges(direction)(to_data([sentence]))
    batch = DependencyEdges(direction)(Batch.from_data_list([data, data]))
    for before in (data, batch):
        after = change(before.clone())
        assert torch.equal(after.arc_index, before.arc_index)
        assert torch.equal(after.arc_type, before.arc_type)
