"""What a training pair gives beside itself."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch_geometric.data import Data

from graphdep.datasets.base.draw import Draw
from graphdep.datasets.selection.objectives.dialogue import Dialogue


class Objective(ABC):
    """Base of what makes examples of further objectives, of the pairs of a training split.

    All examples of a batch have the same keys. ``kind`` says what an example is for: 0 for the selection of
    responses, other numbers as the subclass has them.
    """

    @abstractmethod
    def examples(self, pair: Data, dialogue: Dialogue, other: Dialogue, draw: Draw) -> list[Data]:
        """The pair, changed or as it is, and after it what is made of it.

        Args:
            pair: The example that the dataset gives.
            dialogue: Its utterances.
            other: Those of a pair of another pool that begins with another utterance, where there is one;
                else the same.
            draw: Chance, which seed, epoch and number of the pair decide.
        """


def as_kind(data: Data, kind: int, y: float = 0.0) -> Data:
    """An example with what the pairs of a dataset have: a label and the number of a pool, here of none."""
    data.kind = torch.tensor([kind])
    if "y" not in data:
        data.y = torch.tensor([y])
    if "group" not in data:
        data.group = torch.tensor([-1])
    return data
