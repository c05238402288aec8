from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Sentence, Vocab, to_data
from graphdep.nn.models import GRUEncoder, LSTMEncoder
from graphdep.nn.models.baselines.recurrent import RecurrentEncoder
from tests.kit.strategies import example_lists
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")
each_variant = pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True}, {"num_layers": 2}, {"bidirectional": True, "num_layers": 2}]
)


def make(kind: type, seed: int = 0, num_words: int = len(VOCAB), **options) -> RecurrentEncoder:
    torch.manual_seed(seed)
    return kind(num_words, **({"hidden_channels": 6} | options)).double()


def example(seed: int, sentences: int = 2) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 6)) for _ in range(sentences)], vocab=VOCAB)


def lstm_sweep(lstm: nn.Module, suffix: str, words: list[Tensor]) -> list[Tensor]:
    """One layer in one direction, from the published equations."""
    w, u, b, v = (
        getattr(lstm, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h = c = torch.zeros(lstm.hidden_size, dtype=torch.float64)
    states = []
    for word in words:
        i, f, g, o = (w @ word + b + u @ h + v).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return states


def gru_sweep(gru: nn.Module, suffix: str, words: list[Tensor]) -> list[Tensor]:
    """One layer in one direction, by PyTorch's cell."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights = [getattr(gru, f"{name}_{suffix}") for name in names]
    cell = nn.GRUCell(weights[0].size(1), gru.hidden_size, dtype=torch.float64)
    h = torch.zeros(1, gru.hidden_size, dtype=torch.float64)
    states = []
    for word in words:
        h = torch.func.functional_call(cell, dict(zip(names, weights)), (word[None], h))
        states.append(h[0])
    return states


SWEEPS = {LSTMEncoder: lstm_sweep, GRUEncoder: gru_sweep}
pytestmark = pytest.mark.parametrize("kind", SWEEPS)


def network(model: RecurrentEncoder) -> nn.Module:
    return getattr(model, model.cell)


def literal(model: RecurrentEncoder, data: Data) -> Tensor:
    """Utterance by utterance; ROOT has the last states of both directions."""
    out = torch.zeros(data.num_nodes, model.hidden_channels, dtype=torch.float64)
    x = model.embedding.project(model.embedding.word.weight[data.input_ids])
    for number in range(int(data.utterance.max()) + 1):
        own = data.utterance == number
        words = (own & (data.node_type == NodeType.WORD) & (data.word >= 0)).nonzero().view(-1).tolist()
        states = [x[node] for node in words]
        for layer in range(network(model).num_layers):
            forward = SWEEPS[type(model)](network(model), f"l{layer}", states)
            last = forward[-1]
            if network(model).bidirectional:
                backward = SWEEPS[type(model)](network(model), f"l{layer}_reverse", states[::-1])[::-1]
                last = torch.cat([forward[-1], backward[0]])
                forward = [torch.cat(pair) for pair in zip(forward, backward)]
            states = forward
        for node, state in zip(words, states):
            out[node] = state
        out[own & (data.node_type == NodeType.ROOT)] = last
    return out


@each_variant
def test_equals_the_equations(kind: type, options: dict) -> None:
    model, data = make(kind, **options), example(1, 3)
    out, expected = model(data), literal(model, data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    assert torch.equal(model.readout(data, out), out[data.node_type == NodeType.ROOT])
    grads = [torch.autograd.grad(y.sin().sum(), [*model.parameters()]) for y in (out, expected)]
    for (name, _), a, b in zip(model.named_parameters(), *grads):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10, msg=lambda m, name=name: f"{name}: {m}")
        assert a.any(), f"{name} does not learn"


@settings(max_examples=15)
@given(examples=example_lists(root=True))
def test_a_batch_equals_each_example_alone(kind: type, examples: list[Data]) -> None:
    model, data = make(kind, num_words=50, bidirectional=True), Batch.from_data_list(examples)
    out = model(data)
    torch.testing.assert_close(out, torch.cat([model(one) for one in examples]), rtol=0, atol=1e-12)
    torch.testing.assert_close(out, torch.cat([literal(model, one) for one in examples]), rtol=0, atol=1e-12)


def test_reads_the_order_of_the_words_but_no_tree(kind: type) -> None:
    model = make(kind)
    parses = [Sentence(list("abc"), head, ["root"] * 3) for head in ([0, 1, 2], [2, 3, 0])]
    a, b = (model(to_data([parse], vocab=VOCAB)) for parse in parses)
    assert torch.equal(a, b)
    swapped = Sentence(list("bac"), [0, 1, 2], ["root"] * 3)
    assert not torch.allclose(model(to_data([swapped], vocab=VOCAB))[0], a[0])


def test_a_long_sentence_beside_short_ones(kind: type) -> None:
    model = make(kind, bidirectional=True)
    data = to_data([Sentence.chain(["a"] * n) for n in (1, 300, 3)], vocab=VOCAB)
    out = model(data)
    assert out.shape == (307, 6)
    model.readout(data, out).sum().backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters())


def test_sizes(kind: type) -> None:
    model = kind(20, hidden_channels=150, vectors=torch.randn(20, 300))
    assert (network(model).input_size, network(model).hidden_size) == (300, 150)
    both = kind(20, bidirectional=True)
    assert (both.hidden_channels, network(both).hidden_size) == (300, 150)


def test_has_no_more_than_its_cell(kind: type) -> None:
    model = make(kind)
    assert {name.partition(".")[0] for name in model.state_dict()} == {"embedding", model.cell}
    again = make(kind, seed=1)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(example(1)), model(example(1)))


def test_data_without_words(kind: type) -> None:
    data = example(1).clone()
    keep = data.node_type == NodeType.ROOT
    for key in ("input_ids", "node_type", "utterance", "word"):
        data[key] = data[key][keep]
    data.num_nodes = int(keep.sum())
    out = make(kind, vectors=torch.randn(len(VOCAB), 4))(data)
    assert out.shape == (2, 6)
    assert not out.any()


def test_errors(kind: type) -> None:
    with pytest.raises(ValueError, match="'hidden_channels' must be even for two directions \\(got 7\\)"):
        make(kind, hidden_channels=7, bidirectional=True)
    for bidirectional in (False, True):
        with pytest.raises(ValueError, match="'hidden_channels' must be at least 1 \\(got 0\\)"):
            make(kind, hidden_channels=0, bidirectional=bidirectional)
    assert make(kind, hidden_channels=7).hidden_channels == 7
    rootless = to_data([random_sentence(random.Random(0), 3)], vocab=VOCAB, root=False)
    with pytest.raises(ValueError, match="no ROOT nodes: call to_data\\(..., root=True\\)"):
        make(kind)(rootless)
