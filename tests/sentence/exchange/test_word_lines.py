from __future__ import annotations

import pytest

from graphdep.sentence.exchange import without_lost_arcs, word_lines


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, "3"),
        ((3,), "3"),
        ([3, 4], "3-4"),
        ((3, 1), "3.1"),
        ((0, 1), "0.1"),
        ((3, "-", 4), "3-4"),
        ((3, ".", 1), "3.1"),
    ],
)
def test_ids(given, expected):
    [line] = word_lines([{"id": given}])
    assert line.split("\t")[0] == expected


def test_values():
    word = {
        "text": "a",
        "pos": "X",
        "tag": None,
        "morph": {"A": "1", "B": None},
        "head": 0,
        "dep": "root",
        "deps": [("nsubj", 2), ("obj", (3, ".", 1))],
        "misc": {},
    }
    assert word_lines([word], ["# b"]) == ["# b", "1\ta\t_\tX\t_\tA=1|B\t0\troot\t2:nsubj|3.1:obj\t_"]


def test_arcs_from_nowhere_are_left_out():
    row = ["1", "a", "_", "_", "_", "_", "0", "root", "0:root|3.1:x", "_"]
    only = [*row[:8], "3.1:x", "_"]
    assert without_lost_arcs(["\t".join(row), "# text"]) == ["\t".join([*row[:8], "0:root", "_"]), "# text"]
    assert without_lost_arcs(["\t".join(only)]) == ["\t".join([*row[:8], "0:root", "_"])]
