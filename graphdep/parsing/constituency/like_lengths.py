"""Sentences of like lengths side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_LEAST = 8  # what a sentence counts for at least: so that there are not hundreds of short ones


def like_lengths(lengths: Sequence[int], max_words: int) -> Iterator[list[int]]:
    """Numbers of sentences from the shortest to the longest, so many together that the longest of them times
    their number is at most :obj:`max_words`; a longer one is alone.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * max(lengths[number], _LEAST) > max_words:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
