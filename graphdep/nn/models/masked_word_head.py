"""Logits of masked words from node states."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F


class MaskedWordHead(nn.Module):
    r"""Scores every piece for a masked node with the encoder's own input vectors, as BERT does.

    .. math::
        \mathbf{z} = \mathbf{E} \, \mathrm{LN}(\mathrm{gelu}(\mathbf{W} \mathbf{h} + \mathbf{b})) + \mathbf{c}

    Args:
        in_channels: Size of the node states.
        num_words: Number of input vectors.
        dim: Size of the input vectors :math:`\mathbf{E}`. (default: :obj:`in_channels`)
        eps: Of the LayerNorm. (default: :obj:`1e-12`)

    Shapes:
        - x: :math:`(N, C)`; weight: the input vectors, :math:`(|\mathcal{W}|, d)`; output:
          :math:`(N, |\mathcal{W}|)`

    Example:
        >>> import torch
        >>> from graphdep.nn.models import MaskedWordHead
        >>> input_vectors = torch.randn(50, 8)
        >>> MaskedWordHead(8, 50)(torch.randn(3, 8), input_vectors).shape
        torch.Size([3, 50])
    """

    def __init__(
        self, in_channels: int, num_words: int, dim: int | None = None, *, eps: float = 1e-12
    ) -> None:
        super().__init__()
        self.lin = nn.Linear(in_channels, in_channels if dim is None else dim)
        self.norm = nn.LayerNorm(self.lin.out_features, eps=eps)
        self.bias = nn.Parameter(self.lin.weight.new_zeros(num_words))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws its own parameters as BERT's are; the input vectors are the encoder's."""
        nn.init.normal_(self.lin.weight, std=0.02)
        nn.init.zeros_(self.lin.bias)
        self.norm.reset_parameters()
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.linear(self.norm(F.gelu(self.lin(x))), weight, self.bias)
