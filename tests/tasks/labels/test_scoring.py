"""Scores of words and of spans, against sets of spans and loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.base.rows import UNKNOWN
from graphdep.datasets.labels.words import bio_of, spans_of
from graphdep.metrics.scores import NOTHING
from graphdep.tasks.labels.settings import LabelScoring, ScoredWords, bio_tables

LABELS = ("O", "B-A", "B-B", "I-A", "I-B")
SCORING = LabelScoring(LABELS, "O", "bio")
STRANGE = "I-?"  # a label that training does not have

# Of each word: whether it is scored, what is there and what is found; the last words may have been cut away.
WORDS = st.tuples(st.booleans(), st.sampled_from((*LABELS, STRANGE)), st.sampled_from(LABELS))
EXAMPLES = st.lists(st.tuples(st.lists(WORDS, max_size=7), st.integers(0, 2)), max_size=4)


def arrays(rows) -> tuple[np.ndarray, ScoredWords]:
    """Predictions and words of rows ``(example, group, place, there, found)`` of labels, None for no one."""
    number = {label: place for place, label in enumerate(LABELS)} | {STRANGE: UNKNOWN, None: NOTHING}
    columns = [(number[there], example, group, place) for example, group, place, there, _ in rows]
    words = ScoredWords(*np.array(columns, dtype=np.int64).reshape(-1, 4).T)
    return np.array([number[found] for *_, found in rows], dtype=np.int64), words


def rows_of(examples, groups=None):
    return [
        (example, example if groups is None else groups[example], place, there, found)
        for example, (words, cut) in enumerate(examples)
        for place, (scored, there, found) in enumerate(
            [*words[: len(words) - cut], *((s, there, None) for s, there, _ in words[len(words) - cut :])]
        )
        if scored
    ]


def slow_spans(tags: list[str | None]) -> set[tuple[int, int, str]]:
    """Every pair of bounds that is a span, CoNLL-2005's way."""

    def inside(word: int) -> str | None:
        return None if word in (-1, len(tags)) or tags[word] in (None, "O") else tags[word][2:]

    return {
        (start, end, inside(start))
        for start, end in itertools.combinations(range(len(tags) + 1), 2)
        if inside(start) is not None
        and (tags[start][0] == "B" or inside(start - 1) != inside(start))
        and all(tags[word] == f"I-{inside(start)}" for word in range(start + 1, end))
        and (end == len(tags) or tags[end] != f"I-{inside(start)}")
    }


def slow_sets(examples) -> tuple[set, set]:
    """The spans that are there and found: (example, first word, end, label)."""
    there, found = set(), set()
    for example, (words, cut) in enumerate(examples):
        left = len(words) - cut
        asked = [tag if scored else None for scored, tag, _ in words]
        got = [tag if scored and n < left else None for n, (scored, _, tag) in enumerate(words)]
        there |= {(example, *span) for span in slow_spans(asked)}
        found |= {(example, *span) for span in slow_spans(got)}
    return there, found


def slow_f1(there: set, found: set) -> float:
    return 2 * len(there & found) / (len(there) + len(found)) if there or found else 0.0


def fitting(examples):
    return [(words, min(cut, len(words))) for words, cut in examples]


@given(EXAMPLES.map(fitting))
def test_f1_of_spans_is_that_of_sets(examples):
    rows = rows_of(examples)
    if not rows:
        return
    there, found = slow_sets(examples)
    scores = SCORING.scores(*arrays(rows))
    assert scores["f1"] == pytest.approx(slow_f1(there, found))
    by_label = {
        label: tuple({span for span in some if span[-1] == label} for some in (there, found))
        for label in {span[-1] for span in there | found}
    }
    each = [slow_f1(*both) for both in by_label.values()]
    assert scores["macro_f1"] == pytest.approx(sum(each) / len(each) if each else 0)
    assert scores["accuracy"] == pytest.approx(np.mean([got == asked for *_, asked, got in rows]))
    table = {row["label"]: row for row in SCORING.table(*arrays(rows))}
    assert table.keys() == {"(unknown)" if label == "?" else label for label in by_label}
    for label, (asked, got) in by_label.items():
        row = table["(unknown)" if label == "?" else label]
        assert (row["there"], row["found"], row["right"]) == (len(asked), len(got), len(asked & got))


