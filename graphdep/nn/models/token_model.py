"""An encoder and a head for every word."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from graphdep.nn.models.classification_head import ClassificationHead
from graphdep.transforms import Nodes


class TokenModel(nn.Module):
    r"""Classifies every word by the state of its first piece, as `"BERT: Pre-training of Deep Bidirectional
    Transformers for Language Understanding" <https://aclanthology.org/N19-1423/>`_ does for named entities.

    .. math::
        \hat{p}_w = \mathrm{softmax}(\mathbf{W} \mathbf{h}_{\text{first}(w)} + \mathbf{b})

    with dropout on :math:`\mathbf{h}`. The softmax is left to the loss: the output are logits. Only words of
    the texts have them: ROOT, special and relation nodes, and the empty nodes of enhanced graphs, have none.

    Args:
        encoder: Gives node states; has :attr:`hidden_channels`.
        num_classes: Number of classes.
        dropout: Dropout probability. (default: :obj:`0.1`)

    Shapes:
        - data: a batch or one example with :math:`W` words in all
        - output: logits :math:`(W, C')`, and the nodes that they belong to, :math:`(W)`, in the order of the
          nodes: that of the words, utterance by utterance

    Raises:
        ValueError: If :obj:`num_classes` is below 1.

    Example:
        >>> from graphdep.nn.models import TokenModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data(["Ann lives in Ohio."])
        >>> logits, nodes = TokenModel(encoder, num_classes=9)(data)
        >>> logits.shape, data.word[nodes]
        (torch.Size([5, 9]), tensor([0, 1, 2, 3, 4]))
    """

    def __init__(self, encoder: nn.Module, num_classes: int, dropout: float = 0.1) -> None:
        super().__init__()
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.encoder = encoder
        self.head = ClassificationHead(size, num_classes, dropout, std=0.02)

    def reset_parameters(self) -> None:
        """Draws everything anew, added relations and terms too; pretrained weights stay."""
        reset(self.encoder)
        self.head.reset_parameters()

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        nodes = word_nodes(data)
        return self.head(self.encoder(data).index_select(0, nodes)), nodes


@torch.compiler.disable  # reads values
def word_nodes(data: Data) -> Tensor:
    """The node of each word's first piece: ``[num_words]``."""
    nodes = Nodes(data)
    return ((nodes["word"] >= 0) & (nodes.first == nodes.index)).nonzero().view(-1)
