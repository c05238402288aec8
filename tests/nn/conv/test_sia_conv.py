from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import SIAConv

EDGES = torch.tensor([[0, 1, 2, 0, 0, 3, 4, 5, 6, 3], [0, 1, 2, 1, 2, 3, 4, 5, 6, 5]])
PTR = torch.tensor([0, 3, 7])


def literal(conv: SIAConv, x: torch.Tensor, edge_index: torch.Tensor, ptr: torch.Tensor) -> torch.Tensor:
    """Eq. 5 for one example at a time, its mask of 0 and 1."""
    outs = []
    for start, end in zip(ptr[:-1].tolist(), ptr[1:].tolist()):
        own = x[start:end]
        mask = torch.zeros(end - start, end - start, dtype=x.dtype)
        for j, i in edge_index.t().tolist():
            if start <= i < end:
                mask[i - start, j - start] = 1
        heads = []
        for h in range(conv.heads):
            part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
            query, key, value = (
                F.linear(own, lin.weight[part], lin.bias[part])
                for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
            )
            score = query @ key.T / conv.out_channels**0.5
            score = score.masked_fill(mask == 0, -torch.inf) if conv.mask == "additive" else mask * score
            heads.append(score.softmax(dim=-1) @ value)
        outs.append(torch.cat(heads, dim=1))
    return torch.cat(outs)


@pytest.mark.parametrize("mask", ["additive", "multiplicative"])
def test_equals_the_formula(mask: str) -> None:
    torch.manual_seed(0)
    conv = SIAConv(6, 3, heads=2, mask=mask).double()
    x = torch.randn(7, 6, dtype=torch.float64, requires_grad=True)
    out, expected = conv(x, AttentionLayout(EDGES, 7, ptr=PTR)), literal(conv, x, EDGES, PTR)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    leaves = [x, *conv.parameters()]
    for a, b in zip(*(torch.autograd.grad(y.sin().sum(), leaves) for y in (out, expected))):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_the_multiplied_mask_leaks() -> None:
    """Nearly all weight goes to pairs that the mask means to forbid; the additive mask gives them none."""
    torch.manual_seed(0)
    edge_index = torch.randint(0, 64, (2, 64 * 6)).unique(dim=1)
    x = torch.randn(64, 8)
    layout = AttentionLayout(edge_index, 64)
    _, (pairs, alpha) = SIAConv(8, 8, mask="multiplicative")(x, layout, return_attention_weights=True)
    assert pairs.size(1) == 64 * 64
    inside = torch.isin(pairs[1] * 64 + pairs[0], edge_index[1] * 64 + edge_index[0])
    leaked = torch.zeros(64).index_add(0, pairs[1][~inside], alpha[~inside, 0])
    assert leaked.mean() > 0.7
    _, (pairs, _) = SIAConv(8, 8)(x, edge_index, return_attention_weights=True)
    assert torch.equal(pairs, edge_index)


def test_examples_do_not_leak_into_each_other() -> None:
    conv = SIAConv(6, 3, heads=2, mask="multiplicative")
    x = torch.randn(7, 6)
    out = conv(x, AttentionLayout(EDGES, 7, ptr=PTR))
    torch.testing.assert_close(conv(x[:3], AttentionLayout(EDGES[:, :5], 3)), out[:3])
    torch.testing.assert_close(conv(x[3:], AttentionLayout(EDGES[:, 5:] - 3, 4)), out[3:])
    repeated = torch.cat([EDGES, EDGES[:, :4]], dim=1)  # a mask has no repeated entries
    torch.testing.assert_close(conv(x, AttentionLayout(repeated, 7, ptr=PTR)), out)


def test_errors() -> None:
    with pytest.raises(ValueError, match="'mask' must be one of additive, multiplicative \\(got 'mul'\\)"):
        SIAConv(6, 3, mask="mul")
    conv, x = SIAConv(6, 3, mask="multiplicative"), torch.zeros(7, 6)
    with pytest.raises(ValueError, match="does not tell examples apart: pass AttentionLayout.of\\(data\\)"):
        conv(x, EDGES)
    with pytest.raises(ValueError, match="needs all pairs: build the edges without implicit=True"):
        conv(x, AttentionLayout(EDGES, 7, clique=torch.zeros(7, dtype=torch.long)))
    with pytest.raises(ValueError, match="needs edges inside of examples"):
        conv(x, AttentionLayout(torch.tensor([[0], [3]]), 7, ptr=PTR))
    conv.register_message_forward_hook(lambda *args: None)
    with pytest.raises(ValueError, match="attends to all pairs: its edges cannot be explained"):
        conv(x, AttentionLayout(EDGES, 7, ptr=PTR))
