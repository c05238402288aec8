from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Sentence, Vocab, to_data
from graphdep.nn.models import TreeTransformer
from tests.kit.strategies import example_lists
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")


def make(seed: int = 0, num_words: int = len(VOCAB), **options) -> TreeTransformer:
    torch.manual_seed(seed)
    sizes = {"hidden_channels": 6, "heads": 2, "ff_channels": 5}
    model = TreeTransformer(num_words, **(sizes | options)).double()
    for parameter in model.parameters():  # nothing at zero or one, or its place would not show
        nn.init.normal_(parameter, std=0.5)
    return model


def example(seed: int, sentences: int = 2) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 7)) for _ in range(sentences)], vocab=VOCAB)


def block(model: TreeTransformer, x: Tensor) -> Tensor:
    """The Transformer block on one word and its dependents ``[1 + children, channels]``."""
    conv, layer, heads = model.layer.conv, model.layer, []
    for h in range(conv.heads):
        part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
        query, key, value = (
            F.linear(x, lin.weight[part], lin.bias[part])
            for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
        )
        heads.append((query @ key.T / conv.out_channels**0.5).softmax(dim=-1) @ value)
    x = layer.norm_attention(x + layer.lin_out(torch.cat(heads, dim=-1)))
    first, last = layer.feed_forward[0], layer.feed_forward[3]
    return layer.norm_feed_forward(x + last(first(x).relu()))


def literal(model: TreeTransformer, data: Data) -> Tensor:
    """Node by node, leaves first."""
    word = model.embedding.project(model.embedding.word.weight[data.input_ids])
    governor, depth = data.governor_index.tolist(), data.depth.tolist()
    states = [word.new_zeros(model.hidden_channels)] * len(depth)
    for node in sorted(range(len(depth)), key=lambda node: -depth[node]):
        children = [states[k] for k, g in enumerate(governor) if g == node != k]
        if depth[node] > 0:
            states[node] = word[node]
            if children:
                x = torch.stack([word[node], *children])
                states[node] = model.lin_out(block(model, x) + x).tanh().sum(dim=0)
        elif children:
            states[node] = torch.stack(children).sum(dim=0)
    return torch.stack(states)


def test_equals_the_recursion() -> None:
    model, data = make(), example(3, 3)
    out, expected = model(data), literal(model, data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    root = data.node_type == NodeType.ROOT
    assert torch.equal(model.readout(data, out), out[root])
    grads = [torch.autograd.grad(y[root].sin().sum(), [*model.parameters()]) for y in (out, expected)]
    for (name, _), a, b in zip(model.named_parameters(), *grads):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10, msg=lambda m, name=name: f"{name}: {m}")
        assert a.any(), f"{name} does not learn"


@settings(max_examples=20)
@given(examples=example_lists(root=True))
def test_every_forest(examples: list[Data]) -> None:
    model, data = make(num_words=50), Batch.from_data_list(examples)
    expected = torch.cat([literal(model, one) for one in examples])
    torch.testing.assert_close(model(data), expected, rtol=0, atol=1e-12)


def test_one_word() -> None:
    model = make()
    out = model(to_data([Sentence(["a"], [0], ["root"])], vocab=VOCAB))
    assert torch.equal(out[0], out[1])
    assert torch.equal(out[1], model.embedding.word.weight[VOCAB["a"]])


@pytest.mark.parametrize("head", [list(range(200)), [0] + [1] * 1999], ids=["deep", "flat"])
def test_a_long_sentence(head: list[int]) -> None:
    model = make().float()
    data = to_data([Sentence(["a"] * len(head), head, ["dep"] * len(head))], vocab=VOCAB)
    out = model(data)
    assert out.shape == (len(head) + 1, 6)
    model.readout(data, out).sum().backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters())


def test_errors() -> None:
    for heads in (5, 0):
        with pytest.raises(ValueError, match=f"'heads' \\({heads}\\) must divide 'hidden_channels' \\(6\\)"):
            make(heads=heads)
    rootless = to_data([random_sentence(random.Random(0), 3)], vocab=VOCAB, root=False)
    with pytest.raises(ValueError, match="no ROOT nodes: call to_data\\(..., root=True\\)"):
        make()(rootless)
