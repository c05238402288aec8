from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Sentence, Vocab, to_data
from graphdep.nn.models import DependencyTreeRNN, TreeLSTM
from tests.kit.slow import assert_same_gradients
from tests.kit.strategies import example_lists
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")
EXECUTIONS = ("level", "recursive")
each_direction = pytest.mark.parametrize("bidirectional", [False, True])
each_execution = pytest.mark.parametrize("execution", EXECUTIONS)


def make(seed: int = 0, num_words: int = len(VOCAB), **options) -> TreeLSTM:
    torch.manual_seed(seed)
    model = TreeLSTM(num_words, **({"hidden_channels": 6} | options)).double()
    for name, parameter in model.named_parameters():
        if "embedding" not in name:
            nn.init.normal_(parameter, std=0.6)
    return model


def example(seed: int, sentences: int = 2, multiroot: bool = False) -> Data:
    rng = random.Random(seed)
    parsed = [random_sentence(rng, rng.randint(1, 9), multiroot=multiroot) for _ in range(sentences)]
    return to_data(parsed, vocab=VOCAB)


def literal(model: TreeLSTM, data: Data) -> Tensor:
    """Eq. 2-8 and the downward LSTM, word by word, gate by gate."""
    size = model.up.lin_f.in_features
    x = model.embedding.project(model.embedding.word.weight[data.input_ids])
    governor, depth = data.governor_index.tolist(), data.depth.tolist()
    w, b, u = model.up.lin_x.weight, model.up.lin_x.bias, model.up.lin_iou.weight

    def gate(number: int, word: Tensor, state: Tensor) -> Tensor:
        part = slice(number * size, (number + 1) * size)
        recurrent = model.up.lin_f.weight if number == 3 else u[part]
        return w[part] @ word + recurrent @ state + b[part]

    zero = x.new_zeros(size)
    h, c, down, memory = ([zero] * len(depth) for _ in range(4))
    for node in sorted(range(len(depth)), key=lambda node: -depth[node]):
        children = [k for k, g in enumerate(governor) if g == node != k]
        total = sum((h[k] for k in children), zero)
        if depth[node] < 1:
            h[node] = total if depth[node] == 0 else zero
            continue
        i, o = gate(0, x[node], total).sigmoid(), gate(1, x[node], total).sigmoid()
        c[node] = i * gate(2, x[node], total).tanh()
        for k in children:
            c[node] = c[node] + gate(3, x[node], h[k]).sigmoid() * c[k]
        h[node] = o * c[node].tanh()
    if model.down is None:
        return torch.stack(h)
    for node in sorted(range(len(depth)), key=depth.__getitem__):
        if depth[node] > 0:
            above = governor[node]  # the states of ROOT are zeros
            gates = F.linear(x[node], model.down.lin_x.weight, model.down.lin_x.bias)
            i, o, u, f = (gates + model.down.lin_h.weight @ down[above]).split(size)
            memory[node] = i.sigmoid() * u.tanh() + f.sigmoid() * memory[above]
            down[node] = o.sigmoid() * memory[node].tanh()
    rows = [torch.cat(pair) for pair in zip(h, down)]
    words = ((data.node_type == NodeType.WORD) & (data.word >= 0)).tolist()
    of = data.utterance.tolist()
    for root in (node for node, d in enumerate(depth) if d == 0):
        mean = [down[k] for k in range(len(depth)) if words[k] and of[k] == of[root]]
        rows[root] = torch.cat([h[root], torch.stack(mean).mean(dim=0)])
    return torch.stack(rows)


@each_direction
@each_execution
def test_equals_the_equations(execution: str, bidirectional: bool) -> None:
    model = make(execution=execution, bidirectional=bidirectional)
    data = example(3, 3)
    out, expected = model(data), literal(model, data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    assert_same_gradients(out, expected, model)
    root = data.node_type == NodeType.ROOT
    assert torch.equal(model.readout(data, out), out[root])


@each_direction
@settings(max_examples=6)
@given(examples=example_lists(root=True))
def test_executions_agree_on_every_forest(bidirectional: bool, examples: list[Data]) -> None:
    data = Batch.from_data_list(examples)
    level = make(num_words=50, bidirectional=bidirectional)
    recursive = make(num_words=50, bidirectional=bidirectional, execution="recursive")
    a, b = level(data), recursive(data)
    torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
    grads = [
        torch.autograd.grad(out.sin().sum(), [*model.parameters()], materialize_grads=True)
        for model, out in ((level, a), (recursive, b))
    ]
    torch.testing.assert_close(*grads, rtol=0, atol=1e-10)
    expected = torch.cat([literal(level, one) for one in examples])
    torch.testing.assert_close(a, expected, rtol=0, atol=1e-12)


@each_execution
def test_a_chain_longer_than_pythons_recursion(execution: str) -> None:
    model = make(execution=execution, bidirectional=execution == "level")
    data = to_data([Sentence.chain(["a"] * 1010), Sentence.chain(["a"])], vocab=VOCAB)
    out = model(data)
    assert out.shape == (1013, 6)
    model.readout(data, out).sum().backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters())