@given(EXAMPLES.map(fitting), st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_a_group_is_right_as_a_whole_or_not_at_all(examples, groups):
    rows = rows_of(examples, groups)
    if not rows:
        return
    right: dict[int, bool] = {}
    for _, group, _, there, found in rows:
        right[group] = right.get(group, True) and there == found
    found, all_right = SCORING.exact(*arrays(rows))
    assert all_right.tolist() == [1] * len(right)
    assert found.tolist() == [int(right[group]) for group in sorted(right)]
    assert SCORING.scores(*arrays(rows))["exact"] == pytest.approx(sum(right.values()) / len(right))


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-2, 2).filter(lambda n: n != -1)), min_size=1))
@pytest.mark.parametrize("outside", [None, "O", "Z"])
def test_labels_of_words(outside, pairs):
    """The first label counts as a finding unless it is that of none."""
    names = {-2: None, -1: "?", 0: "O", 1: "A", 2: "B"}
    scoring = LabelScoring(("O", "A", "B"), outside)
    target, prediction = (np.array(column) for column in zip(*pairs))
    words = ScoredWords(target, np.arange(len(pairs)), np.zeros(len(pairs), int), np.zeros(len(pairs), int))
    there = {(n, names[a]) for n, (a, _) in enumerate(pairs) if names[a] != outside}
    found = {(n, names[b]) for n, (_, b) in enumerate(pairs) if names[b] not in (outside, None)}
    scores = scoring.scores(prediction, words)
    assert scores["f1"] == pytest.approx(slow_f1(there, found))
    each = [
        slow_f1(*({one for one in some if one[1] == name} for some in (there, found)))
        for name in {name for _, name in there | found}
    ]
    assert scores["macro_f1"] == pytest.approx(sum(each) / len(each) if each else 0)
    assert scores["exact"] == float(all(a == b for a, b in pairs))
    told = {row["label"]: row["there"] for row in scoring.table(prediction, words)}
    for name in told:
        asked = "?" if name == "(unknown)" else name
        assert told[name] == sum(one == asked for _, one in there)


# As seqeval counts them: the first is the example of its documentation.
@pytest.mark.parametrize(
    ("there", "found", "f1", "macro_f1"),
    [
        (
            "O O O B-MISC I-MISC I-MISC O / B-PER I-PER O",
            "O O B-MISC I-MISC I-MISC I-MISC O / B-PER I-PER O",
            0.5,
            0.5,
        ),
        ("B-A I-A O", "B-A O O", 0, 0),
        ("B-A I-A O", "B-B I-B O", 0, 0),
        ("B-A I-A O", "O O O", 0, 0),
        ("B-A I-A B-A O", "B-A I-A I-A O", 0, 0),
        ("O B-A I-A", "O I-A I-A", 1, 1),  # an I- that begins a span
        ("B-A B-B I-B", "B-A I-B I-B", 1, 1),
        ("B-A I-A / I-A O", "B-A I-A / I-A O", 1, 1),  # no span goes on in the next sentence
        ("B-A O B-B O", "B-A O O B-B", 0.5, 0.5),
        ("B-A B-A B-A B-B", "B-A B-A B-A O", 6 / 7, 0.5),
        ("O O", "O O", 0, 0),
    ],
)
def test_hand_made_cases(there, found, f1, macro_f1):
    examples = [
        [*zip(asked.split(), got.split())] for asked, got in zip(there.split(" / "), found.split(" / "))
    ]
    labels = tuple(sorted({tag for words in examples for pair in words for tag in pair} | {"O"}))
    scoring = LabelScoring(labels, "O", "bio")
    rows = [(e, place, *pair) for e, words in enumerate(examples) for place, pair in enumerate(words)]
    target, prediction = (np.array([labels.index(row[n]) for row in rows]) for n in (2, 3))
    example, place = (np.array([row[n] for row in rows]) for n in (0, 1))
    scores = scoring.scores(prediction, ScoredWords(target, example, example, place))
    assert (scores["f1"], scores["macro_f1"]) == pytest.approx((f1, macro_f1))


def test_a_word_that_is_not_scored_ends_a_span():
    rows = [(0, 0, 0, "B-A", "B-A"), (0, 0, 2, "I-A", "I-A")]
    assert SCORING.table(*arrays(rows)) == [
        {"label": "A", "there": 2, "found": 2, "right": 2, "precision": 1, "recall": 1, "f1": 1}
    ]


def test_of_a_span_that_was_cut_its_whole_counts():
    rows = [(0, 0, 0, "B-A", "B-A"), (0, 0, 1, "I-A", None), (0, 0, 2, "I-A", None)]
    (row,) = SCORING.table(*arrays(rows))
    assert (row["there"], row["found"], row["right"]) == (1, 1, 0)
    assert SCORING.scores(*arrays(rows)) == {"f1": 0, "macro_f1": 0, "accuracy": 1 / 3, "exact": 0}


@given(st.lists(st.sampled_from(LABELS), min_size=1, max_size=6))
def test_the_rules_allow_what_stands_for_itself(tags):
    """Labels that are those of their spans, and no others."""
    follows, first = bio_tables(LABELS)
    numbers = [LABELS.index(tag) for tag in tags]
    allowed = first[numbers[0]] and all(follows[pair] for pair in itertools.pairwise(numbers))
    assert allowed == (bio_of(spans_of(tags), len(tags)) == tags)


def test_names():
    assert LabelScoring(("O", "B-X", "I-A", "B-A"), "O", "bio").names == ("A", "X")
    assert LabelScoring(("O", "A", "X"), "O").names == ("A", "X")
    assert LabelScoring(("A", "O", "X"), None).names == ("A", "O", "X")


def test_wrong_schemes_and_labels():
    with pytest.raises(ValueError, match=r"'scheme' must be one of words, bio \(got 'iob'\)"):
        LabelScoring(("O", "A"), "O", "iob")
    with pytest.raises(ValueError, match="must be O, B-LABEL or I-LABEL .*'ARG0'"):
        LabelScoring(("O", "ARG0"), "O", "bio")
