"""The Dependency-Transformer, its ablations, and the plain Transformer they are compared with."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from graphdep.nn.attention.gated_relation_score import reset_relation
from graphdep.nn.conv import AttentionConv, GatedRelationConv
from graphdep.nn.models.graph_transformer import GraphTransformer


class DependencyTransformer(GraphTransformer):
    r"""Transformer encoder with relation-attention, from `"Integrating Dependency Tree into Self-attention
    for Sentence Representation" <https://arxiv.org/abs/2203.05918>`_ (DT).

    A :class:`GraphTransformer` with position and level embeddings whose attention is
    :class:`~graphdep.nn.conv.GatedRelationConv`; the state of an utterance's ROOT node represents it. The
    relation vectors are shared by all layers; what scores them is each layer's own.

    ============  ======================  ===========  ===================
    Table 3       ``relation_attention``  ``gate``     ``level_embedding``
    ============  ======================  ===========  ===================
    Transformer   False                   --           False
    DT_lr         True                    None         False
    DT_rg         True                    "sigmoid"    False
    DT_full       True                    "sigmoid"    True
    ============  ======================  ===========  ===================

    Sizes are the paper's. It gives no dropout, and none is the default: noise that differs between the two
    sentences of a pair drowns what little tells them apart.

    Args:
        num_words: Size of the vocabulary.
        num_relations: Number of relation ids.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        num_layers: Number of blocks. (default: :obj:`3`)
        heads: Attention heads a block; divides :obj:`hidden_channels`. (default: :obj:`6`)
        relation_dim: Size of the relation vectors. (default: :obj:`30`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`300`)
        dropout: Dropout probability. (default: :obj:`0.0`)
        relation_attention: Use relation scores; otherwise plain self-attention. (default: :obj:`True`)
        gate: ``"sigmoid"``, ``"tanh"`` or :obj:`None`. (default: ``"sigmoid"``)
        gate_state: ``"query"`` or ``"key"``. (default: ``"query"``)
        untyped: What becomes of pairs without a relation: ``"keep"`` or ``"gate"``. (default: ``"keep"``)
        start: Where relation vectors, scores and gates start: ``"random"``, narrow, or ``"torch"``, where
            PyTorch's own layers do, see :class:`~graphdep.nn.attention.GatedRelationScore`. (default:
            ``"random"``)
        level_embedding: Add the embedding of a word's depth. (default: :obj:`True`)
        position_embedding: Add the embedding of a word's position. (default: :obj:`True`)
        norm_first: Normalise before each part of a block, and at the end. (default: :obj:`False`)
        max_positions: Positions told apart. (default: :obj:`512`)
        embedding_scale: Multiply word vectors by :math:`\sqrt{C}`, see
            :class:`~graphdep.nn.models.NodeEmbedding`. (default: :obj:`False`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch with the node table, edges (``implicit=True``
          saves memory), and ``edge_type`` where relations are used; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`heads` does not divide :obj:`hidden_channels`, :obj:`start` is unknown, or the
            data lacks edges or their types.

    Example:
        >>> from graphdep import RelationVocab, Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DependencyTransformer
        >>> from graphdep.transforms import resolve
        >>> data = to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"]))
        >>> model = DependencyTransformer(num_words=7, num_relations=len(RelationVocab()), hidden_channels=12)
        >>> model(resolve("dt")(data)).shape
        torch.Size([3, 12])
    """

    def __init__(
        self,
        num_words: int,
        num_relations: int,
        *,
        hidden_channels: int = 300,
        num_layers: int = 3,
        heads: int = 6,
        relation_dim: int = 30,
        ff_channels: int = 300,
        dropout: float = 0.0,
        relation_attention: bool = True,
        gate: str | None = "sigmoid",
        gate_state: str = "query",
        untyped: str = "keep",
        start: str = "random",
        level_embedding: bool = True,
        position_embedding: bool = True,
        norm_first: bool = False,
        max_positions: int = 512,
        embedding_scale: bool = False,
        vectors: Tensor | None = None,
    ) -> None:
        if heads < 1 or hidden_channels % heads:
            raise ValueError(f"'heads' ({heads}) must divide 'hidden_channels' ({hidden_channels})")
        size = hidden_channels // heads

        def conv(number: int) -> AttentionConv:
            if number == 0:  # after the word vectors and before the layers, as in models saved before
                self.relation = _relation(num_relations, relation_dim, start) if relation_attention else None
            if self.relation is None:
                return AttentionConv(hidden_channels, size, heads, dropout=dropout)
            return GatedRelationConv(
                hidden_channels,
                size,
                heads,
                num_relations=num_relations,
                relation_dim=relation_dim,
                gate=gate,
                gate_state=gate_state,
                untyped=untyped,
                start=start,
                relation=self.relation,
                dropout=dropout,
            )

        super().__init__(
            num_words,
            conv,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            ff_channels=ff_channels,
            dropout=dropout,
            position_embedding=position_embedding,
            level_embedding=level_embedding,
            norm_first=norm_first,
            max_positions=max_positions,
            embedding_scale=embedding_scale,
            vectors=vectors,
        )
        self.relation_attention, self.start = relation_attention, start

    def reset_parameters(self) -> None:
        self.embedding.reset_parameters()
        if self.relation is not None:
            reset_relation(self.relation, self.start)
        reset(self.layers)
        reset(self.norm)


def _relation(num_relations: int, relation_dim: int, start: str) -> nn.Embedding:
    relation = nn.Embedding(num_relations, relation_dim)
    reset_relation(relation, start)
    return relation
