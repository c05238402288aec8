"""TagHyperTreeLSTM: a Tree-LSTM whose composition is made from tags of words and constituents."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._binary_trees import BinaryTrees
from graphdep.nn.models._meta_trees import MetaTreeEncoder
from graphdep.transforms.presets import count
from graphdep.vocab import PhraseVocab
from graphdep.vocab.vocab import UPOS


class TagHyperTreeLSTM(MetaTreeEncoder):
    r"""TagHyperTreeLSTM over binarised constituents, from `"TreeLSTM with Tag-Aware Hypernetwork for Sentence
    Representation"
    <https://pure.ulster.ac.uk/en/publications/treelstm-with-tag-aware-hypernetwork-for-sentence-representation>`_.

    A small Tree-LSTM over the tags alone, :math:`\mathbf{e}_j` of a word or a constituent, scales the weights
    of the large one, as hyper-networks do:

    .. math::
        \mathbf{m}_j &= \mathrm{TreeLSTM}^{hyper}(\mathbf{e}_j; \mathbf{m}_l, \mathbf{m}_r), \quad
        \mathbf{z}_j = \mathbf{W}^z \mathbf{m}_j + \mathbf{b}^z, \\
        [\mathbf{i}; \mathbf{o}; \mathbf{u}; \mathbf{f}^l; \mathbf{f}^r] &= [\sigma; \sigma; \tanh; \sigma;
        \sigma] \big(\mathrm{diag}(\mathbf{D} \mathbf{z}_j + \mathbf{d}) \, \mathbf{W} [\mathbf{x}_j;
        \mathbf{h}_l; \mathbf{h}_r] + \mathbf{B} \mathbf{z}_j + \mathbf{b}\big), \\
        \mathbf{c}_j &= \mathbf{i} \odot \mathbf{u} + \mathbf{f}^l \odot \mathbf{c}_l + \mathbf{f}^r \odot
        \mathbf{c}_r, \quad \mathbf{h}_j = \mathbf{o} \odot \tanh(\mathbf{c}_j)

    with :math:`\mathbf{d} = 1` at the start. Words have children of zeros, other nodes an
    :math:`\mathbf{x}_j` of zeros. With ``cell="rnn"`` both networks are recursive ones, as in TG-HRecNN of
    `Shen et al. (2018) <https://arxiv.org/abs/1808.06075>`_.

    Tags of words are universal ones (``to_data(..., phrases="tagged")``), as the bundled tagger gives them,
    and those of constituents their labels: a constituent over one word has none beside its tag, of several
    over the same words the topmost counts, and what binarising adds has that of its constituent. The paper's
    are of another parser. Neither its text nor code of it was at hand: that a hyper-network over tags makes
    the parameters of the encoder is in its abstract; that it is a tree network itself, the scaling of rows
    (as in the paper on HyperNetworks) and all sizes we could not verify. ROOT has the state
    of the topmost node. Pretrained vectors enter in their own size. All nodes of one depth are computed at
    once, over the whole batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        cell: ``"lstm"``, or ``"rnn"`` for recursive networks. (default: ``"lstm"``)
        meta_channels: Size of :math:`\mathbf{m}_j` and :math:`\mathbf{z}_j`. (default: :obj:`50`)
        tag_channels: Size of :math:`\mathbf{e}_j`. (default: :obj:`50`)
        binarized: As of :class:`ConstituentEncoder`. (default: ``"left"``)
        dropout: Dropout probability of the words' vectors. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes, constituents and ``tag``; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`cell` or :obj:`binarized` is unknown, a size is no whole number from 1 on, or the
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
            tag_channels=count("tag_channels", tag_channels, at_least=1),
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
        if "tag" not in data:
            raise ValueError("the data has no 'tag': make it with phrases='tagged', of sentences with UPOS")
        return self.tag(torch.cat([data.tag[trees.word], trees.label + 1 + len(UPOS)]))

    def composed(self, read: Tensor, z: Tensor) -> Tensor:
        return self.lin_scale(z) * read + self.lin_bias(z)
