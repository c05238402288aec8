"""Interaction-over-Interaction network."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from graphdep.nn.dropout import Dropout
from graphdep.nn.models._attentive_module import AttentiveModule
from graphdep.nn.models._match_images import padded_images
from graphdep.nn.models._turn_accumulator import TurnAccumulator
from graphdep.nn.models._turn_pairs import TurnPairs
from graphdep.nn.models.matching_model import MatchingModel, logit_of
from graphdep.transforms.presets import count

FORMS = ("paper", "code")
OBJECTIVES = ("local", "global")
_FILTERS = (32, 16)
_WINDOW = 3


class IOI(MatchingModel):
    r"""Lets an utterance and the response interact block after block, and matches them in each, from `"One
    Time of Interaction May Not Be Enough: Go Deep with an Interaction-over-Interaction Network for Response
    Selection in Dialogues" <https://aclanthology.org/P19-1001/>`_.

    A block :math:`k` reads representations :math:`\mathbf{U}, \mathbf{R}` of an utterance and the response,
    in the first one their word vectors :math:`\mathbf{E}_u, \mathbf{E}_r`. Each looks at itself and at the
    other, by attentive modules :math:`\mathrm{AM}` as in :class:`DeepAttentionMatching`, four of each block's
    own, and what it finds is compressed:

    .. math::
        \hat{\mathbf{U}} &= \mathrm{AM}(\mathbf{U}, \mathbf{U}), \qquad
        \bar{\mathbf{U}} = \mathrm{AM}(\mathbf{U}, \mathbf{R}), \qquad
        \tilde{\mathbf{U}} = \mathbf{U} \odot \bar{\mathbf{U}}, \\
        \mathbf{U}' &= \mathrm{LN}\big(\mathbf{E}_u + \mathbf{U} + \mathrm{ReLU}([\mathbf{U};
        \hat{\mathbf{U}}; \bar{\mathbf{U}}; \tilde{\mathbf{U}}] \mathbf{W} + \mathbf{b})\big)

    and so for :math:`\mathbf{R}`, with weights of its own; :math:`\mathbf{E}` is added from the second block
    on. The next block reads :math:`\mathbf{U}', \mathbf{R}'`. The products :math:`\mathbf{U}
    \mathbf{R}^{\top}`, :math:`\hat{\mathbf{U}} \hat{\mathbf{R}}^{\top}` and :math:`\bar{\mathbf{U}}
    \bar{\mathbf{R}}^{\top}`, divided by :math:`\sqrt{C}`, are the channels of an image. Two times a
    convolution with ReLU and max pooling, in windows of three times three, and a layer with tanh make the
    matching vector of the utterance; a GRU reads those of the context, and its last state gives the block's
    logit :math:`s_k`. Responses are ranked by :math:`\sum_k \sigma(s_k)`: the output is the logit of their
    mean,

    .. math::
        g(c, r) = \frac{1}{K} \sum_k \sigma(s_k)

    With ``objective="local"`` every block learns the label by itself, and the losses are summed; with
    ``"global"`` :math:`\sigma(\sum_k s_k)` learns it and ranks, as in the code.

    The formulas were learned from the authors' `code <https://github.com/chongyangtao/IOI>`_ and its
    documents; the paper's text was not at hand. As far as we know its attention is the scaled product of
    Transformers; that of the code is ``form="code"``: scores :math:`\mathrm{ReLU}(\mathbf{Q} \mathbf{V})
    \mathbf{D} \, \mathrm{ReLU}(\mathbf{K} \mathbf{V})^{\top} / \sqrt{C}` with a diagonal :math:`\mathbf{D}`.
    Published sizes are the defaults: 200 channels, seven blocks, 32 and 16 filters, 50 words, the last 10
    turns, dropout .2, Adam with a rate of 1e-4 that falls to 5e-5, batches of 100. What is not as in the
    code: word vectors start from word2vec's, here drawn at random unless there are :obj:`vectors`; batch and
    rate are the preset's (32, 1e-3), the rate constant unless ``warmup_steps`` is set; dropout acts on word
    vectors, compressed ones and images, where the code names more places and lets it act in none;
    similarities of padding are zeros in all channels, which the code does not mask in those of what texts see
    of themselves and of each other; unknown words are padding there, here they are words, whose vector starts
    at zeros; :math:`\mathbf{D}` starts at ones, there it is drawn; LayerNorm adds PyTorch's 1e-5 to a
    variance, not 1e-8; padded turns are not read by the GRU; a loss is not cut at 10; the GRU is PyTorch's
    (:class:`SMN`), layers start as PyTorch's do, and pooling pads behind the words alone, where TensorFlow's
    pads before them, too, for some sizes that are not the published ones.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the word vectors, of all representations, and of matching vectors. (default:
            :obj:`200`)
        num_layers: Blocks. (default: :obj:`7`)
        max_words: Words of an utterance that are read, the last ones; the side of the image. (default:
            :obj:`50`)
        max_turns: Utterances of the context that are read, the last ones. (default: :obj:`10`)
        objective: What learns the label: each block (``"local"``) or their sum (``"global"``). (default:
            ``"local"``)
        form: Of the attention, ``"paper"`` or ``"code"``. (default: ``"paper"``)
        dropout: Dropout probability. (default: :obj:`0.2`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training; projected where ``dim`` is
            not :obj:`hidden_channels`. (default: :obj:`None`)

    Shapes:
        - data: a batch of :math:`B` examples of :func:`~graphdep.data.encoded`, or one; output:
          logits :math:`(B)`, of :meth:`trained` :math:`(B, K)`

    Raises:
        ValueError: If :obj:`max_words`, :obj:`max_turns` or :obj:`num_layers` is below 1, :obj:`objective` or
            :obj:`form` is unknown, or an example has no response.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import IOI
        >>> texts = [["Who", "sings", "?"], ["She", "does", "."]]
        >>> trees = [Sentence(words, [2, 0, 2], ["dep", "root", "punct"]) for words in texts]
        >>> vocab = Vocab(["Who", "sings", "?", "She"])
        >>> data = to_data(trees, vocab=vocab, segment=[0, 1])  # one utterance, and the response
        >>> model = IOI(len(vocab), hidden_channels=8, num_layers=2, max_words=8)
        >>> model(data).shape, model.trained(data).shape
        (torch.Size([1]), torch.Size([1, 2]))
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 200,
        num_layers: int = 7,
        max_words: int = 50,
        max_turns: int = 10,
        objective: str = "local",
        form: str = "paper",
        dropout: float = 0.2,
        vectors: Tensor | None = None,
    ) -> None:
        options: Any = {"max_words": max_words, "max_turns": max_turns, "dropout": dropout}
        super().__init__(num_words, hidden_channels, vectors=vectors, **options)
        for name, value, known in (("form", form, FORMS), ("objective", objective, OBJECTIVES)):
            if value not in known:
                raise ValueError(f"{name!r} must be one of {', '.join(known)} (got {value!r})")
        count("num_layers", num_layers, 1)
        self.objective, self.form = objective, form
        aware = form == "code"
        self.blocks = nn.ModuleList(
            _Block(hidden_channels, max_words, aware=aware, dropout=dropout, is_last=block == num_layers - 1)
            for block in range(num_layers)
        )

    def match(self, pairs: TurnPairs) -> Tensor:
        mask = pairs.mask
        masks = mask[pairs.turn], mask[pairs.response]
        start = pairs.x.index_select(0, pairs.turn), pairs.x.index_select(0, pairs.response)
        texts, logits = start, []
        for number, block in enumerate(cast("list[_Block]", [*self.blocks])):
            own, crossed = block.seen(texts, masks)
            logits.append(block.score([texts, own, crossed], pairs))
            if block.compress:
                texts = block.compressed(texts, own, crossed, start if number else None, masks)
        return torch.stack(logits, dim=-1)

    def learnt(self, logits: Tensor) -> Tensor:
        return logits.sum(dim=-1) if self.objective == "global" else logits

    def combined(self, logits: Tensor) -> Tensor:
        if self.objective == "global":
            return logits
        right, wrong = (F.logsigmoid(sign * logits).logsumexp(dim=-1) for sign in (1, -1))
        return right - wrong

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, objective={self.objective!r}, form={self.form!r}"


