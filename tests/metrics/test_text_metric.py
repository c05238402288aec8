from __future__ import annotations

import pytest

from graphdep.metrics import TextMetric

SAME = TextMetric("same", lambda a, b: sum(x == y for x, y in zip(a, b)) / len(a), "equal texts")


def test_words_are_lower_cased_first():
    given = [["Yes", "I", "DO"], []]
    assert SAME(given, [["yes", "i", "do"], []]) == 1.0
    assert given == [["Yes", "I", "DO"], []]


def test_tuples_are_lists_of_words():
    assert SAME([("a", "b")], [["a", "b"]]) == 1.0


@pytest.mark.parametrize(("hypotheses", "references"), [([], []), ([["a"]], []), ([["a"]], [["a"], ["b"]])])
def test_numbers_must_agree(hypotheses, references):
    got = rf"got {len(hypotheses)} and {len(references)}\)"
    with pytest.raises(ValueError, match=rf"same: 'hypotheses' and 'references' must be lists of .*{got}"):
        SAME(hypotheses, references)


def test_a_string_is_no_list_of_words():
    with pytest.raises(ValueError, match=r"same: 'hypotheses\[1\]' must be a list of words \(got 'no'\)"):
        SAME([["a"], "no"], [["a"], ["b"]])
    with pytest.raises(ValueError, match=r"same: 'references\[0\]' must be"):
        SAME([["a"]], ["a"])
