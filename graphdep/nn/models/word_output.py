"""Logits of words from states."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphdep.nn.models.node_embedding import NodeEmbedding


class WordOutput(nn.Module):
    r"""Scores every word of the vocabulary, by default with the word vectors themselves, from `"Using the
    Output Embedding to Improve Language Models" <https://aclanthology.org/E17-2025/>`_.

    .. math::
        \mathbf{z} = \mathbf{E} (\mathbf{W}_o \mathbf{h} + \mathbf{b}) + \mathbf{c}

    Where the word vectors are long, as pretrained ones are, :math:`\mathbf{W}_o` starts smaller, so that at
    first all words are about equally likely.

    Args:
        embedding: Gives the sizes of the vocabulary and of the word vectors :math:`\mathbf{E}`.
        in_channels: Size of the states.
        tie: Use the word vectors; otherwise a matrix of its own scores the words. (default: :obj:`True`)

    Shapes:
        - x: :math:`(*, C)`; embedding: the one whose vectors are used; output: :math:`(*, |\mathcal{W}|)`

    Example:
        >>> import torch
        >>> from graphdep.nn.models import NodeEmbedding, WordOutput
        >>> embedding = NodeEmbedding(50, 8)
        >>> WordOutput(embedding, in_channels=16)(torch.randn(3, 16), embedding).shape
        torch.Size([3, 50])
    """

    def __init__(self, embedding: NodeEmbedding, in_channels: int, *, tie: bool = True) -> None:
        super().__init__()
        self.tie = tie
        num_words, dim = embedding.word.weight.shape
        self.lin = nn.Linear(in_channels, dim if tie else num_words)
        self.bias = nn.Parameter(torch.zeros(num_words)) if tie else None
        # Vectors that were drawn have a length of 1, pretrained ones several times that.
        self._long_vectors = tie and float(embedding.word.weight.detach().norm(dim=1).mean()) > 2
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws its own parameters anew; the word vectors are the encoder's."""
        self.lin.reset_parameters()
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self._long_vectors:
            # With the usual weights the first logits would be far apart, and a model of normalised states
            # would spend hundreds of updates on bringing them down.
            with torch.no_grad():
                self.lin.weight.mul_(self.lin.out_features**-0.5)
            nn.init.zeros_(self.lin.bias)

    def extra_repr(self) -> str:
        return f"tie={self.tie}"

    def forward(self, x: Tensor, embedding: NodeEmbedding) -> Tensor:
        x = self.lin(x)
        return nn.functional.linear(x, embedding.word.weight, self.bias) if self.tie else x
