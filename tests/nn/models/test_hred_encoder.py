from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import Vocab, to_data
from graphdep.nn.models import HREDEncoder
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")


def make(**options) -> HREDEncoder:
    torch.manual_seed(0)
    model = HREDEncoder(len(VOCAB), **({"hidden_channels": 6, "dropout": 0.0} | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def context(seed: int, utterances: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(utterances)], vocab=VOCAB)


def sweep(rnn: nn.GRU, suffix: str, words: list[Tensor]) -> list[Tensor]:
    """One layer in one direction, from the published equations."""
    w, u, b, v = (
        getattr(rnn, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h, states = torch.zeros(rnn.hidden_size, dtype=torch.float64), []
    for word in words:
        (r, z, n), (s, y, m) = (w @ word + b).chunk(3), (u @ h + v).chunk(3)
        z = (z + y).sigmoid()
        h = (1 - z) * (n + (r + s).sigmoid() * m).tanh() + z * h
        states.append(h)
    return states


def last_state(rnn: nn.GRU, words: list[Tensor]) -> Tensor:
    for layer in range(rnn.num_layers):
        states = sweep(rnn, f"l{layer}", words)
        last = states[-1]
        if rnn.bidirectional:
            backward = sweep(rnn, f"l{layer}_reverse", words[::-1])[::-1]
            last = torch.cat([last, backward[0]])
            states = [torch.cat(both) for both in zip(states, backward)]
        words = states
    return last


def literal(model: HREDEncoder, data: Data) -> Tensor:
    utterances = []
    for number in range(int(data.utterance.max()) + 1):
        words = model.embedding.word.weight[data.input_ids[data.utterance == number]]  # ROOT is the first
        utterances.append(last_state(model.words.rnn, [*words]))
    return last_state(model.context, utterances)


@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True}, {"num_layers": 2}, {"bidirectional": True, "num_layers": 2}]
)
def test_equals_the_equations(options: dict) -> None:
    model, examples = make(**options), [context(i, number) for i, number in enumerate((3, 1, 4))]
    memory = model(Batch.from_data_list(examples))
    expected = torch.stack([literal(model, data) for data in examples])
    torch.testing.assert_close(memory.x, expected, rtol=0, atol=1e-10)
    assert memory.ptr.tolist() == [0, 1, 2, 3]


def test_the_order_of_words_and_utterances_counts() -> None:
    model, data = make(), context(1, 2)
    out = model(data).x
    data.input_ids[1:] = data.input_ids[1:].flip(0)
    assert not torch.allclose(model(data).x, out)


@pytest.mark.parametrize("layers", [1, 2])
def test_dropout_in_training_only(layers: int) -> None:
    model, data = make(dropout=0.5, num_layers=layers), context(1, 3)
    assert not torch.equal(model(data).x, model(data).x)
    model.eval()
    assert torch.equal(model(data).x, model(data).x)


def test_errors() -> None:
    with pytest.raises(ValueError, match="'hidden_channels' must be even for two directions \\(got 7\\)"):
        make(hidden_channels=7, bidirectional=True)
    for size in (0, -2):
        with pytest.raises(ValueError, match=f"'hidden_channels' must be at least 1 \\(got {size}\\)"):
            make(hidden_channels=size)
    assert make(hidden_channels=7).hidden_channels == 7
