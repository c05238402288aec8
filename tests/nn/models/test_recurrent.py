"""Sequences of any lengths, as PyTorch packs and unpacks them."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Sentence, Vocab, to_data
from graphdep.nn.models import GRUEncoder, LSTMEncoder, UniversalEncoder, WordAverage
from graphdep.nn.models.baselines import recurrent as _lstm
from graphdep.nn.models.baselines.recurrent import LSTM, Packing, RecurrentEncoder, run_over
from tests.kit.slow import assert_same_gradients, slow_block, slow_rnn
from tests.kit.strategies import example_lists
from tests.kit.trees import random_sentence


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}])
@settings(max_examples=8)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_as_pytorch_packs_them(kind: type[nn.RNNBase], options: dict, lengths: list[int]) -> None:
    torch.manual_seed(0)
    rnn = kind(3, 4, **options).double()
    x = torch.randn(sum(lengths), 3, dtype=torch.float64, requires_grad=True)
    out, last = rnn(pack_sequence(x.split(lengths), enforce_sorted=False))
    expected = torch.cat(unpack_sequence(out)), last[0] if isinstance(last, tuple) else last
    found = run_over(rnn, x, Packing(torch.tensor(lengths)))
    weights = [torch.randn_like(part) for part in expected]
    gradients = []
    for parts in (expected, found):
        loss = sum((part * weight).sum() for part, weight in zip(parts, weights))
        gradients.append(torch.autograd.grad(loss, [x, *rnn.parameters()]))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*gradients)


def test_labels_of_arcs_are_added_to_the_words() -> None:
    torch.manual_seed(0)
    encoder = LSTMEncoder(9, hidden_channels=4, bidirectional=True, num_relations=200)
    sentence = Sentence(["She", "sings", "well"], [2, 0, 2], ["nsubj", "root", "advmod"])
    data = to_data([sentence], vocab=Vocab(sentence.form))
    widths = [part.weight.std() for part in (encoder.labels, encoder.embedding.word)]
    torch.testing.assert_close(*widths, rtol=0.5, atol=0)
    x = encoder.embedding(data) + encoder.labels.weight[data.deprel]
    states, _ = encoder.lstm(x[1:])
    torch.testing.assert_close(encoder(data)[1:], states)
    data.deprel = data.deprel.roll(1)
    assert not torch.allclose(encoder(data)[1:], states)


def test_a_sequence_of_nothing() -> None:
    with pytest.raises(ValueError, match=r"a length of at least 1 \(got \[2, 0\]\)"):
        Packing(torch.tensor([2, 0]))


def test_first_states() -> None:
    torch.manual_seed(0)
    gru, x = nn.GRU(3, 4), torch.randn(6, 3)
    start, lengths = torch.randn(1, 3, 4), [1, 3, 2]
    states, last = run_over(gru, x, Packing(torch.tensor(lengths)), start)
    for number, (sequence, own) in enumerate(zip(x.split(lengths), states.split(lengths))):
        expected, _ = gru(sequence, start[:, number])
        torch.testing.assert_close(own, expected)
        torch.testing.assert_close(last[0, number], expected[-1])


# -- lstm ------------------------------------------------------------------------------------------------


@pytest.fixture(params=[True, False], ids=["processor has one", "processor has none"])
def processor(request, monkeypatch):
    has_one = request.param and _lstm._processor_has_one(torch.bfloat16)
    monkeypatch.setattr(_lstm, "_processor_has_one", lambda dtype: has_one)
    return has_one


def test_without_autocast_it_is_that_of_torch():
    torch.manual_seed(0)
    ours = LSTM(3, 4, bidirectional=True)
    theirs = nn.LSTM(3, 4, bidirectional=True)
    theirs.load_state_dict(ours.state_dict())
    x = pack_sequence([torch.randn(3, 3), torch.randn(2, 3)])
    assert torch.equal(ours(x)[0].data, theirs(x)[0].data)


@pytest.mark.parametrize("lengths", [(3, 2), (3,), (2, 2)])
def test_autocast_forward_and_backward(processor, lengths):
    torch.manual_seed(0)
    lstm = LSTM(3, 4)
    x = pack_sequence([torch.randn(length, 3) for length in lengths])
    expected, (hidden, _) = lstm(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, (last, _) = lstm(x.to(torch.bfloat16))
    if not processor:
        assert out.data.dtype == torch.float32
    torch.testing.assert_close(out.data.float(), expected.data, rtol=0.02, atol=0.02)
    torch.testing.assert_close(last.float(), hidden, rtol=0.02, atol=0.02)
    out.data.float().sum().backward()
    assert lstm.weight_ih_l0.grad.abs().sum() > 0


def test_the_probe_draws_no_random_numbers():
    state = torch.get_rng_state()
    _lstm._processor_has_one.__wrapped__(torch.bfloat16)
    assert torch.equal(torch.get_rng_state(), state)


# -- recurrent -------------------------------------------------------------------------------------------


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


each_kind = pytest.mark.parametrize("kind", [LSTMEncoder, GRUEncoder])


def network(model: RecurrentEncoder) -> nn.Module:
    return getattr(model, model.cell)


def literal(model: RecurrentEncoder, data: Data) -> Tensor:
    """Utterance by utterance; ROOT has the last states of both directions."""
    out = torch.zeros(data.num_nodes, model.hidden_channels, dtype=torch.float64)
    x = model.embedding.project(model.embedding.word.weight[data.input_ids])
    for number in range(int(data.utterance.max()) + 1):
        own = data.utterance == number
        words = (own & (data.node_type == NodeType.WORD) & (data.word >= 0)).nonzero().view(-1).tolist()
        states, last = slow_rnn(network(model), x[words])
        for node, state in zip(words, states):
            out[node] = state
        out[own & (data.node_type == NodeType.ROOT)] = last
    return out


@each_kind
@each_variant
def test_equals_the_equations(kind: type, options: dict) -> None:
    model, data = make(kind, **options), example(1, 3)
    out, expected = model(data), literal(model, data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    assert torch.equal(model.readout(data, out), out[data.node_type == NodeType.ROOT])
    assert_same_gradients(out, expected, model)


@each_kind
@settings(max_examples=6)
@given(examples=example_lists(root=True))
def test_a_batch_equals_each_example_alone(kind: type, examples: list[Data]) -> None:
    model, data = make(kind, num_words=50, bidirectional=True), Batch.from_data_list(examples)
    out = model(data)
    torch.testing.assert_close(out, torch.cat([model(one) for one in examples]), rtol=0, atol=1e-12)
    torch.testing.assert_close(out, torch.cat([literal(model, one) for one in examples]), rtol=0, atol=1e-12)


@each_kind
def test_sizes(kind: type) -> None:
    model = kind(20, hidden_channels=150, vectors=torch.randn(20, 300))
    assert (network(model).input_size, network(model).hidden_size) == (300, 150)
    both = kind(20, bidirectional=True)
    assert (both.hidden_channels, network(both).hidden_size) == (300, 150)


# -- average ---------------------------------------------------------------------------------------------


def make_average(num_words: int = len(VOCAB), **options) -> WordAverage:
    torch.manual_seed(0)
    return WordAverage(num_words, **({"hidden_channels": 6} | options)).double()


@settings(max_examples=6)
@given(examples=example_lists(root=True))
def test_mean_of_the_words(examples: list[Data]) -> None:
    model, data = make_average(num_words=50), Batch.from_data_list(examples)
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
    out = model(data) if model.window == 0 else make_average(len(model.embedding.word.weight))(data)
    out, word = out.clone(), model.embedding.word.weight
    for number in range(int(data.utterance.max()) + 1):
        mine = (data.utterance == number) & (data.node_type == NodeType.WORD) & (data.word >= 0)
        nodes = mine.nonzero().view(-1).tolist()
        for place, node in enumerate(nodes):
            around = nodes[max(place - window, 0) : place + window + 1]
            out[node] = torch.stack([word[data.input_ids[other]] for other in around]).mean(dim=0)
    return out


@settings(max_examples=10)
@given(examples=example_lists(root=True), window=st.integers(0, 8))
def test_windows_end_with_the_utterance(examples: list[Data], window: int) -> None:
    model, data = make_average(num_words=50, window=window), Batch.from_data_list(examples)
    out = model(data)
    expected = torch.cat([windows(model, one, window) for one in examples])
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    plain = make_average(num_words=50)
    assert torch.equal(model.readout(data, out), plain.readout(data, plain(data)))


def test_a_window_wider_than_all_texts_costs_no_more_than_they_are_long() -> None:
    data = Batch.from_data_list([example(seed) for seed in range(40)])
    total = make_average(window=10_000)(data)
    assert torch.equal(total, make_average(window=5)(data))
    root = data.node_type == NodeType.ROOT
    utterance = root.cumsum(0) - 1
    torch.testing.assert_close(total, total[root][utterance], rtol=0, atol=1e-12)


# -- universal -------------------------------------------------------------------------------------------


each = pytest.mark.parametrize("variant", ["transformer", "dan"])


def make_universal(variant: str = "transformer", **options) -> UniversalEncoder:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 6, "heads": 2, "ff_channels": 8, "num_layers": 2, "buckets": 11}
    return UniversalEncoder(len(VOCAB), variant=variant, **(sizes | options)).double()


def literal_universal(model: UniversalEncoder, sentence: Sentence) -> Tensor:
    ids = to_data([sentence], vocab=VOCAB).input_ids[1:].tolist()
    words = [model.embedding.word.weight[number] for number in ids]
    if model.variant == "transformer":
        x = torch.stack([w + model.embedding.position.weight[1 + p] for p, w in enumerate(words)])
        for layer in model.layers:
            x = slow_block(layer, x)
        return torch.stack([x.sum(dim=0) / math.sqrt(len(ids)), *x])
    pairs = [model.pair.weight[(a * 1_000_003 + b * 8_191) % 11] for a, b in pairwise(ids)]
    mean = torch.stack([*words, *pairs]).mean(dim=0)
    for layer in model.layers:
        mean = torch.relu(layer(mean))
    return torch.stack([mean, *words])


@each
def test_equals_the_formulas(variant: str) -> None:
    model, rng = make_universal(variant), random.Random(1)
    for words in (1, 2, 5, 9):
        sentence = random_sentence(rng, words)
        out, expected = model(to_data([sentence], vocab=VOCAB)), literal_universal(model, sentence)
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
        assert_same_gradients(out, expected, model)


def test_sizes_of_universal() -> None:
    block = 4 * (300 * 300 + 300) + 2 * (300 * 300 + 300) + 4 * 300
    found = sum(p.numel() for p in UniversalEncoder(20).parameters())
    assert found == 20 * 300 + 512 * 300 + 3 * block
    dan = sum(p.numel() for p in UniversalEncoder(20, variant="dan").parameters())
    assert dan == 20 * 300 + 20_000 * 300 + 3 * (300 * 300 + 300)
