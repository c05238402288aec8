"""Slow reference implementations: attention by heads, networks by words."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphdep import Sentence, Vocab, to_data
from tests.kit.trees import bracketed_sentence


def heads_of(conv: Any, x: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Query, key and value ``[n, d]`` of each head of a conv."""
    for h in range(conv.heads):
        part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
        lins = (conv.lin_query, conv.lin_key, conv.lin_value)
        query, key, value = (F.linear(x, lin.weight[part], lin.bias[part]) for lin in lins)
        yield query, key, value


def slow_block(layer: Any, x: Tensor) -> Tensor:
    """A Transformer block with full attention."""
    heads = [(q @ k.T / q.size(1) ** 0.5).softmax(dim=-1) @ v for q, k, v in heads_of(layer.conv, x)]
    x = layer.norm_attention(x + layer.lin_out(torch.cat(heads, dim=-1)))
    first, last = layer.feed_forward[0], layer.feed_forward[3]
    return layer.norm_feed_forward(x + last(first(x).relu()))


def sweep(rnn: Any, suffix: str, words: Iterable[Tensor]) -> list[Tensor]:
    """The states of one layer of a GRU or an LSTM in one direction, from the published equations."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    w, u, b, v = (getattr(rnn, f"{name}_{suffix}") for name in names)
    h = c = torch.zeros(rnn.hidden_size, dtype=w.dtype)
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
    return states


def slow_rnn(rnn: Any, words: Iterable[Tensor]) -> tuple[list[Tensor], Tensor]:
    """The states of the top layer, and the concatenated last states of its directions."""
    states, last = [*words], torch.empty(0)
    for layer in range(rnn.num_layers):
        forward = sweep(rnn, f"l{layer}", states)
        last = forward[-1]
        if rnn.bidirectional:
            backward = sweep(rnn, f"l{layer}_reverse", states[::-1])[::-1]
            last = torch.cat([last, backward[0]])
            forward = [torch.cat(pair) for pair in zip(forward, backward)]
        states = forward
    return states, last


def assert_close_and_backward(x: Tensor, layers: Iterable[Tensor], expected: Sequence[Tensor]) -> None:
    """Compares the states of all layers, then draws a loss of the last ones and computes its gradients."""
    for layer, wanted in zip(layers, expected):
        torch.testing.assert_close(layer, wanted, rtol=1e-9, atol=1e-9)
    weight = torch.randn(x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
    for last in (x, expected[-1]):
        (last * weight).sum().backward()


def assert_same_gradients(found: Tensor, expected: Tensor, module: Any, atol: float = 1e-10) -> None:
    """Asserts equal gradients of all parameters of modules, or of the given tensors."""
    leaves = dict(module.named_parameters()) if isinstance(module, nn.Module) else dict(enumerate(module))
    grads = (
        torch.autograd.grad(x.sin().sum(), [*leaves.values()], materialize_grads=True)
        for x in (found, expected)
    )
    for name, one, other in zip(leaves, *grads):
        torch.testing.assert_close(one, other, rtol=0, atol=atol, msg=lambda m, name=name: f"{name}: {m}")


def assert_formulas(
    model: Any, vocab: Vocab, literal: Callable[[Any, Sentence], list[Tensor]], *, phrases: str = "spans"
) -> None:
    """Compares the states of sentences with constituents, and their gradients, with those by formulas."""
    rng = random.Random(1)
    for words in (1, 2, 5, 9, 12):
        sentence = bracketed_sentence(rng, words)
        out = model(to_data([sentence], vocab=vocab, phrases=phrases))
        expected = torch.stack(literal(model, sentence))
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
        assert_same_gradients(out, expected, model)
