from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, Sentence, to_data
from graphdep.transforms import CompleteEdges, DependencyEdges, RewiredEdges, resolve
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended

right = st.sampled_from([resolve("dra"), resolve("sia"), DependencyEdges("both"), CompleteEdges("utterance")])
shares = st.sampled_from([0, 0.1, 0.5, 0.9, 1])
scopes = st.sampled_from(["utterance", "example"])


@given(examples(), right, shares, st.integers(0, 5), scopes)
def test_counts(data, edges, p, seed, scope):
    slow = SlowTree(data)
    before = set(attended(edges(data)))
    after = set(attended(RewiredEdges(edges, p, seed, scope=scope)(data)))
    kept = slow.pairs(lambda s, t: s == t or NodeType.ROOT in (slow.kind[s], slow.kind[t]))
    assert after & kept == before & kept
    before, after = before - kept, after - kept
    errors = round(p * len(before))
    free = slow.pairs(lambda s, t: scope == "example" or slow.utterance[s] == slow.utterance[t])
    free -= before | kept
    assert len(before - after) == errors
    assert len(after - before) == min(errors, len(free))
    assert after - before <= free


@pytest.mark.parametrize("p", [0, 0.3, 1])
@pytest.mark.parametrize("scope", ["utterance", "example"])
def test_root_sees_its_utterance_and_nothing_else(p, scope):
    data = to_data([Sentence.chain(["a"] * 4), Sentence.chain(["b"] * 3)])
    source, target = RewiredEdges(resolve("dra"), p, scope=scope)(data).edge_index
    roots = {0: [0, 1, 2, 3, 4], 5: [5, 6, 7, 8]}
    for root, seen in roots.items():
        assert source[target == root].tolist() == seen
        assert target[source == root].tolist() == [root]


def test_all_pairs_are_equally_likely():
    data = to_data([Sentence.chain(["a"] * 5)], root=False)
    edges = DependencyEdges()
    total, correct = torch.zeros(5, 5), set(attended(edges(data)))
    for seed in range(600):
        source, target = RewiredEdges(edges, 0.5, seed)(data).edge_index
        total[source, target] += 1
    rates = total / 600
    for s in range(5):
        for t in range(5):
            expected = 0 if s == t else 0.5 if (s, t) in correct else 2 / 16
            assert abs(rates[s, t] - expected) < 0.08


def test_100_000_words():
    data = to_data([Sentence.chain(["x"] * 100_000)])
    before = DependencyEdges()(data).edge_index
    after = RewiredEdges(DependencyEdges(), 0.25, scope="example")(data).edge_index
    assert after.size(1) == before.size(1)
    same = torch.isin(after[1] * 100_001 + after[0], before[1] * 100_001 + before[0])
    assert int(same.sum()) == 75_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": 1.5}, "'p' must be between 0 and 1 .got 1.5"),
        ({"p": float("nan")}, "'p' must be between 0 and 1"),
        ({"seed": -1}, "'seed' must be a whole number"),
        ({"scope": "batch"}, "'scope' must be one of"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        RewiredEdges(**({"edges": DependencyEdges(), "p": 0.1} | arguments))
