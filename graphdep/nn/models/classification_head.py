"""From a sentence vector to its class."""

from __future__ import annotations

from torch import Tensor, nn

from graphdep.nn.dropout import Dropout


class ClassificationHead(nn.Module):
    r"""Linear classifier of sentence vectors: dropout, then one layer.

    .. math::
        \hat{p} = \mathrm{softmax}(\mathbf{W} \mathbf{h} + \mathbf{b})

    with dropout on :math:`\mathbf{h}`. The softmax is left to the loss: the output are logits. On the state
    of [CLS], and drawn with :obj:`std` of 0.02, it is the head of `"BERT: Pre-training of Deep Bidirectional
    Transformers for Language Understanding" <https://aclanthology.org/N19-1423/>`_ without its pooler.

    Args:
        in_channels: Size of a sentence vector.
        out_channels: Number of classes.
        dropout: Dropout probability. (default: :obj:`0.0`)
        std: Draw :math:`\mathbf{W}` from a normal distribution of that standard deviation and let
            :math:`\mathbf{b}` be 0, as BERT does; :obj:`None` for both as in :class:`torch.nn.Linear`.
            (default: :obj:`None`)

    Shapes:
        - x: :math:`(B, C)`; output: :math:`(B, C')`

    Raises:
        ValueError: If a size is below 1, or :obj:`std` is not above 0.

    Example:
        >>> import torch
        >>> from graphdep.nn.models import ClassificationHead
        >>> ClassificationHead(8, 3, dropout=0.1)(torch.randn(2, 8)).shape
        torch.Size([2, 3])
    """

    def __init__(
        self, in_channels: int, out_channels: int, dropout: float = 0.0, *, std: float | None = None
    ) -> None:
        super().__init__()
        for name, size in (("in_channels", in_channels), ("out_channels", out_channels)):
            if size < 1:
                raise ValueError(f"'{name}' must be at least 1 (got {size})")
        if std is not None and not std > 0:
            raise ValueError(f"'std' must be above 0 (got {std})")
        self.dropout = Dropout(dropout)
        self.lin, self.std = nn.Linear(in_channels, out_channels), std
        if std is not None:  # the layer has drawn its own already
            self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.std is None:
            self.lin.reset_parameters()
            return
        nn.init.normal_(self.lin.weight, std=self.std)
        nn.init.zeros_(self.lin.bias)

    def extra_repr(self) -> str:
        return f"std={self.std}"

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(self.dropout(x))
