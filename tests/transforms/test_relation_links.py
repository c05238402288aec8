from __future__ import annotations

import pytest
from hypothesis import given

from graphdep import Sentence, to_data
from graphdep.transforms import RelationLinks, RelationNodes
from tests.kit.strategies import examples
from tests.kit.trees import attended


@given(examples())
def test_against_loop(data):
    data = RelationNodes()(data)
    arcs = [*zip(data.arc_node_index.tolist(), map(set, data.arc_index.t().tolist()))]
    expected = {(source, target) for source, a in arcs for target, b in arcs if a & b}
    assert set(attended(RelationLinks()(data))) == expected


def test_enhanced_arcs():
    """A word with two governors, a cycle, and two arcs between the same words."""
    deps = [[("2", "nsubj"), ("3", "nsubj:xsubj")], [("0", "root"), ("3", "acl")], [("2", "xcomp")]]
    deps += [[("3", "obj"), ("3", "obl")], [("4", "case")]]
    s = Sentence(list("abcde"), [2, 0, 2, 3, 4], ["nsubj", "root", "xcomp", "obj", "case"], deps=deps)
    data = RelationNodes()(to_data([s], arcs="enhanced", root=False))
    arcs = [(1, 0), (2, 0), (2, 1), (1, 2), (2, 3), (2, 3), (3, 4)]
    assert data.arc_index.t().tolist() == [list(arc) for arc in arcs]
    seen = {(k, m) for k, a in enumerate(arcs) for m, b in enumerate(arcs) if {*a} & {*b}}
    assert {(s - 5, t - 5) for s, t in attended(RelationLinks()(data))} == seen
    assert (4, 5) in seen
    assert (0, 6) not in seen


def test_one_word_has_none():
    data = RelationLinks()(RelationNodes()(to_data([Sentence.chain(["x"])], root=False)))
    assert data.edge_index.shape == (2, 0)


def test_needs_relation_nodes(example):
    with pytest.raises(ValueError, match=r"put RelationNodes\(\) before Relation"):
        RelationLinks()(to_data([example]))
