"""Tree-Transformers over dependencies and constituents, and the Universal Sentence Encoder."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import cumsum, scatter

from graphdep.io.limits import check_choice, check_count, check_divides, check_least
from graphdep.nn.attention.layout import AttentionLayout, TensorContainer
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.baselines.constituent_trees import ConstituentEncoder, SpanLevels
from graphdep.nn.models.baselines.dependency_trees import sum_children, tree_levels
from graphdep.nn.models.embedding import NodeEmbedding, word_embedding
from graphdep.nn.models.transformer import (
    TextEncoder,
    root_nodes,
    transformer_layer,
    utterance_of,
    with_positions_in_utterance,
    words_of,
)
from graphdep.nn.prepared import kept

FORMS = ("paper", "code")


class BranchAttention(nn.Module):
    """The states of families from those of their members, see :class:`DependencyTreeTransformer`.

    Args:
        channels: Size of the states.
        branches: Number of attention branches; divides :obj:`channels`.
        ff_channels: Total size of the feed-forward layers of all branches.
        form: ``"paper"`` or ``"code"``.
        position_codes: Add sinusoids of the members' places.
        dropout: Dropout probability.
    """

    def __init__(
        self, channels: int, branches: int, ff_channels: int, form: str, position_codes: bool, dropout: float
    ) -> None:
        super().__init__()
        check_choice("form", form, FORMS)
        check_divides("heads", branches, "hidden_channels", channels)
        check_least("ff_channels", ff_channels, branches if form == "paper" else 1)
        self.channels, self.branches = channels, branches
        self.form, self.position_codes = form, position_codes
        self.lin_in = nn.Linear(channels, 3 * channels, bias=False)
        self.dropout = Dropout(dropout)
        if form == "paper":
            size, ff = channels // branches, ff_channels // branches
            self.branch = nn.Parameter(torch.empty(branches, size, channels))
            self.norm = nn.LayerNorm(channels)
            self.kappa = nn.Parameter(torch.empty(branches))
            self.alpha = nn.Parameter(torch.empty(branches))
            self.ff_in = nn.Parameter(torch.empty(branches, channels, ff))
            self.ff_in_bias = nn.Parameter(torch.empty(branches, ff))
            self.ff_out = nn.Parameter(torch.empty(branches, ff, channels))
            self.ff_out_bias = nn.Parameter(torch.empty(branches, channels))
            self.lin_out = nn.Linear(channels, channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_normal_(self.lin_in.weight)
        if self.form == "code":
            return
        self.norm.reset_parameters()
        self.lin_out.reset_parameters()
        for tensor in (self.branch, self.ff_in, self.ff_out):
            for matrix in tensor:
                nn.init.xavier_normal_(matrix)
        for vector in (self.kappa, self.alpha, self.ff_in_bias, self.ff_out_bias):
            nn.init.zeros_(vector)

    def forward(self, x: Tensor, residual: Tensor, family: Tensor, place: Tensor, families: int) -> Tensor:
        """The state of each family.

        Args:
            x: The states of the members: ``[members, C]``.
            residual: The residual input of form ``"code"``: ``[members, C]``.
            family, place: The family of each member, and its place in it: ``[members]``.
            families: Number of families.
        """
        if self.position_codes:
            x = x + _sinusoids(place, self.channels).to(x.dtype)
        attended = self._attend(x, family, place, families)
        if self.form == "code":
            summed = attended.flatten(1) + residual
            return torch.tanh(summed.new_zeros(families, self.channels).index_add(0, family, summed))
        parts = torch.tanh(self.lin_out(self._branches(attended, x) + x))
        return parts.new_zeros(families, self.channels).index_add(0, family, parts)

    def _attend(self, x: Tensor, family: Tensor, place: Tensor, families: int) -> Tensor:
        """Attention within families: ``[members, branches, size]``."""
        slot, shapes = _slots(family, place, families)
        sizes = [count * places for count, places in shapes]
        # Families of a group side by side, padded with masked rows.
        blocks = x.new_zeros(sum(sizes), self.channels).index_copy(0, slot, x)
        there = torch.zeros(sum(sizes), dtype=torch.bool, device=x.device).index_fill(0, slot, True)
        attended = [
            self._attend_group(block.view(*shape, -1), filled.view(shape)).flatten(0, 1)
            for shape, block, filled in zip(shapes, blocks.split(sizes), there.split(sizes))
        ]
        return torch.cat(attended).index_select(0, slot)

    def _attend_group(self, x: Tensor, there: Tensor) -> Tensor:
        """Attention within families of similar width: ``[families, places, branches, size]``."""
        query, key, value = self.lin_in(x).unflatten(-1, (3, self.branches, -1)).unbind(dim=2)
        scores = torch.einsum("fqbd,fkbd->fbqk", query, key) / math.sqrt(query.size(-1))
        if self.form == "paper":
            weights = scores.masked_fill(~there[:, None, None, :], -math.inf).softmax(dim=-1)
        else:  # over targets, as in the code, not over sources
            weights = scores.masked_fill(~there[:, None, :, None], -math.inf).softmax(dim=-2)
            weights = weights.masked_fill(~there[:, None, None, :], 0)
        return torch.einsum("fbqk,fkbd->fqbd", weights.to(value.dtype), value)

    def _branches(self, attended: Tensor, x: Tensor) -> Tensor:
        """The weighted sum of the branches' outputs: ``[members, C]``."""
        out = torch.einsum("nbd,bdc->nbc", attended, self.branch)
        out = self.norm(self.dropout(out) + x.unsqueeze(1)) * self.kappa.softmax(0).unsqueeze(-1)
        hidden = torch.relu(torch.einsum("nbc,bcf->nbf", out, self.ff_in.to(out.dtype)) + self.ff_in_bias)
        out = torch.einsum("nbf,bfc->nbc", hidden, self.ff_out.to(hidden.dtype)) + self.ff_out_bias
        return (self.dropout(out) * self.alpha.softmax(0).unsqueeze(-1)).sum(dim=1)


