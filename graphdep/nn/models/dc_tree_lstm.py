"""DC-TreeLSTM: a Tree-LSTM whose composition another one makes at each node."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._binary_trees import BinaryTrees
from graphdep.nn.models._meta_trees import MetaTreeEncoder


class DCTreeLSTM(MetaTreeEncoder):
    r"""DC-TreeLSTM, a dynamic compositional network over binarised constituents, from `"Dynamic Compositional
    Neural Networks over Tree Structure" <https://arxiv.org/abs/1705.04153>`_.

    A small Tree-LSTM reads at each node what the large one reads, and makes the large one's weights:

    .. math::
        \mathbf{m}_j &= \mathrm{TreeLSTM}^{meta}([\mathbf{x}_j; \mathbf{h}_l; \mathbf{h}_r]; \mathbf{m}_l,
        \mathbf{m}_r), \quad \mathbf{z}_j = \mathbf{W}^z \mathbf{m}_j + \mathbf{b}^z, \\
        [\mathbf{i}; \mathbf{o}; \mathbf{u}; \mathbf{f}^l; \mathbf{f}^r] &= [\sigma; \sigma; \tanh; \sigma;
        \sigma] \big(\mathbf{P} \, \mathrm{diag}(\mathbf{z}_j) \, \mathbf{Q} [\mathbf{x}_j; \mathbf{h}_l;
        \mathbf{h}_r] + \mathbf{B} \mathbf{z}_j\big), \\
        \mathbf{c}_j &= \mathbf{i} \odot \mathbf{u} + \mathbf{f}^l \odot \mathbf{c}_l + \mathbf{f}^r \odot
        \mathbf{c}_r, \quad \mathbf{h}_j = \mathbf{o} \odot \tanh(\mathbf{c}_j)

    Words have children of zeros, other nodes an :math:`\mathbf{x}_j` of zeros. With ``cell="rnn"`` it is the
    paper's other form, DC-RecNN: both networks are recursive ones,
    :math:`\mathbf{h}_j = \tanh(\mathbf{P} \, \mathrm{diag}(\mathbf{z}_j) \, \mathbf{Q} [\ldots] + \mathbf{B}
    \mathbf{z}_j)`.

    Neither the paper's text nor code of it was at hand; abstracts and reviews have that a meta network makes
    the weights from the context, and that they are low-rank products. Not verified are: what the meta network
    reads, one :math:`\mathbf{Q}` for all gates, :math:`\mathbf{z}_j` of the size of :math:`\mathbf{m}_j`,
    :math:`\mathbf{b}^z` (1 at the start, so that composition begins nearly the same everywhere), and all
    sizes. ROOT has the state of the topmost node. Pretrained vectors enter in their own size. All nodes of
    one depth are computed at once, over the whole batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        cell: ``"lstm"``, or ``"rnn"`` for DC-RecNN. (default: ``"lstm"``)
        meta_channels: Size of :math:`\mathbf{m}_j` and :math:`\mathbf{z}_j`. (default: :obj:`50`)
        binarized: As of :class:`ConstituentEncoder`. (default: ``"left"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes and constituents; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`cell` or :obj:`binarized` is unknown, :obj:`meta_channels` is no whole number
            from 1 on, or the data has no constituents or no ROOT nodes.

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
