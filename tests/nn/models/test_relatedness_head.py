from __future__ import annotations

import torch
from torch import nn

from graphdep.nn.models import RelatednessHead


def test_equals_the_formula() -> None:
    torch.manual_seed(0)
    head = RelatednessHead(6, 3, hidden_channels=4).double()
    left, right = torch.randn(2, 5, 6, dtype=torch.float64)
    out = head(left, right)
    for b in range(5):
        angle = head.lin_angle.weight @ (left[b] * right[b])
        distance = head.lin_distance.weight @ (left[b] - right[b]).abs()
        hidden = torch.sigmoid(angle + distance + head.lin_angle.bias)
        torch.testing.assert_close(
            out[b], head.lin_out.weight @ hidden + head.lin_out.bias, rtol=0, atol=1e-12
        )
    torch.testing.assert_close(head(right, left), out)  # neither angle nor distance has a direction


def test_sizes() -> None:
    """Published: 50 hidden units; one bias in the hidden layer, b^h, and one in the output."""
    shapes = {name: [*parameter.shape] for name, parameter in RelatednessHead(300, 5).named_parameters()}
    assert shapes == {
        "lin_angle.weight": [50, 300],
        "lin_angle.bias": [50],
        "lin_distance.weight": [50, 300],
        "lin_out.weight": [5, 50],
        "lin_out.bias": [5],
    }


def test_reset_parameters() -> None:
    head = RelatednessHead(6, 3)
    for parameter in head.parameters():
        nn.init.constant_(parameter, torch.nan)
    head.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in head.parameters())
