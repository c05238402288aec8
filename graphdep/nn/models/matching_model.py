"""What all models share that match each utterance of a context with the response."""

from __future__ import annotations

from abc import abstractmethod

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from graphdep.nn.models._turn_pairs import TurnPairs, turn_pairs
from graphdep.nn.models.node_embedding import NodeEmbedding


class MatchingModel(nn.Module):
    r"""Base of models of response selection that start from words and match utterance by utterance.

    Each utterance :math:`u_i` of the context meets the response :math:`r` before anything is made of the
    context as a whole:

    .. math::
        g(c, r) = \sigma\big(f(m(u_1, r), \dots, m(u_M, r))\big)

    The sigmoid is left to the loss, as in :class:`SelectionModel`: the papers' softmax over two classes is
    the sigmoid of the difference of their logits, which is what a model here gives.

    Texts are the words alone: [CLS], [EOU] and [SEP] are not read, an utterance without words is no turn, and
    an example may have any number of turns, none among them. Words behind the end of a text and turns behind
    the end of a context are zeros and change nothing. A subclass defines :meth:`match`.

    Args:
        num_words: Size of the vocabulary.
        channels: Size of the word vectors that :meth:`match` reads.
        max_words: Words of an utterance, the last ones, that are read. (default: :obj:`50`)
        dropout: Dropout probability of the word vectors. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training; projected where ``dim`` is
            not :obj:`channels`. (default: :obj:`None`)

    Shapes:
        - data: a batch of :math:`B` examples of :func:`~graphdep.data.selection_data`, or one; output:
          logits :math:`(B)`

    Raises:
        ValueError: If :obj:`max_words` is below 1, or an example has no word of a response.

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
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if max_words < 1:
            raise ValueError(f"'max_words' must be at least 1 (got {max_words})")
        self.max_words = max_words
        self.encoder = NodeEmbedding(
            num_words, channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )

    def reset_parameters(self) -> None:
        for module in self.children():
            reset(module)

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
        return self.learnt(self.match(turn_pairs(data, self.encoder(data), self.max_words)))

    def loss(self, data: Data, y: Tensor) -> Tensor:
        """Binary cross entropy, summed over all logits that learn the label, the mean over examples."""
        logits = self.trained(data).float().view(y.numel(), -1)
        target = y.float().unsqueeze(-1).expand_as(logits)
        each = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return each.sum(dim=-1).mean()

    def forward(self, data: Data) -> Tensor:
        return self.combined(self.trained(data))
