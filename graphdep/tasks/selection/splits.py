"""The splits of response selection, of whose training pairs an objective makes further examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.utils.data import BatchSampler, DataLoader, Sampler

from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.datasets.selection.objectives import Key, ObjectivePairs
from graphdep.tasks.selection.config import SelectionConfig
from graphdep.tasks.selection.objectives import objective_of
from graphdep.training.config import TrainConfig
from graphdep.training.learning_task import SharedBatches
from graphdep.training.splits import EpochSampler, Splits


class EpochKeys(Sampler[Key]):
    """The order of :class:`~graphdep.training.splits.EpochSampler`, each number with the epoch.

    The epoch travels with the number, so that workers draw what the main process would have drawn.

    Args:
        size: Number of pairs.
        seed: Seed of the order.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.order = EpochSampler(size, seed)

    def set_epoch(self, epoch: int) -> None:
        self.order.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[Key]:
        epoch = self.order.epoch
        yield from ((epoch, number) for number in self.order)


@dataclass(frozen=True)
class SelectionSplits(Splits):
    """Splits of response selection. Batches for training have what the objective of the settings makes of
    their pairs, too: a batch of ``batch_size`` pairs has more examples, all of one graph.

    Args:
        **others: As in :class:`Splits`.
    """

    def loader(
        self, split: str, config: TrainConfig, *, shuffle: bool = False, shared: bool = False
    ) -> DataLoader:
        config = cast(SelectionConfig, config)
        dataset = cast(SelectionDataset, self.datasets[split])
        objective = objective_of(config, dataset.tokens) if shuffle else None
        if objective is None:
            return super().loader(split, config, shuffle=shuffle, shared=shared)
        pairs, order = ObjectivePairs(dataset, objective, config.seed), EpochKeys(len(dataset), config.seed)
        whole: Any = BatchSampler(cast(Any, order), config.batch_size, drop_last=False)
        return DataLoader(
            pairs,
            batch_sampler=SharedBatches(whole) if shared else whole,
            collate_fn=ObjectivePairs.collate,
            generator=torch.Generator().manual_seed(config.seed),
            num_workers=config.num_workers,
            persistent_workers=config.num_workers > 0,
        )
