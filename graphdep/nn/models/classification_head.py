"""From a sentence vector to its class."""

from __future__ import annotations

from torch import Tensor, nn


class ClassificationHead(nn.Module):
    r"""Linear classifier of sentence vectors: dropout, then one layer.

    .. math::
        \hat{p} = \mathrm{softmax}(\mathbf{W} \mathbf{h} + \mathbf{b})

    with dropout on :math:`\mathbf{h}`. The softmax is left to the loss: the output are logits.

    Args:
        in_channels: Size of a sentence vector.
        out_channels: Number of classes.
        dropout: Dropout probability. (default: :obj:`0.0`)

    Shapes:
        - x: :math:`(B, C)`; output: :math:`(B, C')`

    Raises:
        ValueError: If a size is below 1.
    """

    def __init__(self, in_channels: int, out_channels: int, dropout: float = 0.0) -> None:
        super().__init__()
        for name, size in (("in_channels", in_channels), ("out_channels", out_channels)):
            if size < 1:
                raise ValueError(f"'{name}' must be at least 1 (got {size})")
        self.dropout = nn.Dropout(dropout)
        self.lin = nn.Linear(in_channels, out_channels)

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(self.dropout(x))
