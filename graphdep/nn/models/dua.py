"""Deep Utterance Aggregation."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter, softmax

from graphdep.nn.models._turn_pairs import TurnPairs, gru_states
from graphdep.nn.models.smn import SMN

FORMS = ("paper", "code")


class DUA(SMN):
    r"""Gives each utterance and the response the words of the last utterance before it matches them, from
    `"Modeling Multi-turn Conversation with Deep Utterance Aggregation" <https://arxiv.org/abs/1806.09102>`_.

    A GRU gives the words :math:`\mathbf{e}` of each text states :math:`\mathbf{h}`; those of the last
    utterance, which the response answers, are put beside those of every text :math:`k`, the last one and the
    response among them, word by word from the end of both:

    .. math::
        \mathbf{f}_{k, n_k - i} = [\mathbf{h}_{k, n_k - i}; \mathbf{h}_{M, n_M - i}]

    with zeros where the last utterance has fewer words. The words of a text look at one another, and a second
    GRU reads what they are and what they see:

    .. math::
        a_{ij} = \mathbf{v}^{\top} \tanh(\mathbf{W} \mathbf{f}_j + \hat{\mathbf{W}} \mathbf{f}_i), \qquad
        \mathbf{c}_i = \sum_j \operatorname{softmax}_j(a_{ij}) \, \mathbf{f}_j, \qquad
        \mathbf{p}_i = \mathrm{GRU}([\mathbf{f}_i; \mathbf{c}_i])

    From there on it is :class:`SMN` of ``accumulation="dynamic"``, with :math:`\mathbf{p}` for its states:
    images of the products of word vectors and of :math:`\mathbf{p}_u^{\top} \mathbf{A} \mathbf{p}_r`,
    matching vectors, a GRU over them and attention with the :math:`\mathbf{p}` of each utterance's last word.

    The formulas were learned from the authors' `code
    <https://github.com/cooelf/DeepUtteranceAggregation>`_ and its documents; the paper's text was not at
    hand, and so whether it, too, aligns the last utterance at the end and puts it beside itself we could not
    verify. In the code the weights :math:`\exp(a_{ij})` are summed up as they are, and their division by
    their sum goes unused: that is ``form="code"``. Published sizes are the defaults: 200 channels, 50 of
    matching vectors, 8 filters, 50 words, the last 10 turns, Adam. What is not as in the code: batches are of
    170 and the rate is .005, the preset's are 32 and 1e-3; for the rest as said of :class:`SMN`, whose code
    in Theano it goes on from. All pairs of words of a text are in memory at once, with several vectors of
    :math:`2C` numbers each: 4 MB a vector for a text of 50 words.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the word vectors, where there are no :obj:`vectors`, and of both GRUs over
            words. (default: :obj:`200`)
        match_channels: Size of the matching vectors, and of the GRU over them. (default: :obj:`50`)
        max_words: Words of an utterance that are read, the last ones; the side of the image. (default:
            :obj:`50`)
        max_turns: Utterances of the context that are read, the last ones. (default: :obj:`10`)
        form: ``"paper"``, or ``"code"`` for weights that are not divided by their sum. (default:
            ``"paper"``)
        dropout: Dropout probability of the word vectors; the paper has none. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training. (default: :obj:`None`)

    Shapes:
        - data: a batch of :math:`B` examples of :func:`~graphdep.data.encoded`, or one; output:
          logits :math:`(B)`

    Raises:
        ValueError: If :obj:`max_words` is below 5, another size below 1 or no whole number, :obj:`form` is
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
        if form not in FORMS:
            raise ValueError(f"'form' must be one of {', '.join(FORMS)} (got {form!r})")
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
        r"""The states that take those of SMN's place, :math:`\mathbf{p}`: ``[texts, words,
        hidden_channels]``.
        """
        states = super().states(pairs)
        f = torch.cat([states, _of_last_turn(states, pairs)], dim=-1)
        return gru_states(self.gru_seen, torch.cat([f, self._seen(f, pairs)], dim=-1), pairs.length)

    def _seen(self, f: Tensor, pairs: TurnPairs) -> Tensor:
        """What each word sees of its text, ``f``'s shape; zeros where there is no word."""
        mask = pairs.mask
        words = f[mask]
        first = pairs.length.cumsum(0) - pairs.length
        text = torch.arange(pairs.length.numel(), device=f.device).repeat_interleave(pairs.length)
        # Pairs of words of one text: padded ones would take the memory of the longest text for all.
        own = torch.arange(words.size(0), device=f.device).repeat_interleave(pairs.length[text])
        starts = pairs.length[text].cumsum(0) - pairs.length[text]
        other = torch.arange(own.numel(), device=f.device) - starts[own] + first[text[own]]
        left, right = self.lin_other(words), self.lin_own(words)
        score = self.lin_weight(torch.tanh(left.index_select(0, other) + right.index_select(0, own)))
        weight = score.exp() if self.form == "code" else softmax(score, own, num_nodes=words.size(0))
        seen = scatter(weight * words.index_select(0, other), own, dim_size=words.size(0), reduce="sum")
        return torch.zeros_like(f).masked_scatter(mask.unsqueeze(-1), seen.to(f.dtype))

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, form={self.form!r}"


def _of_last_turn(states: Tensor, pairs: TurnPairs) -> Tensor:
    """For each word of each text the state of the word of its example's last utterance that is as far from
    the end, zeros where there is none.
    """
    texts = pairs.length.numel()
    is_last = pairs.place == pairs.counts[pairs.example] - 1
    # The last utterance by the text of the response, and that by the text of any utterance.
    last_of = torch.full((texts,), -1, device=states.device)
    last_of[pairs.response[is_last]] = pairs.turn[is_last]
    last_of[pairs.turn] = last_of[pairs.response]
    last = last_of.clamp(min=0)
    place = torch.arange(states.size(1), device=states.device)
    place = place + (pairs.length[last] - pairs.length).unsqueeze(-1)
    there = (place >= 0) & (last_of >= 0).unsqueeze(-1) & pairs.mask
    found = states[last.unsqueeze(-1), place.clamp(0, states.size(1) - 1)]
    return found * there.unsqueeze(-1)