Texts = tuple[Tensor, Tensor]
"""Of an utterance and of the response, for each pair."""


class _Block(nn.Module):
    def __init__(self, channels: int, max_words: int, *, aware: bool, dropout: float, is_last: bool) -> None:
        super().__init__()
        self.max_words = max_words
        self.own = nn.ModuleList(AttentiveModule(channels, aware=aware) for _ in range(2))
        self.crossed = nn.ModuleList(AttentiveModule(channels, aware=aware) for _ in range(2))
        sides = range(0 if is_last else 2)  # no block reads what the last would give it
        self.compress = nn.ModuleList(nn.Linear(4 * channels, channels) for _ in sides)
        self.norm = nn.ModuleList(nn.LayerNorm(channels) for _ in sides)
        self.dropout = Dropout(dropout)
        first, second = _FILTERS
        self.conv1 = nn.Conv2d(3, first, _WINDOW, padding=1)
        self.conv2 = nn.Conv2d(first, second, _WINDOW, padding=1)
        side = math.ceil(math.ceil(max_words / _WINDOW) / _WINDOW)
        self.lin_match = nn.Linear(second * side * side, channels)
        self.turns = TurnAccumulator(channels, channels, "last", 1)
        self.lin = nn.Linear(channels, 1)

    def reset_parameters(self) -> None:
        for module in (*self.own, *self.crossed, *self.compress, *self.norm):
            reset(module)
        for module in (self.conv1, self.conv2, self.lin_match, self.turns, self.lin):
            module.reset_parameters()

    def seen(self, texts: Texts, masks: Texts) -> tuple[Texts, Texts]:
        """What each sees of itself, and of the other."""
        (u, r), (u_mask, r_mask) = texts, masks
        own = self.own[0](u, u, u_mask, u_mask), self.own[1](r, r, r_mask, r_mask)
        return own, (self.crossed[0](u, r, u_mask, r_mask), self.crossed[1](r, u, r_mask, u_mask))

    def compressed(
        self, texts: Texts, own: Texts, crossed: Texts, start: Texts | None, masks: Texts
    ) -> Texts:
        """What the next block reads."""
        out = []
        for side in range(2):
            x, other = texts[side], crossed[side]
            new = torch.relu(self.compress[side](torch.cat([x, own[side], other, x * other], dim=-1)))
            total = x + self.dropout(new)
            total = total if start is None else total + start[side]
            out.append(self.norm[side](total) * masks[side].unsqueeze(-1))
        return out[0], out[1]

    def score(self, texts: list[Texts], pairs: TurnPairs) -> Tensor:
        """Logits of the examples."""
        images = torch.stack([u @ r.transpose(1, 2) for u, r in texts], dim=1) / texts[0][0].size(-1) ** 0.5
        images = padded_images(images, self.max_words)
        for conv in (self.conv1, self.conv2):
            images = F.max_pool2d(torch.relu(conv(images)), _WINDOW, ceil_mode=True)
        vectors = torch.tanh(self.lin_match(self.dropout(images.flatten(1))))
        return logit_of(self.lin, self.turns(vectors, vectors, pairs))
