"""Tree-LSTMs whose weights depend on the constituent: DC-TreeLSTM and TagHyperTreeLSTM."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from graphdep.io.limits import check_choice, check_count
from graphdep.nn.models.baselines.constituent_trees import (
    BinaryLevels,
    BinaryTrees,
    ConstituentEncoder,
    States,
)
from graphdep.transforms.options import require_key
from graphdep.vocab.vocab import UPOS, PhraseVocab

CELLS = ("lstm", "rnn")
_Children = tuple[Tensor | None, ...]
_NONE: _Children = (None,) * 4
"""The states of absent children."""


class MetaTreeEncoder(ConstituentEncoder):
    """Two networks go up the trees in parallel: at each node the smaller one computes its state first, which
    controls the composition of the other. Words have zeros as children, other nodes zeros as input; zeros are
    not multiplied: words use the first columns of a matrix, other nodes the last ones.

    Args:
        num_words, hidden_channels, binarized, dropout, vectors: As in
            :class:`~graphdep.nn.models.BinaryTreeLSTM`.
        cell: ``"lstm"`` or ``"rnn"``, of both networks.
        meta_channels: Size of the states of the smaller network.
        tag_channels: Size of the tag vector that the smaller network reads besides its own states; if
            :obj:`None`, it reads the word vector and the other network's states of the children.
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int,
        cell: str,
        meta_channels: int,
        binarized: str,
        dropout: float,
        vectors: Tensor | None,
        tag_channels: int | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
        )
        check_choice("cell", cell, CELLS)
        self.cell = cell
        self.meta_channels = check_count("meta_channels", meta_channels, least=1)
        self.tag_channels = tag_channels
        self.read_channels = self.in_channels + 2 * hidden_channels
        meta = (self.read_channels if tag_channels is None else tag_channels) + 2 * meta_channels
        self.lin_meta = nn.Linear(meta, self.gates * meta_channels)
        self.lin_z = nn.Linear(meta_channels, meta_channels)

    @property
    def gates(self) -> int:
        """Number of gates of a cell: i, o, u, left f, right f; one for ``"rnn"``."""
        return 5 if self.cell == "lstm" else 1

    @property
    @abstractmethod
    def lin_read(self) -> nn.Linear:
        """The matrix for the word vector and the states of the children, ``[..., in + 2 * C]``, without a
        bias.
        """

    @abstractmethod
    def composed(self, read: Tensor, z: Tensor) -> Tensor:
        """The gates of nodes, ``[nodes, gates * C]``, from the output of :attr:`lin_read`."""

    @abstractmethod
    def tags(self, data: Data, trees: BinaryTrees) -> Tensor | None:
        """The vector of each node's tag, ``[nodes, tag_channels]``, if the smaller network reads it."""

    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        x = self.embedding(data).index_select(0, trees.word)
        size, tags = x.size(0), self.tags(data, trees)
        of_words, of_inner = (None, None) if tags is None else (tags[:size], tags[size:])
        columns, meta = self.lin_read.weight, self.lin_meta.weight
        first, last = columns[:, : self.in_channels], columns[:, self.in_channels :]
        meta_first = meta[:, : self.tag_channels or self.in_channels]
        meta_last = meta if self.tag_channels else meta[:, self.in_channels :]

        def compose(left: States, right: States, inner: Tensor) -> States:
            inputs = torch.cat([left[0], right[0]], dim=-1)
            seen = inputs if of_inner is None else of_inner.index_select(0, inner)
            seen = torch.cat([seen, left[2], right[2]], dim=-1)
            return self._step(F.linear(inputs, last), F.linear(seen, meta_last), left, right)

        seen = x if of_words is None else of_words
        return levels.up(self._step(F.linear(x, first), F.linear(seen, meta_first)), compose)[0]

    def _step(self, read: Tensor, meta: Tensor, left: _Children = _NONE, right: _Children = _NONE) -> States:
        """States and memory cells of both networks: h, c, m and the memory of m."""
        m, memory = self._cell(meta + self.lin_meta.bias, left[3], right[3])
        h, c = self._cell(self.composed(read, self.lin_z(m)), left[1], right[1])
        return h, c, m, memory

    def _cell(self, gates: Tensor, left: Tensor | None, right: Tensor | None) -> tuple[Tensor, Tensor]:
        if self.cell == "rnn":
            state = torch.tanh(gates)
            return state, state  # the memory is unused
        i, o, u, left_f, right_f = gates.chunk(5, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(u)
        if left is not None and right is not None:
            c = c + torch.sigmoid(left_f) * left + torch.sigmoid(right_f) * right
        return torch.sigmoid(o) * torch.tanh(c), c

    def extra_repr(self) -> str:
        return f"cell={self.cell!r}, {super().extra_repr()}"


class DCTreeLSTM(MetaTreeEncoder):
    r"""DC-TreeLSTM, a dynamic compositional network over binarised constituents, from `"Dynamic Compositional
    Neural Networks over Tree Structure" <https://arxiv.org/abs/1705.04153>`_.

    A small Tree-LSTM reads the same input as the large one at each node, and computes the large one's
    weights:

    .. math::
        \mathbf{m}_j &= \mathrm{TreeLSTM}^{meta}([\mathbf{x}_j; \mathbf{h}_l; \mathbf{h}_r]; \mathbf{m}_l,
        \mathbf{m}_r), \quad \mathbf{z}_j = \mathbf{W}^z \mathbf{m}_j + \mathbf{b}^z, \\
        [\mathbf{i}; \mathbf{o}; \mathbf{u}; \mathbf{f}^l; \mathbf{f}^r] &= [\sigma; \sigma; \tanh; \sigma;
        \sigma] \big(\mathbf{P} \, \mathrm{diag}(\mathbf{z}_j) \, \mathbf{Q} [\mathbf{x}_j; \mathbf{h}_l;
        \mathbf{h}_r] + \mathbf{B} \mathbf{z}_j\big), \\
        \mathbf{c}_j &= \mathbf{i} \odot \mathbf{u} + \mathbf{f}^l \odot \mathbf{c}_l + \mathbf{f}^r \odot
        \mathbf{c}_r, \quad \mathbf{h}_j = \mathbf{o} \odot \tanh(\mathbf{c}_j)

    Words have zeros as children, other nodes zeros as :math:`\mathbf{x}_j`. With ``cell="rnn"`` it is the
    paper's other form, DC-RecNN: both networks are recursive networks, :math:`\mathbf{h}_j = \tanh(\mathbf{P}
    \, \mathrm{diag}(\mathbf{z}_j) \, \mathbf{Q} [\ldots] + \mathbf{B} \mathbf{z}_j)`.

    Neither the paper's text nor its code was available; abstracts and reviews say that a meta network
    computes the weights from the context, and that they are low-rank products. Not verified are the input of
    the meta network, a single :math:`\mathbf{Q}` for all gates, the size of :math:`\mathbf{z}_j` equal to
    that of :math:`\mathbf{m}_j`, :math:`\mathbf{b}^z` (initially 1, so that composition starts nearly equal
    everywhere), and all sizes. ROOT has the state of the top node. Pretrained vectors keep their size. All
    nodes of one depth are computed at once, across the batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        cell: ``"lstm"``, or ``"rnn"`` for DC-RecNN. (default: ``"lstm"``)
        meta_channels: Size of :math:`\mathbf{m}_j` and :math:`\mathbf{z}_j`. (default: :obj:`50`)
        binarized: As in :class:`ConstituentEncoder`. (default: ``"left"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes and constituents; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`cell` or :obj:`binarized` is unknown, :obj:`meta_channels` is not a whole number
            >= 1, or the data has no constituents or no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DCTreeLSTM
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2)])
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([sentence], vocab=vocab, phrases="spans")
        >>> DCTreeLSTM(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        cell: str = "lstm",
        meta_channels: int = 50,
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            cell=cell,
            meta_channels=meta_channels,
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
        )
        self.lin_q = nn.Linear(self.read_channels, meta_channels, bias=False)
        self.lin_p = nn.Linear(meta_channels, self.gates * hidden_channels, bias=False)
        self.lin_b = nn.Linear(meta_channels, self.gates * hidden_channels, bias=False)
        nn.init.ones_(self.lin_z.bias)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.ones_(self.lin_z.bias)

    @property
    def lin_read(self) -> nn.Linear:
        return self.lin_q

    def tags(self, data: Data, trees: BinaryTrees) -> None:
        return None

    def composed(self, read: Tensor, z: Tensor) -> Tensor:
        return self.lin_p(z * read) + self.lin_b(z)


class TagHyperTreeLSTM(MetaTreeEncoder):
    r"""TagHyperTreeLSTM over binarised constituents, from `"TreeLSTM with Tag-Aware Hypernetwork for Sentence
    Representation"
    <https://pure.ulster.ac.uk/en/publications/treelstm-with-tag-aware-hypernetwork-for-sentence-representation>`_.

    A small Tree-LSTM over tags only, with :math:`\mathbf{e}_j` for a word or a constituent, scales the
    weights of the large one, as in hypernetworks:

    .. math::
        \mathbf{m}_j &= \mathrm{TreeLSTM}^{hyper}(\mathbf{e}_j; \mathbf{m}_l, \mathbf{m}_r), \quad
        \mathbf{z}_j = \mathbf{W}^z \mathbf{m}_j + \mathbf{b}^z, \\
        [\mathbf{i}; \mathbf{o}; \mathbf{u}; \mathbf{f}^l; \mathbf{f}^r] &= [\sigma; \sigma; \tanh; \sigma;
        \sigma] \big(\mathrm{diag}(\mathbf{D} \mathbf{z}_j + \mathbf{d}) \, \mathbf{W} [\mathbf{x}_j;
        \mathbf{h}_l; \mathbf{h}_r] + \mathbf{B} \mathbf{z}_j + \mathbf{b}\big), \\
        \mathbf{c}_j &= \mathbf{i} \odot \mathbf{u} + \mathbf{f}^l \odot \mathbf{c}_l + \mathbf{f}^r \odot
        \mathbf{c}_r, \quad \mathbf{h}_j = \mathbf{o} \odot \tanh(\mathbf{c}_j)

    with :math:`\mathbf{d} = 1` initially. Words have zeros as children, other nodes zeros as
    :math:`\mathbf{x}_j`. With ``cell="rnn"`` both networks are recursive networks, as in TG-HRecNN of `Shen
    et al. (2018) <https://arxiv.org/abs/1808.06075>`_.

    Word tags are universal (``to_data(..., phrases="tagged")``), as from the bundled tagger, and constituents
    have their labels as tags: a constituent over one word has only the word's tag, among several over the
    same words the topmost counts, and nodes from binarization have that of their constituent. The paper uses
    tags of another parser. Neither its text nor its code was available: its abstract says that a hypernetwork
    over tags computes the parameters of the encoder; we could not verify that this network is a tree network,
    the scaling of rows (as in the paper on HyperNetworks) and all sizes. ROOT has the state of the top node.
    Pretrained vectors keep their size. All nodes of one depth are computed at once, across the batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        cell: ``"lstm"``, or ``"rnn"`` for recursive networks. (default: ``"lstm"``)
        meta_channels: Size of :math:`\mathbf{m}_j` and :math:`\mathbf{z}_j`. (default: :obj:`50`)
        tag_channels: Size of :math:`\mathbf{e}_j`. (default: :obj:`50`)
        binarized: As in :class:`ConstituentEncoder`. (default: ``"left"``)
        dropout: Dropout probability of the word vectors. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes, constituents and ``tag``; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`cell` or :obj:`binarized` is unknown, a size is not a whole number >= 1, or the
            data has no constituents, no tags or no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import TagHyperTreeLSTM
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, upos=["PRON", "VERB"], constituents=[("S", 0, 2)])
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([sentence], vocab=vocab, phrases="tagged")
        >>> TagHyperTreeLSTM(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        cell: str = "lstm",
        meta_channels: int = 50,
        tag_channels: int = 50,
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            cell=cell,
            meta_channels=meta_channels,
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
            tag_channels=check_count("tag_channels", tag_channels, least=1),
        )
        self.tag = nn.Embedding(1 + len(UPOS) + len(PhraseVocab()), tag_channels)
        self.lin = nn.Linear(self.read_channels, self.gates * hidden_channels, bias=False)
        self.lin_scale = nn.Linear(meta_channels, self.gates * hidden_channels)
        self.lin_bias = nn.Linear(meta_channels, self.gates * hidden_channels)
        nn.init.ones_(self.lin_scale.bias)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.ones_(self.lin_scale.bias)

    @property
    def lin_read(self) -> nn.Linear:
        return self.lin

    def tags(self, data: Data, trees: BinaryTrees) -> Tensor:
        require_key(data, "tag", "make it with phrases='tagged', of sentences with UPOS")
        return self.tag(torch.cat([data.tag[trees.word], trees.label + 1 + len(UPOS)]))

    def composed(self, read: Tensor, z: Tensor) -> Tensor:
        return self.lin_scale(z) * read + self.lin_bias(z)
