"""A Transformer encoder over the edges of the data, with the attention of each layer injected."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.nn.models.transformer_layer import TransformerLayer


class GraphTransformer(TextEncoder):
    r"""Node embeddings and Transformer blocks whose attention follows the edges of the data.

    The encoder of "Attention Is All You Need" where the edges are complete. Which method it is else is said
    by two things: the transform that builds the edges, and the attention that each block is given. So
    Transformer+DRA is this model with :class:`~graphdep.nn.conv.DRAConv` on the edges of ``resolve("dra")``
    and without position embeddings; LISA has :class:`~graphdep.nn.conv.LISAConv` in one layer.

    Args:
        num_words: Size of the vocabulary.
        conv: Makes the attention of a layer from its number, counted from 0; its output has
            :obj:`hidden_channels` channels. An attention whose ``forward`` has an argument ``edge_type`` is
            given the types of the edges.
        hidden_channels: Size of the node states. (default: :obj:`768`)
        num_layers: Number of blocks. (default: :obj:`3`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`3072`)
        dropout: Dropout probability of embeddings and blocks; the attention has its own for its weights.
            (default: :obj:`0.1`)
        position_embedding: Add the embedding of a node's position. (default: :obj:`True`)
        level_embedding: Add the embedding of a word's depth. (default: :obj:`False`)
        norm_first: Normalise before each part of a block, and at the end. (default: :obj:`False`)
        max_positions: Positions told apart. (default: :obj:`512`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch with the node table, ``edge_index``, and
          ``edge_type`` where an attention wants it; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`num_layers` is below 1, or the data lacks edges or their types.
    """

    def __init__(
        self,
        num_words: int,
        conv: Callable[[int], nn.Module],
        *,
        hidden_channels: int = 768,
        num_layers: int = 3,
        ff_channels: int = 3072,
        dropout: float = 0.1,
        position_embedding: bool = True,
        level_embedding: bool = False,
        norm_first: bool = False,
        max_positions: int = 512,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"'num_layers' must be at least 1 (got {num_layers})")
        self.hidden_channels = hidden_channels
        self.embedding = NodeEmbedding(
            num_words,
            hidden_channels,
            max_positions=max_positions if position_embedding else 0,
            max_levels=64 if level_embedding else 0,
            vectors=vectors,
            dropout=dropout,
        )
        self.layers = nn.ModuleList(
            TransformerLayer(
                conv(number), hidden_channels, ff_channels, dropout=dropout, norm_first=norm_first
            )
            for number in range(num_layers)
        )
        self.norm = nn.LayerNorm(hidden_channels) if norm_first else nn.Identity()
        self.typed = [_wants_types(layer.conv) for layer in self.layers]

    def forward(self, data: Data) -> Tensor:
        if data.edge_index is None:
            raise ValueError(
                "the data has no 'edge_index': apply an edge constructor, e.g. resolve('transformer')"
            )
        if any(self.typed) and "edge_type" not in data:
            raise ValueError("the data has no 'edge_type': apply TreePathTypes() after the edge constructor")
        layout = AttentionLayout(
            data.edge_index, data.num_nodes, clique=data.get("clique"), ptr=data.get("ptr")
        )
        x = self.embedding(data)
        for layer, typed in zip(self.layers, self.typed):
            types = (data.edge_type,) if typed else ()
            x = layer(x, data.edge_index, *types, layout=layout)
        return self.norm(x)


def _wants_types(conv: nn.Module | Tensor) -> bool:
    return isinstance(conv, nn.Module) and "edge_type" in inspect.signature(conv.forward).parameters
