"""Transformer blocks over the utterances of each example."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.transformer_layer import TransformerLayer


class TurnTransformer(nn.Module):
    r"""Every utterance of an example attends to every other; turn embeddings tell their order.

    Args:
        hidden_channels: Size of the utterance vectors.
        num_layers: Number of blocks.
        heads: Attention heads a block; divides :obj:`hidden_channels`.
        ff_channels: Size of the feed-forward layers.
        dropout: Dropout probability.
        max_turns: Turns told apart, later ones share the last embedding; 0 for no turn embedding.

    Shapes:
        - x: :math:`(\text{utterances}, C)`; ptr: :math:`(B + 1)`; output :math:`(\text{utterances}, C)`

    Raises:
        ValueError: If :obj:`heads` does not divide :obj:`hidden_channels`.
    """

    def __init__(
        self,
        hidden_channels: int,
        *,
        num_layers: int,
        heads: int,
        ff_channels: int,
        dropout: float,
        max_turns: int,
    ) -> None:
        super().__init__()
        if heads < 1 or hidden_channels % heads:
            raise ValueError(f"'heads' ({heads}) must divide 'hidden_channels' ({hidden_channels})")
        self.turn = nn.Embedding(max_turns, hidden_channels) if max_turns else None
        self.dropout = Dropout(dropout)
        size = hidden_channels // heads
        self.layers = nn.ModuleList(
            TransformerLayer(
                AttentionConv(hidden_channels, size, heads, dropout=dropout),
                hidden_channels,
                ff_channels,
                dropout=dropout,
            )
            for _ in range(num_layers)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.turn is not None:
            nn.init.normal_(self.turn.weight, std=self.turn.embedding_dim**-0.5)
        reset(self.layers)

    def forward(self, x: Tensor, ptr: Tensor) -> Tensor:
        number = torch.arange(x.size(0), device=x.device)
        if self.turn is not None:
            turn = number - ptr[:-1].repeat_interleave(ptr.diff(), output_size=x.size(0))
            x = self.dropout(x + self.turn(turn.clamp(max=self.turn.num_embeddings - 1)))
        edges = number.new_empty(2, 0)
        layout = AttentionLayout(edges, x.size(0), clique=torch.zeros_like(number), ptr=ptr)
        for layer in self.layers:
            x = layer(x, layout)
        return x
