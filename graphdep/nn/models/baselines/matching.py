"""Matching networks for response selection: SMN and DUA."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset
from torch_geometric.utils import scatter, softmax

from graphdep.io.limits import check_choice, check_count, check_least
from graphdep.nn.models.embedding import word_embedding
from graphdep.nn.models.transformer import check_each, example_bounds, example_of, words_of
from graphdep.vocab.vocab import UNK_ID


class TurnPairs(NamedTuple):
    """Texts of a batch, and the pairs to match.

    Args:
        x: Word vectors of each text, padded with zeros: ``[texts, words, C]``.
        length: Number of words in each text, at least one: ``[texts]``.
        turn: The text of the utterance of each pair: ``[pairs]``.
        response: The text of its response: ``[pairs]``.
        example: The example of each pair: ``[pairs]``, ascending.
        place: Index of the pair's utterance in its example, from 0: ``[pairs]``.
        counts: Number of utterances in each example: ``[examples]``.
        response_of: The text of the response of each example: ``[examples]``.
    """

    x: Tensor
    length: Tensor
    turn: Tensor
    response: Tensor
    example: Tensor
    place: Tensor
    counts: Tensor
    response_of: Tensor

    @property
    def mask(self) -> Tensor:
        """Mask of words: ``[texts, words]``."""
        return torch.arange(self.x.size(1), device=self.x.device) < self.length.unsqueeze(-1)

    @property
    def num_turns(self) -> int:
        """Number of utterances in the longest example, at least 1."""
        return max(1, int(self.counts.max()))

    def images(self, x: Tensor, y: Tensor) -> Tensor:
        """Products of all words of the utterance and of the response: ``[pairs, words, words]``, zeros where
        :obj:`x` and :obj:`y` (in the shape of :attr:`x`) are zeros.
        """
        return x.index_select(0, self.turn) @ y.index_select(0, self.response).transpose(1, 2)

    def dense(self, values: Tensor, turns: int) -> Tensor:
        """Values of pairs as ``[examples, turns, ...]``, padded with zeros after the last utterance."""
        out = values.new_zeros(self.counts.numel(), turns, *values.shape[1:])
        return out.index_put((self.example, self.place), values)


@torch.compiler.disable  # reads values
def turn_pairs(data: Data, x: Tensor, max_words: int) -> TurnPairs:
    """The utterances of each context (without empty ones) and the response, each with its last ``max_words``
    words. A response without words is one word with a vector of zeros.
    """
    nodes, num_examples = words_of(data), example_bounds(data).numel() - 1
    example, utterance = example_of(data)[nodes], data.utterance[nodes]
    words, is_response = x.index_select(0, nodes), data.segment[nodes] == 1
    empty = _empty_responses(data, example[is_response], num_examples)
    turns = int(data.utterance.max()) + 1
    key = torch.cat([example * turns + utterance, empty * turns + turns - 1])
    # Words are in the order of their texts; only an added response moves, to the end of its example.
    key, order = key.sort(stable=True)
    words = torch.cat([words, words.new_zeros(empty.numel(), words.size(-1))])[order]
    is_response = torch.cat([is_response, torch.ones_like(empty, dtype=torch.bool)])[order]
    example = torch.cat([example, empty])[order]
    _, text, length = key.unique_consecutive(return_inverse=True, return_counts=True)
    first = length.cumsum(0) - length
    place = torch.arange(key.numel(), device=key.device) - first[text]
    place = place - (length - max_words).clamp(min=0)[text]
    length = length.clamp(max=max_words)
    kept = place >= 0
    padded = x.new_zeros(length.numel(), int(length.max()) if length.numel() else 0, x.size(-1))
    padded = padded.index_put((text[kept], place[kept]), words[kept])
    return _paired(padded, length, example[first], is_response[first], num_examples)


def _empty_responses(data: Data, examples: Tensor, num_examples: int) -> Tensor:
    """The examples whose response has nodes but no words, such as a message of blanks; ``examples`` are the
    examples of the words of responses.
    """
    there = torch.bincount(example_of(data)[data.segment == 1], minlength=num_examples)
    worded = torch.bincount(examples, minlength=num_examples)
    return ((there > 0) & (worded == 0)).nonzero().view(-1)


def _paired(x: Tensor, length: Tensor, example: Tensor, is_response: Tensor, num_examples: int) -> TurnPairs:
    response = is_response.nonzero().view(-1)
    check_each(torch.bincount(example[response], minlength=num_examples), 1, "an example has one response")
    turn = (~is_response).nonzero().view(-1)
    counts = torch.bincount(example[turn], minlength=num_examples)
    place = torch.arange(turn.numel(), device=turn.device) - (counts.cumsum(0) - counts)[example[turn]]
    return TurnPairs(x, length, turn, response[example[turn]], example[turn], place, counts, response)


def last_turns(pairs: TurnPairs, most: int) -> TurnPairs:
    """Keeps only the last ``most`` utterances of each example, and their texts."""
    place = pairs.place - (pairs.counts - most).clamp(min=0)[pairs.example]
    kept = place >= 0
    read = torch.zeros_like(pairs.length, dtype=torch.bool)
    read[torch.cat([pairs.turn[kept], pairs.response_of])] = True
    number = read.cumsum(0) - 1
    return TurnPairs(
        x=pairs.x[read],
        length=pairs.length[read],
        turn=number[pairs.turn[kept]],
        response=number[pairs.response[kept]],
        example=pairs.example[kept],
        place=place[kept],
        counts=pairs.counts.clamp(max=most),
        response_of=number[pairs.response_of],
    )


def gru_states(gru: nn.GRU, x: Tensor, length: Tensor) -> Tensor:
    """GRU states over the words of each text, padded with zeros: ``[texts, words, C]``."""
    packed = pack_padded_sequence(x, length.cpu(), batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(gru(packed)[0], batch_first=True, total_length=x.size(1))[0]


def last_states(states: Tensor, length: Tensor) -> Tensor:
    """The states of the last word of each text: ``[texts, C]``."""
    return states[torch.arange(length.numel(), device=length.device), length - 1]


_WINDOW = 3  # size of the windows of convolution and pooling
_FILTERS = 8
FORMS = ("paper", "code")
LEAST_WORDS = 2 * _WINDOW - 1  # with fewer words the pooling output is empty


class MatchImages(nn.Module):
    """The matching vectors of SMN: products of word vectors and a bilinear form of states are the two
    channels of an image, followed by a convolution with ReLU, max pooling and a linear layer.

    Args:
        state_channels: Size of the states.
        match_channels: Size of the vectors.
        max_words: Rows and columns of an image, padded with zeros.
        tanh: Whether the layer has a tanh.
    """

    def __init__(self, state_channels: int, match_channels: int, max_words: int, tanh: bool) -> None:
        super().__init__()
        check_least("max_words", max_words, LEAST_WORDS)
        self.max_words, self.tanh = max_words, tanh
        self.form = nn.Parameter(torch.empty(state_channels, state_channels))
        self.conv = nn.Conv2d(2, _FILTERS, _WINDOW)
        side = (max_words - _WINDOW + 1) // _WINDOW
        self.lin = nn.Linear(_FILTERS * side * side, match_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.orthogonal_(self.form)
        self.conv.reset_parameters()
        self.lin.reset_parameters()

    def forward(self, states: Tensor, pairs: TurnPairs) -> Tensor:
        """Matching vectors ``[pairs, match_channels]``; states are ``[texts, words, state_channels]``, zeros
        at padding.
        """
        images = torch.stack(
            [pairs.images(pairs.x, pairs.x), pairs.images(states @ self.form, states)], dim=1
        )
        images = padded_images(images, self.max_words)
        pooled = F.max_pool2d(torch.relu(self.conv(images)), _WINDOW)
        vectors = self.lin(pooled.flatten(1))
        return torch.tanh(vectors) if self.tanh else vectors


def padded_images(images: Tensor, max_words: int) -> Tensor:
    """Images padded with zeros to ``max_words`` rows and columns."""
    missing = max_words - images.size(-1)
    return F.pad(images, (0, missing, 0, missing))


ACCUMULATIONS = ("dynamic", "static", "last")


class TurnAccumulator(nn.Module):
    """SMN's GRU over matching vectors, with a readout of its states: the ``"last"``, a sum with a weight per
    place (``"static"``) or attention (``"dynamic"``).

    Args:
        word_channels: Size of the states of the utterances' last words, which the attention reads.
        channels: Size of the matching vectors, and of the GRU.
        accumulation: One of :data:`ACCUMULATIONS`.
        max_turns: Number of places with a weight for ``"static"``, counted from the last utterance; the
            largest number of utterances.
    """

    def __init__(self, word_channels: int, channels: int, accumulation: str, max_turns: int) -> None:
        super().__init__()
        check_choice("accumulation", accumulation, ACCUMULATIONS)
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
        """Context vectors ``[examples, channels]``, zeros without utterances, from the vectors of pairs and
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


