from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Vocab, to_data
from graphdep.nn.models import WordAverage
from tests.kit.strategies import example_lists
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")


def make(num_words: int = len(VOCAB), **options) -> WordAverage:
    torch.manual_seed(0)
    return WordAverage(num_words, **({"hidden_channels": 6} | options)).double()


def example(seed: int, sentences: int = 2) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 6)) for _ in range(sentences)], vocab=VOCAB)


@settings(max_examples=15)
@given(examples=example_lists(root=True))
def test_mean_of_the_words(examples: list[Data]) -> None:
    model, data = make(num_words=50), Batch.from_data_list(examples)
    out, vectors = model(data), []
    word = model.embedding.word.weight
    for one in examples:
        for number in range(int(one.utterance.max()) + 1):
            mine = (one.utterance == number) & (one.node_type == NodeType.WORD) & (one.word >= 0)
            vectors.append(word[one.input_ids[mine]].mean(dim=0))
    root = data.node_type == NodeType.ROOT
    torch.testing.assert_close(model.readout(data, out), torch.stack(vectors), rtol=0, atol=1e-12)
    assert torch.equal(out[~root], word[data.input_ids[~root]])


def windows(model: WordAverage, data: Data, window: int) -> Tensor:
    """Word by word; ROOT and special nodes as without a window."""
    out = model(data) if model.window == 0 else make(len(model.embedding.word.weight))(data)
    out, word = out.clone(), model.embedding.word.weight
    for number in range(int(data.utterance.max()) + 1):
        mine = (data.utterance == number) & (data.node_type == NodeType.WORD) & (data.word >= 0)
        nodes = mine.nonzero().view(-1).tolist()
        for place, node in enumerate(nodes):
            around = nodes[max(place - window, 0) : place + window + 1]
            out[node] = torch.stack([word[data.input_ids[other]] for other in around]).mean(dim=0)
    return out


@settings(max_examples=20)
@given(examples=example_lists(root=True), window=st.integers(0, 8))
def test_windows_end_with_the_utterance(examples: list[Data], window: int) -> None:
    model, data = make(num_words=50, window=window), Batch.from_data_list(examples)
    out = model(data)
    expected = torch.cat([windows(model, one, window) for one in examples])
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    plain = make(num_words=50)
    assert torch.equal(model.readout(data, out), plain.readout(data, plain(data)))


def test_a_window_learns_as_its_definition_says() -> None:
    model, data = make(window=2), example(4, 3)
    weight = torch.randn(data.num_nodes, 6, dtype=torch.double)
    (got,) = torch.autograd.grad((model(data) * weight).sum(), [*model.parameters()])
    out, word = [], model.embedding.word.weight
    for node in range(data.num_nodes):
        mine = (data.utterance == data.utterance[node]) & (data.node_type == NodeType.WORD) & (data.word >= 0)
        if data.word[node] >= 0:
            mine &= (torch.arange(data.num_nodes) - node).abs() <= 2
        out.append(word[data.input_ids[mine]].mean(dim=0))
    (expected,) = torch.autograd.grad((torch.stack(out) * weight).sum(), [*model.parameters()])
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)


def test_a_window_wider_than_all_texts_costs_no_more_than_they_are_long() -> None:
    data = Batch.from_data_list([example(seed) for seed in range(40)])
    total = make(window=10_000)(data)
    assert torch.equal(total, make(window=5)(data))
    root = data.node_type == NodeType.ROOT
    utterance = root.cumsum(0) - 1
    torch.testing.assert_close(total, total[root][utterance], rtol=0, atol=1e-12)


def test_learns_all_words_but_root() -> None:
    model, data = make(), example(1)
    model.readout(data, model(data)).sin().sum().backward()
    seen = model.embedding.word.weight.grad.any(dim=1)
    words = data.input_ids[data.word >= 0]
    assert seen.nonzero().view(-1).tolist() == words.unique().tolist()


def test_errors() -> None:
    rootless = to_data([random_sentence(random.Random(0), 3)], vocab=VOCAB, root=False)
    with pytest.raises(ValueError, match="no ROOT nodes: call to_data\\(..., root=True\\)"):
        make()(rootless)
    for window in (-1, 1.5):
        with pytest.raises(ValueError, match=rf"'window' must be a whole number .* 0 \(got {window}\)"):
            make(window=window)
    assert repr(make(window=3)).startswith("WordAverage(\n  window=3")
