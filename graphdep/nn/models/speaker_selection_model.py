"""Response selection that is told who speaks."""

from __future__ import annotations

from torch import nn

from graphdep.nn.models.selection_model import SelectionModel

SPEAKERS = ("added", "segments")


class SpeakerSelectionModel(SelectionModel):
    r"""A :class:`SelectionModel` whose encoder knows the two speakers of a dialogue apart, as speaker
    segmentation does, from `"Improving Contextual Language Models for Response Retrieval in Multi-Turn
    Conversation" <https://doi.org/10.1145/3397271.3401255>`_ (SS-DA).

    .. math::
        \mathbf{h}^0_k = \mathbf{e}_k + \mathbf{p}_k + \mathbf{s}_k + \mathbf{v}_{a(k)}

    where :math:`a(k)` is the speaker of node :math:`k`'s utterance: the speakers take turns, and the response
    is the second one's. With ``speakers="added"`` both have a vector of their own beside those of the
    encoder, drawn at random, of whose vocabulary nothing changes; [CLS] and [SEP] are nobody's and have none.
    With ``speakers="segments"`` they take the place of the segments :math:`\mathbf{s}_k`, whose vectors the
    encoder has, and there are no others.

    Which of the two the paper has is not known here: its abstract says that speakers are told apart, and no
    public code is known. RoBERTa, its best encoder, has a single segment, so that ``"segments"`` is not for
    it.

    Args:
        encoder: As of :class:`SelectionModel`; with ``"added"`` it is given marks
            (:meth:`~graphdep.nn.models.TextEncoder.add_marks`).
        speakers: ``"added"`` or ``"segments"``. (default: ``"added"``)
        **options: As of :class:`SelectionModel`.

    Shapes:
        - data: as of :class:`SelectionModel`, with ``"added"`` also ``mark`` :math:`(|\mathcal{V}|)`: 1 and 2
          of the speakers, 0 of nobody; with ``"segments"`` its ``segment`` is the speaker; output :math:`(B)`

    Raises:
        ValueError: As :class:`SelectionModel`, or if :obj:`speakers` is unknown, or the encoder has not what
            it needs.

    Example:
        >>> from graphdep.nn.models import SpeakerSelectionModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does ."), ("Who sings ?", "The bus is late .")])
        >>> data.mark = 1 + data.segment
        >>> SpeakerSelectionModel(encoder)(data).shape
        torch.Size([2])
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        speakers: str = "added",
        mlp_layers: int = 1,
        dropout: float = 0.1,
        readout: str = "cls",
    ) -> None:
        if speakers not in SPEAKERS:
            raise ValueError(f"'speakers' must be one of {', '.join(SPEAKERS)} (got {speakers!r})")
        if speakers == "segments" and (number := _segments(encoder)) < 2:
            raise ValueError(f"speakers='segments' needs two segments: the encoder has {number}")
        super().__init__(encoder, mlp_layers=mlp_layers, dropout=dropout, readout=readout)
        if speakers == "added":  # at last, so that a refused option leaves the encoder as it was
            encoder.add_marks(3)  # type: ignore[operator]
        self.speakers = speakers

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, speakers={self.speakers!r}"


def _segments(encoder: nn.Module) -> int:
    """How many segments an encoder has vectors of."""
    names = ("token_type_embeddings", "embedding.segment")
    tables = [module for name, module in encoder.named_modules() if name.endswith(names)]
    return max((table.num_embeddings for table in tables if isinstance(table, nn.Embedding)), default=0)
