"""Sequential Matching Network."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from graphdep.nn.models._match_images import MatchImages
from graphdep.nn.models._turn_accumulator import TurnAccumulator
from graphdep.nn.models._turn_pairs import TurnPairs, gru_states, last_states
from graphdep.nn.models.matching_model import MatchingModel, logit_of
from graphdep.transforms.presets import count


class SMN(MatchingModel):
    r"""Matches words and states of words of each utterance with those of the response, from `"Sequential
    Matching Network: A New Architecture for Multi-turn Response Selection in Retrieval-based Chatbots"
    <https://arxiv.org/abs/1612.01627>`_.

    A GRU gives the words :math:`\mathbf{e}` of an utterance :math:`u` and of the response :math:`r` the
    states :math:`\mathbf{h}`. Two matrices are the channels of an image,

    .. math::
        \mathbf{M}_1[i, j] = \mathbf{e}_{u,i}^{\top} \mathbf{e}_{r,j}, \qquad
        \mathbf{M}_2[i, j] = \mathbf{h}_{u,i}^{\top} \mathbf{A} \mathbf{h}_{r,j}

    of which a convolution with ReLU, max pooling, both in windows of three times three, and a layer with tanh
    make a matching vector :math:`\mathbf{v}_k` of the :math:`k`-th utterance. A second GRU reads these in the
    order of the dialogue, with states :math:`\mathbf{h}'_k`, and the context's vector :math:`\mathbf{L}` is
    one of three:

    .. math::
        \text{last:}\quad & \mathbf{L} = \mathbf{h}'_M, \qquad
        \text{static:}\quad \mathbf{L} = \sum_k w_k \mathbf{h}'_k, \\
        \text{dynamic:}\quad & \mathbf{L} = \sum_k \alpha_k \mathbf{h}'_k, \quad
        \alpha_k = \operatorname{softmax}_k \big(\mathbf{t}^{\top} \tanh(\mathbf{W}_1 \mathbf{h}_{u_k,n} +
        \mathbf{W}_2 \mathbf{h}'_k + \mathbf{b})\big)

    where :math:`\mathbf{h}_{u_k,n}` is the state of the utterance's last word; :math:`g(c, r) =
    \sigma(\mathbf{W} \mathbf{L} + b)`. Of the three the dynamic one has the figures that later papers quote.

    The formulas were learned from the authors' `code
    <https://github.com/MarkWuNLP/MultiTurnResponseSelection>`_ and its documents; the paper's text was not at
    hand. Published sizes are the defaults: 200 channels, 50 of matching vectors, 8 filters, 50 words, the
    last 10 turns, Adam with a rate of 1e-3. What is not as there: word vectors start from word2vec's of the
    training dialogues, here drawn at random unless there are :obj:`vectors`; batches are of 40 (TensorFlow)
    or 200 (Theano), the preset's of 32; the GRUs are PyTorch's, whose reset gate acts behind the matrix and
    not before it, and which have a bias on either side; words stand at the start of the image and zeros
    behind them, as in the code in TensorFlow (that in Theano has them in front); the GRU over utterances
    reads those that are there, as in Theano, where TensorFlow's reads absent ones of a short context, too;
    :math:`\mathbf{A}` starts orthogonal, all else as PyTorch's layers do. In Theano padding and unknown words
    share a vector that is trained and stands in the products; here padding is zeros in both images. In
    TensorFlow word vectors are not tuned, the second GRU has 200 channels and the accumulation is ``"last"``.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the word vectors, where there are no :obj:`vectors`, and of the first GRU.
            (default: :obj:`200`)
        match_channels: Size of the matching vectors, and of the second GRU. (default: :obj:`50`)
        max_words: Words of an utterance that are read, the last ones; the side of the image. (default:
            :obj:`50`)
        accumulation: ``"dynamic"``, ``"static"`` or ``"last"``. (default: ``"dynamic"``)
        max_turns: Utterances of the context that are read, the last ones; with ``"static"`` each place has a
            weight of its own, counted from the last. (default: :obj:`10`)
        dropout: Dropout probability of the word vectors; the paper has none. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training. (default: :obj:`None`)

    Shapes:
        - data: a batch of :math:`B` examples of :func:`~graphdep.data.encoded`, or one; output:
          logits :math:`(B)`

    Raises:
        ValueError: If :obj:`max_words` is below 5, another size below 1 or no whole number,
            :obj:`accumulation` is unknown, or an example has no response.

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
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        for name, size in (("hidden_channels", hidden_channels), ("match_channels", match_channels)):
            count(name, size, 1)
        in_channels = hidden_channels if vectors is None else vectors.size(-1)
        options: Any = {"max_words": max_words, "max_turns": max_turns, "dropout": dropout}
        super().__init__(num_words, in_channels, vectors=vectors, **options)
        self.gru = nn.GRU(in_channels, hidden_channels, batch_first=True)
        self.images = MatchImages(hidden_channels, match_channels, max_words)
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
        return f"{super().extra_repr()}, accumulation={self.turns.accumulation!r}"
