"""The input states of relation nodes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphdep.nn.attention.edge_terms import check_relations


class RelationEmbedding(nn.Module):
    r"""A vector for each relation, and one that marks all of them as relations, from "Augmenting Transformers
    with Enhanced Dependency Structures by Treating Relations as New Words" by Chen, Li and Huang (section
    3.3).

    .. math::
        \mathbf{x}_l = \mathrm{Emb}_e(l) + \mathbf{e}_l

    It stands in for the word embedding of RELATION nodes, and of PHRASE nodes, whose labels are those of
    constituents. Drawn as BERT's embeddings are: normal, with standard deviation 0.02.

    Args:
        num_relations: Number of relation ids: ``len(relation_vocab)``.
        channels: Size of the vectors.
        type_embedding: Add :math:`\mathbf{e}_l`, the same for all relations. (default: :obj:`True`)
        std: The standard deviation; words of :class:`NodeEmbedding` have :math:`C^{-1/2}`.
            (default: :obj:`0.02`)

    Shapes:
        - deprel: :math:`(n)`, long; output :math:`(n, C)`

    Raises:
        ValueError: If a relation is not in the table.

    Example:
        >>> from graphdep import RelationVocab
        >>> from graphdep.nn.models import RelationEmbedding
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> relations = RelationEmbedding(len(RelationVocab()), encoder.embedding_channels)
        >>> data = encoder.to_data(["It rains."], edges="dam")  # two arcs, thus two relation nodes
        >>> encoder.add_relations(relations)(data).shape == (data.num_nodes, encoder.hidden_channels)
        True
    """

    def __init__(
        self, num_relations: int, channels: int, *, type_embedding: bool = True, std: float = 0.02
    ) -> None:
        super().__init__()
        self.std = std
        self.relation = nn.Embedding(num_relations, channels)
        self.kind = nn.Parameter(torch.empty(channels)) if type_embedding else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=self.std)

    def forward(self, deprel: Tensor) -> Tensor:
        check_relations("deprel", deprel, self.relation.num_embeddings)
        x = self.relation(deprel)
        return x if self.kind is None else x + self.kind

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.relation.num_embeddings}, {self.relation.embedding_dim}, "
            f"type_embedding={self.kind is not None})"
        )
