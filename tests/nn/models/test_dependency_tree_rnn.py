from __future__ import annotations

import copy
import random

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Sentence, Vocab, to_data
from graphdep.nn.models import DependencyTreeRNN
from graphdep.transforms import ChainTree, RandomTree, ReversedTree
from tests.kit.strategies import example_lists
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")
each_count = pytest.mark.parametrize("places_from", ["governor", "left"])


def make(seed: int = 0, num_words: int = len(VOCAB), **options) -> DependencyTreeRNN:
    torch.manual_seed(seed)
    return DependencyTreeRNN(num_words, **({"hidden_channels": 6, "dependent_places": 2} | options)).double()


def example(seed: int, sentences: int = 2, multiroot: bool = False) -> Data:
    rng = random.Random(seed)
    parsed = [random_sentence(rng, rng.randint(1, 9), multiroot=multiroot) for _ in range(sentences)]
    return to_data(parsed, vocab=VOCAB)


def batch(*seeds: int) -> Batch:
    return Batch.from_data_list([example(seed, 1 + seed % 3) for seed in seeds])


def literal(model: DependencyTreeRNN, data: Data) -> Tensor:
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


def gradients(model: DependencyTreeRNN, data: Data, out: Tensor) -> dict[str, Tensor]:
    root = data.node_type == NodeType.ROOT
    loss = out[root].sin().sum() + out[~root].cos().sum()
    grads = torch.autograd.grad(loss, [*model.parameters()], materialize_grads=True)
    return dict(zip(dict(model.named_parameters()), grads))


@each_count
@pytest.mark.parametrize("multiroot", [False, True])
def test_equals_the_formula(places_from: str, multiroot: bool) -> None:
    model = make(places_from=places_from)
    data = example(3, 6, multiroot)
    out, expected = model(data), literal(model, data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    left, right = gradients(model, data, out), gradients(model, data, expected)
    for name in left:
        torch.testing.assert_close(left[name], right[name], rtol=0, atol=1e-12)
    assert left["place"].flatten(1).any(dim=1).all()  # in six sentences every place is taken
    root = data.node_type == NodeType.ROOT
    assert torch.equal(model.readout(data, out), out[root])


@each_count
@settings(max_examples=12)
@given(examples=example_lists(root=True))
def test_a_batch_of_any_trees_equals_the_formula_of_each(places_from: str, examples: list[Data]) -> None:
    model = make(num_words=50, places_from=places_from)
    out = model(Batch.from_data_list(examples))
    expected = torch.cat([literal(model, one) for one in examples])
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)


WIDE = Sentence(list("abcdefg"), [4, 4, 4, 0, 4, 4, 4], ["dep"] * 3 + ["root"] + ["dep"] * 3)


@pytest.mark.parametrize(
    ("places_from", "places", "expected"),
    [
        ("governor", 3, [2, 1, 0, None, 3, 4, 5]),
        ("left", 3, [0, 1, 2, None, 3, 4, 5]),
        ("governor", 2, [1, 1, 0, None, 2, 3, 3]),
        ("left", 2, [0, 1, 1, None, 2, 3, 3]),
        ("left", 1, [0, 0, 0, None, 1, 1, 1]),
    ],
)
def test_places(places_from: str, places: int, expected: list[int | None]) -> None:
    """Each matrix alone is that of the dependents which take its place."""
    model = make(dependent_places=places, places_from=places_from)
    data = to_data([WIDE], vocab=VOCAB)
    for number in range(2 * places):
        changed = copy.deepcopy(model)
        with torch.no_grad():
            changed.place[number] = 0
            total = model.lin_word(model.embedding(data)[4])
            for word, place in enumerate(expected):
                if place not in (None, number):
                    total = total + model(data)[1 + word] @ model.place[place]
            torch.testing.assert_close(changed(data)[4], torch.tanh(total / 7))


def test_one_word() -> None:
    model, data = make(), to_data([Sentence(["a"], [0], ["root"])], vocab=VOCAB)
    out = model(data)
    torch.testing.assert_close(out[1], torch.tanh(model.lin_word(model.embedding(data)[1])), rtol=0, atol=0)
    torch.testing.assert_close(out[0], out[1], rtol=0, atol=0)


def test_a_chain_of_2000_words() -> None:
    model = make()
    data = to_data([Sentence.chain(["a"] * 2000), Sentence.chain(["a"])], vocab=VOCAB)
    out = model(data)
    assert out.shape == (2003, 6)
    word = model.lin_word(model.embedding(data)[1])
    state = torch.zeros(6, dtype=torch.double)
    for below in range(2000):
        state = torch.tanh((word + below * state @ model.place[2]) / (below + 1))
    torch.testing.assert_close(out[0], state, rtol=0, atol=1e-9)
    out[0].sum().backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters())


@pytest.mark.parametrize("control", [RandomTree(), ChainTree(), ReversedTree()])
def test_controls(control) -> None:
    data, model = control(batch(1, 2, 3)), make()
    torch.testing.assert_close(model(data), literal(model, data), rtol=0, atol=1e-12)
    assert not torch.allclose(model(data), model(batch(1, 2, 3)))


def test_sizes() -> None:
    model = DependencyTreeRNN(20, hidden_channels=50, vectors=torch.randn(20, 300))
    shapes = {name: [*parameter.shape] for name, parameter in model.named_parameters()}
    assert shapes == {
        "place": [12, 50, 50],
        "embedding.word.weight": [20, 300],
        "lin_word.weight": [50, 300],
    }
    assert "dependent_places=6, places_from='governor'" in str(model)


def test_reset_parameters() -> None:
    model = make()
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())
    linear = nn.Linear(600, 600).weight.std()
    assert make(hidden_channels=600).place.std().item() == pytest.approx(linear.item(), rel=0.01)


def test_errors() -> None:
    with pytest.raises(ValueError, match="'places_from' must be one of governor, left \\(got 'right'\\)"):
        make(places_from="right")
    with pytest.raises(
        ValueError, match="'dependent_places' must be a whole number of at least 1 \\(got 0\\)"
    ):
        make(dependent_places=0)
    parsed = [random_sentence(random.Random(0), 3)]
    with pytest.raises(ValueError, match="no ROOT nodes: call to_data\\(..., root=True\\)"):
        make()(to_data(parsed, vocab=VOCAB, root=False))
    with pytest.raises(ValueError, match="no 'input_ids'"):
        make()(to_data(parsed))
