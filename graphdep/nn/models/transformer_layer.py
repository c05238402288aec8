"""The standard Transformer encoder block around any attention over edges."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from graphdep.nn.dropout import Dropout


class TransformerLayer(nn.Module):
    r"""One Transformer encoder block, from `"Attention Is All You Need" <https://arxiv.org/abs/1706.03762>`_,
    with the attention injected.

    .. math::
        \mathbf{h} = \mathrm{LN}(\mathbf{x} + \mathbf{W}_o \, \mathrm{conv}(\mathbf{x})), \quad
        \mathbf{x}' = \mathrm{LN}(\mathbf{h} + \mathbf{W}_2 \, \mathrm{ReLU}(\mathbf{W}_1 \mathbf{h}))

    with dropout on both sums' right sides; :obj:`norm_first` normalises before each part instead.

    Args:
        conv: Attention over edges; its output has :obj:`hidden_channels` channels.
        hidden_channels: Size of the node states.
        ff_channels: Size of the feed-forward layer.
        dropout: Dropout probability. (default: :obj:`0.1`)
        norm_first: Normalise before attention and feed-forward. (default: :obj:`False`)

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`; output the same

    Raises:
        ValueError: If the output of :obj:`conv` has not :obj:`hidden_channels` channels.

    Example:
        >>> import torch
        >>> from graphdep.nn.conv import AttentionConv
        >>> from graphdep.nn.models import TransformerLayer
        >>> layer = TransformerLayer(AttentionConv(8, 4, heads=2), hidden_channels=8, ff_channels=16)
        >>> edge_index = torch.tensor([[0, 1, 1], [1, 0, 1]])
        >>> layer(torch.randn(2, 8), edge_index).shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        conv: nn.Module,
        hidden_channels: int,
        ff_channels: int,
        *,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.conv, self.norm_first = conv, norm_first
        self.lin_out = nn.Linear(hidden_channels, hidden_channels)
        self.norm_attention = nn.LayerNorm(hidden_channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(hidden_channels, ff_channels),
            nn.ReLU(),
            Dropout(dropout),
            nn.Linear(ff_channels, hidden_channels),
        )
        self.norm_feed_forward = nn.LayerNorm(hidden_channels)
        self.dropout = Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.conv.reset_parameters()  # type: ignore[operator]
        for module in (self.lin_out, self.norm_attention, *self.feed_forward, self.norm_feed_forward):
            if isinstance(module, nn.Linear | nn.LayerNorm):
                module.reset_parameters()

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """``args`` and ``kwargs`` (``edge_index`` or a layout, ``edge_type``) go to the attention."""
        if self.norm_first:
            x = x + self._attend(self.norm_attention(x), *args, **kwargs)
            return x + self.dropout(self.feed_forward(self.norm_feed_forward(x)))
        x = self.norm_attention(x + self._attend(x, *args, **kwargs))
        return self.norm_feed_forward(x + self.dropout(self.feed_forward(x)))

    def _attend(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        out = self.conv(x, *args, **kwargs)
        if out.size(-1) != self.lin_out.in_features:
            raise ValueError(
                f"the output of 'conv' must have {self.lin_out.in_features} channels (got {out.size(-1)})"
            )
        return self.dropout(self.lin_out(out))
