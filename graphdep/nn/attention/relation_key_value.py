"""What a typed edge does to keys and values in the Graph-to-Graph Transformer."""

from __future__ import annotations

from torch import Tensor, nn

from graphdep.nn.attention.edge_terms import EdgeTerms, check_edge_type
from graphdep.vocab import RelationVocab

SCALINGS = ("paper", "code")


class RelationKeyValue(nn.Module):
    r"""A key vector and a value vector for each relation, from "Graph-to-Graph Transformer for
    Transition-based Dependency Parsing".

    .. math::
        s_{ij} = \frac{\mathbf{q}_i^{\top} (\mathbf{k}_j + \mathbf{r}^k_{ij})}{\sqrt{d}}, \quad
        \mathbf{o}_i = \sum_j \alpha_{ij} (\mathbf{v}_j + \mathbf{r}^v_{ij})

    with the same two tables in all heads. The paper's code adds :math:`\mathbf{q}_i^{\top} \mathbf{r}^k_{ij}`
    after the division by :math:`\sqrt{d}`: that is ``scaling="code"``.

    Pairs of relation NONE have no vectors here. The paper gives them one as well, and that is the same: take
    :math:`\mathbf{r}_0` from all vectors, and every score of a row changes by
    :math:`-\mathbf{q}_i^{\top} \mathbf{r}^k_0 / \sqrt{d}`, which the softmax does not see, every output by
    :math:`-\mathbf{r}^v_0`, which the bias of the value projection can hold.

    Both tables start at zero, so that a pretrained layer computes at first what it did without them. Their
    gradients are not zero.

    Args:
        num_relations: Number of relation ids.
        heads: Number of attention heads.
        head_channels: Size of a head, :math:`d`.
        scaling: ``"paper"`` or ``"code"``. (default: ``"paper"``)

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`, not read; edge_index: :math:`(2, |\mathcal{E}|)`; edge_type:
          :math:`(|\mathcal{E}|)`
        - output: :class:`EdgeTerms` with ``edge_key`` and ``edge_value``, both
          :math:`(|\mathcal{E}|, H, d)`

    Raises:
        ValueError: If :obj:`scaling` is unknown, or a relation is not in the tables.
    """

    def __init__(self, num_relations: int, heads: int, head_channels: int, *, scaling: str = "paper") -> None:
        super().__init__()
        if scaling not in SCALINGS:
            raise ValueError(f"'scaling' must be 'paper' or 'code' (got {scaling!r})")
        self.heads, self.head_channels, self.scaling = heads, head_channels, scaling
        self.key = nn.Embedding(num_relations, head_channels)
        self.value = nn.Embedding(num_relations, head_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.key.weight)
        nn.init.zeros_(self.value.weight)

    def forward(self, x: Tensor, edge_index: Tensor, edge_type: Tensor) -> EdgeTerms:
        check_edge_type(edge_type, edge_index, self.key.num_embeddings)
        typed = (edge_type != RelationVocab.NONE).unsqueeze(-1)
        key, value = (self._per_head(table(edge_type) * typed) for table in (self.key, self.value))
        if self.scaling == "code":
            key = key * self.head_channels**0.5  # what edge_attention divides by
        return EdgeTerms(edge_key=key, edge_value=value)

    def _per_head(self, rows: Tensor) -> Tensor:
        return rows.unsqueeze(1).expand(-1, self.heads, -1)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.key.num_embeddings}, heads={self.heads}, "
            f"head_channels={self.head_channels}, scaling={self.scaling!r})"
        )
