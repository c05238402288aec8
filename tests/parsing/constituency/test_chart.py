from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep.parsing.constituency import best_spans, span_ends, span_starts


def best_naive(score, start: int, end: int) -> tuple[float, list[tuple[int, int]]]:
    """By trying all trees."""
    if end - start == 1:
        return score[start, end], [(start, end)]
    halves = ((best_naive(score, start, k), best_naive(score, k, end)) for k in range(start + 1, end))
    total, spans = max((left[0] + right[0], left[1] + right[1]) for left, right in halves)
    return total + score[start, end], [(start, end), *spans]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(0, 2**31))
def test_against_all_trees(lengths, seed):
    longest = max(lengths)
    begin = span_starts(longest)
    scores = torch.randn(len(lengths), begin[-1], generator=torch.Generator().manual_seed(seed))
    for row, length, spans in zip(scores, lengths, best_spans(scores, torch.tensor(lengths))):
        score = {
            (start, start + width): float(row[begin[width - 1] + start])
            for width in range(1, length + 1)
            for start in range(length - width + 1)
        }
        total, expected = best_naive(score, 0, length)
        assert sorted(spans) == sorted(expected)
        assert len(spans) == 2 * length - 1
        assert abs(sum(score[span] for span in spans) - total) < 1e-4


def test_spans_lie_side_by_side_by_width():
    starts, ends = span_ends(3)
    assert [*zip(starts.tolist(), ends.tolist())] == [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 3)]
    assert span_starts(3) == [0, 3, 5, 6]
