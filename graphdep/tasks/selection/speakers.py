"""Who says what in the examples of response selection."""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter

from graphdep.data import NodeType
from graphdep.nn.models.selection import SPEAKERS
from graphdep.transforms.presets import choice


class Speakers(BaseTransform):
    """Writes the speakers of nodes, two who take turns; the last utterance, the response, is the second's.

    Corpora do not say who spoke: where one person said two utterances in a row, both speakers have one. Words
    and [EOU] are their utterance's.

    Args:
        place: ``"added"`` writes ``mark``, 1 and 2, and 0 of [CLS] and [SEP]; ``"segments"`` writes
            ``segment``, 0 and 1, [SEP] being of the utterance before it and [CLS] of the first speaker.

    Raises:
        ValueError: If :obj:`place` is unknown.
    """

    def __init__(self, place: str) -> None:
        self.place = choice("place", place, SPEAKERS)

    def forward(self, data: Any) -> Any:
        utterance, batch = data.utterance, data.get("batch")
        example = torch.zeros_like(utterance) if batch is None else batch
        last = scatter(utterance, example, reduce="max")[example]
        second = 1 - (last - utterance) % 2
        if self.place == "segments":
            data.segment = second * (data.node_type != NodeType.CLS)
        else:
            said = (data.node_type == NodeType.WORD) | (data.node_type == NodeType.EOU)
            data.mark = (1 + second) * said
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"
