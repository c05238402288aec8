"""An encoder and a head for single sentences."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models.text_encoder import TextEncoder, root_nodes


class SentenceModel(nn.Module):
    r"""Encodes the sentence of every example and hands its vector to a head.

    Args:
        encoder: Gives node states and sentence vectors.
        head: Takes the vectors of the sentences.

    Shapes:
        - data: a batch of :math:`B` examples of one utterance each; output: the head's, :math:`(B, C')`

    Raises:
        ValueError: If the examples do not have one sentence each.
    """

    def __init__(self, encoder: TextEncoder, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def reset_parameters(self) -> None:
        self.encoder.reset_parameters()
        self.head.reset_parameters()  # type: ignore[operator]

    def forward(self, data: Data) -> Tensor:
        check_sentences(data, 1, "an example has one sentence")
        return self.head(self.encoder.readout(data, self.encoder(data)))


def check_sentences(data: Data, number: int, rule: str) -> None:
    """Raises :class:`ValueError`, which says the ``rule``, unless every example has ``number`` utterances."""
    roots = root_nodes(data)
    batch = torch.zeros_like(data.node_type) if data.batch is None else data.batch
    count = torch.bincount(batch[roots], minlength=getattr(data, "num_graphs", 1))
    wrong = (count != number).nonzero().view(-1)
    if wrong.numel():
        example = int(wrong[0])
        raise ValueError(f"{rule} (got {int(count[example])} in example {example})")
