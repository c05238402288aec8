"""Attention that is limited and weighted by tree distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from graphdep.nn.attention import Adj
from graphdep.nn.attention.layout import refuse_clique
from graphdep.nn.attention.relations import check_relations
from graphdep.nn.conv.attention_conv import AttentionConv
from graphdep.transforms.edge_set import DISTANCES
from graphdep.vocab import RelationVocab

# Far below any score, but finite in half precision.
_MASKED = -1e4


class GATEConv(AttentionConv):
    r"""Attention to words at most :math:`\delta_h` arcs away, with more weight on nearer words, from `"GATE:
    Graph Attention Transformer Encoder for Cross-lingual Relation and Event Extraction"
    <https://arxiv.org/abs/2010.03009>`_.

    .. math::
        \hat{\alpha}^h_{ij} = \mathrm{softmax}_j \left( \frac{\mathbf{q}_i^{\top} \mathbf{k}_j}{\sqrt{d}} +
        \begin{cases} 0 & D_{ij} \leq \delta_h \\ -\infty & \text{otherwise} \end{cases} \right), \quad
        \alpha^h_{ij} = \frac{\hat{\alpha}^h_{ij} / D_{ij}}{\sum_l \hat{\alpha}^h_{il} / D_{il}}

    with the distance :math:`D_{ij}` in arcs; a node is at distance 1 from itself. The division and the second
    normalisation, also in the authors' code, equal an addition of :math:`-\log D_{ij}` to the score, which
    this layer computes. With :math:`\delta = 1` all distances are 1, which is plain attention over self loops
    and over the arcs in both directions.

    Distances are read from edge types (:class:`~graphdep.RelationVocab`): 1 for an arc in either direction, a
    + b for a path code (a, b), and too far for relation NONE. ``graphdep.transforms.resolve("gate",
    max_distance=delta)`` builds pairs and types, with a self loop on every node. A node whose pairs are all
    too far would attend to all of them, as in the authors' code.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output.
        heads: Number of attention heads. (default: :obj:`1`)
        max_distance: The largest distance :math:`\delta`, for all heads or one per head. (default: :obj:`1`)
        **kwargs: ``concat``, ``dropout``, ``bias``, ``backend`` of :class:`AttentionConv`, which also lists
            the shapes.

    Shapes:
        - edge_type: :math:`(|\mathcal{E}|)`, long, by default the types of the layout; other shapes as in
          :class:`AttentionConv`

    Raises:
        ValueError: If a distance is below 1, the number of distances is not the number of heads, the edges
            have no types, or the data has cliques, whose pairs have no distance.

    Example:
        >>> import torch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.nn.conv import GATEConv
        >>> from graphdep.transforms import resolve
        >>> data = resolve("gate")(to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])]))
        >>> GATEConv(8, 16)(torch.randn(data.num_nodes, 8), data.edge_index, data.edge_type).shape
        torch.Size([3, 16])
    """

    reads = frozenset({DISTANCES})
    extra_options: ClassVar[dict[str, Any]] = {"max_distance": 1}
    limit: Tensor
    distance: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        *,
        max_distance: int | Sequence[int] = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, heads, **kwargs)
        limits = [max_distance] * heads if isinstance(max_distance, int) else [*max_distance]
        if len(limits) != heads or min(limits) < 1:
            raise ValueError(
                f"'max_distance' must be at least 1, for all or each of {heads} heads (got {max_distance!r})"
            )
        self.max_distance = max_distance
        self.register_buffer("limit", torch.tensor(limits), persistent=False)
        self.register_buffer("distance", _distance_table(), persistent=False)

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        edge_type: Tensor | None = None,
        *,
        return_attention_weights: bool | None = None,
    ) -> Any:
        layout, edge_type = self.typed_layout(x, edge_index, edge_type)
        _check_known(edge_type)
        refuse_clique(layout.clique, "the pairs of a clique have no distance")
        return self.attend(
            x,
            layout,
            attn_bias=self._bias(edge_type).to(x.dtype),
            return_attention_weights=return_attention_weights,
        )

    def _bias(self, edge_type: Tensor) -> Tensor:
        """The term of each distance in the score of each head: ``[num_edges, heads]``."""
        last = self.distance.numel() - 1  # the entry of all learned labels
        edge_type = edge_type.clamp(max=last)
        check_relations("edge_type", edge_type, last + 1)
        distance = self.distance.index_select(0, edge_type).unsqueeze(1)
        return torch.where(distance <= self.limit, -distance.log(), _MASKED)


def _check_known(edge_type: Tensor) -> None:
    """Raises :class:`ValueError` if ids were added up: SELF plus SELF is an id that no edge has."""
    if torch.compiler.is_compiling() or edge_type.device.type != "cpu":
        return
    if bool((edge_type == RelationVocab.UNK).any()):
        raise ValueError(
            f"'edge_type' holds relation {RelationVocab.UNK}, which no edge has (PyG transforms that merge "
            "edges, such as ToUndirected, add ids up)"
        )


def _distance_table() -> Tensor:
    """Number of arcs for each relation; the last entry is for all learned labels."""
    table = torch.ones(len(RelationVocab()) + 1)
    table[RelationVocab.NONE] = torch.inf
    for a in range(RelationVocab.max_path + 1):
        for b in range(RelationVocab.max_path + 1 - a):
            table[RelationVocab.path(a, b)] = max(a + b, 1)
    return table
