from __future__ import annotations

import operator

import pytest
import torch
from hypothesis import given

from graphdep import NodeType, Sentence, to_data
from graphdep.testing import assert_batch_law
from graphdep.testing.slow_tree import attended
from graphdep.testing.strategies import example_lists, examples
from graphdep.transforms import CompleteEdges, DependencyEdges, MarkedEdges, RootEdges, SelfLoops, resolve

EDGES = DependencyEdges("both") | SelfLoops()


@given(example_lists(max_size=3))
def test_law(datas):
    assert_batch_law(MarkedEdges(EDGES, CompleteEdges("utterance")), datas)


@given(examples())
def test_the_pairs_are_those_of_the_union(data):
    among = CompleteEdges("utterance", node_types=("WORD",))
    marked = MarkedEdges(EDGES, among)(data)
    assert torch.equal(marked.edge_index, EDGES(data).edge_index)
    assert torch.equal(marked.clique, among(data).clique)
    assert set(attended(marked)) == set(attended((EDGES | among)(data)))


@pytest.mark.parametrize("combine", [operator.or_, operator.and_, operator.sub])
def test_it_is_part_of_no_set(combine):
    marked = MarkedEdges(EDGES, CompleteEdges("utterance"))
    for left, right in ((marked, SelfLoops()), (SelfLoops(), marked), (marked, marked)):
        with pytest.raises(TypeError, match="unsupported operand.*'MarkedEdges'"):
            combine(left, right)


@given(examples())
def test_cliques_of_the_marked_edges_are_written_out(data):
    marked = MarkedEdges(CompleteEdges("utterance"), CompleteEdges("example"))(data)
    assert torch.equal(marked.edge_index, CompleteEdges("utterance", materialize=True)(data).edge_index)


def test_errors_and_repr():
    data = to_data([Sentence.chain(["a", "b"])])
    message = "'among' must give cliques and nothing else \\(got {}"
    with pytest.raises(ValueError, match=message.format("SelfLoops")):
        MarkedEdges(EDGES, SelfLoops())(data)
    words = CompleteEdges(node_types=(NodeType.WORD,))
    with pytest.raises(ValueError, match=message.format("\\(CompleteEdges")):
        MarkedEdges(EDGES, words | RootEdges("utterance"))(data)
    for name, arguments in (("edges", (resolve("dt"), words)), ("among", (EDGES, MarkedEdges(EDGES, words)))):
        with pytest.raises(ValueError, match=f"'{name}' must be an edge constructor \\(got "):
            MarkedEdges(*arguments)
    assert repr(MarkedEdges(SelfLoops(), CompleteEdges())) == (
        f"MarkedEdges(edges={SelfLoops()!r}, among={CompleteEdges()!r})"
    )
