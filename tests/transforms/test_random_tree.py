from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import Sentence, Vocab, to_data
from graphdep.transforms import RandomTree


def trees(count, words=3, seed=0):
    """Heads of the random trees of many sentences that differ in a word."""
    vocab = Vocab(f"w{k}" for k in range(count))
    sentences = [Sentence.chain([f"w{k}"] + ["x"] * (words - 1)) for k in range(count)]
    batch = RandomTree(seed)(Batch.from_data_list([to_data([s], vocab=vocab) for s in sentences]))
    heads = (batch.governor_index - batch.ptr[:-1][batch.batch]).view(count, words + 1)[:, 1:]
    return [tuple(head) for head in heads.tolist()]


def test_random_recursive_trees_have_their_distribution():
    counts = Counter(trees(6000))
    # Of 3 words: the 6 chains come from one order of words each, 1/6 x 1/2; the 3 stars from two orders each.
    assert len(counts) == 9
    for head, count in counts.items():
        probability = 1 / 6 if sorted(Counter(head).values()) == [1, 2] else 1 / 12
        assert abs(count / 6000 - probability) < 0.02, (head, count)


def test_seeds_differ_and_repeat():
    assert trees(50, 8, seed=1) == trees(50, 8, seed=1)
    same = sum(a == b for a, b in zip(trees(50, 8, seed=1), trees(50, 8, seed=2)))
    assert same <= 1


def test_global_generator_plays_no_part(example):
    data = to_data([example])
    torch.manual_seed(0)
    first = RandomTree()(data)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    assert torch.equal(first.governor_index, RandomTree()(data).governor_index)
    torch.manual_seed(0)
    assert torch.equal(state, torch.get_rng_state())


def test_100_000_words():
    data = RandomTree()(to_data([Sentence.chain(["x"] * 100_000)]))
    assert int((data.depth == 1).sum()) == 1
    assert int(data.depth.max()) < 60  # of the order of e log n


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_bad_seed(seed):
    with pytest.raises(ValueError, match="'seed' must be a whole number of at least 0"):
        RandomTree(seed)
    assert RandomTree(2**70)


def test_equal_sentences_have_equal_trees_wherever_they_stand():
    vocab = Vocab("abcdefgh")
    one, other = Sentence.chain(list("abcdefgh")), Sentence(list("abcdefgh"), [0] + [1] * 7, ["dep"] * 8)
    pair = to_data([one, other], vocab=vocab)
    alone = RandomTree(3)(to_data([other], vocab=vocab))
    both = RandomTree(3)(Batch.from_data_list([to_data([Sentence.chain(["a"])], vocab=vocab), pair]))
    for start in (2, 11):  # after the first example, and as the second half of the pair
        assert torch.equal(both.governor_index[start : start + 9] - start, alone.governor_index)
