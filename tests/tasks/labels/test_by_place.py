from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphdep.metrics.scores import micro_f1
from graphdep.tasks.labels.model import DISTANCES, LENGTHS, f1_by_place
from graphdep.tasks.labels.settings import ScoredWords


def corpus(examples: list[list[bool]]) -> SimpleNamespace:
    """Of sentences whose words are marked or not; node 0 is ROOT."""
    parts = [
        Data(mark=torch.tensor([0, *map(int, one)]), word=torch.arange(-1, len(one))) for one in examples
    ]
    sizes = torch.tensor([0, *(len(one) + 1 for one in examples)])
    data = Data(
        mark=torch.cat([part.mark for part in parts]),
        word=torch.cat([part.word for part in parts]),
        example_id=torch.arange(len(examples)),
    )
    return SimpleNamespace(_indices=None, _data=data, slices={"mark": sizes.cumsum(0)})


def range_of(value: int, starts: tuple[int, ...]) -> str:
    """The slow, obvious way."""
    for start, following in zip(starts, [*starts[1:], None]):
        if following is None:
            return f"{start}+"
        if start <= value < following:
            return str(start) if following == start + 1 else f"{start}-{following - 1}"
    raise AssertionError


sentences = st.lists(st.booleans(), min_size=1, max_size=40).filter(any)


@given(st.lists(sentences, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_tables_are_those_of_counting_by_hand(examples, random):
    there, found, places, rows = [], [], [], {"distance": {}, "length": {}}
    for number, marks in enumerate(examples):
        for place in range(len(marks)):
            pair = random.randrange(3), random.randrange(3)
            distance = min(abs(place - other) for other, mark in enumerate(marks) if mark)
            for table, name in (
                ("distance", range_of(distance, DISTANCES)),
                ("length", range_of(len(marks), LENGTHS)),
            ):
                rows[table].setdefault(name, []).append(pair)
            found.append(pair[0])
            there.append(pair[1])
            places.append((number, place))
    example, place = np.array(places).T
    words = ScoredWords(np.array(there), example, example, place)
    tables = f1_by_place(corpus(examples), np.array(found), np.array(there), words)
    for table, wanted in rows.items():
        got = {row["range"]: (row["words"], row["f1"]) for row in tables[table]}
        assert got == {n: (len(pairs), micro_f1(*np.array(pairs).T)) for n, pairs in wanted.items()}


def test_an_example_without_a_mark_is_far_from_all():
    words = ScoredWords(np.array([1, 1]), np.array([0, 1]), np.array([0, 1]), np.array([0, 0]))
    tables = f1_by_place(corpus([[True], [False]]), np.array([1, 1]), np.array([1, 1]), words)
    assert [(row["range"], row["words"]) for row in tables["distance"]] == [("0", 1), ("9+", 1)]
