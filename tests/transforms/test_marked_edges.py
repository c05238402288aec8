from __future__ import annotations

import operator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, Sentence, to_data
from graphdep.transforms import CompleteEdges, DependencyEdges, MarkedEdges, RootEdges, SelfLoops
from tests.kit.strategies import examples
from tests.kit.trees import attended

EDGES = DependencyEdges("both") | SelfLoops()


@given(examples(), st.booleans())
def test_the_pairs_are_those_of_the_union(data, implicit):
    among = CompleteEdges("utterance", node_types=("WORD",), implicit=implicit)
    marked = MarkedEdges(EDGES, among)(data)
    assert set(attended(marked)) == set(attended((EDGES | among)(data)))
    edge_index = marked["edge_index_explicit" if implicit else "edge_index"]
    assert torch.equal(edge_index[:, marked.edge_mark], EDGES(data).edge_index)
    if implicit:
        assert marked.edge_mark.all()
        assert torch.equal(marked.clique, among(data).clique)


@pytest.mark.parametrize("combine", [operator.or_, operator.and_, operator.sub])
def test_it_is_part_of_no_set(combine):
    marked = MarkedEdges(EDGES, CompleteEdges("utterance"))
    for left, right in ((marked, SelfLoops()), (SelfLoops(), marked), (marked, marked)):
        with pytest.raises(TypeError, match="unsupported operand.*'MarkedEdges'"):
            combine(left, right)


@given(examples())
def test_cliques_of_the_marked_edges_are_written_out(data):
    marked = MarkedEdges(CompleteEdges("utterance", implicit=True), CompleteEdges(implicit=True))(data)
    assert torch.equal(marked.edge_index_explicit, CompleteEdges("utterance")(data).edge_index)


def test_errors_and_repr():
    data = to_data([Sentence.chain(["a", "b"])])
    words = CompleteEdges(node_types=(NodeType.WORD,), implicit=True)
    message = "'among' must give cliques and nothing else where it is implicit \\(got \\(CompleteEdges"
    with pytest.raises(ValueError, match=message):
        MarkedEdges(EDGES, words | RootEdges("utterance"))(data)
    assert repr(MarkedEdges(SelfLoops(), CompleteEdges())) == (
        f"MarkedEdges(edges={SelfLoops()!r}, among={CompleteEdges()!r})"
    )
