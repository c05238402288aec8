from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Vocab, to_data
from graphdep.nn.models import HRANEncoder
from tests.kit.trees import random_data, random_sentence

VOCAB = Vocab("abcdefgh")


def make(num_words: int = len(VOCAB), **options) -> HRANEncoder:
    torch.manual_seed(0)
    model = HRANEncoder(num_words, **({"hidden_channels": 6, "dropout": 0.0} | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def context(seed: int, utterances: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(utterances)], vocab=VOCAB)


@pytest.mark.parametrize("layers", [1, 2])
def test_each_utterance_is_read_alone_in_both_directions(layers: int) -> None:
    model, examples = make(num_layers=layers), [context(i, number) for i, number in enumerate((3, 1, 4))]
    expected = []
    for data in examples:
        for number in range(int(data.utterance.max()) + 1):
            words = model.embedding.word.weight[data.input_ids[data.utterance == number]]
            expected.append(model.words.rnn(words)[0])
    batch = Batch.from_data_list(examples)
    memory = model(batch)
    torch.testing.assert_close(memory.x, torch.cat(expected), rtol=0, atol=1e-10)
    assert torch.equal(memory.ptr, batch.ptr)
    assert torch.equal(memory.group, batch.utterance)


def test_special_nodes_are_not_read() -> None:
    rng = random.Random(0)
    data = random_data(rng, [random_sentence(rng, 3), random_sentence(rng, 2)], special=True)
    memory = make(50)(Batch.from_data_list([data, data]))
    read = (data.node_type == NodeType.WORD) | (data.node_type == NodeType.ROOT)
    assert memory.ptr.tolist() == [0, 7, 14]
    assert torch.equal(memory.group, data.utterance[read].repeat(2))


def test_errors() -> None:
    with pytest.raises(ValueError, match="'hidden_channels' must be even for two directions \\(got 7\\)"):
        make(hidden_channels=7)
    for size in (0, -2):
        with pytest.raises(ValueError, match=f"'hidden_channels' must be at least 1 \\(got {size}\\)"):
            make(hidden_channels=size)
