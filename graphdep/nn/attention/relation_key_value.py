"""What a typed edge does to keys and values in the Graph-to-Graph Transformer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphdep.nn.attention.edge_terms import EdgeTerms, check_edge_type
from graphdep.nn.attention.relation_vectors import RelationVectors
from graphdep.vocab import RelationVocab

SCALINGS = ("paper", "code")
STARTS = ("zero", "random")


class RelationKeyValue(nn.Module):
    r"""A key vector and a value vector for each relation, from `"Graph-to-Graph Transformer for
    Transition-based Dependency Parsing" <https://aclanthology.org/2020.findings-emnlp.294/>`_.

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
    gradients are not zero. In the paper they start at random: that is ``start="random"``, drawn as BERT's
    embeddings are, with standard deviation 0.02.

    Args:
        num_relations: Number of relation ids.
        heads: Number of attention heads.
        head_channels: Size of a head, :math:`d`.
        scaling: ``"paper"`` or ``"code"``. (default: ``"paper"``)
        start: ``"zero"`` or ``"random"``. (default: ``"zero"``)

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`, not read; edge_index: :math:`(2, |\mathcal{E}|)`; edge_type:
          :math:`(|\mathcal{E}|)`
        - output: :class:`EdgeTerms` with ``edge_key`` and ``edge_value``, both
          :class:`~graphdep.nn.attention.RelationVectors` of shape :math:`(|\mathcal{E}|, H, d)`

    Raises:
        ValueError: If :obj:`scaling` or :obj:`start` is unknown, or a relation is not in the tables.

    Example:
        >>> import torch
        >>> from graphdep.nn.attention import RelationKeyValue
        >>> terms = RelationKeyValue(num_relations=5, heads=2, head_channels=4)
        >>> edge_index, edge_type = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 3])
        >>> terms(torch.randn(2, 8), edge_index, edge_type).edge_key.shape
        torch.Size([2, 2, 4])
    """

    def __init__(
        self,
        num_relations: int,
        heads: int,
        head_channels: int,
        *,
        scaling: str = "paper",
        start: str = "zero",
    ) -> None:
        super().__init__()
        if scaling not in SCALINGS:
            raise ValueError(f"'scaling' must be 'paper' or 'code' (got {scaling!r})")
        if start not in STARTS:
            raise ValueError(f"'start' must be 'zero' or 'random' (got {start!r})")
        self.heads, self.head_channels, self.scaling, self.start = heads, head_channels, scaling, start
        self.key = nn.Embedding(num_relations, head_channels)
        self.value = nn.Embedding(num_relations, head_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for table in (self.key, self.value):
            nn.init.normal_(table.weight, std=0.02 if self.start == "random" else 0.0)

    def forward(self, x: Tensor, edge_index: Tensor, edge_type: Tensor) -> EdgeTerms:
        check_edge_type(edge_type, edge_index, self.key.num_embeddings)
        typed = torch.arange(self.key.num_embeddings, device=edge_type.device) != RelationVocab.NONE
        key, value = (table.weight * typed[:, None] for table in (self.key, self.value))
        if self.scaling == "code":
            key = key * self.head_channels**0.5  # what edge_attention divides by
        return EdgeTerms(
            edge_key=RelationVectors(key, edge_type, self.heads),
            edge_value=RelationVectors(value, edge_type, self.heads),
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.key.num_embeddings}, heads={self.heads}, "
            f"head_channels={self.head_channels}, scaling={self.scaling!r}, start={self.start!r})"
        )
