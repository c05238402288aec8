"""How two sentence vectors are compared."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RelatednessHead(nn.Module):
    r"""Similarity by angle and distance, from `"Improved Semantic Representations From Tree-Structured Long
    Short-Term Memory Networks" <https://aclanthology.org/P15-1150/>`_ (section 4.2).

    .. math::
        \mathbf{h}_s = \sigma(\mathbf{W}^{\times} (\mathbf{h}_L \odot \mathbf{h}_R) +
        \mathbf{W}^{+} |\mathbf{h}_L - \mathbf{h}_R| + \mathbf{b}^h), \quad
        \hat{p} = \mathrm{softmax}(\mathbf{W}^p \mathbf{h}_s + \mathbf{b}^p)

    The softmax is left to the loss: the output are logits.

    Args:
        in_channels: Size of a sentence vector.
        out_channels: Number of classes.
        hidden_channels: Size of :math:`\mathbf{h}_s`. (default: :obj:`50`)

    Shapes:
        - left, right: :math:`(B, C)`; output: :math:`(B, C')`

    Example:
        >>> import torch
        >>> from graphdep.nn.models import RelatednessHead
        >>> left, right = torch.randn(2, 4, 8)
        >>> RelatednessHead(8, 5)(left, right).shape
        torch.Size([4, 5])
    """

    def __init__(self, in_channels: int, out_channels: int, hidden_channels: int = 50) -> None:
        super().__init__()
        self.lin_angle = nn.Linear(in_channels, hidden_channels)
        self.lin_distance = nn.Linear(in_channels, hidden_channels, bias=False)
        self.lin_out = nn.Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        for lin in (self.lin_angle, self.lin_distance, self.lin_out):
            lin.reset_parameters()

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        hidden = torch.sigmoid(self.lin_angle(left * right) + self.lin_distance((left - right).abs()))
        return self.lin_out(hidden)
