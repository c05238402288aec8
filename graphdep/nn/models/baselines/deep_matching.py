"""Deep matching networks for response selection: DAM (2018) and IOI."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from graphdep.io.limits import check_choice, check_count, check_divides
from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.baselines.matching import (
    MatchingModel,
    TurnAccumulator,
    TurnPairs,
    logit_of,
    padded_images,
)
from graphdep.nn.models.transformer import transformer_layer


class AttentiveModule(nn.Module):
    r"""Attention from the words of one text, :math:`\mathbf{Q}`, to those of another, :math:`\mathbf{K}`.

    .. math::
        \mathbf{X} = \mathrm{LN}\big(\mathbf{Q} + \operatorname{softmax}(\mathbf{S}) \mathbf{K}\big), \qquad
        \mathrm{LN}\big(\mathbf{X} + \max(0, \mathbf{X} \mathbf{W}_1 + \mathbf{b}_1) \mathbf{W}_2 +
        \mathbf{b}_2\big)

    with scores :math:`\mathbf{S} = \mathbf{Q} \mathbf{K}^{\top} / \sqrt{C}`, or if ``aware``
    :math:`\mathrm{ReLU}(\mathbf{Q} \mathbf{U}) \mathbf{D} \, \mathrm{ReLU}(\mathbf{K} \mathbf{U})^{\top} /
    \sqrt{C}` with a diagonal :math:`\mathbf{D}`.

    Args:
        channels: Size of the word vectors.
        aware: Use the second form of the scores. (default: :obj:`False`)
    """

    def __init__(self, channels: int, *, aware: bool = False) -> None:
        super().__init__()
        self.lin_score = nn.Linear(channels, channels, bias=False) if aware else None
        self.diagonal = nn.Parameter(torch.ones(channels)) if aware else None
        self.norm_attention = nn.LayerNorm(channels)
        self.lin_in, self.lin_out = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.norm_out = nn.LayerNorm(channels)

    def reset_parameters(self) -> None:
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]
        if self.diagonal is not None:
            nn.init.ones_(self.diagonal)

    def forward(self, query: Tensor, key: Tensor, query_mask: Tensor, key_mask: Tensor) -> Tensor:
        """States of the query's words ``[texts, words, C]``, zeros at padding; masks are ``[texts, words]``,
        True at words.
        """
        left, right = query, key
        if self.lin_score is not None and self.diagonal is not None:
            left = torch.relu(self.lin_score(query)) * self.diagonal
            right = torch.relu(self.lin_score(key))
        attended = F.scaled_dot_product_attention(left, right, key, attn_mask=key_mask.unsqueeze(1))
        x = self.norm_attention(query + attended)
        x = self.norm_out(x + self.lin_out(torch.relu(self.lin_in(x))))
        return x * query_mask.unsqueeze(-1)


class TurnTransformer(nn.Module):
    r"""Every utterance of an example attends to all others; turn embeddings encode their order.

    Args:
        hidden_channels: Size of the utterance vectors.
        num_layers: Number of blocks.
        heads: Number of attention heads per block; divides :obj:`hidden_channels`.
        ff_channels: Size of the feed-forward layers.
        dropout: Dropout probability.
        max_turns: Number of turn embeddings, later turns share the last one; 0 for none.

    Shapes:
        - x: :math:`(\text{utterances}, C)`; ptr: :math:`(B + 1)`; output :math:`(\text{utterances}, C)`

    Raises:
        ValueError: If :obj:`heads` does not divide :obj:`hidden_channels`.
    """

    def __init__(
        self,
        hidden_channels: int,
        *,
        num_layers: int,
        heads: int,
        ff_channels: int,
        dropout: float,
        max_turns: int,
    ) -> None:
        super().__init__()
        check_divides("heads", heads, "hidden_channels", hidden_channels)
        self.turn = nn.Embedding(max_turns, hidden_channels) if max_turns else None
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            transformer_layer(hidden_channels, heads, ff_channels, dropout) for _ in range(num_layers)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.turn is not None:
            nn.init.normal_(self.turn.weight, std=self.turn.embedding_dim**-0.5)
        reset(self.layers)

    def forward(self, x: Tensor, ptr: Tensor, layout: AttentionLayout | None = None) -> Tensor:
        """``layout``: the output of :func:`turn_layout`, if it has been prepared."""
        number = torch.arange(x.size(0), device=x.device)
        if self.turn is not None:
            turn = number - ptr[:-1].repeat_interleave(ptr.diff(), output_size=x.size(0))
            x = self.dropout(x + self.turn(turn.clamp(max=self.turn.num_embeddings - 1)))
        layout = turn_layout(ptr, x.size(0)) if layout is None else layout
        for layer in self.layers:
            x = layer(x, layout)
        return x


def turn_layout(ptr: Tensor, turns: int) -> AttentionLayout:
    """The pairs of turns of the same example, for ``turns`` turns in total with boundaries ``ptr``."""
    clique = torch.zeros(turns, dtype=torch.long, device=ptr.device)
    return AttentionLayout(clique.new_empty(2, 0), turns, clique=clique, ptr=ptr)


IOI_FORMS = ("paper", "code")
OBJECTIVES = ("local", "global")
_FILTERS = (32, 16)
_WINDOW = 3


class IOI(MatchingModel):
    r"""Lets an utterance and the response interact block by block, and matches them in each block, from `"One
    Time of Interaction May Not Be Enough: Go Deep with an Interaction-over-Interaction Network for Response
    Selection in Dialogues" <https://aclanthology.org/P19-1001/>`_.

    Block :math:`k` reads representations :math:`\mathbf{U}, \mathbf{R}` of an utterance and the response; in
    the first block these are their word vectors :math:`\mathbf{E}_u, \mathbf{E}_r`. Each attends to itself
    and to the other, by four attentive modules :math:`\mathrm{AM}` per block, as in
    :class:`DeepAttentionMatching`, and the results are compressed:

    .. math::
        \hat{\mathbf{U}} &= \mathrm{AM}(\mathbf{U}, \mathbf{U}), \qquad
        \bar{\mathbf{U}} = \mathrm{AM}(\mathbf{U}, \mathbf{R}), \qquad
        \tilde{\mathbf{U}} = \mathbf{U} \odot \bar{\mathbf{U}}, \\
        \mathbf{U}' &= \mathrm{LN}\big(\mathbf{E}_u + \mathbf{U} + \mathrm{ReLU}([\mathbf{U};
        \hat{\mathbf{U}}; \bar{\mathbf{U}}; \tilde{\mathbf{U}}] \mathbf{W} + \mathbf{b})\big)

    and in the same way for :math:`\mathbf{R}`, with separate weights; :math:`\mathbf{E}` is added from the
    second block on. The next block reads :math:`\mathbf{U}', \mathbf{R}'`. The products :math:`\mathbf{U}
    \mathbf{R}^{\top}`, :math:`\hat{\mathbf{U}} \hat{\mathbf{R}}^{\top}` and :math:`\bar{\mathbf{U}}
    \bar{\mathbf{R}}^{\top}`, divided by :math:`\sqrt{C}`, are the channels of an image. Two convolutions with
    ReLU and max pooling, both 3 x 3, and a layer with tanh compute the matching vector of the utterance; a
    GRU reads those of the context, and its last state gives the block's logit :math:`s_k`. Responses are
    ranked by :math:`\sum_k \sigma(s_k)`: the output is the logit of their mean,

    .. math::
        g(c, r) = \frac{1}{K} \sum_k \sigma(s_k)

    With ``objective="local"`` every block learns the label separately, and the losses are summed; with
    ``"global"`` the label is learned and ranked by :math:`\sigma(\sum_k s_k)`, as in the code.

    The formulas follow the authors' `code <https://github.com/chongyangtao/IOI>`_ and its documentation; the
    paper's text was not available. As far as we know the paper uses the scaled product of Transformers; the
    code's attention is ``form="code"``: scores :math:`\mathrm{ReLU}(\mathbf{Q} \mathbf{V}) \mathbf{D} \,
    \mathrm{ReLU}(\mathbf{K} \mathbf{V})^{\top} / \sqrt{C}` with a diagonal :math:`\mathbf{D}`. The defaults
    are the published sizes: 200 channels, seven blocks, 32 and 16 filters, 50 words, the last 10 turns,
    dropout .2, Adam with a rate of 1e-4 that falls to 5e-5, batches of 100. Differences from the code: word
    vectors start at random unless there are :obj:`vectors` (code: word2vec); batch size and rate are the
    preset's (32, 1e-3), the rate constant unless ``warmup_steps`` is set; dropout acts on word vectors,
    compressed vectors and images (the code names more places but applies none); similarities of padding are
    zeros in all channels (the code does not mask those after attention); unknown words are words whose vector
    starts at zeros (code: padding); :math:`\mathbf{D}` starts at ones (code: random); LayerNorm adds
    PyTorch's 1e-5 to a variance, not 1e-8; the GRU skips padded turns; the loss is not clipped at 10; the GRU
    is PyTorch's (:class:`SMN`), layers have PyTorch's initialization, and pooling pads only after the words
    (TensorFlow's also before them, for some unpublished sizes).

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the word vectors, of all representations, and of matching vectors. (default:
            :obj:`200`)
        num_layers: Number of blocks. (default: :obj:`7`)
        max_words: Number of (last) words read from an utterance; side length of the image. (default:
            :obj:`50`)
        max_turns: Number of (last) utterances read from the context. (default: :obj:`10`)
        objective: The label is learned by each block (``"local"``) or by their sum (``"global"``). (default:
            ``"local"``)
        form: Form of the attention, ``"paper"`` or ``"code"``. (default: ``"paper"``)
        dropout: Dropout probability. (default: :obj:`0.2`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training; projected if ``dim`` differs
            from :obj:`hidden_channels`. (default: :obj:`None`)

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
        for name, value, known in (("form", form, IOI_FORMS), ("objective", objective, OBJECTIVES)):
            check_choice(name, value, known)
        check_count("num_layers", num_layers, 1)
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
"""A tensor of the utterance and one of the response, for each pair."""


class _Block(nn.Module):
    def __init__(self, channels: int, max_words: int, *, aware: bool, dropout: float, is_last: bool) -> None:
        super().__init__()
        self.max_words = max_words
        self.own = nn.ModuleList(AttentiveModule(channels, aware=aware) for _ in range(2))
        self.crossed = nn.ModuleList(AttentiveModule(channels, aware=aware) for _ in range(2))
        sides = range(0 if is_last else 2)  # no block reads the output of the last
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

    def seen(self, texts: Texts, masks: Texts) -> tuple[Texts, Texts]:
        """The results of self-attention and of cross-attention of both texts."""
        (u, r), (u_mask, r_mask) = texts, masks
        own = self.own[0](u, u, u_mask, u_mask), self.own[1](r, r, r_mask, r_mask)
        return own, (self.crossed[0](u, r, u_mask, r_mask), self.crossed[1](r, u, r_mask, u_mask))

    def compressed(
        self, texts: Texts, own: Texts, crossed: Texts, start: Texts | None, masks: Texts
    ) -> Texts:
        """The input of the next block."""
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


DAM_FORMS = ("paper", "code")


class DeepAttentionMatching(MatchingModel):
    r"""Matches an utterance and the response by self- and cross-attention, layer by layer, from `"Multi-Turn
    Response Selection for Chatbots with Deep Attention Matching Network"
    <https://aclanthology.org/P18-1103/>`_. It is unrelated to DAM with relation nodes.

    An attentive module is attention from the words of one text to those of another, without matrices for
    queries, keys and values:

    .. math::
        \mathbf{X} &= \mathrm{LN}\big(\mathbf{Q} + \operatorname{softmax}(\mathbf{Q} \mathbf{K}^{\top} /
        \sqrt{C}) \mathbf{K}\big), \\
        \mathrm{AM}(\mathbf{Q}, \mathbf{K}) &= \mathrm{LN}\big(\mathbf{X} + \max(0, \mathbf{X} \mathbf{W}_1 +
        \mathbf{b}_1) \mathbf{W}_2 + \mathbf{b}_2\big)

    Starting from the word vectors :math:`\mathbf{U}^0, \mathbf{R}^0` of an utterance and the response, each
    attends to itself, with one module per layer for both, and to the other, with one module per direction:

    .. math::
        \mathbf{U}^{l+1} &= \mathrm{AM}_l(\mathbf{U}^l, \mathbf{U}^l), \qquad
        \mathbf{R}^{l+1} = \mathrm{AM}_l(\mathbf{R}^l, \mathbf{R}^l), \\
        \tilde{\mathbf{U}}^l &= \mathrm{AM}^u_l(\mathbf{U}^l, \mathbf{R}^l), \qquad
        \tilde{\mathbf{R}}^l = \mathrm{AM}^r_l(\mathbf{R}^l, \mathbf{U}^l)

    The products :math:`\mathbf{U}^l {\mathbf{R}^l}^{\top}` and :math:`\tilde{\mathbf{U}}^l
    {\tilde{\mathbf{R}}^l}{}^{\top}` for all :math:`l = 0 \dots L` are the channels of a 3D image over turns,
    words of the utterance and words of the response. Two 3D convolutions with ELU and max pooling, with
    windows of size 3, compute its features :math:`\mathbf{f}`, and :math:`g(c, r) = \sigma(\mathbf{W}
    \mathbf{f} + b)`.

    The formulas follow the authors' `code <https://github.com/baidu/Dialogue>`_ and its documentation; the
    paper's text was not available. With ``form="code"`` all products are divided by :math:`\sqrt{C}`, which
    the code does "to prevent gradient explosion"; as far as we know, the paper's formulas do not. The
    defaults are the published sizes: 200 channels, five layers, 32 and 16 filters, 9 turns, 50 words, tuned
    word2vec vectors (here random, unless there are :obj:`vectors`), Adam with a rate of 1e-3 that falls by a
    tenth every 400 updates, batches of 256; the 16 and 16 filters for Douban are not available here.
    Differences from the code: similarities of padding are zeros, not those of its vector; a linear layer's
    bias is a vector, not a number; linear layers and filters have PyTorch's initialization, not orthogonal
    and within .01 of 0; LayerNorm adds PyTorch's 1e-5 to a variance, not 1e-6; gradients are not clipped to
    [-1, 1], nor the loss at 10; pooling pads as in :class:`IOI`; batch size and rate are the preset's (32,
    1e-3), the rate constant unless ``warmup_steps`` is set.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the word vectors and of all states. (default: :obj:`200`)
        num_layers: Number of self-attention layers, :math:`L`; 0 only uses products of word vectors and one
            cross-attention. (default: :obj:`5`)
        max_words: Number of (last) words read from an utterance; side length of the image. (default:
            :obj:`50`)
        max_turns: Number of (last) utterances read from the context; depth of the image. (default: :obj:`9`)
        form: ``"paper"``, or ``"code"`` for scaled products. (default: ``"paper"``)
        dropout: Dropout probability of the word vectors; the paper has none. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training; projected if ``dim`` differs
            from :obj:`hidden_channels`. (default: :obj:`None`)

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
        check_choice("form", form, DAM_FORMS)
        check_count("num_layers", num_layers)
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