def test_sizes_of_the_paper() -> None:
    """150 channels over vectors of 300, which are not projected before."""
    model = TreeLSTM(20, hidden_channels=150, vectors=torch.randn(20, 300))
    shapes = {name: [*parameter.shape] for name, parameter in model.named_parameters()}
    assert shapes == {
        "embedding.word.weight": [20, 300],
        "up.lin_x.weight": [600, 300],
        "up.lin_x.bias": [600],
        "up.lin_iou.weight": [450, 150],
        "up.lin_f.weight": [150, 150],
    }
    assert TreeLSTM(20, bidirectional=True).down.lin_h.in_features == 150
    assert "execution='level'" in str(model)


def test_errors() -> None:
    parsed = [random_sentence(random.Random(0), 3)]
    rootless = to_data(parsed, vocab=VOCAB, root=False)
    for execution in EXECUTIONS:
        with pytest.raises(ValueError, match="no ROOT nodes: call to_data\\(..., root=True\\)"):
            make(execution=execution)(rootless)
    mixed = Batch.from_data_list([to_data(parsed, vocab=VOCAB), rootless])
    for execution in EXECUTIONS:
        with pytest.raises(
            ValueError, match="of depth 1 has governor .* of depth 1: every tree needs a ROOT"
        ):
            make(execution=execution)(mixed)
    deep = to_data(parsed, vocab=VOCAB)
    deep.depth[deep.depth > 0] += 1
    with pytest.raises(ValueError, match="of depth 2 has governor 0 of depth 0"):
        make()(deep)


# -- rnn -------------------------------------------------------------------------------------------------


each_count = pytest.mark.parametrize("places_from", ["governor", "left"])


def make_rnn(seed: int = 0, num_words: int = len(VOCAB), **options) -> DependencyTreeRNN:
    torch.manual_seed(seed)
    return DependencyTreeRNN(num_words, **({"hidden_channels": 6, "dependent_places": 2} | options)).double()


def literal_rnn(model: DependencyTreeRNN, data: Data) -> Tensor:
    """The formula by recursion, dependent by dependent; zeros outside the trees."""
    x = model.embedding.word.weight[data.input_ids]
    governor, depth = data.governor_index.tolist(), data.depth.tolist()
    below = [[k for k, g in enumerate(governor) if g == node != k] for node in range(len(depth))]

    def words(node: int) -> int:
        return 1 + sum(map(words, below[node]))

    def matrix(node: int, dependent: int) -> Tensor:
        side = [k for k in below[node] if (k > node) == (dependent > node)]
        if model.places_from == "governor":
            side.sort(key=lambda k: abs(k - node))
        place = min(side.index(dependent), model.dependent_places - 1)
        # Rows are multiplied from the left.
        return model.place[place if dependent < node else model.dependent_places + place].T

    def state(node: int) -> Tensor:
        total = model.lin_word.weight @ x[node]
        for k in below[node]:
            total = total + words(k) * matrix(node, k) @ state(k)
        return torch.tanh(total / words(node))

    def root(node: int) -> Tensor:
        parts = [words(k) * state(k) for k in below[node]]
        return sum(parts, x.new_zeros(model.hidden_channels)) / max(1, words(node) - 1)

    kind = [x.new_zeros, root, state]  # by depth: -1, 0, more
    return torch.stack(
        [kind[min(d, 1) + 1](model.hidden_channels if d < 0 else node) for node, d in enumerate(depth)]
    )


@each_count
@pytest.mark.parametrize("multiroot", [False, True])
def test_equals_the_formula(places_from: str, multiroot: bool) -> None:
    model = make_rnn(places_from=places_from)
    data = example(3, 6, multiroot)
    out, expected = model(data), literal_rnn(model, data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    (grad,) = torch.autograd.grad(out.sum(), model.place, retain_graph=True)
    assert grad.flatten(1).any(dim=1).all()  # in six sentences every place is taken
    assert_same_gradients(out, expected, model)
    root = data.node_type == NodeType.ROOT
    assert torch.equal(model.readout(data, out), out[root])


@each_count
@settings(max_examples=12)
@given(examples=example_lists(root=True))
def test_a_batch_of_any_trees_equals_the_formula_of_each(places_from: str, examples: list[Data]) -> None:
    model = make_rnn(num_words=50, places_from=places_from)
    out = model(Batch.from_data_list(examples))
    expected = torch.cat([literal_rnn(model, one) for one in examples])
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)


def test_a_long_chain() -> None:
    model = make_rnn()
    data = to_data([Sentence.chain(["a"] * 300), Sentence.chain(["a"])], vocab=VOCAB)
    out = model(data)
    assert out.shape == (303, 6)
    word = model.lin_word(model.embedding(data)[1])
    state = torch.zeros(6, dtype=torch.double)
    for below in range(300):
        state = torch.tanh((word + below * state @ model.place[2]) / (below + 1))
    torch.testing.assert_close(out[0], state, rtol=0, atol=1e-9)
    out[0].sum().backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters())


def test_sizes() -> None:
    model = DependencyTreeRNN(20, hidden_channels=50, vectors=torch.randn(20, 300))
    shapes = {name: [*parameter.shape] for name, parameter in model.named_parameters()}
    assert shapes == {
        "place": [12, 50, 50],
        "embedding.word.weight": [20, 300],
        "lin_word.weight": [50, 300],
    }
    assert "dependent_places=6, places_from='governor'" in str(model)


def test_matrices_start_as_those_of_linear_layers() -> None:
    linear = nn.Linear(600, 600).weight.std()
    assert make_rnn(hidden_channels=600).place.std().item() == pytest.approx(linear.item(), rel=0.01)
