"""The training pairs of a corpus with what an objective makes of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain

from torch.utils.data import Dataset
from torch_geometric.data import Batch, Data

from graphdep.datasets.base.draw import Draw
from graphdep.datasets.selection.objectives.dialogue import Dialogue
from graphdep.datasets.selection.objectives.objective import Objective
from graphdep.datasets.selection.selection_dataset import SelectionDataset

_TRIES = 20  # to find a pair of another pool
Key = tuple[int, int]


class ObjectivePairs(Dataset):
    """The pairs of a training split, each a list: the pair, and what an objective makes of it.

    All that is drawn depends on seed, epoch and number of the pair alone: ``pairs[epoch, number]``. So it is
    the same whatever the batches, the workers of a loader and the epochs before.

    Args:
        pairs: The pairs.
        objective: Makes the examples.
        seed: Seed.
    """

    def __init__(self, pairs: SelectionDataset, objective: Objective, seed: int) -> None:
        self.pairs, self.objective, self.seed = pairs, objective, seed
        self.groups = pairs.groups()
        self.labels = pairs.labels()

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, key: Key) -> list[Data]:
        return self.__getitems__([key])[0]

    def __getitems__(self, keys: Sequence[Key]) -> list[list[Data]]:
        numbers = [number for _, number in keys]
        draws = [Draw(random.Random(f"{self.seed} {epoch} {number}")) for epoch, number in keys]
        others = [self._other(number, draw) for number, draw in zip(numbers, draws)]
        turns = self.pairs.encoded([*numbers, *others])
        dialogues = [
            Dialogue.of(context, response, bool(self.labels[number]))
            for number, (context, response) in zip([*numbers, *others], turns)
        ]
        pairs = self.pairs.__getitems__(numbers)
        columns = zip(pairs, dialogues[: len(keys)], dialogues[len(keys) :], draws)
        return [self.objective.examples(*column) for column in columns]

    def _other(self, number: int, draw: Draw) -> int:
        """A pair of another pool; where chance finds none, the pair itself."""
        for _ in range(_TRIES):
            other = draw.pick(range(len(self.pairs)))
            if self.groups[other] != self.groups[number]:
                return other
        return number

    @staticmethod
    def collate(examples: Sequence[Sequence[Data]]) -> Batch:
        """All examples of a batch, those of one pair after those of the other."""
        return Batch.from_data_list([*chain.from_iterable(examples)])
