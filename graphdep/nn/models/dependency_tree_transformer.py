"""Tree-Transformer over dependency trees, with branches."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._branch_attention import BranchAttention, places_in
from graphdep.nn.models._levels import TreeLevels, sum_children
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder


class DependencyTreeTransformer(TextEncoder):
    r"""Tree-Transformer over the dependency tree with its branches, from `"You Only Need Attention to
    Traverse Trees" <https://aclanthology.org/P19-1030/>`_; :class:`TreeTransformer` is a simpler form.

    A word without dependents has its vector as its state. Any other word :math:`j` makes one of its vector
    and of its dependents' states, :math:`\mathbf{X} = [\mathbf{e}_j; \mathbf{h}_k, k \in C(j)]`, by attention
    in :math:`n` branches:

    .. math::
        \mathbf{B}_i &= \mathrm{softmax}\Big(\frac{\mathbf{X} \mathbf{W}^Q_i (\mathbf{X} \mathbf{W}^K_i)^\top}
        {\sqrt{d}}\Big) \mathbf{X} \mathbf{W}^V_i, \\
        \bar{\mathbf{B}}_i &= \kappa_i \, \mathrm{LN}(\mathbf{B}_i \mathbf{W}^b_i + \mathbf{X}), \\
        \tilde{\mathbf{X}} &= \sum_{i = 1}^{n} \alpha_i \big(\mathrm{ReLU}(\bar{\mathbf{B}}_i \mathbf{W}^1_i +
        \mathbf{b}^1_i) \mathbf{W}^2_i + \mathbf{b}^2_i\big), \\
        \mathbf{h}_j &= \sum_m \tanh(\mathbf{W} (\tilde{\mathbf{x}}_m + \mathbf{x}_m) + \mathbf{b})

    with :math:`\sum \kappa_i = \sum \alpha_i = 1`. With :obj:`position_codes` sinusoids of the places in the
    family, in the order of the text, are added to :math:`\mathbf{X}`; the paper tries both.

    The paper's text was not at hand. The last formula is as in earlier notes on it; the branches follow the
    authors' `code <https://github.com/navid5792/Tree-Transformer>`_, which has them as a class (with one sum
    before the norm, and a norm of each branch), and
    `"Weighted Transformer Network for Machine Translation" <https://arxiv.org/abs/1711.02132>`_, which they
    are from; whether :math:`\mathbf{X}` stands in the norm, and where codes are added, we could
    not verify. Weights that sum to 1 are a softmax here, equal at the start, and no projection after each
    step. In the authors' class the input of a branch's feed-forward layer is added to its
    output, and a norm taken, too; not here. What the authors' code runs is another model, of which
    ``form="code"`` is one of two passes whose states it joins (the other also reads relation labels, and is
    not here): heads side by side whose softmax is over those who attend, no branches, no
    :math:`\mathbf{W}`, the words' own vectors added, and matrices that start smaller (Xavier's rule for all
    heads' as one tensor; here for each):

    .. math::
        \mathbf{h}_j = \tanh \Big(\sum_m \big(\mathbf{a}_m + \mathbf{e}_m\big)\Big)

    ROOT has the state of the root word (their sum, where a tree has several). Nodes outside the trees have
    zeros. All words of one depth are computed at once, over the whole batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        heads: Branches; divides :obj:`hidden_channels`. (default: :obj:`6`)
        ff_channels: Size of the branches' feed-forward layers together, a share for each; the
            size is ours. (default: :obj:`300`)
        form: ``"paper"`` or ``"code"``, see above. (default: ``"paper"``)
        position_codes: Add sinusoids. (default: :obj:`False`)
        dropout: Dropout probability. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, projected where they have another size.
            (default: :obj:`None`)

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
        self.embedding = NodeEmbedding(
            num_words, hidden_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )

    def forward(self, data: Data) -> Tensor:
        levels = TreeLevels(data)
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