class MatchingModel(nn.Module):
    r"""Base class of response selection models that start from words and match utterance by utterance.

    Each utterance :math:`u_i` of the context is matched with the response :math:`r` before the context is
    read as a whole:

    .. math::
        g(c, r) = \sigma\big(f(m(u_1, r), \dots, m(u_M, r))\big)

    The loss applies the sigmoid, as in :class:`SelectionModel`: the papers' softmax over two classes is the
    sigmoid of the difference of their logits, and the output here is that difference.

    Texts are words only, without [CLS], [EOU] and [SEP]; an utterance without words is no turn; an example
    may have any number of turns, even none, of which the last :obj:`max_turns` are read. A response without
    words, such as a message of blanks, is a single word with a vector of zeros. Padding after texts and
    contexts is zeros and has no effect. A subclass defines :meth:`match`.

    Without :obj:`vectors`, the vector of [UNK] starts at zeros, like all words without a vector in the
    papers' code: two unknown words are not the same word, but would match like it with a random vector, which
    is never trained if all training words are known.

    Under autocast logits are not rounded: the last layer, with a single output, keeps its own precision, so
    that rounding does not create ties between candidates.

    Args:
        num_words: Size of the vocabulary.
        channels: Size of the word vectors that :meth:`match` reads.
        max_words: Number of (last) words read from an utterance. (default: :obj:`50`)
        max_turns: Number of (last) utterances read from a context. (default: :obj:`10`)
        dropout: Dropout probability of the word vectors. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training; projected if ``dim`` differs
            from :obj:`channels`. (default: :obj:`None`)

    Shapes:
        - data: a batch of :math:`B` examples of :func:`~graphdep.data.encoded`, or one; output:
          logits :math:`(B)`

    Raises:
        ValueError: If :obj:`max_words` or :obj:`max_turns` is not a whole number >= 1, or an example does not
            have one response.

    Example:
        >>> from graphdep.nn.models import SMN, MatchingModel
        >>> isinstance(SMN(9, hidden_channels=8, max_words=8), MatchingModel)
        True
    """

    def __init__(
        self,
        num_words: int,
        channels: int,
        *,
        max_words: int = 50,
        max_turns: int = 10,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.max_words, self.max_turns = (
            check_count("max_words", max_words, 1),
            check_count("max_turns", max_turns, 1),
        )
        check_count("hidden_channels", channels, 1)
        self.encoder = word_embedding(num_words, channels, vectors, dropout)
        if vectors is None:
            self._reset_unknown()

    def reset_parameters(self) -> None:
        """Resets all parameters, including pretrained vectors."""
        for module in self.children():
            reset(module)
        self._reset_unknown()

    def _reset_unknown(self) -> None:
        nn.init.zeros_(self.encoder.word.weight[UNK_ID])

    @abstractmethod
    def match(self, pairs: TurnPairs) -> Tensor:
        """Logits of the examples, ``[examples]``, or ``[examples, parts]`` for a model with its own
        :meth:`learnt` and :meth:`combined`.
        """

    def learnt(self, logits: Tensor) -> Tensor:
        """The logits that learn the label, from the output of :meth:`match`."""
        return logits

    def combined(self, logits: Tensor) -> Tensor:
        """The logit that ranks examples, from the output of :meth:`learnt`."""
        return logits

    def trained(self, data: Data) -> Tensor:
        """The logits that learn the label: ``[examples]``, or ``[examples, parts]``."""
        pairs = turn_pairs(data, self.encoder(data), self.max_words)
        return self.learnt(self.match(last_turns(pairs, self.max_turns)))

    def loss(self, data: Data, y: Tensor) -> Tensor:
        """Binary cross entropy, summed over all logits that learn the label, mean over examples."""
        logits = self.trained(data).float().view(y.numel(), -1)
        target = y.float().unsqueeze(-1).expand_as(logits)
        each = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return each.sum(dim=-1).mean()

    def forward(self, data: Data) -> Tensor:
        logits = self.trained(data)
        # In 16 bits, combining several logits could subtract two large numbers.
        return self.combined(logits.to(torch.promote_types(logits.dtype, torch.float)))

    def extra_repr(self) -> str:
        return f"max_words={self.max_words}, max_turns={self.max_turns}"


def logit_of(lin: nn.Linear, x: Tensor) -> Tensor:
    """The output of a layer with a single output for each row, ``[...]``, in the layer's precision even under
    autocast.
    """
    with torch.autocast(x.device.type, enabled=False):
        return lin(x.to(lin.weight.dtype)).squeeze(-1)


class SMN(MatchingModel):
    r"""Matches words and word states of each utterance with those of the response, from `"Sequential Matching
    Network: A New Architecture for Multi-turn Response Selection in Retrieval-based Chatbots"
    <https://arxiv.org/abs/1612.01627>`_.

    A GRU computes states :math:`\mathbf{h}` of the words :math:`\mathbf{e}` of an utterance :math:`u` and of
    the response :math:`r`. Two matrices are the channels of an image,

    .. math::
        \mathbf{M}_1[i, j] = \mathbf{e}_{u,i}^{\top} \mathbf{e}_{r,j}, \qquad
        \mathbf{M}_2[i, j] = \mathbf{h}_{u,i}^{\top} \mathbf{A} \mathbf{h}_{r,j}

    from which a convolution with ReLU, max pooling (both 3 x 3) and a linear layer compute a matching vector
    :math:`\mathbf{v}_k` of the :math:`k`-th utterance; the authors' Theano code adds a tanh
    (``form="code"``). A second GRU reads these vectors in dialogue order, with states :math:`\mathbf{h}'_k`,
    and the context's vector :math:`\mathbf{L}` is one of three:

    .. math::
        \text{last:}\quad & \mathbf{L} = \mathbf{h}'_M, \qquad
        \text{static:}\quad \mathbf{L} = \sum_k w_k \mathbf{h}'_k, \\
        \text{dynamic:}\quad & \mathbf{L} = \sum_k \alpha_k \mathbf{h}'_k, \quad
        \alpha_k = \operatorname{softmax}_k \big(\mathbf{t}^{\top} \tanh(\mathbf{W}_1 \mathbf{h}_{u_k,n} +
        \mathbf{W}_2 \mathbf{h}'_k + \mathbf{b})\big)

    where :math:`\mathbf{h}_{u_k,n}` is the state of the utterance's last word; :math:`g(c, r) =
    \sigma(\mathbf{W} \mathbf{L} + b)`. Later papers quote the results of the dynamic form.

    The formulas follow the authors' `code <https://github.com/MarkWuNLP/MultiTurnResponseSelection>`_ and its
    documentation; the paper's text was not available. The defaults are the published sizes: 200 channels, 50
    of matching vectors, 8 filters, 50 words, the last 10 turns, Adam with a rate of 1e-3. Differences from
    the code: word vectors start at random unless there are :obj:`vectors` (code: word2vec of the training
    dialogues); batches are the preset's 32 (TensorFlow: 40, Theano: 200); the GRUs are PyTorch's, whose reset
    gate acts after the matrix, not before it, and which have two biases; padding follows the words of the
    image, as in the TensorFlow code (Theano: precedes them); the GRU over utterances skips absent ones, as in
    Theano (TensorFlow reads them); :math:`\mathbf{A}` starts orthogonal, all else with PyTorch's
    initialization. In Theano padding and unknown words share a trained vector that enters the products; here
    padding is zeros in both images. In TensorFlow word vectors are not tuned, the second GRU has 200 channels
    and the accumulation is ``"last"``.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the word vectors, if there are no :obj:`vectors`, and of the first GRU.
            (default: :obj:`200`)
        match_channels: Size of the matching vectors, and of the second GRU. (default: :obj:`50`)
        max_words: Number of (last) words read from an utterance; side length of the image. (default:
            :obj:`50`)
        accumulation: ``"dynamic"``, ``"static"`` or ``"last"``. (default: ``"dynamic"``)
        max_turns: Number of (last) utterances read from the context; with ``"static"`` each place, counted
            from the last, has a weight. (default: :obj:`10`)
        form: ``"paper"`` for linear matching vectors, ``"code"`` for a tanh. (default: ``"code"``)
        dropout: Dropout probability of the word vectors; the paper has none. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training. (default: :obj:`None`)

    Shapes:
        - data: a batch of :math:`B` examples of :func:`~graphdep.data.encoded`, or one; output:
          logits :math:`(B)`

    Raises:
        ValueError: If :obj:`max_words` is below 5, another size is not a whole number >= 1,
            :obj:`accumulation` or :obj:`form` is unknown, or an example has no response.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import SMN
        >>> texts = [["Who", "sings", "?"], ["She", "does", "."]]
        >>> trees = [Sentence(words, [2, 0, 2], ["dep", "root", "punct"]) for words in texts]
        >>> vocab = Vocab(["Who", "sings", "?", "She"])
        >>> data = to_data(trees, vocab=vocab, segment=[0, 1])  # one utterance, and the response
        >>> SMN(len(vocab), hidden_channels=8, match_channels=4, max_words=8)(data).shape
        torch.Size([1])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 200,
        match_channels: int = 50,
        max_words: int = 50,
        accumulation: str = "dynamic",
        max_turns: int = 10,
        form: str = "code",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        check_choice("form", form, FORMS)
        for name, size in (("hidden_channels", hidden_channels), ("match_channels", match_channels)):
            check_count(name, size, 1)
        in_channels = hidden_channels if vectors is None else vectors.size(-1)
        options: Any = {"max_words": max_words, "max_turns": max_turns, "dropout": dropout}
        super().__init__(num_words, in_channels, vectors=vectors, **options)
        self.gru = nn.GRU(in_channels, hidden_channels, batch_first=True)
        self.form = form
        self.images = MatchImages(hidden_channels, match_channels, max_words, form == "code")
        self.turns = TurnAccumulator(hidden_channels, match_channels, accumulation, max_turns)
        self.lin = nn.Linear(match_channels, 1)

    def states(self, pairs: TurnPairs) -> Tensor:
        r"""The states of the words of each text, :math:`\mathbf{h}`: ``[texts, words, hidden_channels]``."""
        return gru_states(self.gru, pairs.x, pairs.length)

    def match(self, pairs: TurnPairs) -> Tensor:
        states = self.states(pairs)
        vectors = self.images(states, pairs)
        last_words = last_states(states, pairs.length).index_select(0, pairs.turn)
        return logit_of(self.lin, self.turns(vectors, last_words, pairs))

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, accumulation={self.turns.accumulation!r}, form={self.form!r}"


class DUA(SMN):
    r"""Adds the words of the last utterance to each utterance and the response before matching, from
    `"Modeling Multi-turn Conversation with Deep Utterance Aggregation" <https://arxiv.org/abs/1806.09102>`_.

    A GRU computes states :math:`\mathbf{h}` of the words :math:`\mathbf{e}` of each text; those of the last
    utterance, which the response answers, are concatenated with those of every text :math:`k` (including the
    last utterance and the response), word by word from the end of both:

    .. math::
        \mathbf{f}_{k, n_k - i} = [\mathbf{h}_{k, n_k - i}; \mathbf{h}_{M, n_M - i}]

    with zeros if the last utterance has fewer words. The words of a text attend to one another, and a second
    GRU reads both:

    .. math::
        a_{ij} = \mathbf{v}^{\top} \tanh(\mathbf{W} \mathbf{f}_j + \hat{\mathbf{W}} \mathbf{f}_i), \qquad
        \mathbf{c}_i = \sum_j \operatorname{softmax}_j(a_{ij}) \, \mathbf{f}_j, \qquad
        \mathbf{p}_i = \mathrm{GRU}([\mathbf{f}_i; \mathbf{c}_i])

    The rest is :class:`SMN` with ``accumulation="dynamic"`` and :math:`\mathbf{p}` as states: images of the
    products of word vectors and of :math:`\mathbf{p}_u^{\top} \mathbf{A} \mathbf{p}_r`, matching vectors with
    tanh, a GRU over them and attention with the :math:`\mathbf{p}` of each utterance's last word.

    The formulas follow the authors' `code <https://github.com/cooelf/DeepUtteranceAggregation>`_ and its
    documentation; the paper's text was not available, so we could not verify whether the paper also aligns
    the last utterance at its end and concatenates it with itself. The code sums the weights
    :math:`\exp(a_{ij})` without the division by their sum, which it computes but does not use:
    ``form="code"``. The defaults are the published sizes: 200 channels, 50 of matching vectors, 8 filters, 50
    words, the last 10 turns, Adam. Differences from the code: its batches are of 170 and its rate is .005,
    the preset's are 32 and 1e-3; others as in :class:`SMN`, whose Theano code it extends. All pairs of words
    of a text are in memory at once, with several vectors of :math:`2C` numbers each: 4 MB per vector for a
    text of 50 words.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the word vectors, if there are no :obj:`vectors`, and of both GRUs over
            words. (default: :obj:`200`)
        match_channels: Size of the matching vectors, and of the GRU over them. (default: :obj:`50`)
        max_words: Number of (last) words read from an utterance; side length of the image. (default:
            :obj:`50`)
        max_turns: Number of (last) utterances read from the context. (default: :obj:`10`)
        form: ``"paper"``, or ``"code"`` for weights without normalization. (default: ``"paper"``)
        dropout: Dropout probability of the word vectors; the paper has none. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training. (default: :obj:`None`)

    Shapes:
        - data: a batch of :math:`B` examples of :func:`~graphdep.data.encoded`, or one; output:
          logits :math:`(B)`

    Raises:
        ValueError: If :obj:`max_words` is below 5, another size is not a whole number >= 1, :obj:`form` is
            unknown, or an example has no response.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DUA
        >>> texts = [["Who", "sings", "?"], ["She", "does", "."]]
        >>> trees = [Sentence(words, [2, 0, 2], ["dep", "root", "punct"]) for words in texts]
        >>> vocab = Vocab(["Who", "sings", "?", "She"])
        >>> data = to_data(trees, vocab=vocab, segment=[0, 1])  # one utterance, and the response
        >>> DUA(len(vocab), hidden_channels=8, match_channels=4, max_words=8)(data).shape
        torch.Size([1])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 200,
        match_channels: int = 50,
        max_words: int = 50,
        max_turns: int = 10,
        form: str = "paper",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        check_choice("form", form, FORMS)
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            match_channels=match_channels,
            max_words=max_words,
            max_turns=max_turns,
            dropout=dropout,
            vectors=vectors,
        )
        self.form = form
        size = 2 * hidden_channels
        self.lin_other, self.lin_own = (nn.Linear(size, size, bias=False) for _ in range(2))
        self.lin_weight = nn.Linear(size, 1, bias=False)
        self.gru_seen = nn.GRU(2 * size, hidden_channels, batch_first=True)

    def states(self, pairs: TurnPairs) -> Tensor:
        r"""The states :math:`\mathbf{p}` that replace those of SMN: ``[texts, words, hidden_channels]``."""
        states = super().states(pairs)
        f = torch.cat([states, _of_last_turn(states, pairs)], dim=-1)
        return gru_states(self.gru_seen, torch.cat([f, self._seen(f, pairs)], dim=-1), pairs.length)

    def _seen(self, f: Tensor, pairs: TurnPairs) -> Tensor:
        """The attention of each word over its text, in the shape of ``f``; zeros at padding."""
        mask = pairs.mask
        words = f[mask]
        first = pairs.length.cumsum(0) - pairs.length
        text = torch.arange(pairs.length.numel(), device=f.device).repeat_interleave(pairs.length)
        # Pairs of words within a text: padding would take the memory of the longest text for all.
        own = torch.arange(words.size(0), device=f.device).repeat_interleave(pairs.length[text])
        starts = pairs.length[text].cumsum(0) - pairs.length[text]
        other = torch.arange(own.numel(), device=f.device) - starts[own] + first[text[own]]
        left, right = self.lin_other(words), self.lin_own(words)
        score = self.lin_weight(torch.tanh(left.index_select(0, other) + right.index_select(0, own)))
        weight = score.exp() if self.form == "code" else softmax(score, own, num_nodes=words.size(0))
        seen = scatter(weight * words.index_select(0, other), own, dim_size=words.size(0), reduce="sum")
        return torch.zeros_like(f).masked_scatter(mask.unsqueeze(-1), seen.to(f.dtype))


def _of_last_turn(states: Tensor, pairs: TurnPairs) -> Tensor:
    """The state of the word in the last utterance of the example that is equally far from the end, for each
    word of each text; zeros without such a word.
    """
    texts = pairs.length.numel()
    is_last = pairs.place == pairs.counts[pairs.example] - 1
    # The last utterance by the text of the response, then by the text of any utterance.
    last_of = torch.full((texts,), -1, device=states.device)
    last_of[pairs.response[is_last]] = pairs.turn[is_last]
    last_of[pairs.turn] = last_of[pairs.response]
    last = last_of.clamp(min=0)
    place = torch.arange(states.size(1), device=states.device)
    place = place + (pairs.length[last] - pairs.length).unsqueeze(-1)
    there = (place >= 0) & (last_of >= 0).unsqueeze(-1) & pairs.mask
    found = states[last.unsqueeze(-1), place.clamp(0, states.size(1) - 1)]
    return found * there.unsqueeze(-1)
