"""A post-training sample of an epoch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PostTrainingKey:
    """Key of a :class:`~graphdep.datasets.PostTrainingDataset`: the sample of a number, as an epoch draws it.

    Args:
        epoch: The epoch.
        number: The number in the dataset, or in the slice that is asked for it.

    Example:
        >>> from graphdep.datasets import PostTrainingKey
        >>> PostTrainingKey(epoch=1, number=7)
        PostTrainingKey(epoch=1, number=7)
    """

    epoch: int
    number: int
