"""What all models share that match each utterance of a context with the response."""

from __future__ import annotations

from abc import abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from graphdep.nn.models._turn_pairs import TurnPairs, last_turns, turn_pairs
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.transforms.presets import count
from graphdep.vocab import UNK_ID


class MatchingModel(nn.Module):
    r"""Base of models of response selection that start from words and match utterance by utterance.

    Each utterance :math:`u_i` of the context meets the response :math:`r` before anything is made of the
    context as a whole:

    .. math::
        g(c, r) = \sigma\big(f(m(u_1, r), \dots, m(u_M, r))\big)

    The sigmoid is left to the loss, as in :class:`SelectionModel`: the papers' softmax over two classes is
    the sigmoid of the difference of their logits, which is what a model here gives.

    Texts are the words alone: [CLS], [EOU] and [SEP] are not read, an utterance without words is no turn, and
    an example may have any number of turns, none among them, of which the last :obj:`max_turns` are read. A
    response without words, such as a message of blanks, is a single word whose vector is zeros.
    Words behind the end of a text and turns behind the end of a context are zeros and change nothing. A
    subclass defines :meth:`match`.

    Where there are no :obj:`vectors` the vector of [UNK] starts as zeros, as the codes have it of all words
    without a vector: two words that the vocabulary does not have are not the same word, and with a vector
    drawn at random, which no training ever changes where all its words are known, they would match like it.

    Under autocast logits are not rounded: the last layer, which has one output, is in its own precision, so
    that candidates do not tie which the model tells apart.

    Args:
        num_words: Size of the vocabulary.
        channels: Size of the word vectors that :meth:`match` reads.
        max_words: Words of an utterance, the last ones, that are read. (default: :obj:`50`)
        max_turns: Utterances of a context, the last ones, that are read. (default: :obj:`10`)
        dropout: Dropout probability of the word vectors. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training; projected where ``dim`` is
            not :obj:`channels`. (default: :obj:`None`)

    Shapes:
        - data: a batch of :math:`B` examples of :func:`~graphdep.data.encoded`, or one; output:
          logits :math:`(B)`

    Raises:
        ValueError: If :obj:`max_words` or :obj:`max_turns` is no whole number or below 1, or an example has
            no response, or several.

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
        self.max_words, self.max_turns = count("max_words", max_words, 1), count("max_turns", max_turns, 1)
        count("hidden_channels", channels, 1)
        self.encoder = NodeEmbedding(
            num_words, channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )
        if vectors is None:
            self._reset_unknown()

    def reset_parameters(self) -> None:
        """Draws everything anew, pretrained vectors among it."""
        for module in self.children():
            reset(module)
        self._reset_unknown()

    def _reset_unknown(self) -> None:
        nn.init.zeros_(self.encoder.word.weight[UNK_ID])

    @abstractmethod
    def match(self, pairs: TurnPairs) -> Tensor:
        """Logits of the examples, ``[examples]``, or ``[examples, parts]`` of a model whose :meth:`learnt`
        and :meth:`combined` say what becomes of them.
        """

    def learnt(self, logits: Tensor) -> Tensor:
        """The logits that each learn the label, of what :meth:`match` gives."""
        return logits

    def combined(self, logits: Tensor) -> Tensor:
        """The logit that examples are ranked by, of what :meth:`learnt` gives."""
        return logits

    def trained(self, data: Data) -> Tensor:
        """The logits that each learn the label: ``[examples]``, or ``[examples, parts]``."""
        pairs = turn_pairs(data, self.encoder(data), self.max_words)
        return self.learnt(self.match(last_turns(pairs, self.max_turns)))

    def loss(self, data: Data, y: Tensor) -> Tensor:
        """Binary cross entropy, summed over all logits that learn the label, the mean over examples."""
        logits = self.trained(data).float().view(y.numel(), -1)
        target = y.float().unsqueeze(-1).expand_as(logits)
        each = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return each.sum(dim=-1).mean()

    def forward(self, data: Data) -> Tensor:
        logits = self.trained(data)
        # In 16 bits what is combined of several logits would be the difference of two large numbers.
        return self.combined(logits.to(torch.promote_types(logits.dtype, torch.float)))

    def extra_repr(self) -> str:
        return f"max_words={self.max_words}, max_turns={self.max_turns}"


def logit_of(lin: nn.Linear, x: Tensor) -> Tensor:
    """What a layer with one output gives for each row, ``[...]``, in the layer's precision even under
    autocast.
    """
    with torch.autocast(x.device.type, enabled=False):
        return lin(x.to(lin.weight.dtype)).squeeze(-1)
