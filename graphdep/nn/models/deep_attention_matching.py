"""Deep Attention Matching network of 2018."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphdep.nn.models._attentive_module import AttentiveModule
from graphdep.nn.models._match_images import padded_images
from graphdep.nn.models._turn_pairs import TurnPairs
from graphdep.nn.models.matching_model import MatchingModel, logit_of
from graphdep.transforms.presets import count

FORMS = ("paper", "code")
_FILTERS = (32, 16)
_WINDOW = 3


class DeepAttentionMatching(MatchingModel):
    r"""Matches an utterance and the response by attention within and across them, layer by layer, from
    `"Multi-Turn Response Selection for Chatbots with Deep Attention Matching Network"
    <https://aclanthology.org/P18-1103/>`_. It is no relation of DAM, whose relations are nodes.

    An attentive module lets the words of one text look at those of another, without matrices for queries,
    keys and values:

    .. math::
        \mathbf{X} &= \mathrm{LN}\big(\mathbf{Q} + \operatorname{softmax}(\mathbf{Q} \mathbf{K}^{\top} /
        \sqrt{C}) \mathbf{K}\big), \\
        \mathrm{AM}(\mathbf{Q}, \mathbf{K}) &= \mathrm{LN}\big(\mathbf{X} + \max(0, \mathbf{X} \mathbf{W}_1 +
        \mathbf{b}_1) \mathbf{W}_2 + \mathbf{b}_2\big)

    From the word vectors :math:`\mathbf{U}^0, \mathbf{R}^0` of an utterance and of the response on, each
    looks at itself, with one module a layer for both, and at the other, with one for either direction:

    .. math::
        \mathbf{U}^{l+1} &= \mathrm{AM}_l(\mathbf{U}^l, \mathbf{U}^l), \qquad
        \mathbf{R}^{l+1} = \mathrm{AM}_l(\mathbf{R}^l, \mathbf{R}^l), \\
        \tilde{\mathbf{U}}^l &= \mathrm{AM}^u_l(\mathbf{U}^l, \mathbf{R}^l), \qquad
        \tilde{\mathbf{R}}^l = \mathrm{AM}^r_l(\mathbf{R}^l, \mathbf{U}^l)

    The products :math:`\mathbf{U}^l {\mathbf{R}^l}^{\top}` and :math:`\tilde{\mathbf{U}}^l
    {\tilde{\mathbf{R}}^l}{}^{\top}` of all :math:`l = 0 \dots L` are the channels of an image of turns,
    words of the utterance and words of the response. Two times a convolution in three dimensions with ELU and
    max pooling, in windows of three, make the features :math:`\mathbf{f}` of it, and :math:`g(c, r) =
    \sigma(\mathbf{W} \mathbf{f} + b)`.

    The formulas were learned from the authors' `code <https://github.com/baidu/Dialogue>`_ and its documents;
    the paper's text was not at hand. With ``form="code"`` all products are divided by :math:`\sqrt{C}`, which
    the code does "to prevent gradient explosion" and, as far as we know, the paper's formulas do not.
    Published sizes are the defaults: 200 channels, five layers, 32 and 16 filters, 9 turns, 50 words,
    word2vec vectors that are tuned (here drawn at random, unless there are :obj:`vectors`), Adam with a rate
    of 1e-3 that falls by a tenth every 400 updates, batches of 256; for Douban 16 and 16 filters, which are
    not here. What is not as in the code: similarities of padding are zeros, where there they are those of its
    vector; a linear layer's bias is a vector, not a number; linear layers and filters start as PyTorch's do,
    there orthogonal and between -.01 and .01; LayerNorm adds PyTorch's 1e-5 to a variance, not 1e-6;
    gradients are not cut to values between -1 and 1, nor is a loss at 10; pooling pads as said of
    :class:`IOI`; batch and rate are the preset's (32, 1e-3), the rate constant unless ``warmup_steps`` is
    set.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the word vectors and of all states. (default: :obj:`200`)
        num_layers: Times that a text looks at itself, :math:`L`; 0 for products of word vectors and of one
            look at the other. (default: :obj:`5`)
        max_words: Words of an utterance that are read, the last ones; a side of the image. (default:
            :obj:`50`)
        max_turns: Utterances of the context that are read, the last ones; the depth of the image. (default:
            :obj:`9`)
        form: ``"paper"``, or ``"code"`` for scaled products. (default: ``"paper"``)
        dropout: Dropout probability of the word vectors; the paper has none. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training; projected where ``dim`` is
            not :obj:`hidden_channels`. (default: :obj:`None`)

    Shapes:
        - data: a batch of :math:`B` examples of :func:`~graphdep.data.encoded`, or one; output:
          logits :math:`(B)`

    Raises:
        ValueError: If :obj:`max_words` or :obj:`max_turns` is below 1, :obj:`num_layers` below 0,
            :obj:`form` is unknown, or an example has no response.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DeepAttentionMatching
        >>> texts = [["Who", "sings", "?"], ["She", "does", "."]]
        >>> trees = [Sentence(words, [2, 0, 2], ["dep", "root", "punct"]) for words in texts]
        >>> vocab = Vocab(["Who", "sings", "?", "She"])
        >>> data = to_data(trees, vocab=vocab, segment=[0, 1])  # one utterance, and the response
        >>> model = DeepAttentionMatching(len(vocab), hidden_channels=8, num_layers=1, max_words=8)
        >>> model(data).shape
        torch.Size([1])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 200,
        num_layers: int = 5,
        max_words: int = 50,
        max_turns: int = 9,
        form: str = "paper",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        options: Any = {"max_words": max_words, "max_turns": max_turns, "dropout": dropout}
        super().__init__(num_words, hidden_channels, vectors=vectors, **options)
        if form not in FORMS:
            raise ValueError(f"'form' must be one of {', '.join(FORMS)} (got {form!r})")
        count("num_layers", num_layers)
        self.form = form
        self.scale = hidden_channels**-0.5 if form == "code" else 1.0
        self.own = nn.ModuleList(AttentiveModule(hidden_channels) for _ in range(num_layers))
        self.turn_at_response, self.response_at_turn = (
            nn.ModuleList(AttentiveModule(hidden_channels) for _ in range(num_layers + 1)) for _ in range(2)
        )
        first, second = _FILTERS
        self.conv1 = nn.Conv3d(2 * (num_layers + 1), first, _WINDOW, padding=1)
        self.conv2 = nn.Conv3d(first, second, _WINDOW, padding=1)
        cells = [_pooled(_pooled(size)) for size in (max_turns, max_words, max_words)]
        self.lin = nn.Linear(second * cells[0] * cells[1] * cells[2], 1)

    def match(self, pairs: TurnPairs) -> Tensor:
        images = padded_images(torch.stack(self._products(pairs), dim=1) * self.scale, self.max_words)
        cube = pairs.dense(images, self.max_turns).transpose(1, 2)  # turns are the depth, products channels
        for conv in (self.conv1, self.conv2):
            cube = F.max_pool3d(F.elu(conv(cube)), _WINDOW, ceil_mode=True)
        return logit_of(self.lin, cube.flatten(1))

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, form={self.form!r}"

    def _products(self, pairs: TurnPairs) -> list[Tensor]:
        mask = pairs.mask
        turn_mask, response_mask = mask[pairs.turn], mask[pairs.response]
        x, products, crossed = pairs.x, [], []
        for layer in range(len(self.own) + 1):
            turn, response = x.index_select(0, pairs.turn), x.index_select(0, pairs.response)
            products.append(turn @ response.transpose(1, 2))
            left = self.turn_at_response[layer](turn, response, turn_mask, response_mask)
            right = self.response_at_turn[layer](response, turn, response_mask, turn_mask)
            crossed.append(left @ right.transpose(1, 2))
            if layer < len(self.own):
                x = self.own[layer](x, x, mask, mask)
        return [*products, *crossed]


def _pooled(size: int) -> int:
    return -(-size // _WINDOW)
