"""A recurrent network over the words of each utterance, which baselines are."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._sequences import run_over
from graphdep.nn.models._utterances import root_nodes, utterance_of, words_of
from graphdep.nn.models._word_rnn import CELLS
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder


class RecurrentEncoder(TextEncoder):
    """Base of :class:`LSTMEncoder` and :class:`GRUEncoder`, which say the :attr:`cell`."""

    cell: ClassVar[str]

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        bidirectional: bool = False,
        num_layers: int = 1,
        in_channels: int | None = None,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if hidden_channels < 1:
            raise ValueError(f"'hidden_channels' must be at least 1 (got {hidden_channels})")
        if bidirectional and hidden_channels % 2:
            raise ValueError(f"'hidden_channels' must be even for two directions (got {hidden_channels})")
        self.hidden_channels = hidden_channels
        if vectors is not None:
            in_channels = vectors.size(-1)
        in_channels = hidden_channels if in_channels is None else in_channels
        self.embedding = NodeEmbedding(
            num_words, in_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )
        network = CELLS[self.cell](
            in_channels,
            hidden_channels // 2 if bidirectional else hidden_channels,
            num_layers,
            dropout=dropout if num_layers > 1 else 0.0,
            bidirectional=bidirectional,
        )
        self.add_module(self.cell, network)

    def forward(self, data: Data) -> Tensor:
        root = root_nodes(data)
        words = words_of(data)
        utterance, length = utterance_of(data)[words].unique_consecutive(return_counts=True)
        embedded = self.embedding(data)
        if words.numel() == 0:
            return embedded.new_zeros(embedded.size(0), self.hidden_channels)
        network: nn.RNNBase = getattr(self, self.cell)
        states, last = run_over(network, embedded[words], length)
        directions = 1 + network.bidirectional
        x = states.new_zeros(data.num_nodes, self.hidden_channels).index_copy(0, words, states)
        return x.index_copy(0, root[utterance], torch.cat([*last[-directions:]], dim=-1))
