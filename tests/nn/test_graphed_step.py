"""Fillers and static batches change nothing of what is learned."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, Sentence, to_data
from graphdep.data.filler import IGNORED, Filler, capacity, join_batches
from graphdep.nn import graphed
from graphdep.nn.models import DependencyTransformer, RelatednessHead, SentenceModel, SentencePairModel
from graphdep.transforms import resolve

RELATIONS = RelationVocab()


def tree(words: int, generator: torch.Generator) -> Sentence:
    heads = [int(torch.randint(min(place, 1), place + 1, (), generator=generator)) for place in range(words)]
    return Sentence(["x"] * words, heads, ["root" if head == 0 else "obj" for head in heads])


def example(sizes: list[int], seed: int = 0, y: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    data = to_data([tree(words, generator) for words in sizes], relations=RELATIONS, y=torch.tensor([y]))
    data.input_ids = torch.randint(0, 20, (data.num_nodes,), generator=generator)
    return data


def encoder(edges: str) -> nn.Module:
    size = {"hidden_channels": 16, "heads": 2, "num_layers": 2, "ff_channels": 16}
    return DependencyTransformer(20, len(RELATIONS), relation_attention=edges == "dt", **size)


@pytest.fixture(params=["dt", "transformer", "transformer-utterance", "dra"])
def edges(request):
    return request.param


def model_of(texts: int, edges: str) -> nn.Module:
    torch.manual_seed(0)
    if texts == 1:
        return SentenceModel(encoder(edges), nn.Linear(16, 3))
    return SentencePairModel(encoder(edges), RelatednessHead(16, 3))


def loss(model: nn.Module, batch: Batch) -> Tensor:
    return F.cross_entropy(model(batch), batch.y)


def fill(texts: int, edges: Callable) -> Filler:
    def make(words: int) -> Data:
        first = words if texts == 1 else words // 2
        return example([first, *[words - first] * (texts - 1)], y=IGNORED)

    return Filler(make, edges=edges)


@pytest.mark.parametrize("texts", [1, 2])
@pytest.mark.parametrize("implicit", [False, True])
def test_a_step_with_fillers_in_static_memory_is_a_step(edges, texts, implicit):
    transform = resolve(edges, implicit=implicit)
    sizes = [[3 + (5 * n + 7 * k) % 11 for k in range(texts)] for n in range(24)]
    batches = [
        transform(Batch.from_data_list([example(s, n, n % 3) for n, s in enumerate(sizes[k : k + 8])]))
        for k in (0, 8, 16)
    ]
    plain = model_of(texts, edges).double()
    held = copy.deepcopy(plain)
    optimizers = [torch.optim.Adagrad(model.parameters(), lr=1e-2) for model in (plain, held)]
    steps = [
        graphed(plain, loss, optimizers[0]),
        graphed(held, loss, optimizers[1], fill(texts, transform), static=True),
    ]
    losses = [[float(step(batch)) for batch in batches] for step in steps]
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)
    for one, other in zip(plain.parameters(), held.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-8, rtol=1e-6)
    assert 1 <= steps[1].num_sizes < len(batches)


@pytest.mark.parametrize("edges", ["dt", "dam", "dra", "sia", "transformer"])
def test_joined_batches_are_the_batch_of_all_examples(edges):
    transform = resolve(edges)
    examples = [example([3 + n % 4, 2 + n], n) for n in range(6)]
    for number, data in enumerate(examples):
        data.target_ids = torch.arange(number + 1)
    parts = [
        transform(Batch.from_data_list(some, follow_batch=["target_ids"]))
        for some in (examples[:4], examples[4:], examples)
    ]
    joined, whole = join_batches(parts[:2]), parts[2]
    assert sorted(joined.keys()) == sorted(whole.keys())
    for key in whole.keys():  # noqa: SIM118
        torch.testing.assert_close(torch.as_tensor(joined[key]), torch.as_tensor(whole[key]), rtol=0, atol=0)
    for one, other in zip(joined.to_data_list(), whole.to_data_list(), strict=True):
        assert all(torch.equal(one[key], other[key]) for key in ("edge_index", "input_ids", "target_ids"))


@given(size=st.integers(1, 10**6))
def test_there_are_eight_capacities_from_each_power_of_two_to_the_next(size):
    assert size <= capacity(size) <= max(64, size * 9 / 8 + 1)
    assert capacity(capacity(size)) == capacity(size)
    if size >= 64:
        power = 2 ** (size.bit_length() - 1)
        assert capacity(size) % (power // 8) == 0


@given(nodes=st.lists(st.integers(2, 40), min_size=1, max_size=40))
def test_filled_batches_have_the_size_of_a_capacity(nodes):
    def make(words, tokens):
        nothing = torch.zeros(words + 1, dtype=torch.long)
        return Data(node_type=nothing, target_ids=nothing.new_full((tokens,), IGNORED))

    batch = Batch.from_data_list([make(n - 1, n) for n in nodes], follow_batch=["target_ids"])
    full = Filler(make, tokens="target_ids")(batch)
    assert full.num_nodes == capacity(full.num_nodes)
    assert full.target_ids.numel() == capacity(full.target_ids.numel())
    assert full.num_graphs == batch.num_graphs + full.num_fillers


def test_a_filler_grows_with_its_words():
    with pytest.raises(ValueError, match="more nodes for more words"):
        Filler(lambda words: example([3]))


@pytest.mark.kernels
@pytest.mark.parametrize("edges", ["dt", "dra"])
def test_the_kernels_read_static_memory(edges):
    transform = resolve(edges, implicit=True)
    sizes = [[3 + 5 * n % 11, 3 + (5 * n + 7) % 11] for n in range(12)]
    batches = [
        transform(Batch.from_data_list([example(s, n, n % 3) for n, s in enumerate(sizes[k : k + 6])]))
        for k in (0, 6)
    ]
    plain = model_of(2, edges)
    held = copy.deepcopy(plain)
    for module in held.modules():
        if hasattr(module, "backend"):
            module.backend = "triton"
    optimizers = [torch.optim.SGD(model.parameters(), lr=1e-2) for model in (plain, held)]
    steps = [
        graphed(plain, loss, optimizers[0]),
        graphed(held, loss, optimizers[1], fill(2, transform), static=True),
    ]
    steps[1].flatten.tiles = True
    losses = [[float(step(batch)) for batch in batches] for step in steps]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    for one, other in zip(plain.parameters(), held.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
