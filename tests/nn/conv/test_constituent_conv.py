from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphdep.nn.conv import ConstituentConv

SIZE, HEADS = 8, 2
PTR = torch.tensor([0, 5, 6, 9])


def make(**kwargs) -> ConstituentConv:
    torch.manual_seed(0)
    conv = ConstituentConv(SIZE, 3, HEADS, **kwargs).double()
    for parameter in conv.parameters():
        nn.init.normal_(parameter, std=0.7)
    return conv


def states() -> Tensor:
    return torch.randn(9, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def slow_links(conv: ConstituentConv, x: Tensor, below: list[Tensor]) -> list[Tensor]:
    """One example, link by link."""
    x = conv.norm_link(x)
    query, key, n = conv.lin_link_query(x), conv.lin_link_key(x), x.size(0)

    def share(i: int, j: int) -> Tensor:
        """What i gives to its neighbour j."""
        weight = {k: (query[i] @ key[k] / (SIZE / 2)).exp() for k in (i - 1, i + 1) if 0 <= k < n}
        return weight[j] / sum(weight.values())

    fresh = [(share(i, i + 1) * share(i + 1, i)).sqrt() for i in range(n - 1)]
    return [b + (1 - b) * a for a, b in zip(fresh, below)] if below else fresh


def slow_attention(conv: ConstituentConv, x: Tensor, link: list[Tensor]) -> tuple[Tensor, Tensor]:
    n = x.size(0)
    prior = torch.eye(n, dtype=torch.float64)
    for i in range(n):
        for j in range(n):
            prior[i, j] = math.prod(link[min(i, j) : max(i, j)])
    heads, weights = [], []
    for h in range(conv.heads):
        part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
        query, key, value = (
            F.linear(x, lin.weight[part], lin.bias[part])
            for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
        )
        weight = prior * (query @ key.T / conv.out_channels**0.5).softmax(dim=-1)
        if conv.renormalize:
            weight = weight / weight.sum(dim=-1, keepdim=True)
        heads.append(weight @ value)
        weights.append(weight)
    return torch.cat(heads, dim=1), torch.stack(weights)


@pytest.mark.parametrize("renormalize", [False, True])
def test_two_layers_equal_the_formulas(renormalize: bool) -> None:
    convs, x = [make(renormalize=renormalize) for _ in range(2)], states()
    for parameter in convs[1].parameters():
        nn.init.normal_(parameter, std=0.7)
    below = convs[0].links(x, PTR)
    link = convs[1].links(2 * x, PTR, below)
    out, (pairs, alpha) = convs[1](x, link, PTR, return_attention_weights=True)
    torch.testing.assert_close(convs[1](x, link, PTR), out)
    assert pairs.size(1) == alpha.size(0) == 25 + 1 + 9
    for start, stop in zip(PTR[:-1].tolist(), PTR[1:].tolist()):
        part = x[start:stop]
        first = slow_links(convs[0], part, [])
        second = slow_links(convs[1], 2 * part, first)
        for got, expected in ((below, first), (link, second)):
            end = torch.zeros(1, dtype=torch.float64)
            expected = torch.cat([torch.stack(expected), end]) if expected else end
            torch.testing.assert_close(got[start:stop], expected, rtol=0, atol=1e-12)
        expected, weights = slow_attention(convs[1], part, second)
        torch.testing.assert_close(
            out[start:stop], expected, rtol=1e-5, atol=1e-6
        )  # links in single precision
        inside = (pairs[1] >= start) & (pairs[1] < stop)
        source, target = pairs[:, inside] - start
        torch.testing.assert_close(alpha[inside], weights[:, target, source].T, rtol=0, atol=1e-6)


def test_certain_links_leave_plain_attention() -> None:
    conv, x = make(), states()
    link = torch.ones(9, dtype=torch.float64)
    out = conv(x, link, PTR)
    expected, _ = slow_attention(conv, x[:5], [torch.tensor(1.0)] * 4)
    torch.testing.assert_close(out[:5], expected)


def test_a_broken_link_separates() -> None:
    conv, x = make(), states()
    link = torch.ones(9, dtype=torch.float64).index_fill(0, torch.tensor([1]), 0.0)  # between 1 and 2
    _, (pairs, alpha) = conv(x, link, PTR, return_attention_weights=True)
    apart = (pairs[0] < 5) & (pairs[1] < 5) & ((pairs[0] < 2) != (pairs[1] < 2))
    assert alpha[apart].max() < 1e-8 < alpha[~apart].min()


def test_links_only_grow() -> None:
    conv, x = make(), states()
    below = conv.links(x, PTR)
    above = conv.links(x.flip(0), PTR, below)
    assert bool((above >= below).all())
    assert bool((above <= 1).all())
    assert not above[PTR[1:] - 1].any()


def test_everything_learns() -> None:
    conv, x = make(), states().requires_grad_()
    conv(x, conv.links(x, PTR), PTR).sin().sum().backward()
    assert x.grad.isfinite().all()
    for name, parameter in conv.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_extreme_scores_give_no_nan() -> None:
    conv, x = make(), (states() * 1e4).requires_grad_()
    link = conv.links(x, PTR)
    out = conv(x, link, PTR)
    out.sum().backward()
    assert out.isfinite().all()
    assert x.grad.isfinite().all()


def test_dropout_in_training_only() -> None:
    conv, x = make(dropout=0.5), states()
    link = conv.links(x, PTR)
    assert not torch.equal(conv(x, link, PTR), conv(x, link, PTR))
    conv.eval()
    assert torch.equal(conv(x, link, PTR), make()(x, link, PTR))


def test_examples_without_nodes() -> None:
    conv, x = make(), states()
    link = conv.links(x, PTR)
    expected, (expected_pairs, expected_alpha) = conv(x, link, PTR, return_attention_weights=True)
    for ptr in ([0, 5, 6, 9, 9], [0, 0, 5, 5, 5, 6, 9]):  # the last one, the first ones, those in between
        ptr = torch.tensor(ptr)
        torch.testing.assert_close(conv.links(x, ptr), link)
        out, (pairs, alpha) = conv(x, link, ptr, return_attention_weights=True)
        torch.testing.assert_close(out, expected)
        assert torch.equal(pairs, expected_pairs)
        torch.testing.assert_close(alpha, expected_alpha)


@pytest.mark.parametrize("ptr", [[0], [0, 0], [0, 0, 0]])
@pytest.mark.parametrize("renormalize", [False, True])
def test_an_empty_graph(ptr: list[int], renormalize: bool) -> None:
    conv, bounds = make(renormalize=renormalize), torch.tensor(ptr)
    x = torch.zeros(0, SIZE, dtype=torch.float64, requires_grad=True)
    link = conv.links(x, bounds, conv.links(x, bounds))
    assert link.shape == (0,)
    out, (pairs, alpha) = conv(x, link, bounds, return_attention_weights=True)
    assert out.shape == conv(x, link, bounds).shape == (0, HEADS * 3)
    assert pairs.shape == (2, 0)
    assert alpha.shape == (0, HEADS)
    (out.sum() + link.sum()).backward()


@pytest.mark.parametrize("sizes", [(0, 4, 1), (4, 0, 1), (4, 4, 0)])
def test_errors(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="must be a whole number of at least 1 \\(got 0\\)"):
        ConstituentConv(*sizes)
    for dropout in (-0.1, 1.5):
        with pytest.raises(ValueError, match=f"'dropout' must be between 0 and 1 \\(got {dropout}\\)"):
            make(dropout=dropout)


def test_reset_parameters_and_repr() -> None:
    conv = make()
    for parameter in conv.parameters():
        nn.init.constant_(parameter, torch.nan)
    conv.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in conv.parameters())
    assert str(conv) == "ConstituentConv(8, 3, heads=2)"
    assert str(make(dropout=0.5, renormalize=True)) == (
        "ConstituentConv(8, 3, heads=2, dropout=0.5, renormalize=True)"
    )
