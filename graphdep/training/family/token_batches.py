"""Batches by the size of their examples, not by their number."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor
from torch.utils.data import Sampler


class TokenBatchSampler(Sampler[list[int]]):
    """Batches of examples in the order of a sampler, each with at most :obj:`max_tokens` tokens.

    An example that is larger than that is a batch of its own. How many batches there are depends on the
    order, and each epoch has its own. So this has no length: by that of the first epoch Lightning would end
    all epochs, and drop examples.

    Args:
        sampler: Gives the order of the examples; with ``set_epoch``, that of an epoch.
        sizes: Tokens of each example, ``[num_examples]``.
        max_tokens: Tokens a batch at most.
        max_examples: Examples a batch at most. (default: any number)

    Raises:
        ValueError: If a limit is below 1.
    """

    def __init__(
        self, sampler: Sampler[int], sizes: Tensor, max_tokens: int, max_examples: int | None = None
    ) -> None:
        for name, limit in (("max_tokens", max_tokens), ("max_examples", max_examples)):
            if limit is not None and limit < 1:
                raise ValueError(f"{name!r} must be at least 1 (got {limit})")
        self.sampler, self.sizes, self.max_tokens = sampler, sizes.tolist(), max_tokens
        self.max_examples = max_examples or len(self.sizes) or 1

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        tokens = 0
        for example in self.sampler:
            full = len(batch) == self.max_examples
            if batch and (full or tokens + self.sizes[example] > self.max_tokens):
                yield batch
                batch, tokens = [], 0
            batch.append(example)
            tokens += self.sizes[example]
        if batch:
            yield batch

    def count(self, epochs: int) -> int:
        """The number of batches of all epochs."""
        set_epoch, now = getattr(self.sampler, "set_epoch", None), getattr(self.sampler, "epoch", 0)
        if set_epoch is None:
            return epochs * sum(1 for _ in self)
        total = 0
        for epoch in range(epochs):
            set_epoch(epoch)
            total += sum(1 for _ in self)
        set_epoch(now)
        return total

    def __repr__(self) -> str:
        limits = f"max_tokens={self.max_tokens}, max_examples={self.max_examples}"
        return f"{type(self).__name__}({len(self.sizes)} examples, {limits})"
