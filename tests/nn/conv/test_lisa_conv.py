from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep import to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import LISAConv
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence

SIZE, HEADS = 8, 4


def make(syntactic_heads: int = 1, **kwargs) -> LISAConv:
    torch.manual_seed(0)
    return LISAConv(SIZE, 3, HEADS, syntactic_heads=syntactic_heads, **kwargs).double()


def dialogue(seed: int, *lengths: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, length) for length in lengths])


def states(data: Data) -> Tensor:
    return torch.randn(data.num_nodes, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def literal(conv: LISAConv, x: Tensor, governor: Tensor) -> Tensor:
    """One example, node by node and head by head; the last heads read the governor."""
    heads = []
    for h in range(conv.heads):
        part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
        query, key, value = (
            F.linear(x, lin.weight[part], lin.bias[part])
            for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
        )
        if h < conv.heads - conv.syntactic_heads:
            heads.append((query @ key.T / conv.out_channels**0.5).softmax(dim=-1) @ value)
        else:
            heads.append(torch.stack([value[int(g)] for g in governor]))
    return torch.cat(heads, dim=1) if conv.concat else torch.stack(heads).mean(dim=0)


@pytest.mark.parametrize("syntactic_heads", [1, 3])
@pytest.mark.parametrize("concat", [True, False])
@pytest.mark.parametrize("backend", ["auto", "reference", "dense"])
@pytest.mark.parametrize("implicit", [True, False])
def test_the_last_heads_read_the_governor(
    syntactic_heads: int, concat: bool, backend: str, implicit: bool
) -> None:
    conv = make(syntactic_heads, concat=concat, backend=backend)
    examples = [dialogue(1, 5, 2), dialogue(2, 1), dialogue(3, 4, 1, 3)]
    edges = resolve("lisa-complete", implicit=implicit)
    batch = edges(Batch.from_data_list(examples))
    x = states(batch)
    out = conv(x, AttentionLayout.of(batch))
    if not implicit:
        torch.testing.assert_close(conv(x, batch.edge_index, batch.edge_mark), out)
    start = 0
    for example in examples:
        part = slice(start, start + example.num_nodes)
        expected = literal(conv, x[part], example.governor_index)
        torch.testing.assert_close(out[part], expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(conv(x[part], AttentionLayout.of(edges(example))), out[part])
        start = part.stop


@pytest.mark.parametrize("implicit", [True, False])
def test_weights(implicit: bool) -> None:
    conv, data = make(), resolve("lisa-complete", implicit=implicit)(dialogue(1, 5, 2))
    x, layout = states(data), AttentionLayout.of(data)
    out, (pairs, alpha) = conv(x, layout, return_attention_weights=True)
    torch.testing.assert_close(out, conv(x, layout))
    assert pairs.size(1) == data.num_nodes**2
    weight = torch.zeros(data.num_nodes, data.num_nodes, HEADS, dtype=torch.float64)
    weight[pairs[1], pairs[0]] = alpha
    torch.testing.assert_close(weight.sum(dim=1), torch.ones(data.num_nodes, HEADS, dtype=torch.float64))
    assert bool((weight[..., 0] > 0).all())
    governors = weight[..., -1].nonzero()[:, 1]
    assert torch.equal(governors, data.governor_index)


def test_edges_beside_cliques_are_marked_ones() -> None:
    """As those of ``resolve("dt", implicit=True)``, whatever wrote them."""
    conv, data = make(), resolve("lisa-complete", implicit=True)(dialogue(1, 5, 2))
    x, bare = states(data), data.clone()
    del bare.edge_mark
    assert torch.equal(conv(x, AttentionLayout.of(bare)), conv(x, AttentionLayout.of(data)))


def test_without_marks_no_edge_is_the_syntactic_heads() -> None:
    conv, data = make(), resolve("lisa")(dialogue(1, 5, 2))
    for edges in (data.edge_index, AttentionLayout.of(data)):
        with pytest.raises(ValueError, match="'edge_mark' is missing: .*resolve\\('lisa-complete'\\)"):
            conv(states(data), edges)


@pytest.mark.parametrize("implicit", [True, False])
def test_gradients(implicit: bool) -> None:
    conv, data = make(), resolve("lisa-complete", implicit=implicit)(dialogue(1, 5, 2))
    x = states(data).requires_grad_()
    leaves = [x, *conv.parameters()]
    out = conv(x, AttentionLayout.of(data))
    expected = literal(conv, x, data.governor_index)
    for a, b in zip(*(torch.autograd.grad(y.sin().sum(), leaves) for y in (out, expected))):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_dropout_in_training_only() -> None:
    conv, data = make(dropout=0.5), resolve("lisa-complete")(dialogue(1, 5, 2))
    x, layout = states(data), AttentionLayout.of(data)
    assert not torch.equal(*(conv(x, layout) for _ in range(2)))
    conv.eval()
    assert torch.equal(conv(x, layout), make()(x, layout))


def test_errors() -> None:
    for number in (0, HEADS):
        with pytest.raises(ValueError, match=f"'syntactic_heads' must be between 1 and 3 \\(got {number}\\)"):
            make(number)
    conv, data = make(), resolve("lisa-complete")(dialogue(1, 3))
    for mark in (data.edge_mark[1:], data.edge_mark.long()):
        with pytest.raises(ValueError, match="'edge_mark' must be torch.bool of shape \\[16\\] \\(got torch"):
            conv(states(data), data.edge_index, mark)
