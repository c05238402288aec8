from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from graphdep.nn.models import MaskedWordHead


@pytest.mark.parametrize("dim", [None, 4])
def test_equals_its_formula(dim):
    head = MaskedWordHead(6, 9, dim)
    with torch.no_grad():
        head.bias.normal_()
        head.norm.weight.normal_()
    x, weight = torch.randn(5, 6), torch.randn(9, dim or 6)
    h = F.gelu(x @ head.lin.weight.T + head.lin.bias)
    h = (h - h.mean(-1, keepdim=True)) / (h.var(-1, unbiased=False, keepdim=True) + 1e-12).sqrt()
    expected = (h * head.norm.weight + head.norm.bias) @ weight.T + head.bias
    assert torch.allclose(head(x, weight), expected, atol=1e-5)
    assert head(x[:0], weight).shape == (0, 9)


def test_reset_parameters():
    head = MaskedWordHead(6, 9)
    before = head.lin.weight.clone()
    with torch.no_grad():
        head.bias.normal_()
        head.norm.weight.normal_()
        head.lin.bias.normal_()
    head.reset_parameters()
    assert not torch.equal(head.lin.weight, before)
    assert not head.bias.any()
    assert not head.lin.bias.any()
    assert torch.equal(head.norm.weight, torch.ones(6))
