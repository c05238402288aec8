"""Tree-Transformer over constituents, with branches."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._branch_attention import BranchAttention, places_in
from graphdep.nn.models._span_levels import SpanLevels
from graphdep.nn.models.constituent_encoder import ConstituentEncoder


class ConstituencyTreeTransformer(ConstituentEncoder):
    r"""Tree-Transformer over the constituents, from `"You Only Need Attention to Traverse Trees"
    <https://aclanthology.org/P19-1030/>`_.

    A constituent is made of its parts alone,

    .. math::
        \mathbf{X} = [\mathbf{h}_k, k \in C(j)],

    by the block of :class:`DependencyTreeTransformer`, whose docstring has the formulas and what of them is
    not verified; a word has its vector as its state. Constituents are not binarised; those over the same
    words are one. What lies in no constituent, or several at the top, is a part of one more. With
    ``form="code"`` what is added to attention is :math:`\mathbf{X}` itself. It is not
    :class:`ConstituentTransformer`, which reads no parse.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        heads: Branches; divides :obj:`hidden_channels`. (default: :obj:`6`)
        ff_channels: Size of the branches' feed-forward layers together, a share for each.
            (default: :obj:`300`)
        form, position_codes: As of :class:`DependencyTreeTransformer`. (default: ``"paper"``, :obj:`False`)
        dropout: Dropout probability. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, projected where they have another size.
            (default: :obj:`None`)

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
