"""Marks of spans on nodes, and how many spans have none left."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch_geometric.data import Data

from graphdep.data import mark_words


def mark_spans(data: Data, marks: Sequence[int]) -> Data:
    """Writes ``mark`` and ``lost``, how many spans have no word left; ``data`` is changed and returned.

    Args:
        data: One example of one text. Words at its end may have been cut.
        marks: Of each word, as of :attr:`SpanExample.marks`.
    """
    mark_words(data, marks)
    left = set(data.mark.tolist())
    data.lost = torch.tensor([sum(_has(marks, span) and not _has(left, span) for span in (1, 2))])
    return data


def _has(marks: Sequence[int] | set[int], span: int) -> bool:
    """Whether some mark is one of the span."""
    return any(mark & span for mark in marks)
