"""A recurrent network over the words of every utterance."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._lstm import LSTM
from graphdep.nn.models._sequences import run_over
from graphdep.nn.models._utterances import root_nodes, utterance_of, words_of

CELLS: dict[str, type[nn.GRU] | type[nn.LSTM]] = {"gru": nn.GRU, "lstm": LSTM}


class WordRNN(nn.Module):
    r"""Reads each utterance word by word; its ROOT node comes first, as a start symbol, so that an utterance
    without words has a state, too.

    Args:
        hidden_channels: Size of inputs and states, both directions together.
        cell: ``"gru"`` or ``"lstm"``.
        bidirectional: Also read from the last word to ROOT.
        num_layers: Number of layers.
        dropout: Dropout probability between layers.

    Raises:
        ValueError: If :obj:`cell` is unknown, or :obj:`hidden_channels` odd for two directions.
    """

    def __init__(
        self, hidden_channels: int, *, cell: str, bidirectional: bool, num_layers: int, dropout: float
    ) -> None:
        super().__init__()
        if cell not in CELLS:
            raise ValueError(f"'cell' must be one of {', '.join(CELLS)} (got {cell!r})")
        if bidirectional and hidden_channels % 2:
            raise ValueError(f"'hidden_channels' must be even for two directions (got {hidden_channels})")
        self.rnn = CELLS[cell](
            hidden_channels,
            hidden_channels // 2 if bidirectional else hidden_channels,
            num_layers,
            dropout=dropout if num_layers > 1 else 0.0,
            bidirectional=bidirectional,
        )

    def forward(self, data: Data, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Nodes that were read ``[words]``, their states ``[words, C]``, and the last state of each utterance
        ``[utterances, C]``: the forward one at the last word, then the backward one at ROOT.
        """
        nodes = torch.cat([root_nodes(data), words_of(data)]).sort().values
        length = utterance_of(data)[nodes].bincount()
        states, last = run_over(self.rnn, x[nodes], length)
        directions = 1 + self.rnn.bidirectional
        return nodes, states, torch.cat([*last[-directions:]], dim=-1)
