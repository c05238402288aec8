from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphdep import NodeType, Sentence, to_data
from graphdep.data import mark_words
from graphdep.testing import assert_batch_law
from graphdep.transforms import SelfLoops, SpanPathEdges, register_edges, resolve
from graphdep.transforms import presets as registry
from graphdep.transforms.fingerprint import identity
from tests.kit.strategies import marked_examples, marked_lists
from tests.kit.trees import SlowTree, attended

options = st.fixed_dictionaries(
    {
        "pairs": st.sampled_from(["all", "arcs"]),
        "distance": st.integers(0, 3),
        "loops": st.booleans(),
        "pieces": st.sampled_from(["all", "first"]),
    }
)


def slow_words(data: Data, distance: int) -> set[int]:
    slow, marks = SlowTree(data), data.mark.tolist()
    words = [node for node in slow.tree.nodes if slow.kind[node] == NodeType.WORD]
    tops = [
        min((n for n in words if marks[n] & span), key=lambda n: (slow.depth[n], n), default=None)
        for span in (1, 2)
    ]
    if None in tops:
        return set()
    graph = slow.tree.to_undirected()
    if nx.has_path(graph, *tops):
        path = set(nx.shortest_path(graph, *tops))
    else:
        path = {*slow.upwards(tops[0]), *slow.upwards(tops[1])}
    path &= set(words)
    return {word for word in words if path & set(slow.upwards(word)[: distance + 1])}


@given(marked_examples(), options)
def test_against_networkx(data, options):
    slow, words = SlowTree(data), slow_words(data, options["distance"])
    pairs = {(i, j) for i in words for j in words}
    if options["pairs"] == "arcs":
        arcs = set(slow.tree.edges)
        pairs = {(i, j) for i, j in pairs if (i, j) in arcs or (j, i) in arcs}
    expected = slow.spread(pairs, options["pieces"])
    if options["loops"]:
        expected |= set(attended(SelfLoops(pieces=options["pieces"])(data)))
    assert set(attended(SpanPathEdges(**options)(data))) == expected


@given(marked_lists(), options)
def test_law(datas, options):
    assert_batch_law(SpanPathEdges(**options), datas)


def test_the_pruned_tree_of_the_paper():
    # "He was not a relative of Mike Cane": the way from "He" to "Cane" leaves "not" out, one arc off has it.
    form = ["He", "was", "not", "a", "relative", "of", "Mike", "Cane"]
    tree = Sentence(
        form, [5, 5, 5, 5, 0, 8, 8, 5], ["nsubj", "cop", "neg", "det", "root", "case", "dep", "nmod"]
    )
    data = mark_words(to_data([tree]), [1, 0, 0, 0, 0, 0, 2, 2])

    def words(distance: int) -> list[str]:
        edges = SpanPathEdges("arcs", distance=distance, loops=False)(data).edge_index
        return [form[node - 1] for node in edges[0].unique().tolist()]

    assert words(0) == ["He", "relative", "Cane"]
    assert words(1) == form


def test_one_span_has_no_path():
    data = mark_words(to_data([Sentence.chain(["a", "b"])]), [1, 0])
    assert SpanPathEdges(loops=False)(data).edge_index.shape == (2, 0)
    assert SpanPathEdges()(data).edge_index.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_names_and_identity(monkeypatch):
    monkeypatch.setattr(registry, "_own", {})
    name = "graphdep.transforms:SpanPathEdges"
    register_edges(name, SpanPathEdges)
    assert resolve(name, distance=2).distance == 2
    ids = {
        identity(SpanPathEdges(**given))
        for given in ({}, {"distance": 1}, {"pairs": "arcs"}, {"loops": False})
    }
    assert len({one.rpartition(" ")[2] for one in ids}) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": "tree"}, "'pairs' must be one of all, arcs"),
        ({"distance": -1}, "'distance' must be a whole number of at least 0"),
        ({"pieces": "last"}, "'pieces' must be one of"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        SpanPathEdges(**arguments)


def test_without_marks():
    with pytest.raises(ValueError, match="the data has no 'mark'"):
        SpanPathEdges()(to_data([Sentence.chain(["a"])]))
