"""Relation-attention of the Dependency-Transformer."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.attention import Adj, AttentionLayout
from graphdep.nn.attention.pairs import pair_scores
from graphdep.nn.attention.relations import GatedRelationScore, GateValues, write_out
from graphdep.nn.conv.attention_conv import AttentionConv


class GatedRelationConv(AttentionConv):
    r"""Self-attention whose scores are mixed with relation scores by a semantic gate, from `"Integrating
    Dependency Tree into Self-attention for Sentence Representation" <https://arxiv.org/abs/2203.05918>`_ (Eq.
    1-3).

    .. math::
        S_{ij} = (1 - g_{ij}) \frac{\mathbf{q}_i^{\top} \mathbf{k}_j}{\sqrt{d}} + g_{ij} \mathbf{r}_{ij}
        \mathbf{V}_r

    with the gate of :class:`~graphdep.nn.attention.GatedRelationScore`. ``graphdep.transforms.resolve("dt")``
    builds all pairs of an utterance, with types for pairs that the tree relates: ``conv(x, data.edge_index,
    data.edge_type)``, or ``conv(x, AttentionLayout.of(data))``, which includes the types. Most pairs have no
    type, so ``resolve("dt", implicit=True)`` saves most of the cost.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output.
        heads: Number of attention heads. (default: :obj:`1`)
        num_relations: Number of relation ids: ``len(relation_vocab)``.
        relation_dim: Size of the relation vectors. (default: :obj:`30`)
        gate: ``"sigmoid"``, ``"tanh"`` or :obj:`None`. (default: ``"sigmoid"``)
        gate_state: ``"query"`` or ``"key"``. (default: ``"query"``)
        untyped: ``"keep"`` or ``"gate"``, for pairs without a relation; ``"gate"`` writes the pairs of
            cliques out. (default: ``"keep"``)
        start: ``"random"``, ``"torch"``, or ``"closed"`` for ``gate="tanh"`` and ``gate=None``. (default:
            ``"random"``)
        relation: Relation vectors shared between layers. (default: :obj:`None`)
        **kwargs: ``concat``, ``dropout``, ``bias``, ``backend`` of :class:`AttentionConv`, which also lists
            the shapes.

    Shapes:
        - edge_type: :math:`(|\mathcal{E}|)`, long, by default the types of the layout; other shapes as in
          :class:`AttentionConv`. With ``return_gate=True`` the last output is
          :class:`~graphdep.nn.attention.GateValues` of the edges

    Example:
        >>> import torch
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.nn.conv import GatedRelationConv
        >>> from graphdep.transforms import resolve
        >>> data = resolve("dt")(to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])]))
        >>> conv = GatedRelationConv(8, 16, num_relations=len(RelationVocab()))
        >>> conv(torch.randn(data.num_nodes, 8), data.edge_index, data.edge_type).shape
        torch.Size([3, 16])
    """

    reads = AttentionConv.reads | GatedRelationScore.reads
    extra_options: ClassVar[dict[str, Any]] = {
        "num_relations": None,
        "relation_dim": 30,
        "gate": "sigmoid",
        "gate_state": "query",
        "untyped": "keep",
        "start": "random",
    }

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        *,
        num_relations: int,
        relation_dim: int = 30,
        gate: str | None = "sigmoid",
        gate_state: str = "query",
        untyped: str = "keep",
        start: str = "random",
        relation: nn.Embedding | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, heads, **kwargs)
        self.num_relations, self.relation_dim = num_relations, relation_dim
        self.gate, self.gate_state, self.untyped, self.start = gate, gate_state, untyped, start
        self.score = GatedRelationScore(
            in_channels,
            heads,
            num_relations,
            relation_dim,
            gate=gate,
            gate_state=gate_state,
            untyped=untyped,
            start=start,
            relation=relation,
        )

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if hasattr(self, "score"):  # the base class calls this before it is set
            self.score.reset_parameters()

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        if self.score.untyped == "gate":
            AttentionLayout.of(data).materialize()

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        edge_type: Tensor | None = None,
        *,
        return_attention_weights: bool | None = None,
        return_gate: bool = False,
    ) -> Any:
        layout, edge_type = self.typed_layout(x, edge_index, edge_type)
        if self.score.untyped == "gate":
            layout, edge_type = write_out(layout, edge_type)
        made = self.score(x, layout.edge_index, edge_type, return_gate=return_gate)
        terms = made[0] if return_gate else made
        out = self.attend(
            x,
            layout,
            attn_bias=terms.attn_bias,
            score_scale=terms.score_scale,
            return_attention_weights=return_attention_weights,
        )
        if not return_gate:
            return out
        query, key, _ = self.project(x)
        own = pair_scores(query, key, layout.edge_index)
        values = GateValues(layout.edge_index, edge_type, made[1], made[2], own)
        return (*out, values) if return_attention_weights else (out, values)
