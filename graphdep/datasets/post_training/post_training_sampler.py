"""The order of post-training samples, each with the epoch it is drawn in."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch
from torch.utils.data import Sampler

from graphdep.datasets.post_training.post_training_key import PostTrainingKey


class PostTrainingSampler(Sampler[PostTrainingKey]):
    """All samples in a random order that each epoch has its own, as keys
    (:class:`~graphdep.datasets.PostTrainingKey`) of a :class:`~graphdep.datasets.PostTrainingDataset`.

    The epoch travels with the number, so that workers of a loader draw what the main process would have
    drawn, and a resumed run draws what an uninterrupted one had drawn. Lightning calls :meth:`set_epoch`.

    Args:
        size: Number of samples: the length of the dataset, or of a slice of it.
        seed: Seed of the order. (default: :obj:`0`)

    Example:
        >>> from graphdep.datasets import PostTrainingSampler
        >>> sampler = PostTrainingSampler(size=4, seed=0)
        >>> sampler.set_epoch(1)
        >>> sorted(key.number for key in sampler), {key.epoch for key in sampler}
        ([0, 1, 2, 3], {1})
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self.size, self.seed, self.epoch = size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[PostTrainingKey]:
        seed = random.Random(f"{self.seed} {self.epoch}").getrandbits(62)
        epoch = self.epoch
        for number in torch.randperm(self.size, generator=torch.Generator().manual_seed(seed)).tolist():
            yield PostTrainingKey(epoch, number)
