from __future__ import annotations

import pytest

from graphdep.datasets.base.parsed import DrawnVal
from graphdep.datasets.labels.words import LabelledWords


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (1, "a.jsonl:1: fewer than two different sentences in 1 row: 'val' cannot be drawn, give"),
        (9, "a.jsonl:1: fewer than two different sentences in 9 rows: 'val'"),
    ],
)
def test_one_sentence_is_not_split(count, message):
    rows = [LabelledWords(["It", "rains"], ["A", "B"], place=f"a.jsonl:{n}") for n in range(1, count + 1)]
    with pytest.raises(ValueError, match=message):
        DrawnVal().part(rows, "val")
