"""N-ary Tree-LSTM of two children over binarised constituents."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._binary_levels import BinaryLevels, States
from graphdep.nn.models._binary_trees import BinaryTrees
from graphdep.nn.models.constituent_encoder import ConstituentEncoder

LEAVES = ("paper", "code")


class BinaryTreeLSTM(ConstituentEncoder):
    r"""N-ary Tree-LSTM with :math:`N = 2`, the Constituency Tree-LSTM of `"Improved Semantic Representations
    From Tree-Structured Long Short-Term Memory Networks" <https://aclanthology.org/P15-1150/>`_ (Eq. 9-14).

    .. math::
        [\mathbf{i}_j; \mathbf{o}_j; \mathbf{u}_j] &= [\sigma; \sigma; \tanh] \Big(\mathbf{W}^{iou}
        \mathbf{x}_j + \sum_{l = 1}^{2} \mathbf{U}^{iou}_l \mathbf{h}_{jl} + \mathbf{b}^{iou}\Big), \\
        \mathbf{f}_{jk} &= \sigma \Big(\mathbf{W}^f \mathbf{x}_j + \sum_{l = 1}^{2} \mathbf{U}^f_{kl}
        \mathbf{h}_{jl} + \mathbf{b}^f\Big), \\
        \mathbf{c}_j &= \mathbf{i}_j \odot \mathbf{u}_j + \sum_{k = 1}^{2} \mathbf{f}_{jk} \odot
        \mathbf{c}_{jk}, \quad \mathbf{h}_j = \mathbf{o}_j \odot \tanh(\mathbf{c}_j)

    where :math:`\mathbf{h}_{j1}, \mathbf{h}_{j2}` are the states of the left and right child; words have
    children of zeros, and other nodes an :math:`\mathbf{x}_j` of zeros, so that :math:`\mathbf{W}^f` is never
    used and is not there. The authors' `code <https://github.com/stanfordnlp/treelstm>`_ differs: a word has
    no gates :math:`\mathbf{i}` and :math:`\mathbf{u}`,

    .. math::
        \mathbf{c}_j = \mathbf{W}^c \mathbf{x}_j + \mathbf{b}^c, \quad
        \mathbf{h}_j = \sigma(\mathbf{W}^o \mathbf{x}_j + \mathbf{b}^{o'}) \odot \tanh(\mathbf{c}_j),

    and biases of its own; and each forget gate has its own bias. ``leaf="code"`` has all this, and the
    paper's count of parameters for sentiment, 316,800, is of it: there each composing gate has its bias
    twice, which is the same function, and here once (316,050). Its models of relatedness (SICK: 205,190
    parameters) have no :math:`\mathbf{o}` besides, :math:`\mathbf{h} = \tanh(\mathbf{c})`, for which there is
    no option here. The paper's trees are those of the treebank, or of the Stanford parser, whose binariser
    takes the parts off around the head: ``binarized="head"`` has that shape, with heads from the dependency
    tree. ROOT has the state of the topmost node. Pretrained vectors enter in their own size. All nodes of one
    depth are computed at once, over the whole batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states; the paper has 150 (sentiment: 150, relatedness: 142).
            (default: :obj:`300`)
        leaf: ``"paper"`` or ``"code"``, see above. (default: ``"paper"``)
        binarized: As of :class:`ConstituentEncoder`. (default: ``"left"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes and constituents; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`leaf` or :obj:`binarized` is unknown, or the data has no constituents or no ROOT
            nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import BinaryTreeLSTM
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2)])
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([sentence], vocab=vocab, phrases="spans")
        >>> BinaryTreeLSTM(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        leaf: str = "paper",
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
        )
        if leaf not in LEAVES:
            raise ValueError(f"'leaf' must be one of {', '.join(LEAVES)} (got {leaf!r})")
        self.leaf = leaf
        paper = leaf == "paper"
        # In the paper one bias for words and other nodes: that of lin_x.
        self.lin_x = nn.Linear(self.in_channels, (3 if paper else 2) * hidden_channels)
        self.lin_h = nn.Linear(2 * hidden_channels, 5 * hidden_channels, bias=not paper)
        self.bias_f = nn.Parameter(torch.zeros(hidden_channels)) if paper else None

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.bias_f is not None:
            nn.init.zeros_(self.bias_f)

    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        x = self.embedding(data).index_select(0, trees.word)
        return levels.up(self._leaves(self.lin_x(x)), self._compose)[0]

    def _leaves(self, x: Tensor) -> States:
        if self.leaf == "code":
            o, c = x.chunk(2, dim=-1)
            return torch.sigmoid(o) * torch.tanh(c), c
        i, o, u = x.chunk(3, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(c), c

    def _compose(self, left: States, right: States, inner: Tensor) -> States:
        gates = self.lin_h(torch.cat([left[0], right[0]], dim=-1))
        if self.bias_f is not None:
            gates = gates + torch.cat([self.lin_x.bias, self.bias_f, self.bias_f])
        i, o, u, left_f, right_f = gates.chunk(5, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(u)
        c = c + torch.sigmoid(left_f) * left[1] + torch.sigmoid(right_f) * right[1]
        return torch.sigmoid(o) * torch.tanh(c), c

    def extra_repr(self) -> str:
        return f"leaf={self.leaf!r}, {super().extra_repr()}"
