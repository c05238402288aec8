from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import Vocab, to_data
from graphdep.nn.models import ReCoSa
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")
SIZE = 8


def make(**options) -> ReCoSa:
    torch.manual_seed(0)
    sizes = {"hidden_channels": SIZE, "num_layers": 2, "heads": 2, "ff_channels": 6, "dropout": 0.0}
    model = ReCoSa(len(VOCAB), **(sizes | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def context(seed: int, utterances: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(utterances)], vocab=VOCAB)


def last_state(rnn: nn.GRU | nn.LSTM, words: Tensor) -> Tensor:
    """One layer after the other, from the published equations."""
    for layer in range(rnn.num_layers):
        w, u, b, v = (
            getattr(rnn, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        h = c = torch.zeros(rnn.hidden_size, dtype=torch.float64)
        states = []
        for word in words:
            if isinstance(rnn, nn.LSTM):
                i, f, g, o = (w @ word + b + u @ h + v).chunk(4)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
            else:
                (r, z, n), (s, y, m) = (w @ word + b).chunk(3), (u @ h + v).chunk(3)
                z = (z + y).sigmoid()
                h = (1 - z) * (n + (r + s).sigmoid() * m).tanh() + z * h
            states.append(h)
        words = torch.stack(states)
    return words[-1]


def literal(model: ReCoSa, data: Data) -> Tensor:
    utterances = []
    for number in range(int(data.utterance.max()) + 1):
        words = model.embedding.word.weight[data.input_ids[data.utterance == number]]  # ROOT is the first
        utterances.append(last_state(model.words.rnn, words))
    x = torch.stack(utterances)
    if model.context.turn is not None:
        x = x + model.context.turn.weight[: len(x)]
    for layer in model.context.layers:
        query, key, value = (
            lin(x).view(-1, 2, SIZE // 2).transpose(0, 1)
            for lin in (layer.conv.lin_query, layer.conv.lin_key, layer.conv.lin_value)
        )
        heads = (query @ key.mT / (SIZE // 2) ** 0.5).softmax(dim=-1) @ value
        x = layer.norm_attention(x + layer.lin_out(heads.transpose(0, 1).flatten(1)))
        x = layer.norm_feed_forward(x + layer.feed_forward(x))
    return x


@pytest.mark.parametrize(
    "options", [{}, {"cell": "gru"}, {"word_layers": 2}, {"turn_embedding": False, "cell": "gru"}]
)
def test_equals_the_equations(options: dict) -> None:
    model, examples = make(**options), [context(i, number) for i, number in enumerate((3, 1, 4))]
    memory = model(Batch.from_data_list(examples))
    expected = torch.cat([literal(model, data) for data in examples])
    torch.testing.assert_close(memory.x, expected, rtol=0, atol=1e-10)
    assert memory.ptr.tolist() == [0, 3, 4, 8]


@pytest.mark.parametrize("options", [{}, {"word_layers": 2}])
def test_dropout_in_training_only(options: dict) -> None:
    model, data = make(dropout=0.5, **options), context(1, 3)
    assert not torch.equal(model(data).x, model(data).x)
    model.eval()
    assert torch.equal(model(data).x, model(data).x)


def test_vectors_are_projected() -> None:
    vectors = torch.randn(len(VOCAB), 5)
    model = make(vectors=vectors)
    assert model.embedding.project.weight.shape == (SIZE, 5)
    assert model(context(1, 2)).x.shape == (2, SIZE)


def test_errors() -> None:
    with pytest.raises(ValueError, match="'cell' must be one of gru, lstm \\(got 'rnn'\\)"):
        make(cell="rnn")
    for heads in (3, 0):
        with pytest.raises(ValueError, match=f"'heads' \\({heads}\\) must divide 'hidden_channels' \\(8\\)"):
            make(heads=heads)
