"""An encoder and a head for every word."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset
from torch_geometric.utils import scatter

from graphdep.nn.models.classification_head import ClassificationHead
from graphdep.transforms import Nodes

PIECES = ("first", "mean")


class TokenModel(nn.Module):
    r"""Classifies every word by the state of its first piece, as `"BERT: Pre-training of Deep Bidirectional
    Transformers for Language Understanding" <https://aclanthology.org/N19-1423/>`_ does for named entities.

    .. math::
        \hat{p}_w = \mathrm{softmax}(\mathbf{W} \mathbf{h}_{\text{first}(w)} + \mathbf{b})

    with dropout on :math:`\mathbf{h}`. With ``pieces="mean"`` it is the mean over the pieces of the word.
    With :obj:`marked`, :math:`\mathbf{h}` is followed by the state of the marked word :math:`p` of its
    example, such as the predicate whose roles are asked for, in the way of `"Simple BERT Models for Relation
    Extraction and Semantic Role Labeling" <https://arxiv.org/abs/1904.05255>`_, which has an LSTM and a
    layer more:

    .. math::
        \hat{p}_w = \mathrm{softmax}(\mathbf{W} [\mathbf{h}_w; \mathbf{h}_p] + \mathbf{b})

    The softmax is left to the loss: the output are logits. Only words of the texts have them: ROOT, special
    and relation nodes, and the empty nodes of enhanced graphs, have none.

    Args:
        encoder: Gives node states; has :attr:`hidden_channels`.
        num_classes: Number of classes.
        dropout: Dropout probability. (default: :obj:`0.1`)
        pieces: ``"first"`` or ``"mean"``: which pieces of a word are its state. (default: ``"first"``)
        marked: Also read the state of the marked word, the mean where several are marked, and zeros where
            none is. The encoder has to know of marks by itself (:meth:`TextEncoder.add_marks`). (default:
            :obj:`False`)

    Shapes:
        - data: a batch or one example with :math:`W` words in all; with :obj:`marked` also ``mark``
          :math:`(|\mathcal{V}|)`, see :func:`~graphdep.data.node_table`
        - output: logits :math:`(W, C')`, and the nodes that they belong to, :math:`(W)`, in the order of the
          nodes: that of the words, utterance by utterance

    Raises:
        ValueError: If :obj:`num_classes` is below 1, or :obj:`pieces` is unknown.

    Example:
        >>> from graphdep.nn.models import TokenModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data(["Ann lives in Ohio."])
        >>> logits, nodes = TokenModel(encoder, num_classes=9)(data)
        >>> logits.shape, data.word[nodes]
        (torch.Size([5, 9]), tensor([0, 1, 2, 3, 4]))
    """

    def __init__(
        self,
        encoder: nn.Module,
        num_classes: int,
        dropout: float = 0.1,
        *,
        pieces: str = "first",
        marked: bool = False,
    ) -> None:
        super().__init__()
        if pieces not in PIECES:
            raise ValueError(f"'pieces' must be one of {', '.join(PIECES)} (got {pieces!r})")
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.encoder, self.pieces, self.marked = encoder, pieces, marked
        self.head = ClassificationHead(2 * size if marked else size, num_classes, dropout, std=0.02)

    def reset_parameters(self) -> None:
        """Draws everything anew, added relations and terms too; pretrained weights stay."""
        reset(self.encoder)
        self.head.reset_parameters()

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        states, nodes = word_states(data, self.encoder(data), self.pieces)
        if self.marked:
            states = torch.cat([states, _marked_states(data, states, nodes)], dim=-1)
        return self.head(states), nodes

    def extra_repr(self) -> str:
        return f"pieces={self.pieces!r}, marked={self.marked}"


def word_states(data: Data, x: Tensor, pieces: str = "first") -> tuple[Tensor, Tensor]:
    """The state of each word, ``[num_words, C]``, and the node of its first piece, ``[num_words]``; with
    ``pieces="mean"`` it is the mean over all its pieces.
    """
    nodes = word_nodes(data)
    if pieces == "first":
        return x.index_select(0, nodes), nodes
    table = Nodes(data)
    inside = (table["word"] >= 0).nonzero().view(-1)
    own = torch.arange(nodes.numel(), device=nodes.device)
    number = torch.full_like(table.index, -1).index_copy(0, nodes, own)
    word = number[table.first[inside]]
    return scatter(x[inside], word, dim_size=nodes.numel(), reduce="mean"), nodes


def _marked_states(data: Data, states: Tensor, nodes: Tensor) -> Tensor:
    """For each word the state of the marked word of its example: ``[num_words, C]``."""
    table = Nodes(data)
    example = table.example[nodes]
    marked = (table.mark[nodes] > 0).nonzero().view(-1)
    size = table.ptr.numel() - 1
    return scatter(states[marked], example[marked], dim_size=size, reduce="mean")[example]


@torch.compiler.disable  # reads values
def word_nodes(data: Data) -> Tensor:
    """The node of each word's first piece: ``[num_words]``."""
    nodes = Nodes(data)
    return ((nodes["word"] >= 0) & (nodes.first == nodes.index)).nonzero().view(-1)
