from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.labels.words import bio_of, check_bio, spans_of, with_insides

names = st.sampled_from(["ARG0", "ARG1", "C-ARG1", "B-X", "O"])


@st.composite
def some_spans(draw):
    """Spans without a word in common, in order, and the number of words that they lie in."""
    spans, end = [], 0
    for gap, size in draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=6)):
        spans.append((end + gap, end + gap + size, draw(names)))
        end += gap + size
    return spans, end + draw(st.integers(0, 3))


def spans_of_slowly(labels):
    """Word by word: where does a span begin, and how far does it go?"""

    def begins(i):
        inside = labels[i] not in (None, "O")
        return inside and (labels[i][0] == "B" or i == 0 or (labels[i - 1] or "O")[2:] != labels[i][2:])

    spans = []
    for start in range(len(labels)):
        if begins(start):
            end = start + 1
            while end < len(labels) and labels[end] == f"I-{labels[start][2:]}":
                end += 1
            spans.append((start, end, labels[start][2:]))
    return spans


@given(some_spans())
def test_there_and_back(case):
    spans, length = case
    labels = bio_of(reversed(spans), length)
    assert len(labels) == length
    assert spans_of(labels) == spans


@given(st.lists(st.sampled_from([None, "O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=8))
def test_spans_of(labels):
    assert spans_of(labels) == spans_of_slowly(labels)
    assert spans_of(bio_of(spans_of(labels), len(labels))) == spans_of(labels)


@pytest.mark.parametrize(
    ("labels", "spans"),
    [
        ([], []),
        (["I-X", "I-X"], [(0, 2, "X")]),
        (["B-X", "I-Y"], [(0, 1, "X"), (1, 2, "Y")]),
        (["B-X", "O", "I-X"], [(0, 1, "X"), (2, 3, "X")]),
        (["B-X", None, "I-X"], [(0, 1, "X"), (2, 3, "X")]),
        (["B-X", "B-X", "I-X"], [(0, 1, "X"), (1, 3, "X")]),
    ],
)
def test_what_does_not_fit_begins_a_span(labels, spans):
    assert spans_of(labels) == spans


@pytest.mark.parametrize("label", ["X", "B-", "I", "", "E-X", "b-X", "BX", "o"])
def test_labels_that_are_none_of_spans(label):
    with pytest.raises(ValueError, match=rf"must be O, B-LABEL or I-LABEL \(got '{label}', word 2\)"):
        spans_of(["O", label])


def test_what_begins_can_go_on():
    assert with_insides(["O", "B-B", "B-A", "I-B"]) == ("O", "B-B", "B-A", "I-B", "I-A")
    assert with_insides(["B-A", "I-A"]) == ("B-A", "I-A")
    assert with_insides(["O", "I-A"]) == ("O", "I-A")


@given(st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B", None]), max_size=6))
def test_iob2_is_what_spans_write(labels):
    """Labels of which each part without gaps is what its own spans would be written as."""
    parts = [[]]
    for label in labels:
        parts = [*parts, []] if label is None else [*parts[:-1], [*parts[-1], label]]
    if all(bio_of(spans_of(part), len(part)) == part for part in parts):
        check_bio(labels)
    else:
        with pytest.raises(ValueError, match=r"^word \d: 'I-.' must stand behind B-. or I-. "):
            check_bio(labels)
