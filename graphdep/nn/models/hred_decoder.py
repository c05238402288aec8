"""The recurrent decoder of HRED."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphdep.nn.dropout import Dropout
from graphdep.nn.models._sequences import run_over
from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.response_decoder import ResponseDecoder, previous_ids, take_beams
from graphdep.nn.models.word_output import WordOutput


class HREDDecoder(ResponseDecoder):
    r"""Recurrent decoder, from `"Building End-To-End Dialogue Systems Using Generative Hierarchical Neural
    Network Models" <https://arxiv.org/abs/1507.04808>`_.

    .. math::
        \mathbf{s}_0 = \tanh(\mathbf{W}_0 \mathbf{c} + \mathbf{b}_0), \quad
        \mathbf{s}_t = \mathrm{GRU}([\mathbf{e}_{y_{t-1}} \Vert \mathbf{c}], \mathbf{s}_{t-1})

    :math:`\mathbf{c}` is the last row of the example's memory: the only one, or the context's state after its
    last utterance; zeros where there is none. The paper's logits also have a term of the word before, which
    is left out: the GRU has read that word.

    Args:
        embedding: The encoder's embedding, whose word vectors go in and score the words.
        hidden_channels: Size of the states, the encoder's too.
        dropout: Dropout probability of what goes in and out. (default: :obj:`0.1`)
        tie: Score words with their vectors, see :class:`WordOutput`. (default: :obj:`True`)

    Shapes:
        - memory: one or more rows an example with :math:`C` channels; see :class:`ResponseDecoder`

    Example:
        >>> import torch
        >>> from graphdep.nn.models import HREDDecoder, Memory, NodeEmbedding
        >>> memory = Memory(torch.randn(3, 8), ptr=torch.tensor([0, 2, 3]))
        >>> decoder = HREDDecoder(NodeEmbedding(50, 8), 8)
        >>> target_ids, target_ptr = torch.tensor([7, 9, 4, 6, 4]), torch.tensor([0, 3, 5])
        >>> decoder(memory, target_ids, target_ptr).shape
        torch.Size([5, 50])
    """

    def __init__(
        self, embedding: NodeEmbedding, hidden_channels: int, *, dropout: float = 0.1, tie: bool = True
    ) -> None:
        super().__init__()
        self.embedding, self.hidden_channels = embedding, hidden_channels
        self.lin_start = nn.Linear(hidden_channels, hidden_channels)
        self.gru = nn.GRU(2 * hidden_channels, hidden_channels, batch_first=True)
        self.dropout = Dropout(dropout)
        self.output = WordOutput(embedding, hidden_channels, tie=tie)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws its own parameters anew; the word vectors are the encoder's."""
        for module in (self.lin_start, self.gru, self.output):
            module.reset_parameters()

    def forward(self, memory: Memory, target_ids: Tensor, target_ptr: Tensor) -> Tensor:
        sizes = target_ptr.diff()
        context = _last_rows(memory)
        words = self.embedding.words(previous_ids(target_ids, target_ptr))
        x = self.dropout(torch.cat([words, context.repeat_interleave(sizes, dim=0)], dim=-1))
        some = (sizes > 0).nonzero().view(-1)
        if some.numel() == 0:
            return self.output(words, self.embedding)
        states, _ = run_over(self.gru, x, sizes[some], self._first_state(context[some])[None])
        return self.output(self.dropout(states), self.embedding)

    def start(self, memory: Memory) -> _State:
        context = _last_rows(memory)
        return _State(context, self._first_state(context)[:, None])

    def step(self, state: _State, tokens: Tensor) -> tuple[Tensor, _State]:
        context = state.context[:, None].expand(-1, tokens.size(1), -1)
        x = self.dropout(torch.cat([self.embedding.words(tokens), context], dim=-1))
        _, hidden = self.gru(x.flatten(0, 1)[:, None], state.hidden.flatten(0, 1)[None].contiguous())
        hidden = hidden.view_as(state.hidden)
        return self.output(self.dropout(hidden), self.embedding), _State(state.context, hidden)

    def select(self, state: _State, example: Tensor, beam: Tensor) -> _State:
        return _State(state.context[example], take_beams(state.hidden, example, beam))

    def _first_state(self, context: Tensor) -> Tensor:
        return self.lin_start(context).tanh()


@dataclass(frozen=True)
class _State:
    """Context ``[E, C]`` and state of every hypothesis ``[E, W, C]``."""

    context: Tensor
    hidden: Tensor


def _last_rows(memory: Memory) -> Tensor:
    """The last row of every example ``[B, C]``; zeros where it has none."""
    rows = torch.cat([memory.x.new_zeros(1, memory.x.size(1)), memory.x])
    return rows[memory.ptr[1:].where(memory.ptr.diff() > 0, 0)]
