"""RNTN: a recursive network whose composition has a tensor."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._binary_levels import BinaryLevels, States
from graphdep.nn.models._binary_trees import BinaryTrees
from graphdep.nn.models.constituent_encoder import ConstituentEncoder

LEAVES = ("paper", "code")


class RNTN(ConstituentEncoder):
    r"""Recursive Neural Tensor Network, from `"Recursive Deep Models for Semantic Compositionality Over a
    Sentiment Treebank" <https://aclanthology.org/D13-1170/>`_ (section 4.3).

    .. math::
        \mathbf{p} = \tanh \Bigg(\begin{bmatrix} \mathbf{b} \\ \mathbf{c} \end{bmatrix}^\top
        \mathbf{V}^{[1:d]} \begin{bmatrix} \mathbf{b} \\ \mathbf{c} \end{bmatrix} + \mathbf{W}
        \begin{bmatrix} \mathbf{b} \\ \mathbf{c} \end{bmatrix} + \mathbf{a}\Bigg)

    where :math:`\mathbf{b}, \mathbf{c}` are the states of the left and right child,
    :math:`\mathbf{V} \in \mathbb{R}^{2d \times 2d \times d}` gives one number a slice, and a word has its
    vector as its state. The bias :math:`\mathbf{a}` is left out of the paper's formula and is in Stanford
    CoreNLP, which also takes :math:`\tanh` of the words' vectors: ``leaf="code"``. With :math:`4d^3`
    parameters in the tensor, :math:`d` stays small: the paper found 25 to 35 best. Tensor, bias and
    :math:`\mathbf{W}`, near two identities, start as in CoreNLP, since the paper does not say; the words'
    vectors as everywhere here, with deviation :math:`d^{-1/2}`, where the paper has them within .0001 of 0
    and CoreNLP within .001. Its labels at all nodes
    are those of :class:`~graphdep.datasets.SST` with ``trees=True``; on other corpora, trees are binarised
    parses, and the label is that of ROOT, which has the state of the topmost node. Pretrained vectors are
    projected to :math:`d`, which the paper, without any, has no need of. All nodes of one depth are computed
    at once, over the whole batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states :math:`d`. (default: :obj:`30`)
        leaf: ``"paper"``, the words' vectors, or ``"code"``, their :math:`\tanh`. (default: ``"paper"``)
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
        >>> from graphdep.nn.models import RNTN
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2)])
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([sentence], vocab=vocab, phrases="spans")
        >>> RNTN(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 30,
        leaf: str = "paper",
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            in_channels=hidden_channels,
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
        )
        if leaf not in LEAVES:
            raise ValueError(f"'leaf' must be one of {', '.join(LEAVES)} (got {leaf!r})")
        self.leaf = leaf
        size = 2 * hidden_channels
        self.tensor = nn.Parameter(torch.empty(size, size * hidden_channels))
        self.lin = nn.Linear(size, hidden_channels)
        self._reset_composition()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._reset_composition()

    def _reset_composition(self) -> None:
        size = self.hidden_channels
        nn.init.uniform_(self.tensor, -1 / (4 * size), 1 / (4 * size))
        nn.init.uniform_(self.lin.weight, -0.5 * size**-0.5, 0.5 * size**-0.5)
        nn.init.zeros_(self.lin.bias)
        with torch.no_grad():
            self.lin.weight += torch.eye(size).repeat(1, 2)

    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        x = self.embedding(data).index_select(0, trees.word)
        return levels.up((x if self.leaf == "paper" else torch.tanh(x),), self._compose)[0]

    def _compose(self, left: States, right: States, inner: Tensor) -> States:
        pair = torch.cat([left[0], right[0]], dim=-1)
        # First over one side of all slices, the large product; then over the other.
        half = (pair @ self.tensor).view(pair.size(0), pair.size(1), self.hidden_channels)
        product = torch.einsum("ni,nik->nk", pair, half.to(pair.dtype))
        return (torch.tanh(product + self.lin(pair)),)

    def extra_repr(self) -> str:
        return f"leaf={self.leaf!r}, {super().extra_repr()}"
