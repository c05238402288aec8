from __future__ import annotations

import pytest

from graphdep import Sentence, Vocab, to_data
from graphdep.datasets.spans.base import mark_spans


@pytest.mark.parametrize(
    ("marks", "mark", "lost"),
    [
        ([1, 0, 0, 2], [0, 1, 0, 0], 1),
        ([0, 1, 2, 2], [0, 0, 1, 2], 0),
        ([0, 0, 0, 3], [0, 0, 0, 0], 2),
        ([0, 0, 1, 3], [0, 0, 0, 1], 1),
        ([0, 0, 0, 0], [0, 0, 0, 0], 0),
    ],
)
def test_words_that_are_left(marks, mark, lost):
    data = mark_spans(to_data([Sentence.chain(["a", "b", "c"])], vocab=Vocab([])), marks)
    assert data.mark.tolist() == mark
    assert data.lost.tolist() == [lost]