def _sinusoids(place: Tensor, channels: int) -> Tensor:
    """Sinusoids of `"Attention Is All You Need" <https://arxiv.org/abs/1706.03762>`_: ``[members, C]``."""
    pair = (torch.arange(channels, device=place.device) // 2 * 2).double()
    angle = place.double().unsqueeze(-1) / 10000 ** (pair / channels)
    return torch.where(torch.arange(channels, device=place.device) % 2 == 0, angle.sin(), angle.cos())


def _slots(family: Tensor, place: Tensor, families: int) -> tuple[Tensor, list[tuple[int, int]]]:
    """The slot of each member in blocks of families, and the numbers of families and places of each block.

    Families whose widths have the same next power of two share a block of the largest width: there are fewer
    than twice as many slots as members, and fewer than four times as many scores as within families, whatever
    else is in the batch.
    """
    width = torch.zeros(families, dtype=torch.long, device=family.device)
    width = width.index_add(0, family, torch.ones_like(family))
    group = torch.bucketize(width, 2 ** torch.arange(31, device=family.device))
    none = width.new_zeros(32)
    count = none.index_add(0, group, torch.ones_like(width))
    places = none.scatter_reduce(0, group, width, "amax")
    start = cumsum(count * places)[:-1]
    number = places_in(group, torch.arange(families, device=family.device))
    first = start[group] + number * places[group]
    shapes = torch.stack([count, places], dim=1).tolist()  # of all blocks at once: a single synchronization
    return first[family] + place, [(count, places) for count, places in shapes if count]


def places_in(family: Tensor, key: Tensor) -> Tensor:
    """The place of each member in its family, in the order of the keys."""
    order = key.argsort()
    order = order[family[order].argsort(stable=True)]
    ranked = family[order]
    rank = torch.arange(family.numel(), device=family.device) - torch.searchsorted(ranked, ranked)
    return torch.empty_like(rank).index_copy(0, order, rank)


class TreeTransformer(TextEncoder):
    r"""Tree Transformer over the dependency tree, after `"You Only Need Attention to Traverse Trees"
    <https://aclanthology.org/P19-1030/>`_.

    The state of a word without dependents is its embedding. Any other word :math:`j` attends together with
    its dependents :math:`C(j)`, and the results are summed:

    .. math::
        \mathbf{X} = [\mathbf{e}_j; \mathbf{h}_k, k \in C(j)], \quad
        \tilde{\mathbf{X}} = \mathrm{block}(\mathbf{X}), \quad
        \mathbf{h}_j = \sum_i \tanh(\mathbf{W} (\tilde{\mathbf{x}}_i + \mathbf{x}_i) + \mathbf{b})

    with one Transformer block (:class:`TransformerLayer`) for all words. It has plain multi-head attention,
    without the multi-branch attention of the source (a feed-forward layer and a learned weight for each
    branch) and without its position codes. ROOT has the state of the root word (or the sum of several). Nodes
    outside the trees have zeros. All words of one depth are computed at once, across the batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        heads: Attention heads; divides :obj:`hidden_channels`. (default: :obj:`6`)
        ff_channels: Size of the feed-forward layer. (default: :obj:`300`)
        dropout: Dropout probability, also within the block. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`heads` does not divide :obj:`hidden_channels`, the data has no ROOT nodes, or its
            depths do not fit its governors.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import TreeTransformer
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> TreeTransformer(len(vocab), hidden_channels=8, heads=2, ff_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        heads: int = 6,
        ff_channels: int = 300,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        check_divides("heads", heads, "hidden_channels", hidden_channels)
        self.hidden_channels = hidden_channels
        self.embedding = word_embedding(num_words, hidden_channels, vectors, dropout)
        self.layer = transformer_layer(hidden_channels, heads, ff_channels, dropout)
        self.lin_out = nn.Linear(hidden_channels, hidden_channels)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        for family in _families(data):
            family.layout.prepare(device)

    def forward(self, data: Data) -> Tensor:
        levels = tree_levels(data)
        words = levels.split(self.embedding(data).index_select(0, levels.order))
        if len(words) == 1:  # ROOT nodes alone
            return words[0].new_zeros(levels.num_nodes, self.hidden_channels)
        states = [words[0]]
        for word, families in zip(words[1:-1], _families(data)):
            states.append(self._combine(word, states[-1], families))
        roots = sum_children(states[-1], levels.governors[-1], levels.sizes[-1])
        return levels.join([*states, roots])

    def _combine(self, word: Tensor, below: Tensor, families: _Families) -> Tensor:
        """The states of a level from its words and the states of the level below."""
        inner = families.inner
        x = torch.cat([word.index_select(0, inner), below]).index_select(0, families.order)
        parts = torch.tanh(self.lin_out(self.layer(x, families.layout) + x))
        states = sum_children(parts, families.family, inner.numel())
        return word.index_copy(0, inner, states.to(word.dtype))


class _Families(TensorContainer):
    """Governors of a level with their dependents, grouped by family, as attention in blocks needs.

    Args:
        inner: The indices of the governors in their level.
        family: The index of each dependent's governor among these.
    """

    def __init__(self, inner: Tensor, family: Tensor) -> None:
        family = torch.cat([torch.arange(inner.numel(), device=family.device), family])
        self.inner, self.order = inner, family.argsort(stable=True)
        self.family = family.index_select(0, self.order)
        pairs = family.new_empty(2, 0)
        self.layout = AttentionLayout(pairs, family.numel(), clique=self.family)


@kept
def _families(data: Data) -> tuple[_Families, ...]:
    """The families of each level except that of the ROOT nodes."""
    return tuple(_Families(*family) for family in tree_levels(data).families[:-1])


class DependencyTreeTransformer(TextEncoder):
    r"""Tree-Transformer over the dependency tree with its branches, from `"You Only Need Attention to
    Traverse Trees" <https://aclanthology.org/P19-1030/>`_; :class:`TreeTransformer` is a simpler form.

    The state of a word without dependents is its vector. Any other word :math:`j` computes its state from its
    vector and its dependents' states, :math:`\mathbf{X} = [\mathbf{e}_j; \mathbf{h}_k, k \in C(j)]`, by
    attention in :math:`n` branches:

    .. math::
        \mathbf{B}_i &= \mathrm{softmax}\Big(\frac{\mathbf{X} \mathbf{W}^Q_i (\mathbf{X} \mathbf{W}^K_i)^\top}
        {\sqrt{d}}\Big) \mathbf{X} \mathbf{W}^V_i, \\
        \bar{\mathbf{B}}_i &= \kappa_i \, \mathrm{LN}(\mathbf{B}_i \mathbf{W}^b_i + \mathbf{X}), \\
        \tilde{\mathbf{X}} &= \sum_{i = 1}^{n} \alpha_i \big(\mathrm{ReLU}(\bar{\mathbf{B}}_i \mathbf{W}^1_i +
        \mathbf{b}^1_i) \mathbf{W}^2_i + \mathbf{b}^2_i\big), \\
        \mathbf{h}_j &= \sum_m \tanh(\mathbf{W} (\tilde{\mathbf{x}}_m + \mathbf{x}_m) + \mathbf{b})

    with :math:`\sum \kappa_i = \sum \alpha_i = 1`. With :obj:`position_codes`, sinusoids of the places in the
    family, in text order, are added to :math:`\mathbf{X}`; the paper tries both.

    The paper's text was not available. The last formula follows earlier notes on it; the branches follow a
    class in the authors' `code <https://github.com/navid5792/Tree-Transformer>`_ (with one sum before the
    norm, and a norm for each branch) and their source, `"Weighted Transformer Network for Machine
    Translation" <https://arxiv.org/abs/1711.02132>`_; we could not verify whether :math:`\mathbf{X}` is
    inside the norm, and where codes are added. Weights that sum to 1 are a softmax here, initially equal, not
    a projection after each step. The authors' class also adds the input of a branch's feed-forward layer to
    its output, followed by a norm, which is left out here. The authors' code runs another model, which joins
    the states of two passes; ``form="code"`` is one of them (the other also reads relation labels and is not
    implemented): parallel heads with a softmax over targets, no branches, no :math:`\mathbf{W}`, the words'
    own vectors added, and a smaller initialization (Xavier's rule for the matrices of all heads as one
    tensor; here for each):

    .. math::
        \mathbf{h}_j = \tanh \Big(\sum_m \big(\mathbf{a}_m + \mathbf{e}_m\big)\Big)

    ROOT has the state of the root word (or the sum of several). Nodes outside the trees have zeros. All words
    of one depth are computed at once, across the batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        heads: Number of branches; divides :obj:`hidden_channels`. (default: :obj:`6`)
        ff_channels: Total size of the branches' feed-forward layers, shared equally; our own choice.
            (default: :obj:`300`)
        form: ``"paper"`` or ``"code"``, see above. (default: ``"paper"``)
        position_codes: Add sinusoids. (default: :obj:`False`)
        dropout: Dropout probability. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, projected if their size differs. (default:
            :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`form` is unknown, :obj:`heads` does not divide :obj:`hidden_channels` or is more
            than :obj:`ff_channels`, the data has no ROOT nodes, or its depths do not fit its governors.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DependencyTreeTransformer
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> DependencyTreeTransformer(len(vocab), hidden_channels=8, heads=2, ff_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        heads: int = 6,
        ff_channels: int = 300,
        form: str = "paper",
        position_codes: bool = False,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = hidden_channels
        self.block = BranchAttention(hidden_channels, heads, ff_channels, form, position_codes, dropout)
        self.embedding = word_embedding(num_words, hidden_channels, vectors, dropout)

    def forward(self, data: Data) -> Tensor:
        levels = tree_levels(data)
        words = levels.split(self.embedding(data).index_select(0, levels.order))
        if len(words) == 1:  # ROOT nodes alone
            return words[0].new_zeros(levels.num_nodes, self.hidden_channels)
        nodes = levels.split(levels.order)
        states = [words[0]]
        for level in range(1, len(words) - 1):
            inner, family = levels.governors[level - 1].unique(return_inverse=True)
            own = words[level].index_select(0, inner)
            x, residual = torch.cat([own, states[-1]]), torch.cat([own, words[level - 1]])
            family = torch.cat([torch.arange(inner.numel(), device=family.device), family])
            place = places_in(family, torch.cat([nodes[level][inner], nodes[level - 1]]))
            made = self.block(x, residual, family, place, inner.numel())
            states.append(words[level].index_copy(0, inner, made.to(words[level].dtype)))
        roots = sum_children(states[-1], levels.governors[-1], levels.sizes[-1])
        return levels.join([*states, roots])

    def extra_repr(self) -> str:
        return f"form={self.block.form!r}, position_codes={self.block.position_codes}"


class ConstituencyTreeTransformer(ConstituentEncoder):
    r"""Tree-Transformer over the constituents, from `"You Only Need Attention to Traverse Trees"
    <https://aclanthology.org/P19-1030/>`_.

    A constituent is computed only from its parts,

    .. math::
        \mathbf{X} = [\mathbf{h}_k, k \in C(j)],

    by the block of :class:`DependencyTreeTransformer`, whose docstring has the formulas and what is not
    verified; the state of a word is its vector. Constituents are not binarised; those over the same words are
    merged. Several top constituents, or words outside all of them, become parts of an added one. With
    ``form="code"`` the residual input is :math:`\mathbf{X}` itself. :class:`ConstituentTransformer` is
    another model, which reads no parse.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        heads: Number of branches; divides :obj:`hidden_channels`. (default: :obj:`6`)
        ff_channels: Total size of the branches' feed-forward layers, shared equally. (default: :obj:`300`)
        form, position_codes: As in :class:`DependencyTreeTransformer`. (default: ``"paper"``, :obj:`False`)
        dropout: Dropout probability. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, projected if their size differs. (default:
            :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes and constituents; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`form` is unknown, :obj:`heads` does not divide :obj:`hidden_channels` or is more
            than :obj:`ff_channels`, or the data has no constituents or no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import ConstituencyTreeTransformer
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2)])
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([sentence], vocab=vocab, phrases="spans")
        >>> ConstituencyTreeTransformer(len(vocab), hidden_channels=8, heads=2, ff_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        heads: int = 6,
        ff_channels: int = 300,
        form: str = "paper",
        position_codes: bool = False,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            in_channels=hidden_channels,
            dropout=dropout,
            vectors=vectors,
        )
        self.block = BranchAttention(hidden_channels, heads, ff_channels, form, position_codes, dropout)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        """Does nothing: the levels are read when they are used."""

    def states(self, data: Data) -> tuple[Tensor, Tensor]:
        levels = SpanLevels(data)
        words = self.embedding(data).index_select(0, levels.word)
        num_words, spans = words.size(0), levels.order.numel() - words.size(0)
        table = words.new_zeros(data.node_type.numel(), self.hidden_channels)
        if num_words == 0:
            return table, words
        rows = torch.cat([words, words.new_zeros(spans, self.hidden_channels)])
        x = levels.join(self._up(levels, rows.index_select(0, levels.order).split(levels.sizes)))
        node = torch.cat([levels.word, levels.root])
        own = torch.cat([x[:num_words], x.index_select(0, levels.top)])
        return table.index_copy(0, node, own), x.index_select(0, levels.phrase)

    def _up(self, levels: SpanLevels, rows: tuple[Tensor, ...]) -> list[Tensor]:
        states = [rows[0]]
        for row, governor, begin in zip(rows[1:], levels.governors, levels.begin):
            inner, family = governor.unique(return_inverse=True)
            below = states[-1]
            made = self.block(below, below, family, places_in(family, begin), inner.numel())
            states.append(row.index_copy(0, inner, made.to(row.dtype)))
        return states

    def extra_repr(self) -> str:
        return f"form={self.block.form!r}, position_codes={self.block.position_codes}"


VARIANTS = ("transformer", "dan")


class UniversalEncoder(TextEncoder):
    r"""The encoders of `"Universal Sentence Encoder" <https://arxiv.org/abs/1803.11175>`_: the architecture,
    trained here, without the published weights.

    ``variant="transformer"``: a Transformer encoder over the :math:`n` words of an utterance and their
    positions; its states are summed and divided by :math:`\sqrt{n}`, to limit the effect of text length:

    .. math::
        \mathbf{s} = \frac{1}{\sqrt{n}} \sum_{w = 1}^{n} \mathbf{h}_w

    ``variant="dan"``, a deep averaging network: the mean over vectors of words and of pairs of neighbours,
    then a feed-forward network with ReLU,

    .. math::
        \mathbf{s} = \mathrm{FFN} \Big(\frac{1}{2n - 1} \Big(\sum_{w = 1}^{n} \mathbf{e}_w + \sum_{w = 1}^{n -
        1} \mathbf{e}_{w, w + 1}\Big)\Big)

    where pairs share :obj:`buckets` vectors by a hash of their ids. ROOT has :math:`\mathbf{s}`; a word has
    its Transformer state, or its vector in ``"dan"``.

    The paper trains one encoder on several tasks with unlabelled and labelled text, with larger sizes (an
    output of 512 channels). Its text was not available: the division by the root of the length is from the
    documentation of the published module, the means over words and pairs from public descriptions; we could
    not verify the number of layers, the vectors of pairs and a possible square root in the second form. Other
    nodes have zeros.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        variant: ``"transformer"`` or ``"dan"``. (default: ``"transformer"``)
        num_layers: Number of Transformer blocks, or of feed-forward layers. (default: :obj:`3`)
        heads: Attention heads; divides :obj:`hidden_channels`. (default: :obj:`6`)
        ff_channels: Size of the Transformer's feed-forward layers. (default: :obj:`300`)
        buckets: Number of vectors for pairs. (default: :obj:`20_000`)
        max_positions: Number of positions. (default: :obj:`512`)
        dropout: Dropout probability. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, projected if their size differs. (default:
            :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`variant` is unknown, a size is not a whole number >= 1, :obj:`heads` does not
            divide :obj:`hidden_channels` of a Transformer, or the data has no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import UniversalEncoder
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> UniversalEncoder(len(vocab), hidden_channels=8, heads=2, ff_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        variant: str = "transformer",
        num_layers: int = 3,
        heads: int = 6,
        ff_channels: int = 300,
        buckets: int = 20_000,
        max_positions: int = 512,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        check_choice("variant", variant, VARIANTS)
        sizes = {"hidden_channels": hidden_channels, "num_layers": num_layers, "ff_channels": ff_channels}
        for name, size in (sizes | {"buckets": buckets}).items():
            check_count(name, size, 1)
        check_count("max_positions", max_positions)
        attends = variant == "transformer"
        if attends:
            check_divides("heads", check_count("heads", heads, 1), "hidden_channels", hidden_channels)
        self.hidden_channels, self.variant = hidden_channels, variant
        self.embedding = NodeEmbedding(
            num_words,
            hidden_channels,
            max_positions=max_positions if attends else 0,
            max_levels=0,
            vectors=vectors,
            dropout=dropout,
        )
        self.pair = None if attends else nn.Embedding(buckets, hidden_channels)
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            transformer_layer(hidden_channels, heads, ff_channels, dropout)
            if attends
            else nn.Linear(hidden_channels, hidden_channels)
            for _ in range(num_layers)
        )
        self._reset_pairs()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._reset_pairs()

    def _reset_pairs(self) -> None:
        if self.pair is not None:  # initialized like words
            nn.init.normal_(self.pair.weight, std=self.hidden_channels**-0.5)

    def forward(self, data: Data) -> Tensor:
        words = words_of(data)
        roots, utterance = root_nodes(data), utterance_of(data)[words]
        length = torch.bincount(utterance, minlength=roots.numel()).unsqueeze(-1)
        x = self.embedding(with_positions_in_utterance(data)).index_select(0, words)
        if self.pair is None:
            layout = AttentionLayout(words.new_empty(2, 0), x.size(0), clique=utterance)
            for layer in self.layers:
                x = layer(x, layout)
            texts = scatter(x, utterance, dim_size=roots.numel(), reduce="sum")
            texts = texts / length.clamp(min=1).to(texts.dtype).sqrt()
        else:
            texts = self._averaged(x, data.input_ids[words], utterance, length)
        rows = torch.cat([x, texts.to(x.dtype)])
        table = x.new_zeros(data.node_type.numel(), self.hidden_channels)
        return table.index_copy(0, torch.cat([words, roots]), rows)

    def _averaged(self, x: Tensor, ids: Tensor, utterance: Tensor, length: Tensor) -> Tensor:
        assert self.pair is not None
        first = (utterance[1:] == utterance[:-1]).nonzero().view(-1)
        # Two odd factors, so that a pair and its reverse have different hashes.
        bucket = (ids[first] * 1_000_003 + ids[first + 1] * 8_191) % self.pair.num_embeddings
        parts = torch.cat([x, self.dropout(self.pair(bucket))])
        of = torch.cat([utterance, utterance[first]])
        mean = scatter(parts, of, dim_size=length.size(0), reduce="sum") / (2 * length - 1).clamp(min=1)
        for layer in self.layers:
            mean = torch.relu(layer(mean))
        return torch.where(length > 0, mean, 0)

    def extra_repr(self) -> str:
        return f"variant={self.variant!r}"
