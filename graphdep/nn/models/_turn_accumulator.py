"""The vector of a context, from the matching vectors of its utterances."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter, softmax

from graphdep.nn.models._turn_pairs import TurnPairs, last_states

ACCUMULATIONS = ("dynamic", "static", "last")


class TurnAccumulator(nn.Module):
    """SMN's GRU over matching vectors, and what is made of its states: the ``"last"``, a sum with a weight a
    place (``"static"``) or by attention (``"dynamic"``).

    Args:
        word_channels: Size of the states of the utterances' last words, which the attention reads.
        channels: Size of the matching vectors, and of the GRU.
        accumulation: One of :data:`ACCUMULATIONS`.
        max_turns: Places that have a weight with ``"static"``, counted from the last utterance: no example
            has more utterances.
    """

    def __init__(self, word_channels: int, channels: int, accumulation: str, max_turns: int) -> None:
        super().__init__()
        if accumulation not in ACCUMULATIONS:
            raise ValueError(
                f"'accumulation' must be one of {', '.join(ACCUMULATIONS)} (got {accumulation!r})"
            )
        self.accumulation = accumulation
        self.gru = nn.GRU(channels, channels, batch_first=True)
        if accumulation == "dynamic":
            self.lin_word = nn.Linear(word_channels, channels)
            self.lin_turn = nn.Linear(channels, channels, bias=False)
            self.lin_weight = nn.Linear(channels, 1, bias=False)
        elif accumulation == "static":
            self.weight = nn.Parameter(torch.ones(max_turns))

    def reset_parameters(self) -> None:
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]
        if self.accumulation == "static":
            nn.init.ones_(self.weight)

    def forward(self, vectors: Tensor, last_words: Tensor, pairs: TurnPairs) -> Tensor:
        """Vectors of the contexts ``[examples, channels]``, zeros without utterances, from those of pairs and
        the states of their utterances' last words.
        """
        states, _ = self.gru(pairs.dense(vectors, pairs.num_turns))
        if self.accumulation == "last":
            last = last_states(states, pairs.counts.clamp(min=1))
            return last * (pairs.counts > 0).unsqueeze(-1)
        turns = states[pairs.example, pairs.place]
        weight = self._weights(turns, last_words, pairs)
        return scatter(turns * weight, pairs.example, dim_size=pairs.counts.numel(), reduce="sum")

    def _weights(self, turns: Tensor, last_words: Tensor, pairs: TurnPairs) -> Tensor:
        if self.accumulation == "dynamic":
            key = torch.tanh(self.lin_word(last_words) + self.lin_turn(turns))
            return softmax(self.lin_weight(key), pairs.example, num_nodes=pairs.counts.numel())
        from_last = pairs.counts[pairs.example] - 1 - pairs.place
        return self.weight[self.weight.numel() - 1 - from_last].unsqueeze(-1)
