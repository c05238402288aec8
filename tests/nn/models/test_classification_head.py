from __future__ import annotations

import pytest
import torch
from torch import nn

from graphdep.nn.models import ClassificationHead


def test_equals_the_formula() -> None:
    torch.manual_seed(0)
    head, x = ClassificationHead(6, 3).double(), torch.randn(5, 6, dtype=torch.float64)
    expected = x @ head.lin.weight.T + head.lin.bias
    torch.testing.assert_close(head(x), expected, rtol=0, atol=1e-12)
    shapes = {name: [*parameter.shape] for name, parameter in head.named_parameters()}
    assert shapes == {"lin.weight": [3, 6], "lin.bias": [3]}


def test_dropout_in_training_only() -> None:
    torch.manual_seed(0)
    head, x = ClassificationHead(40, 3, dropout=0.5), torch.randn(5, 40)
    assert not torch.equal(head(x), head(x))
    head.eval()
    assert torch.equal(head(x), head.lin(x))


def test_reset_parameters() -> None:
    head = ClassificationHead(6, 3)
    for parameter in head.parameters():
        nn.init.constant_(parameter, torch.nan)
    head.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in head.parameters())


def test_as_bert_draws_it() -> None:
    torch.manual_seed(0)
    head = ClassificationHead(400, 30, std=0.02)
    assert not head.lin.bias.any()
    assert abs(float(head.lin.weight.detach().std()) - 0.02) < 1e-3
    nn.init.ones_(head.lin.bias)
    head.reset_parameters()
    assert not head.lin.bias.any()


def test_print() -> None:
    assert "std=None" in str(ClassificationHead(2, 3))
    assert "std=0.02" in str(ClassificationHead(2, 3, std=0.02))


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match=r"'in_channels' must be at least 1 \(got 0\)"):
        ClassificationHead(0, 2)
    with pytest.raises(ValueError, match=r"'out_channels' must be at least 1 \(got -1\)"):
        ClassificationHead(2, -1)
