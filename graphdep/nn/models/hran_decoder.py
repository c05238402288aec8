"""The recurrent decoder of HRAN, with attention to words and to utterances."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn
from torch_geometric.utils import to_dense_batch

from graphdep.nn.dropout import Dropout
from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.response_decoder import ResponseDecoder, previous_ids, take_beams
from graphdep.nn.models.word_output import WordOutput


class HRANDecoder(ResponseDecoder):
    r"""Recurrent decoder with two levels of attention, from `"Hierarchical Recurrent Attention Network for
    Response Generation" <https://arxiv.org/abs/1701.07149>`_.

    At step :math:`t`, from the last utterance :math:`m` to the first, the words of an utterance are summed up
    and read by a GRU over utterances; then the utterances are summed up for the decoder:

    .. math::
        \mathbf{r}_{i} &= \sum_j \mathrm{softmax}_j \left(
        \mathbf{v}^{\top} \tanh(\mathbf{W}_s \mathbf{s}_{t-1} + \mathbf{W}_l \mathbf{l}_{i+1} + \mathbf{W}_h
        \mathbf{h}_{ij}) \right) \mathbf{h}_{ij}, \quad
        \mathbf{l}_{i} = \mathrm{GRU}_u(\mathbf{r}_{i}, \mathbf{l}_{i+1}) \\
        \mathbf{c}_t &= \sum_i \mathrm{softmax}_i \left(
        \mathbf{v}'^{\top} \tanh(\mathbf{W}'_s \mathbf{s}_{t-1} + \mathbf{W}'_l \mathbf{l}_{i}) \right)
        \mathbf{l}_{i}, \quad
        \mathbf{s}_t = \mathrm{GRU}([\mathbf{e}_{y_{t-1}} \Vert \mathbf{c}_t], \mathbf{s}_{t-1})

    Simplified: :math:`\mathbf{l}_{m+1}` and :math:`\mathbf{s}_0` are zeros (the paper draws the first at
    random), and the logits see :math:`\mathbf{s}_t` alone, not the word before, which the GRU has read.
    Utterances without rows are passed over.

    Args:
        embedding: The encoder's embedding, whose word vectors go in and score the words.
        hidden_channels: Size of the states, the encoder's too.
        dropout: Dropout probability of what goes in and out. (default: :obj:`0.1`)
        tie: Score words with their vectors, see :class:`WordOutput`. (default: :obj:`True`)

    Shapes:
        - memory: words with :math:`C` channels and their :obj:`group`; see :class:`ResponseDecoder`

    Raises:
        ValueError: If the memory has no :obj:`group`.

    Example:
        >>> import torch
        >>> from graphdep.nn.models import HRANDecoder, Memory, NodeEmbedding
        >>> memory = Memory(torch.randn(3, 8), ptr=torch.tensor([0, 2, 3]), group=torch.tensor([0, 1, 0]))
        >>> decoder = HRANDecoder(NodeEmbedding(50, 8), 8)
        >>> target_ids, target_ptr = torch.tensor([7, 9, 4, 6, 4]), torch.tensor([0, 3, 5])
        >>> decoder(memory, target_ids, target_ptr).shape
        torch.Size([5, 50])
    """

    def __init__(
        self, embedding: NodeEmbedding, hidden_channels: int, *, dropout: float = 0.1, tie: bool = True
    ) -> None:
        super().__init__()
        self.embedding, self.hidden_channels = embedding, hidden_channels
        channels = hidden_channels
        self.word_key = nn.Linear(channels, channels)
        self.word_query = nn.Linear(2 * channels, channels, bias=False)
        self.word_score = nn.Linear(channels, 1, bias=False)
        self.utterance_key = nn.Linear(channels, channels)
        self.utterance_query = nn.Linear(channels, channels, bias=False)
        self.utterance_score = nn.Linear(channels, 1, bias=False)
        self.utterance_gru = nn.GRUCell(channels, channels)
        self.gru = nn.GRUCell(2 * channels, channels)
        self.dropout = Dropout(dropout)
        self.output = WordOutput(embedding, hidden_channels, tie=tie)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws its own parameters anew; the word vectors are the encoder's."""
        for name, module in self.named_children():
            if name not in ("embedding", "dropout"):
                module.reset_parameters()  # type: ignore[operator]

    def forward(self, memory: Memory, target_ids: Tensor, target_ptr: Tensor) -> Tensor:
        sizes = target_ptr.diff()
        words = self.embedding.words(previous_ids(target_ids, target_ptr))
        # The longest responses first: those still going on at a step are then the first ones.
        order = sizes.argsort(descending=True, stable=True)
        start, sizes = target_ptr[:-1][order], sizes[order]
        state = self.start(memory)
        state = self.select(state, order, torch.zeros_like(order)[:, None])
        rows, states = [start.new_empty(0)], [words.new_empty(0, self.hidden_channels)]
        for place, active in enumerate(
            (sizes > torch.arange(int(sizes[0]), device=sizes.device)[:, None]).sum(dim=1).tolist()
        ):
            state = state.first(active)
            rows.append(start[:active] + place)
            state = self._advance(state, words[rows[-1]][:, None])
            states.append(state.hidden[:, 0])
        hidden = torch.cat(states).index_select(0, torch.cat(rows).argsort())
        return self.output(self.dropout(hidden), self.embedding)

    def start(self, memory: Memory) -> _State:
        value, real = _words_of_utterances(memory)
        hidden = memory.x.new_zeros(value.size(0), 1, self.hidden_channels)
        return _State(self.word_key(value), value, real, hidden)

    def step(self, state: _State, tokens: Tensor) -> tuple[Tensor, _State]:
        state = self._advance(state, self.embedding.words(tokens))
        return self.output(self.dropout(state.hidden), self.embedding), state

    def select(self, state: _State, example: Tensor, beam: Tensor) -> _State:
        hidden = take_beams(state.hidden, example, beam)
        return _State(state.key[example], state.value[example], state.real[example], hidden)

    def _advance(self, state: _State, words: Tensor) -> _State:
        """The state after one more word ``[E, W, C]`` of every hypothesis."""
        context = self._utterances(self._words(state), state)
        x = self.dropout(torch.cat([words, context], dim=-1)).flatten(0, 1)
        hidden = self.gru(x, state.hidden.flatten(0, 1)).view_as(state.hidden)
        return _State(state.key, state.value, state.real, hidden)

    def _words(self, state: _State) -> list[Tensor]:
        """States of the utterances, first to last, each ``[E, W, C]``."""
        level = torch.zeros_like(state.hidden)
        levels = []
        for utterance in reversed(range(state.real.size(1))):
            real = state.real[:, None, utterance]  # [E, 1, L]
            query = self.word_query(torch.cat([state.hidden, level], dim=-1)).unsqueeze(2)
            score = self.word_score((query + state.key[:, None, utterance]).tanh()).squeeze(-1)
            weight = _softmax(score, real)
            summary = weight @ state.value[:, utterance]
            level_after = self.utterance_gru(summary.flatten(0, 1), level.flatten(0, 1)).view_as(level)
            level = level_after.where(real.any(dim=-1, keepdim=True), level)
            levels.append(level)
        return levels[::-1]

    def _utterances(self, levels: list[Tensor], state: _State) -> Tensor:
        """What the decoder reads of the utterances ``[E, W, C]``."""
        if not levels:
            return torch.zeros_like(state.hidden)
        level = torch.stack(levels, dim=2)  # [E, W, U, C]
        query = self.utterance_query(state.hidden).unsqueeze(2)
        score = self.utterance_score((query + self.utterance_key(level)).tanh()).squeeze(-1)
        weight = _softmax(score, state.real.any(dim=-1)[:, None])
        return (weight.unsqueeze(2) @ level).squeeze(2)


@dataclass(frozen=True)
class _State:
    """Words of all utterances, as keys and as values ``[E, U, L, C]``, which are real ``[E, U, L]``, and the
    state of every hypothesis ``[E, W, C]``.
    """

    key: Tensor
    value: Tensor
    real: Tensor
    hidden: Tensor

    def first(self, examples: int) -> _State:
        return _State(*(getattr(self, field.name)[:examples] for field in fields(self)))


def _words_of_utterances(memory: Memory) -> tuple[Tensor, Tensor]:
    """The memory's rows by example and utterance ``[E, U, L, C]``, and which are real ``[E, U, L]``."""
    if memory.group is None:
        raise ValueError("the memory has no 'group': HRANDecoder reads words by utterance")
    size, group = memory.num_examples, memory.group
    count = int(group.max()) + 1 if group.numel() else 0
    example = torch.arange(size, device=group.device).repeat_interleave(memory.ptr.diff())
    if count == 0:
        return memory.x.new_zeros(size, 0, 0, memory.x.size(1)), group.new_zeros(size, 0, 0).bool()
    x, real = to_dense_batch(memory.x, example * count + group, batch_size=size * count)
    return x.unflatten(0, (size, count)), real.unflatten(0, (size, count))


def _softmax(score: Tensor, real: Tensor) -> Tensor:
    """Softmax over what is real; zeros where nothing is."""
    score = score.masked_fill(~real, torch.finfo(score.dtype).min)
    return score.softmax(dim=-1) * real
