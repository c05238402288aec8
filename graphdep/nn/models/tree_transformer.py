"""A Transformer block applied recursively, from the leaves of a dependency tree to its root."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv
from graphdep.nn.models._levels import TreeLevels, sum_children
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.nn.models.transformer_layer import TransformerLayer


class TreeTransformer(TextEncoder):
    r"""Tree Transformer over the dependency tree, after `"You Only Need Attention to Traverse Trees"
    <https://aclanthology.org/P19-1030/>`_.

    A word without dependents has its embedding as its state. Any other word :math:`j` attends, together with
    its dependents :math:`C(j)`, and the results are summed:

    .. math::
        \mathbf{X} = [\mathbf{e}_j; \mathbf{h}_k, k \in C(j)], \quad
        \tilde{\mathbf{X}} = \mathrm{block}(\mathbf{X}), \quad
        \mathbf{h}_j = \sum_i \tanh(\mathbf{W} (\tilde{\mathbf{x}}_i + \mathbf{x}_i) + \mathbf{b})

    with one Transformer block (:class:`TransformerLayer`) for all words. It has plain multi-head attention:
    the multi-branch attention of the source, with a feed-forward layer and a learned weight for each branch,
    is left out, and so are its position codes. ROOT has the state of the root word (their sum, where a tree
    has several). Nodes outside the trees have zeros. All words of one depth are computed at once, over the
    whole batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        heads: Attention heads; divides :obj:`hidden_channels`. (default: :obj:`6`)
        ff_channels: Size of the feed-forward layer. (default: :obj:`300`)
        dropout: Dropout probability, in the block too. (default: :obj:`0.0`)
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
        if heads < 1 or hidden_channels % heads:
            raise ValueError(f"'heads' ({heads}) must divide 'hidden_channels' ({hidden_channels})")
        self.hidden_channels = hidden_channels
        self.embedding = NodeEmbedding(
            num_words, hidden_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )
        conv = AttentionConv(hidden_channels, hidden_channels // heads, heads, dropout=dropout)
        self.layer = TransformerLayer(conv, hidden_channels, ff_channels, dropout=dropout)
        self.lin_out = nn.Linear(hidden_channels, hidden_channels)

    def forward(self, data: Data) -> Tensor:
        levels = TreeLevels(data)
        words = levels.split(self.embedding(data).index_select(0, levels.order))
        if len(words) == 1:  # ROOT nodes alone
            return words[0].new_zeros(levels.num_nodes, self.hidden_channels)
        states = [words[0]]
        for word, governor in zip(words[1:-1], levels.governors):
            states.append(self._combine(word, states[-1], governor))
        roots = sum_children(states[-1], levels.governors[-1], levels.sizes[-1])
        return levels.join([*states, roots])

    def _combine(self, word: Tensor, below: Tensor, governor: Tensor) -> Tensor:
        """The states of a level from its words and the states of the level below."""
        inner, family = governor.unique(return_inverse=True)
        x = torch.cat([word.index_select(0, inner), below])
        family = torch.cat([torch.arange(inner.numel(), device=family.device), family])
        order = family.argsort(stable=True)  # families side by side, as attention in blocks wants it
        x, family = x.index_select(0, order), family.index_select(0, order)
        layout = AttentionLayout(family.new_empty(2, 0), x.size(0), clique=family)
        parts = torch.tanh(self.lin_out(self.layer(x, layout) + x))
        states = sum_children(parts, family, inner.numel())
        return word.index_copy(0, inner, states.to(word.dtype))
