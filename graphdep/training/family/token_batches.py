"""Batches by the size of their examples, not by their number."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor
from torch.utils.data import Sampler


class TokenBatchSampler(Sampler[list[int]]):
    """Batches of examples in the order of a sampler, each with at most :obj:`max_tokens` tokens.

    An example that is larger than that is a batch of its own.

    Args:
        sampler: Gives the order of the examples.
        sizes: Tokens of each example, ``[num_examples]``.
        max_tokens: Tokens a batch at most.
    """

    def __init__(self, sampler: Sampler[int], sizes: Tensor, max_tokens: int) -> None:
        self.sampler, self.sizes, self.max_tokens = sampler, sizes.tolist(), max_tokens

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        tokens = 0
        for example in self.sampler:
            if batch and tokens + self.sizes[example] > self.max_tokens:
                yield batch
                batch, tokens = [], 0
            batch.append(example)
            tokens += self.sizes[example]
        if batch:
            yield batch

    def __len__(self) -> int:
        """The number of batches of this epoch: another order makes others."""
        return sum(1 for _ in self)
