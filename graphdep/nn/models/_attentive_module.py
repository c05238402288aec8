"""Attention without matrices of its own, a feed-forward layer, and what joins and norms them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class AttentiveModule(nn.Module):
    r"""Words of one text, :math:`\mathbf{Q}`, look at those of another, :math:`\mathbf{K}`.

    .. math::
        \mathbf{X} = \mathrm{LN}\big(\mathbf{Q} + \operatorname{softmax}(\mathbf{S}) \mathbf{K}\big), \qquad
        \mathrm{LN}\big(\mathbf{X} + \max(0, \mathbf{X} \mathbf{W}_1 + \mathbf{b}_1) \mathbf{W}_2 +
        \mathbf{b}_2\big)

    with scores :math:`\mathbf{S} = \mathbf{Q} \mathbf{K}^{\top} / \sqrt{C}`, or if they are ``aware``
    :math:`\mathrm{ReLU}(\mathbf{Q} \mathbf{U}) \mathbf{D} \, \mathrm{ReLU}(\mathbf{K} \mathbf{U})^{\top} /
    \sqrt{C}` with a diagonal :math:`\mathbf{D}`.

    Args:
        channels: Size of the words' vectors.
        aware: Which scores. (default: :obj:`False`)
    """

    def __init__(self, channels: int, *, aware: bool = False) -> None:
        super().__init__()
        self.lin_score = nn.Linear(channels, channels, bias=False) if aware else None
        self.diagonal = nn.Parameter(torch.ones(channels)) if aware else None
        self.norm_attention = nn.LayerNorm(channels)
        self.lin_in, self.lin_out = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.norm_out = nn.LayerNorm(channels)

    def reset_parameters(self) -> None:
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]
        if self.diagonal is not None:
            nn.init.ones_(self.diagonal)

    def forward(self, query: Tensor, key: Tensor, query_mask: Tensor, key_mask: Tensor) -> Tensor:
        """States of the query's words ``[texts, words, C]``, zeros where it has none; masks are
        ``[texts, words]`` and true where words are.
        """
        left, right = query, key
        if self.lin_score is not None and self.diagonal is not None:
            left = torch.relu(self.lin_score(query)) * self.diagonal
            right = torch.relu(self.lin_score(key))
        attended = F.scaled_dot_product_attention(left, right, key, attn_mask=key_mask.unsqueeze(1))
        x = self.norm_attention(query + attended)
        x = self.norm_out(x + self.lin_out(torch.relu(self.lin_in(x))))
        return x * query_mask.unsqueeze(-1)
