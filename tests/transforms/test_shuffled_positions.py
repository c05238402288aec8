from __future__ import annotations

from collections import Counter, defaultdict

import pytest
import torch
from hypothesis import given
from torch_geometric.data import Batch

from graphdep import Sentence, Vocab, to_data
from graphdep.transforms import ShuffledPositions
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree

VOCAB = Vocab(f"w{k}" for k in range(2000))


@given(examples())
def test_words_exchange_places_and_their_pieces_stay_together(data):
    got, slow = ShuffledPositions(3)(data), SlowTree(data)
    utterances = defaultdict(list)
    for node in range(slow.size):
        word = slow.first[node] in slow.tree and data.word[slow.first[node]] >= 0
        if not word:
            assert got.position[node] == data.position[node]
            continue
        utterances[int(data.utterance[node])].append(node)
    for nodes in utterances.values():
        assert sorted(got.position[nodes].tolist()) == sorted(data.position[nodes].tolist())
        by_place = sorted(nodes, key=lambda node: int(got.position[node]))
        seen = [slow.first[node] for node in by_place]
        runs = [first for k, first in enumerate(seen) if k == 0 or seen[k - 1] != first]
        assert len(runs) == len({*seen})  # each word once, all of its pieces behind one another
        for first in runs:
            pieces = [node for node in by_place if slow.first[node] == first]
            assert pieces == sorted(pieces, key=lambda node: int(data.position[node]))
    for key in data.to_dict():
        if key != "position":
            assert got[key] is data[key] or torch.equal(got[key], data[key])


def test_all_orders_are_as_likely():
    chains = [Sentence.chain([f"w{k}", "a", "b"]) for k in range(1200)]
    batch = ShuffledPositions()(Batch.from_data_list([to_data([one], vocab=VOCAB) for one in chains]))
    counts = Counter(map(tuple, batch.position.view(-1, 4).tolist()))
    assert len(counts) == 6
    assert all(abs(count / 1200 - 1 / 6) < 0.04 for count in counts.values())


def test_equal_sentences_are_shuffled_alike():
    one = to_data([Sentence.chain([f"w{k}" for k in range(9)])], vocab=VOCAB)
    both = ShuffledPositions(2)(Batch.from_data_list([to_data([Sentence.chain(["w1"])], vocab=VOCAB), one]))
    assert both.position[2:].tolist() == ShuffledPositions(2)(one).position.tolist()
    assert ShuffledPositions(3)(one).position.tolist() != ShuffledPositions(2)(one).position.tolist()


def test_errors():
    with pytest.raises(ValueError, match="'seed' must be a whole number of at least 0"):
        ShuffledPositions(-1)
    assert repr(ShuffledPositions(4)) == "ShuffledPositions(seed=4)"
