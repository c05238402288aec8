"""The best binary tree over words by the scores of spans."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

Span = tuple[int, int]


def span_starts(words: int) -> list[int]:
    r"""Where the spans of width :math:`w = 1 \ldots n` begin in a row of all spans of :obj:`words` words, in
    which those of one width lie side by side from left to right; and the length of the row at the end.
    """
    return [0, *np.cumsum(np.arange(words, 0, -1)).tolist()]


def best_spans(scores: Tensor, lengths: Tensor) -> list[list[Span]]:
    r"""The spans of the best binary tree of each sentence, those of single words among them, by the algorithm
    of Cocke, Kasami and Younger, over all spans of one width at a time.

    .. math::
        s(i, j) = c_{ij} + \max_{i < k < j} s(i, k) + s(k, j)

    Time grows with :math:`n^3`, memory with :math:`n^2`.

    Args:
        scores: Score of each span, :math:`c`.
        lengths: Words of each sentence, on the CPU.

    Shapes:
        - ``scores``: :math:`(\text{sentences}, n (n + 1) / 2)`, in the order of :func:`span_starts`, for the
          longest sentence of :math:`n` words; what lies beyond a shorter one is not read
        - ``lengths``: :math:`(\text{sentences})`, long
    """
    words, size = int(lengths.max()), len(scores)
    begin = span_starts(words)
    # Sums by start and width, and by end and width from the widest on: both parts of a span are slices.
    left, right = (scores.new_zeros(size, words + 1, words) for _ in range(2))
    cut = np.zeros((size, words + 1, words + 1), dtype=np.int16)
    for width in range(1, words + 1):
        places = words - width + 1
        total = scores[:, begin[width - 1] : begin[width]]
        if width > 1:
            both = left[:, :places, : width - 1] + right[:, width:, places:]
            best, where = both.max(-1)
            total = total + best
            cut[:, :places, width] = where.numpy() + 1
        left[:, :places, width - 1] = total
        right[:, width:, words - width] = total
    return [_walk(cut[row], length) for row, length in enumerate(lengths.tolist())]


def _walk(cut: np.ndarray, length: int) -> list[Span]:
    found, todo = [], [(0, length)]
    while todo:
        start, end = todo.pop()
        found.append((start, end))
        if end - start > 1:
            middle = start + int(cut[start, end - start])
            todo += [(start, middle), (middle, end)]
    return found


def span_ends(words: int) -> tuple[Tensor, Tensor]:
    """Start and end of each span, in the order of :func:`span_starts`."""
    widths = range(1, words + 1)
    starts = torch.cat([torch.arange(words - width + 1) for width in widths])
    return starts, torch.cat([torch.arange(width, words + 1) for width in widths])
