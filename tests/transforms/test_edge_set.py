from __future__ import annotations

import operator

from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence, to_data
from graphdep.testing import assert_batch_law
from graphdep.transforms import (
    AncestorEdges,
    CompleteEdges,
    DependencyEdges,
    EdgeConstructor,
    RootEdges,
    SelfLoops,
    SpecialEdges,
)
from tests.kit.strategies import example_lists, examples
from tests.kit.trees import SlowTree, attended

atoms = st.sampled_from(
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
expressions = st.recursive(atoms, lambda e: st.tuples(e, st.sampled_from("|&-"), e), max_leaves=4)


def as_edges(expression):
    if isinstance(expression, EdgeConstructor):
        return expression
    left, symbol, right = expression
    return OPERATORS[symbol](as_edges(left), as_edges(right))


def as_set(expression, data):
    if isinstance(expression, EdgeConstructor):
        return set(attended(expression(data)))
    left, symbol, right = expression
    return OPERATORS[symbol](as_set(left, data), as_set(right, data))


def has_clique(expression):
    """Whether a set keeps a clique depends on how it is made, not on the data."""
    if isinstance(expression, EdgeConstructor):
        return isinstance(expression, CompleteEdges) and expression.implicit
    left, symbol, right = expression
    return {"|": has_clique(left) or has_clique(right), "&": has_clique(left) and has_clique(right)}.get(
        symbol, False
    )


@given(examples(special=True), expressions)
def test_against_python_sets(data, expression):
    got = as_edges(expression)(data)
    assert set(attended(got)) == as_set(expression, data)
    assert ("clique" in got) == has_clique(expression)
    if "clique" in got:
        source, target = got.clique[got.edge_index_explicit]
        assert not bool(((source == target) & (source >= 0)).any()), "a pair of a clique is written out too"


@given(example_lists(max_size=3), expressions)
def test_law(datas, expression):
    assert_batch_law(as_edges(expression), datas)


@given(examples())
def test_nested_cliques_stay_implicit(data):
    utterance, example = (CompleteEdges(scope, implicit=True) for scope in ("utterance", "example"))
    for edges in (utterance | example, example | utterance, utterance & example):
        assert edges(data).num_edges == 0
    assert (utterance | DependencyEdges("both"))(data).num_edges == 0
    assert SlowTree(data).size == (example & utterance)(data).clique.numel()


def test_nested_cliques_of_100_000_words():
    data = to_data([Sentence.chain(["x"] * 100_000)])
    utterance, example = (CompleteEdges(scope, implicit=True) for scope in ("utterance", "example"))
    for edges in (utterance | example, example & utterance):
        assert (edges | SelfLoops())(data).num_edges == 0
    assert (DependencyEdges("both") & example)(data).num_edges == 200_000
    assert (DependencyEdges("both") - example)(data).num_edges == 0
