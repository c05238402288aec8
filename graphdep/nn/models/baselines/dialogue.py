"""HRED, HRAN, ReCoSa and DialogBERT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter, to_dense_batch

from graphdep.io.limits import check_choice, check_count
from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.baselines.deep_matching import TurnTransformer, turn_layout
from graphdep.nn.models.baselines.recurrent import Packing, WordRNN, run_over
from graphdep.nn.models.dialogue import ResponseDecoder, WordOutput, previous_ids, take_beams
from graphdep.nn.models.embedding import NodeEmbedding, word_embedding
from graphdep.nn.models.transformer import (
    ContextEncoder,
    Memory,
    TextEncoder,
    example_bounds,
    root_nodes,
    utterance_bounds,
    with_positions_in_utterance,
)
from graphdep.nn.prepared import kept, no_states


class HREDEncoder(ContextEncoder):
    r"""The encoder of the hierarchical recurrent encoder-decoder (HRED), from `"Building End-To-End Dialogue
    Systems Using Generative Hierarchical Neural Network Models" <https://arxiv.org/abs/1507.04808>`_.

    .. math::
        \mathbf{u}_i = \mathrm{GRU}_{\mathrm{word}}(\mathbf{x}_{i,0}, \ldots, \mathbf{x}_{i,n_i}), \quad
        \mathbf{c} = \mathrm{GRU}_{\mathrm{context}}(\mathbf{u}_1, \ldots, \mathbf{u}_T)

    with the last state of each; ROOT comes before the words as a start symbol. A row of the memory is a whole
    context.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of word vectors and states. (default: :obj:`768`)
        num_layers: Layers of each network. (default: :obj:`1`)
        bidirectional: Read words in both directions, each with half of the channels. (default: :obj:`False`)
        dropout: Dropout probability of the embeddings and between layers. (default: :obj:`0.1`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output: a :class:`Memory` with one row per example

    Raises:
        ValueError: If :obj:`hidden_channels` is below 1 or odd for two directions, or the data has no ROOT
            nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import HREDEncoder
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> HREDEncoder(num_words=11, hidden_channels=8)(data)
        Memory(x=[1, 8], ptr=[2], group=None)
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 768,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.1,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = hidden_channels
        self.embedding = word_embedding(num_words, hidden_channels, vectors, dropout)
        self.words = WordRNN(
            hidden_channels, cell="gru", bidirectional=bidirectional, num_layers=num_layers, dropout=dropout
        )
        self.context = nn.GRU(
            hidden_channels, hidden_channels, num_layers, dropout=dropout if num_layers > 1 else 0.0
        )

    def forward(self, data: Data) -> Memory:
        _, _, utterances = self.words(data, self.embedding(data))
        _, last = run_over(self.context, utterances, _turns_of_contexts(data))
        return Memory(last[-1], self.bounds(data))

    def bounds(self, data: Data) -> Tensor:
        return torch.arange(example_bounds(data).numel(), device=data.node_type.device)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        _turns_of_contexts(data)


@kept
def _turns_of_contexts(data: Data) -> Packing:
    """The utterances of each context."""
    return Packing(utterance_bounds(data).diff())


class HREDDecoder(ResponseDecoder):
    r"""Recurrent decoder, from `"Building End-To-End Dialogue Systems Using Generative Hierarchical Neural
    Network Models" <https://arxiv.org/abs/1507.04808>`_.

    .. math::
        \mathbf{s}_0 = \tanh(\mathbf{W}_0 \mathbf{c} + \mathbf{b}_0), \quad
        \mathbf{s}_t = \mathrm{GRU}([\mathbf{e}_{y_{t-1}} \Vert \mathbf{c}], \mathbf{s}_{t-1})

    :math:`\mathbf{c}` is the last row of the example's memory: the only row, or the context's state after its
    last utterance; zeros without rows. The paper's logits also have a term of the previous word, which is
    left out, since the GRU has read that word.

    Args:
        embedding: The encoder's embedding, whose word vectors are the input and score the output.
        hidden_channels: Size of the states, equal to the encoder's.
        dropout: Dropout probability of inputs and outputs. (default: :obj:`0.1`)
        tie: Score words with their vectors, see :class:`WordOutput`. (default: :obj:`True`)

    Shapes:
        - memory: one or more rows per example with :math:`C` channels; see :class:`ResponseDecoder`

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
        """Resets its own parameters; the word vectors belong to the encoder."""
        for module in (self.lin_start, self.gru, self.output):
            module.reset_parameters()

    def layout(
        self, target_ids: Tensor, target_ptr: Tensor, memory_ptr: Tensor, device: torch.device | None = None
    ) -> tuple[Any, ...]:
        """The token before each target token, its example, the examples with targets, and their packing."""
        sizes = target_ptr.diff()
        example = torch.arange(sizes.numel(), device=sizes.device)
        example = example.repeat_interleave(sizes, output_size=target_ids.numel())
        some = (sizes > 0).nonzero().view(-1)
        packing = (Packing(sizes[some]),) if some.numel() else ()
        return previous_ids(target_ids, target_ptr), example, some, *packing

    def forward(
        self, memory: Memory, target_ids: Tensor, target_ptr: Tensor, layout: tuple[Any, ...] = ()
    ) -> Tensor:
        before, example, some, *packing = layout or self.layout(target_ids, target_ptr, memory.ptr)
        context = _last_rows(memory)
        words = self.embedding.words(before)
        if not packing:
            return self.output(words, self.embedding)
        x = self.dropout(torch.cat([words, context.index_select(0, example)], dim=-1))
        first = self._first_state(context[some])[None]
        states, _ = run_over(self.gru, x, packing[0], first)
        return self.output(self.dropout(states), self.embedding)

    def start(self, memory: Memory) -> _HREDState:
        context = _last_rows(memory)
        return _HREDState(context, self._first_state(context)[:, None])

    def step(self, state: _HREDState, tokens: Tensor) -> tuple[Tensor, _HREDState]:
        context = state.context[:, None].expand(-1, tokens.size(1), -1)
        x = self.dropout(torch.cat([self.embedding.words(tokens), context], dim=-1))
        _, hidden = self.gru(x.flatten(0, 1)[:, None], state.hidden.flatten(0, 1)[None].contiguous())
        hidden = hidden.view_as(state.hidden)
        return self.output(self.dropout(hidden), self.embedding), _HREDState(state.context, hidden)

    def select(self, state: _HREDState, example: Tensor, beam: Tensor) -> _HREDState:
        return _HREDState(state.context[example], take_beams(state.hidden, example, beam))

    def _first_state(self, context: Tensor) -> Tensor:
        return self.lin_start(context).tanh()


@dataclass(frozen=True)
class _HREDState:
    """Context ``[E, C]`` and state of each hypothesis ``[E, W, C]``."""

    context: Tensor
    hidden: Tensor


def _last_rows(memory: Memory) -> Tensor:
    """The last row of each example ``[B, C]``; zeros without rows."""
    rows = torch.cat([memory.x.new_zeros(1, memory.x.size(1)), memory.x])
    return rows[memory.ptr[1:].where(memory.ptr.diff() > 0, 0)]


class HRANEncoder(ContextEncoder):
    r"""The word encoder of the hierarchical recurrent attention network (HRAN), from `"Hierarchical Recurrent
    Attention Network for Response Generation" <https://arxiv.org/abs/1701.07149>`_.

    .. math::
        \mathbf{h}_{i,j} = [\overrightarrow{\mathrm{GRU}}(\mathbf{x}_{i,0}, \ldots, \mathbf{x}_{i,j});
        \overleftarrow{\mathrm{GRU}}(\mathbf{x}_{i,n_i}, \ldots, \mathbf{x}_{i,j})]

    The rest of the network (attention to words, a network over utterances and attention to utterances)
    depends on the state of the decoder, so it is part of the decoder. A row of the memory is a word, or the
    ROOT node before the words, which is a start symbol; its group is its utterance.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of word vectors and of states, both directions together. (default: :obj:`768`)
        num_layers: Number of layers. (default: :obj:`1`)
        dropout: Dropout probability of the embeddings and between layers. (default: :obj:`0.1`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output: a :class:`Memory` with one row per word or ROOT

    Raises:
        ValueError: If :obj:`hidden_channels` is below 1 or odd, or the data has no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import HRANEncoder
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> HRANEncoder(num_words=11, hidden_channels=8)(data)
        Memory(x=[8, 8], ptr=[2], group=[8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 768,
        num_layers: int = 1,
        dropout: float = 0.1,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = hidden_channels
        self.embedding = word_embedding(num_words, hidden_channels, vectors, dropout)
        self.words = WordRNN(
            hidden_channels, cell="gru", bidirectional=True, num_layers=num_layers, dropout=dropout
        )

    def forward(self, data: Data) -> Memory:
        nodes, states, _ = self.words(data, self.embedding(data))
        return Memory(states, torch.searchsorted(nodes, example_bounds(data)), data.utterance[nodes])


class HRANDecoder(ResponseDecoder):
    r"""Recurrent decoder with two levels of attention, from `"Hierarchical Recurrent Attention Network for
    Response Generation" <https://arxiv.org/abs/1701.07149>`_.

    At step :math:`t`, from the last utterance :math:`m` to the first, attention sums the words of each
    utterance for a GRU over utterances; then attention sums the utterances for the decoder:

    .. math::
        \mathbf{r}_{i} &= \sum_j \mathrm{softmax}_j \left(
        \mathbf{v}^{\top} \tanh(\mathbf{W}_s \mathbf{s}_{t-1} + \mathbf{W}_l \mathbf{l}_{i+1} + \mathbf{W}_h
        \mathbf{h}_{ij}) \right) \mathbf{h}_{ij}, \quad
        \mathbf{l}_{i} = \mathrm{GRU}_u(\mathbf{r}_{i}, \mathbf{l}_{i+1}) \\
        \mathbf{c}_t &= \sum_i \mathrm{softmax}_i \left(
        \mathbf{v}'^{\top} \tanh(\mathbf{W}'_s \mathbf{s}_{t-1} + \mathbf{W}'_l \mathbf{l}_{i}) \right)
        \mathbf{l}_{i}, \quad
        \mathbf{s}_t = \mathrm{GRU}([\mathbf{e}_{y_{t-1}} \Vert \mathbf{c}_t], \mathbf{s}_{t-1})

    Simplifications: :math:`\mathbf{l}_{m+1}` and :math:`\mathbf{s}_0` are zeros (the paper draws the first at
    random), and the logits depend only on :math:`\mathbf{s}_t`, not on the previous word, which the GRU has
    read. Utterances without rows are skipped.

    Args:
        embedding: The encoder's embedding, whose word vectors are the input and score the output.
        hidden_channels: Size of the states, equal to the encoder's.
        dropout: Dropout probability of inputs and outputs. (default: :obj:`0.1`)
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
        """Resets its own parameters; the word vectors belong to the encoder."""
        for name, module in self.named_children():
            if name not in ("embedding", "dropout"):
                module.reset_parameters()  # type: ignore[operator]

    def forward(self, memory: Memory, target_ids: Tensor, target_ptr: Tensor) -> Tensor:
        sizes = target_ptr.diff()
        words = self.embedding.words(previous_ids(target_ids, target_ptr))
        # Longest responses first, so that the unfinished ones at each step are a prefix.
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

    def start(self, memory: Memory) -> _HRANState:
        value, real = _words_of_utterances(memory)
        hidden = memory.x.new_zeros(value.size(0), 1, self.hidden_channels)
        return _HRANState(self.word_key(value), value, real, hidden)

    def step(self, state: _HRANState, tokens: Tensor) -> tuple[Tensor, _HRANState]:
        state = self._advance(state, self.embedding.words(tokens))
        return self.output(self.dropout(state.hidden), self.embedding), state

    def select(self, state: _HRANState, example: Tensor, beam: Tensor) -> _HRANState:
        hidden = take_beams(state.hidden, example, beam)
        return _HRANState(state.key[example], state.value[example], state.real[example], hidden)

    def _advance(self, state: _HRANState, words: Tensor) -> _HRANState:
        """The state after one more word ``[E, W, C]`` of each hypothesis."""
        context = self._utterances(self._words(state), state)
        x = self.dropout(torch.cat([words, context], dim=-1)).flatten(0, 1)
        hidden = self.gru(x, state.hidden.flatten(0, 1)).view_as(state.hidden)
        return _HRANState(state.key, state.value, state.real, hidden)

    def _words(self, state: _HRANState) -> list[Tensor]:
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

    def _utterances(self, levels: list[Tensor], state: _HRANState) -> Tensor:
        """The attention over utterances, as input of the decoder ``[E, W, C]``."""
        if not levels:
            return torch.zeros_like(state.hidden)
        level = torch.stack(levels, dim=2)  # [E, W, U, C]
        query = self.utterance_query(state.hidden).unsqueeze(2)
        score = self.utterance_score((query + self.utterance_key(level)).tanh()).squeeze(-1)
        weight = _softmax(score, state.real.any(dim=-1)[:, None])
        return (weight.unsqueeze(2) @ level).squeeze(2)


@dataclass(frozen=True)
class _HRANState:
    """Words of all utterances, as keys and as values ``[E, U, L, C]``, their mask ``[E, U, L]``, and the
    state of each hypothesis ``[E, W, C]``.
    """

    key: Tensor
    value: Tensor
    real: Tensor
    hidden: Tensor

    def first(self, examples: int) -> _HRANState:
        return _HRANState(*(getattr(self, field.name)[:examples] for field in fields(self)))


def _words_of_utterances(memory: Memory) -> tuple[Tensor, Tensor]:
    """The memory's rows by example and utterance ``[E, U, L, C]``, and their mask ``[E, U, L]``."""
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
    """Softmax over real entries; zeros if there are none."""
    score = score.masked_fill(~real, torch.finfo(score.dtype).min)
    return score.softmax(dim=-1) * real


class ReCoSa(ContextEncoder):
    r"""Finds the relevant utterances by self-attention, from `"ReCoSa: Detecting the Relevant Contexts with
    Self-Attention for Multi-turn Dialogue Generation" <https://aclanthology.org/P19-1362/>`_.

    .. math::
        \mathbf{u}_i = \mathrm{RNN}(\mathbf{x}_{i,0}, \ldots, \mathbf{x}_{i,n_i}), \quad
        (\mathbf{h}_1, \ldots, \mathbf{h}_T) = \mathrm{Transformer}(\mathbf{u}_1 + \mathbf{p}_1, \ldots,
        \mathbf{u}_T + \mathbf{p}_T)

    with the last state of a network over the words, after ROOT as a start symbol, and turn embeddings
    :math:`\mathbf{p}`. A row of the memory is an utterance.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of word vectors and states. (default: :obj:`768`)
        num_layers: Number of blocks over the utterances. (default: :obj:`3`)
        heads: Number of attention heads per block; divides :obj:`hidden_channels`. (default: :obj:`16`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`3072`)
        dropout: Dropout probability. (default: :obj:`0.1`)
        cell: ``"lstm"``, or ``"gru"``. (default: ``"lstm"``)
        word_layers: Number of layers of the network over the words. (default: :obj:`1`)
        turn_embedding: Encode the order of the utterances. (default: :obj:`True`)
        max_turns: Number of turn embeddings. (default: :obj:`64`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output: a :class:`Memory` with one row per utterance

    Raises:
        ValueError: If :obj:`cell` is unknown, :obj:`heads` does not divide :obj:`hidden_channels`, or the
            data has no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import ReCoSa
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> ReCoSa(num_words=11, hidden_channels=8, heads=2, ff_channels=8)(data)
        Memory(x=[2, 8], ptr=[2], group=None)
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 768,
        num_layers: int = 3,
        heads: int = 16,
        ff_channels: int = 3072,
        dropout: float = 0.1,
        cell: str = "lstm",
        word_layers: int = 1,
        turn_embedding: bool = True,
        max_turns: int = 64,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = hidden_channels
        self.embedding = word_embedding(num_words, hidden_channels, vectors, dropout)
        self.words = WordRNN(
            hidden_channels, cell=cell, bidirectional=False, num_layers=word_layers, dropout=dropout
        )
        self.context = TurnTransformer(
            hidden_channels,
            num_layers=num_layers,
            heads=heads,
            ff_channels=ff_channels,
            dropout=dropout,
            max_turns=max_turns if turn_embedding else 0,
        )

    def forward(self, data: Data) -> Memory:
        _, _, utterances = self.words(data, self.embedding(data))
        ptr = self.bounds(data)
        return Memory(self.context(utterances, ptr, _layout_of_turns(data)), ptr)

    def bounds(self, data: Data) -> Tensor:
        return utterance_bounds(data)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        _layout_of_turns(data)


@kept
def _layout_of_turns(data: Data) -> AttentionLayout:
    """The pairs of the utterances of the same example."""
    return turn_layout(utterance_bounds(data), root_nodes(data).numel())


OBJECTIVES = ("mur", "duor")


@dataclass(frozen=True, repr=False)
class _UtteranceMemory(Memory):
    """A memory with the utterance vectors that the context encoder read."""

    utterances: Tensor = field(kw_only=True)


class DialogBERT(ContextEncoder):
    r"""Encodes words, then the utterances of the context, from `"DialogBERT: Discourse-Aware Response
    Generation via Learning to Recover and Rank Utterances" <https://arxiv.org/abs/2012.01775>`_.

    The utterance encoder :math:`f` represents every utterance by the state of its ROOT node; the context
    encoder :math:`g`, Transformer blocks with turn embeddings, lets the utterances of an example attend to
    one another. A row of the memory is an utterance:

    .. math::
        \mathbf{u}_i = f(X_i), \quad (\mathbf{h}_1, \ldots, \mathbf{h}_T) = g(\mathbf{u}_1, \ldots,
        \mathbf{u}_T)

    Next utterance generation (NUG) is the response loss. In training :meth:`auxiliary` adds two losses:

    **Masked utterance regression** (MUR): in every context of at least :obj:`min_utterances` one utterance
    :math:`m` is drawn. Its vector is replaced by a learned one (80%), by that of another utterance of the
    batch (10%), or kept (10%); the state at its place must recover the vector:

    .. math::
        \mathcal{L}_{\mathrm{mur}} = \frac{1}{C} \| \mathbf{W} \tilde{\mathbf{h}}_m + \mathbf{b} -
        \mathbf{u}_m \|^2

    **Distributed utterance order ranking** (DUOR): utterances are shuffled, with turn embeddings of the new
    order, and the states :math:`\mathbf{h}` must predict the true order :math:`o_j \in \{0, \ldots, T - 1\}`:

    .. math::
        s_j = \frac{1}{T} \sum_{k=1}^{T} \mathbf{h}_j^{\top} \mathbf{W} \mathbf{h}_k, \quad
        \mathcal{L}_{\mathrm{duor}} = \mathrm{KL} \left( \mathrm{softmax}_j \left( 1 - \frac{o_j}{T - 1}
        \right) \,\Big\|\, \mathrm{softmax}_j (s_j) \right)

    Each loss is the mean over the contexts that it acts on, 0 if there are none; all losses are added.

    Faults of the authors' code are corrected: the target of MUR is the vector of the whole utterance (theirs
    reads only its first three pieces, the length of the masked stand-in); the response loss is over
    unshuffled contexts and so over all examples (theirs leaves out the shuffled 40%); and a batch without
    suitable contexts gives 0 instead of NaN. Our own choices: every context of at least two utterances is
    shuffled, in a separate pass; one utterance is masked in a context of any length (their rate grows with
    the length); a linear layer recovers the vector. They also add special utterances around the context and
    rank them; there are none here. Their ranking score is :math:`(\mathbf{W} \mathbf{h}_j)^{\top} \mathbf{W}
    \mathbf{h}_k`.

    Args:
        encoder: The utterance encoder, e.g. :class:`GraphTransformer` on the edges of
            ``resolve("transformer-utterance")``, or of ``resolve("dra")`` for DialogBERT+DRA; it has an
            ``embedding``, and its positions count from the ROOT node of an utterance.
        num_layers: Number of blocks of the context encoder. (default: :obj:`3`)
        heads: Number of its attention heads. (default: :obj:`16`)
        ff_channels: Size of its feed-forward layers. (default: :obj:`3072`)
        dropout: Its dropout probability. (default: :obj:`0.1`)
        turn_embedding: Encode the order of the utterances. Keep it with DRA, where only :obj:`encoder` lacks
            positions: turn order is known, word order is not. (default: :obj:`True`)
        max_turns: Number of turn embeddings. (default: :obj:`64`)
        objectives: The auxiliary losses, ``"mur"`` and ``"duor"``. (default: both)
        min_utterances: Least number of utterances in a context for masking one. (default: :obj:`3`)
        detach_target: Stop the gradient into the target vector. (default: :obj:`True`)

    Shapes:
        - data: the input of :obj:`encoder`, with ROOT nodes; output: a :class:`Memory` with one row per
          utterance

    Raises:
        ValueError: If :obj:`objectives` is one string or has an unknown name, a number is below 1 or not
            whole, or :obj:`heads` does not divide the size of the states.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DialogBERT, LSTMEncoder
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> DialogBERT(LSTMEncoder(num_words=11, hidden_channels=8), heads=2, ff_channels=8)(data).x.shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        encoder: TextEncoder,
        *,
        num_layers: int = 3,
        heads: int = 16,
        ff_channels: int = 3072,
        dropout: float = 0.1,
        turn_embedding: bool = True,
        max_turns: int = 64,
        objectives: Iterable[str] = OBJECTIVES,
        min_utterances: int = 3,
        detach_target: bool = True,
    ) -> None:
        super().__init__()
        self.objectives = tuple(objectives)
        for objective in self.objectives:
            check_choice("objectives", objective, OBJECTIVES)
        sizes = {"num_layers": num_layers, "ff_channels": ff_channels, "max_turns": max_turns}
        for name, number in sizes.items():
            check_count(name, number, 1)
        self.min_utterances, self.detach_target = (
            check_count("min_utterances", min_utterances, 1),
            detach_target,
        )
        self.encoder = encoder
        size = self.hidden_channels = encoder.hidden_channels
        self.context = TurnTransformer(
            size,
            num_layers=num_layers,
            heads=heads,
            ff_channels=ff_channels,
            dropout=dropout,
            max_turns=max_turns if turn_embedding else 0,
        )
        self.mask = nn.Parameter(torch.empty(size)) if "mur" in self.objectives else None
        self.lin_mur = nn.Linear(size, size) if "mur" in self.objectives else None
        self.lin_duor = nn.Linear(size, size, bias=False) if "duor" in self.objectives else None
        self._reset_mask()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._reset_mask()

    @property
    def embedding(self) -> NodeEmbedding:  # type: ignore[override]
        return cast(NodeEmbedding, self.encoder.embedding)

    def forward(self, data: Data) -> Memory:
        data = with_positions_in_utterance(data)
        utterances = self.encoder.readout(data, self.encoder(data))
        ptr, layout = self.bounds(data), _layout_of_turns(data)
        return _UtteranceMemory(self.context(utterances, ptr, layout), ptr, utterances=utterances)

    def bounds(self, data: Data) -> Tensor:
        return utterance_bounds(data)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        _layout_of_turns(data)
        self.encoder.readout(data, no_states(data))
        with_positions_in_utterance(data)
        _contexts_of(data, self.min_utterances)

    def auxiliary(self, data: Data, memory: Memory) -> dict[str, Tensor]:
        """``{"mur": ..., "duor": ...}`` in training, as in :obj:`objectives`; empty in evaluation."""
        if not self.training:
            return {}
        assert isinstance(memory, _UtteranceMemory)
        losses = {"mur": self._mur, "duor": self._duor}
        return {name: losses[name](data, memory.utterances, memory.ptr) for name in self.objectives}

    def _mur(self, data: Data, x: Tensor, ptr: Tensor) -> Tensor:
        assert self.mask is not None
        assert self.lin_mur is not None
        size = ptr.diff()
        chosen = ptr[:-1] + (torch.rand(size.numel(), device=x.device) * size).long()
        chosen = chosen.index_select(0, _contexts_of(data, self.min_utterances))
        other = (chosen + torch.randint(1, max(x.size(0), 2), chosen.shape, device=x.device)) % x.size(0)
        fate = torch.rand(chosen.numel(), 1, device=x.device)
        stand_in = torch.where(fate < 0.9, x[other], x[chosen])
        stand_in = torch.where(fate < 0.8, self.mask.to(x.dtype), stand_in)
        recovered = self.lin_mur(
            self.context(x.index_copy(0, chosen, stand_in), ptr, _layout_of_turns(data))[chosen]
        )
        target = x[chosen].detach() if self.detach_target else x[chosen]
        return (recovered - target).square().sum() / max(target.numel(), 1)

    def _duor(self, data: Data, x: Tensor, ptr: Tensor) -> Tensor:
        assert self.lin_duor is not None
        size = ptr.diff()
        example = torch.arange(size.numel(), device=x.device)
        example = example.repeat_interleave(size, output_size=x.size(0))
        # The integer part keeps examples apart, the fraction shuffles within each.
        order = (example + torch.rand(x.size(0), dtype=torch.float64, device=x.device)).argsort()
        h = self.context(x[order], ptr, _layout_of_turns(data))
        mean = scatter(h, example, dim_size=size.numel(), reduce="mean")
        score = _log_softmax((self.lin_duor(h) * mean[example]).sum(dim=-1), example, size.numel())
        turn = order - ptr[example]
        target = _log_softmax(1 - turn / (size - 1).clamp(min=1)[example], example, size.numel())
        divergence = (target.exp() * (target - score)).sum()
        return divergence / (size > 1).sum().clamp(min=1)

    def extra_repr(self) -> str:
        return (
            f"objectives={self.objectives}, min_utterances={self.min_utterances}, "
            f"detach_target={self.detach_target}"
        )

    def _reset_mask(self) -> None:
        if self.mask is not None:
            nn.init.normal_(self.mask, std=self.hidden_channels**-0.5)


@kept
def _contexts_of(data: Data, least: int) -> Tensor:
    """The examples with at least ``least`` utterances."""
    return (utterance_bounds(data).diff() >= least).nonzero().view(-1)


def _log_softmax(score: Tensor, example: Tensor, num_examples: int) -> Tensor:
    """Over the utterances of each example, at least in single precision."""
    score = score.to(torch.promote_types(score.dtype, torch.float32))
    score = score - scatter(score.detach(), example, dim_size=num_examples, reduce="max")[example]
    return score - scatter(score.exp(), example, dim_size=num_examples, reduce="sum").log()[example]
