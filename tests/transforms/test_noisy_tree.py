from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from graphdep import Sentence, Vocab, to_data
from graphdep.transforms import NoisyTree
from tests.kit.strategies import examples, sentences
from tests.kit.trees import random_sentence

VOCAB = Vocab(f"w{k}" for k in range(500))


def heads(sentence: Sentence, p: float, seed: int = 0) -> list[int]:
    """Numbers of the new governors as in a sentence: 0 for none."""
    got = NoisyTree(p, seed)(to_data([sentence], vocab=VOCAB))
    return got.governor_index[1:].tolist()


def goes_round(head: list[int]) -> bool:
    for word in range(1, len(head) + 1):
        for _ in head:
            word = head[word - 1] if word else 0
        if word:
            return True
    return False


@given(sentences(max_words=12, multiroot=True), st.floats(0, 1), st.integers(0, 9))
def test_still_a_tree_with_so_many_wrong_arcs(sentence, p, seed):
    got, bound = heads(sentence, p, seed), [h for h in sentence.head if h]
    assert not goes_round(got)
    assert [h == 0 for h in got] == [h == 0 for h in sentence.head]
    wrong = sum(new != old for new, old in zip(got, sentence.head))
    asked = round(p * len(bound))
    # One word alone can have no other governor: the first of the order, under the only root.
    assert asked - (sentence.head.count(0) == 1) <= wrong <= asked


@given(examples())
def test_none_is_the_parse(data):
    got = NoisyTree(0.0)(data)
    for key in ("governor_index", "deprel", "depth"):
        assert torch.equal(got[key], data[key]), key


def test_relations_stay_with_their_words(example):
    data = to_data([example])
    assert torch.equal(NoisyTree(0.7, seed=3)(data).deprel, data.deprel)


def test_every_word_and_every_wrong_governor_is_drawn():
    """Of a root with two dependents a and b, one of which has one of its own, c."""
    counts: Counter[tuple[int, ...]] = Counter()
    for k in range(400):
        sentence = Sentence(["w0", f"w{k}", "w1", "w2"], [0, 1, 1, 3], ["root", *["dep"] * 3])
        counts[tuple(heads(sentence, 1 / 3))] += 1
    # The parse is left where a or b is drawn and stands first: behind the root there is nothing else.
    assert set(counts) == {
        (0, 1, 1, 3),
        (0, 3, 1, 3),  # a under b
        (0, 4, 1, 3),  # a under c
        (0, 1, 2, 3),  # b under a
        (0, 1, 1, 1),  # c under the root
        (0, 1, 1, 2),  # c under a
    }
    under_other = sum(counts[h] for h in counts if h[3] != 3)
    assert abs(under_other / 400 - 1 / 3) < 0.07


@pytest.mark.parametrize("p", [0.1, 0.5, 1.0])
def test_shares_of_long_sentences(p):
    rng = random.Random(0)
    for seed in range(5):
        sentence = random_sentence(rng, 200)
        wrong = sum(a != b for a, b in zip(heads(sentence, p, seed), sentence.head))
        assert abs(wrong - p * 199) <= 1.5


def test_errors_of_a_smaller_share_are_among_those_of_a_larger_one():
    sentence = random_sentence(random.Random(1), 60)
    few, many = (
        {k for k, (a, b) in enumerate(zip(heads(sentence, p), sentence.head)) if a != b} for p in (0.3, 0.8)
    )
    assert len(few - many) <= 1


def test_equal_sentences_have_equal_trees_wherever_they_stand():
    sentence = random_sentence(random.Random(2), 9)
    alone = NoisyTree(0.5, 3)(to_data([sentence], vocab=VOCAB))
    first = to_data([Sentence.chain(["w1"])], vocab=VOCAB)
    both = NoisyTree(0.5, 3)(Batch.from_data_list([first, to_data([sentence], vocab=VOCAB)]))
    assert torch.equal(both.governor_index[2:] - 2, alone.governor_index)


def test_100_000_words():
    data = NoisyTree(0.3)(to_data([Sentence.chain(["x"] * 100_000)]))
    changed = data.governor_index[1:] != torch.arange(100_000)
    assert abs(int(changed.sum()) - 30_000) <= 1


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_bad_share(p):
    with pytest.raises(ValueError, match="'p' must be between 0 and 1"):
        NoisyTree(p)


def test_bad_seed():
    with pytest.raises(ValueError, match="'seed' must be a whole number of at least 0"):
        NoisyTree(0.5, -1)
