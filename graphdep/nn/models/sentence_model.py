"""An encoder and a head for single sentences."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from graphdep.data import NodeType
from graphdep.nn.models._utterances import check_sentences
from graphdep.nn.models.constituent_encoder import ConstituentEncoder
from graphdep.nn.models.text_encoder import TextEncoder


class SentenceModel(nn.Module):
    r"""Encodes the sentence of every example and hands its vector to a head.

    Data without ROOT nodes is for encoders that read something else out, such as the [CLS] of
    :class:`~graphdep.nn.pretrained.PretrainedEncoder`: one vector an example, of a text or of a pair.

    Args:
        encoder: Gives node states and sentence vectors.
        head: Takes the vectors of the sentences.

    Shapes:
        - data: a batch of :math:`B` examples of one utterance each; output: the head's, :math:`(B, C')`

    Raises:
        ValueError: If the examples do not have one sentence each, or not what the encoder reads out.

    Example:
        >>> from graphdep.nn.models import ClassificationHead, SentenceModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> model = SentenceModel(encoder, ClassificationHead(encoder.hidden_channels, 2, std=0.02))
        >>> model(encoder.to_data([("It rains.", "The sun shines.")])).shape
        torch.Size([1, 2])
    """

    def __init__(self, encoder: TextEncoder, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def reset_parameters(self) -> None:
        reset(self.encoder)
        reset(self.head)

    def forward(self, data: Data) -> Tensor:
        if bool((data.node_type == NodeType.ROOT).any()):
            check_sentences(data, 1, "an example has one sentence")
        return self.head(self.encoder.readout(data, self.encoder(data)))

    def node_logits(self, data: Data) -> tuple[Tensor, Tensor]:
        r"""The head's outputs for all labelled words and constituents of the examples, and their labels,
        :math:`(N, C')` and :math:`(N)`: what a treebank with labels at all nodes is trained on.

        Raises:
            ValueError: If the encoder is no :class:`ConstituentEncoder`, or the data has no labels of nodes
                (``SST(..., trees=True)``).
        """
        if not isinstance(self.encoder, ConstituentEncoder):
            raise ValueError(f"{type(self.encoder).__name__} has no states of constituents")
        if "phrase_y" not in data:
            raise ValueError("the data has no labels of nodes: SST(..., trees=True) has them")
        x, y = torch.cat(self.encoder.states(data)), torch.cat([data.word_y, data.phrase_y])
        labelled = (y >= 0).nonzero().view(-1)
        return self.head(x.index_select(0, labelled)), y[labelled]
