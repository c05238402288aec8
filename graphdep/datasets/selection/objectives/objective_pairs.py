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

_TRIES = 20  # to find a pair of another dialogue
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
        others = self._others(numbers, draws)
        turns = self.pairs.encoded([*numbers, *others])
        dialogues = [
            Dialogue.of(context, response, bool(self.labels[number]))
            for number, (context, response) in zip([*numbers, *others], turns)
        ]
        pairs = self.pairs.__getitems__(numbers)
        columns = zip(pairs, dialogues[: len(keys)], dialogues[len(keys) :], draws)
        return [self.objective.examples(*column) for column in columns]

    def _others(self, numbers: Sequence[int], draws: Sequence[Draw]) -> list[int]:
        """For each pair one of another pool, whose dialogue begins with another utterance; where its chance
        finds none, the pair itself.

        Corpora whose pools are the beginnings of dialogues have many of each: what one says further on is not
        foreign to it. Where the dataset cuts contexts (``max_turns``), the first utterance left tells.
        """
        others, own = [*numbers], self.pairs.openings(numbers)
        left = [*range(len(numbers))]
        for _ in range(_TRIES):
            drawn = [draws[place].pick(range(len(self.pairs))) for place in left]
            fits = [
                self.groups[other] != self.groups[numbers[place]] and _differ(opening, own[place])
                for place, other, opening in zip(left, drawn, self.pairs.openings(drawn))
            ]
            for place, other, fit in zip(left, drawn, fits):
                others[place] = other if fit else others[place]
            left = [place for place, fit in zip(left, fits) if not fit]
            if not left:
                break
        return others

    @staticmethod
    def collate(examples: Sequence[Sequence[Data]]) -> Batch:
        """All examples of a batch, those of one pair after those of the other."""
        return Batch.from_data_list([*chain.from_iterable(examples)])


def _differ(one: int | None, other: int | None) -> bool:
    """Whether two dialogues begin with different utterances; an empty context tells nothing."""
    return one is None or other is None or one != other
