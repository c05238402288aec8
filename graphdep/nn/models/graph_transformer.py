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

    The encoder of `"Attention Is All You Need" <https://arxiv.org/abs/1706.03762>`_ where the edges are
    complete. Which method it is else is said by two things: the transform that builds the edges, and the
    attention that each block is given. So Transformer+DRA is this model with
    :class:`~graphdep.nn.conv.DRAConv` on the edges of ``resolve("dra")`` and without position embeddings;
    LISA has :class:`~graphdep.nn.conv.LISAConv` in one layer.

    Args:
        num_words: Size of the vocabulary.
        conv: Makes the attention of a layer from its number, counted from 0: one of
            :mod:`graphdep.nn.conv`, or any PyG conv over ``x`` and ``edge_index``; its output has
            :obj:`hidden_channels` channels. It is given the types of the edges where its ``forward`` has an
            argument ``edge_type``, and for edges the shared :class:`~graphdep.nn.attention.AttentionLayout`
            where it has an attribute ``takes_layout``, else ``edge_index``.
        hidden_channels: Size of the node states. (default: :obj:`768`)
        num_layers: Number of blocks. (default: :obj:`3`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`3072`)
        dropout: Dropout probability of embeddings and blocks; the attention has its own for its weights.
            (default: :obj:`0.1`)
        position_embedding: Add the embedding of a node's position. (default: :obj:`True`)
        level_embedding: Add the embedding of a word's depth. (default: :obj:`False`)
        norm_first: Normalise before each part of a block, and at the end. (default: :obj:`False`)
        max_positions: Positions told apart. (default: :obj:`512`)
        segments: Number of segments that have an embedding, e.g. 2 for a context and its response; 0 for no
            segment embedding. (default: :obj:`0`)
        embedding_scale: Multiply word vectors by :math:`\sqrt{C}`, see
            :class:`~graphdep.nn.models.NodeEmbedding`. (default: :obj:`False`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch with the node table, edges (``implicit=True``
          saves memory), and ``edge_type`` where an attention wants it; output :math:`(|\mathcal{V}|, C)`;
          with :obj:`return_layers` also the list of the :math:`L + 1` states, that of the embeddings first,
          of which the last is the output

    Raises:
        ValueError: If :obj:`num_layers` is below 1, the data lacks edges or their types, or it has cliques
            that an attention without ``takes_layout`` cannot see.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.conv import DRAConv
        >>> from graphdep.nn.models import GraphTransformer
        >>> from graphdep.transforms import resolve
        >>> data = to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"]))
        >>> model = GraphTransformer(7, lambda layer: DRAConv(8, 4, heads=2), hidden_channels=8)
        >>> model(resolve("dra")(data)).shape
        torch.Size([3, 8])
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
        segments: int = 0,
        embedding_scale: bool = False,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"'num_layers' must be at least 1 (got {num_layers})")
        self.hidden_channels, self.num_layers = hidden_channels, num_layers
        self.embedding = NodeEmbedding(
            num_words,
            hidden_channels,
            max_positions=max_positions if position_embedding else 0,
            max_levels=64 if level_embedding else 0,
            segments=segments,
            embedding_scale=embedding_scale,
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
        self.typed = [_takes_types(layer.conv) for layer in self.layers]

    @property
    def heads(self) -> int:
        """Heads of the first block's attention; 1 where it does not tell."""
        return getattr(self.layers[0].conv, "heads", 1)

    def forward(self, data: Data, return_layers: bool = False) -> Tensor | tuple[Tensor, list[Tensor]]:
        layout = AttentionLayout.of(data)
        self._check(layout)
        x = self.embedding(data)
        layers = [x]
        for layer, typed in zip(self.layers, self.typed):
            edges = layout if _takes_layout(layer.conv) else layout.edge_index
            x = layer(x, edges, **({"edge_type": layout.edge_type} if typed else {}))
            if return_layers:
                layers.append(x)
        x = self.norm(x)
        return (x, [*layers[:-1], x]) if return_layers else x

    def _check(self, layout: AttentionLayout) -> None:
        if any(self.typed) and layout.edge_type is None:
            raise ValueError("the data has no 'edge_type': apply TreePathTypes() after the edge constructor")
        if layout.clique is None:
            return
        for layer in self.layers:
            if not _takes_layout(layer.conv):
                raise ValueError(
                    f"{type(layer.conv).__name__} sees edges alone and the data has a 'clique': build the "
                    "edges without implicit=True"
                )


def _takes_layout(conv: nn.Module | Tensor) -> bool:
    return getattr(conv, "takes_layout", False)


def _takes_types(conv: nn.Module | Tensor) -> bool:
    assert isinstance(conv, nn.Module)
    return "edge_type" in inspect.signature(conv.forward).parameters
