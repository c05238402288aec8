"""Attention of the Graph-to-Graph Transformer."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor, nn

from graphdep.nn.attention import Adj
from graphdep.nn.attention.relations import RelationKeyValue
from graphdep.nn.conv.attention_conv import AttentionConv


class RelationKeyValueConv(AttentionConv):
    r"""Self-attention with a key and a value vector for the relation of each pair, from `"Graph-to-Graph
    Transformer for Transition-based Dependency Parsing"
    <https://aclanthology.org/2020.findings-emnlp.294/>`_.

    .. math::
        \mathbf{x}'_i = \big\Vert_{h=1}^{H} \sum_j \alpha^h_{ij} (\mathbf{W}^h_v \mathbf{x}_j +
        \mathbf{r}^v_{ij}), \quad
        \alpha^h_{ij} = \mathrm{softmax}_j \left( \frac{(\mathbf{W}^h_q \mathbf{x}_i)^{\top}
        (\mathbf{W}^h_k \mathbf{x}_j + \mathbf{r}^k_{ij})}{\sqrt{d}} \right)

    with the vectors of :class:`~graphdep.nn.attention.RelationKeyValue`.
    ``graphdep.transforms.resolve("g2g")`` builds all pairs of an example, with types for pairs that an arc
    joins: ``conv(x, data.edge_index, data.edge_type)``, or ``conv(x, AttentionLayout.of(data))``, which
    includes the types.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output, :math:`d`.
        heads: Number of attention heads. (default: :obj:`1`)
        num_relations: Number of relation ids: ``len(relation_vocab)``.
        scaling: ``"paper"`` or ``"code"``, of :class:`~graphdep.nn.attention.RelationKeyValue`. (default:
            ``"paper"``)
        start: Initial relation vectors: ``"random"``, as in the paper, or ``"zero"``. (default: ``"random"``)
        **kwargs: ``concat``, ``dropout``, ``bias``, ``backend`` of :class:`AttentionConv`, which also lists
            the shapes.

    Shapes:
        - edge_type: :math:`(|\mathcal{E}|)`, long, by default the types of the layout; other shapes as in
          :class:`AttentionConv`

    Example:
        >>> import torch
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.nn.conv import RelationKeyValueConv
        >>> from graphdep.transforms import resolve
        >>> data = resolve("g2g")(to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])]))
        >>> conv = RelationKeyValueConv(8, 16, num_relations=len(RelationVocab()))
        >>> conv(torch.randn(data.num_nodes, 8), data.edge_index, data.edge_type).shape
        torch.Size([3, 16])
    """

    reads = AttentionConv.reads | RelationKeyValue.reads
    extra_options: ClassVar[dict[str, Any]] = {"num_relations": None, "scaling": "paper", "start": "random"}

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        *,
        num_relations: int,
        scaling: str = "paper",
        start: str = "random",
        **kwargs: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, heads, **kwargs)
        self.num_relations, self.scaling, self.start = num_relations, scaling, start
        self.relation = RelationKeyValue(num_relations, heads, out_channels, scaling=scaling, start=start)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if hasattr(self, "relation"):  # the base class calls this before it is set
            self.relation.reset_parameters()

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        edge_type: Tensor | None = None,
        *,
        return_attention_weights: bool | None = None,
    ) -> Any:
        layout, edge_type = self.typed_layout(x, edge_index, edge_type)
        terms = self.relation(x, layout.edge_index, edge_type)
        return self.attend(
            x,
            layout,
            edge_key=terms.edge_key,
            edge_value=terms.edge_value,
            return_attention_weights=return_attention_weights,
        )

    def message(  # type: ignore[override]
        self, value_j: Tensor, alpha: Tensor, edge_value: Tensor
    ) -> Tensor:
        weight = nn.functional.dropout(alpha, self.dropout, self.training)
        return (value_j + edge_value.to(value_j.dtype)) * weight.unsqueeze(-1).to(value_j.dtype)
