"""A Transformer encoder that finds constituents on its own."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.conv import ConstituentConv
from graphdep.nn.models.context_encoder import example_bounds
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.nn.models.transformer_layer import TransformerLayer


class ConstituentTransformer(TextEncoder):
    r"""Transformer encoder with constituent attention, from `"Tree Transformer: Integrating Tree Structures
    into Self-Attention" <https://aclanthology.org/D19-1098/>`_.

    Each block attends within constituents that :class:`~graphdep.nn.conv.ConstituentConv` finds; those of a
    block contain those of the block below. No parse is used, and no edges: the nodes of an example are one
    sequence. This is the "TreeTransformer" of `"Modeling Compositionality with Dependency Graph for Dialogue
    Generation" <https://aclanthology.org/2022.suki-1.2/>`_, and not :class:`TreeTransformer`, which applies
    one block recursively over a dependency tree.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`768`)
        num_layers: Number of blocks. (default: :obj:`3`)
        heads: Attention heads a block; divides :obj:`hidden_channels`. (default: :obj:`16`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`3072`)
        dropout: Dropout probability. (default: :obj:`0.1`)
        position_embedding: Add the embedding of a node's position. (default: :obj:`True`)
        renormalize: Let the attention weights of a node sum to 1. (default: :obj:`False`)
        max_positions: Positions told apart. (default: :obj:`512`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`num_layers` is below 1, or :obj:`heads` does not divide :obj:`hidden_channels`.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import ConstituentTransformer
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> ConstituentTransformer(len(vocab), hidden_channels=8, heads=2, ff_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 768,
        num_layers: int = 3,
        heads: int = 16,
        ff_channels: int = 3072,
        dropout: float = 0.1,
        position_embedding: bool = True,
        renormalize: bool = False,
        max_positions: int = 512,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"'num_layers' must be at least 1 (got {num_layers})")
        if heads < 1 or hidden_channels % heads:
            raise ValueError(f"'heads' ({heads}) must divide 'hidden_channels' ({hidden_channels})")
        self.hidden_channels = hidden_channels
        self.embedding = NodeEmbedding(
            num_words,
            hidden_channels,
            max_positions=max_positions if position_embedding else 0,
            max_levels=0,
            vectors=vectors,
            dropout=dropout,
        )
        size = hidden_channels // heads
        self.layers = nn.ModuleList(
            TransformerLayer(
                ConstituentConv(hidden_channels, size, heads, dropout=dropout, renormalize=renormalize),
                hidden_channels,
                ff_channels,
                dropout=dropout,
            )
            for _ in range(num_layers)
        )

    def forward(self, data: Data) -> Tensor:
        ptr = example_bounds(data)
        x, link = self.embedding(data), None
        for layer in self.layers:
            link = layer.conv.links(x, ptr, link)  # type: ignore[operator,union-attr]
            x = layer(x, link, ptr)
        return x
