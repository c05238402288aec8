"""An encoder and a classifier of marked spans."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from graphdep.nn.models.classification_head import ClassificationHead
from graphdep.nn.models.span_readout import SpanReadout


class SpanModel(nn.Module):
    r"""Classifies one or two marked spans of a sentence by their states, as `"Matching the Blanks:
    Distributional Similarity for Relation Learning" <https://aclanthology.org/P19-1279/>`_ does with those of
    entities (its *entity start* with the mean in place of the start, and marks that are added to the input in
    place of tokens).

    .. math::
        \hat{p} = \mathrm{softmax}(\mathbf{W} \mathbf{v} + \mathbf{b})

    with dropout on the vector :math:`\mathbf{v}` of :class:`SpanReadout`. The softmax is left to the loss:
    the output are logits. The encoder has to know of marks by itself (:meth:`TextEncoder.add_marks`).

    Args:
        encoder: Gives node states; has :attr:`hidden_channels`.
        readout: From states to a vector.
        num_classes: Number of classes.
        dropout: Dropout probability. (default: :obj:`0.1`)

    Shapes:
        - data: a batch of :math:`B` examples with ``mark`` :math:`(|\mathcal{V}|)`
        - output: :math:`(B, C')`

    Raises:
        ValueError: If :obj:`num_classes` is below 1.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.data import mark_words
        >>> from graphdep.nn.models import SpanModel, SpanReadout, WordAverage
        >>> data = to_data([Sentence.chain(["A", "dog", "bites"])], vocab=Vocab(["A", "dog", "bites"]))
        >>> model = SpanModel(WordAverage(8, hidden_channels=4), SpanReadout(num_spans=1), num_classes=2)
        >>> model(mark_words(data, [1, 1, 0])).shape
        torch.Size([1, 2])
    """

    def __init__(
        self, encoder: nn.Module, readout: SpanReadout, num_classes: int, dropout: float = 0.1
    ) -> None:
        super().__init__()
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.encoder, self.readout = encoder, readout
        self.head = ClassificationHead(readout.num_parts * size, num_classes, dropout, std=0.02)

    def reset_parameters(self) -> None:
        """Draws everything anew, added relations and terms too; pretrained weights stay."""
        reset(self.encoder)
        self.head.reset_parameters()

    def forward(self, data: Data) -> Tensor:
        return self.head(self.readout(data, self.encoder(data)))
