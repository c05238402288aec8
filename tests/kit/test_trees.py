from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, to_data
from graphdep.testing import assert_same_data
from tests.kit.strategies import examples, sentences
from tests.kit.trees import random_data, random_sentence


@given(st.lists(sentences(multiroot=True), min_size=1, max_size=3), st.booleans())
def test_random_data_equals_to_data(parsed, root):
    got = random_data(random.Random(0), parsed, root=root, input_ids=False)
    segment = [number % 2 for number in range(len(parsed))]
    assert_same_data(got, to_data(parsed, root=root, positions="example", segment=segment))


@pytest.mark.parametrize("words", [1, 2, 30])
def test_random_sentences(words):
    rng = random.Random(1)
    drawn = [random_sentence(rng, words) for _ in range(60)]
    assert {len(sentence) for sentence in drawn} == {words}
    if words == 30:
        depths = [max(sentence.depth) for sentence in drawn]
        assert min(depths) < 10 < 29 < max(depths) + 1


@given(examples(special=True, pieces=True, empty=True, root=True))
def test_random_data_has_all_kinds_of_nodes(data):
    kinds = set(data.node_type.tolist())
    assert kinds == {NodeType.ROOT, NodeType.WORD, NodeType.CLS, NodeType.SEP, NodeType.EOU}
    assert data.governor_index.max() < data.num_nodes
