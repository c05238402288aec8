"""An encoder and a head for pairs of sentences."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.data import NodeType
from graphdep.nn.models.dependency_transformer import DependencyTransformer


class SentencePairModel(nn.Module):
    r"""Encodes both sentences of every example with one encoder and compares them with a head.

    Args:
        encoder: Gives node states (``encoder(data)``) and sentence vectors (``encoder.readout(data, x)``).
        head: Takes the vectors of the first and of the second sentences.

    Shapes:
        - data: a batch of :math:`B` examples of two utterances each; output: the head's, :math:`(B, C')`

    Raises:
        ValueError: If the examples do not have two sentences each.
    """

    def __init__(self, encoder: DependencyTransformer, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def reset_parameters(self) -> None:
        self.encoder.reset_parameters()
        self.head.reset_parameters()  # type: ignore[operator]

    def forward(self, data: Data) -> Tensor:
        vectors = self.encoder.readout(data, self.encoder(data))
        _check_pairs(data)
        left, right = vectors.view(-1, 2, vectors.size(-1)).unbind(dim=1)
        return self.head(left, right)


def _check_pairs(data: Data) -> None:
    roots = (data.node_type == NodeType.ROOT).long()
    batch = data.batch if data.batch is not None else torch.zeros_like(roots)
    count = roots.new_zeros(getattr(data, "num_graphs", 1)).index_add(0, batch, roots)
    wrong = (count != 2).nonzero().view(-1)
    if wrong.numel():
        example = int(wrong[0])
        raise ValueError(f"pairs have two sentences each (got {int(count[example])} in example {example})")
