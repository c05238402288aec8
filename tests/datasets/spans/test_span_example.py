from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.spans.rows import SpanExample

WORDS = ["A", "dog", "bites", "a", "man"]


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(0, len(WORDS) - 1))
    return start, draw(st.integers(start + 1, len(WORDS)))


@given(st.lists(spans(), min_size=1, max_size=2))
def test_marks(spans):
    expected = [sum(2**n for n, span in enumerate(spans) if word in range(*span)) for word in range(5)]
    assert SpanExample(WORDS, spans).marks == expected
    assert len(SpanExample(WORDS, spans)) == 5


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([], r"an example has one or two spans \(got 0\)"),
        ([(0, 1), (1, 2), (2, 3)], r"an example has one or two spans \(got 3\)"),
        ([(1, 1)], r"span 1 is empty: its end is not behind its start \(got \[1, 1\]\)"),
        ([(0, 1), (3, 2)], r"span 2 is empty"),
        ([(0, 1), (4, 6)], r"span 2 reaches beyond the 5 words \(got \[4, 6\]\)"),
        ([(-1, 1)], r"span 1 reaches beyond the 5 words"),
        ([(0, 1, 2)], r"span 1 must be two whole numbers \(got tuple \(0, 1, 2\)\)"),
        ([(0, True)], r"span 1 must be two whole numbers"),
        ([(0.0, 1.0)], r"span 1 must be two whole numbers"),
        (["01"], r"span 1 must be two whole numbers \(got str '01'\)"),
        ([3], r"span 1 must be two whole numbers \(got int 3\)"),
    ],
)
def test_bad_spans(spans, message):
    with pytest.raises(ValueError, match=f"^file:7: {message}"):
        SpanExample(WORDS, spans, "bites", place="file:7")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": " "}, r"a label must be a text \(got str ' '\)"),
        ({"label": 3}, r"a label must be a text \(got int 3\)"),
        ({"label": "a\x00"}, "'label' has a control character"),
    ],
)
def test_bad_examples(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        SpanExample(**{"words": WORDS, "spans": [(0, 1)], **options})
