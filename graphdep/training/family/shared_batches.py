"""Batches that several processes share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch.distributed as dist
from torch.utils.data import BatchSampler, Sampler


class SharedBatches(Sampler[list[int]]):
    """The part of each batch that this process has: of a batch's examples every ``n``-th one, where there are
    ``n`` processes. Alone, or before they have met, a process has them all.

    Together they so have the batches of one process. One for which nothing is left, of a batch with fewer
    examples than processes, gets the first example, which then does not count (:meth:`counts`): all must
    take the same number of steps.

    Args:
        batches: The batches of one process.

    Example:
        >>> from torch.utils.data import BatchSampler
        >>> from graphdep.training.family.shared_batches import SharedBatches
        >>> [*SharedBatches(BatchSampler(range(5), batch_size=2, drop_last=False))]
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, batches: BatchSampler | Sampler[list[int]]) -> None:
        self.batches = batches
        self._idle: set[int] = set()

    @property
    def sampler(self) -> Any:
        """The order of the examples, which Lightning tells the epoch."""
        return self.batches.sampler  # type: ignore[union-attr]

    def counts(self, number: int) -> bool:
        """Whether what this process had of a batch was its own."""
        return number not in self._idle

    def count(self, epochs: int) -> int:
        """The number of batches of all epochs, as of batches by tokens."""
        return int(self.batches.count(epochs))  # type: ignore[union-attr]

    def __iter__(self) -> Iterator[list[int]]:
        self._idle = set()
        many = dist.is_available() and dist.is_initialized()
        rank, count = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
        for number, batch in enumerate(self.batches):
            if len(batch) <= rank:
                self._idle.add(number)
            yield batch[rank::count] or batch[:1]

    def __len__(self) -> int:
        return len(self.batches)  # type: ignore[arg-type]
