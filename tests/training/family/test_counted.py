from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphdep.training.floors import look_up


def commonest(labels: list[int]) -> int:
    """The first of the most frequent ones."""
    counts = Counter(labels)
    return min(label for label in counts if counts[label] == max(counts.values()))


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=1), st.lists(st.integers(-5, 5)))
def test_look_up(pairs, asked):
    words, labels = (np.array(column) for column in zip(*pairs))
    otherwise = np.full(len(asked), 9)
    expected = [
        commonest([label for word, label in pairs if word == one]) if one in words else 9 for one in asked
    ]
    assert look_up(words, labels, np.array(asked, dtype=int), otherwise).tolist() == expected
