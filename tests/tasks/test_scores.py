"""Scores of words, of spans and of sentences, against sets, loops and formulas."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphdep.datasets.base.rows import UNKNOWN
from graphdep.datasets.labels.base import label_number
from graphdep.datasets.labels.bio import bio_of, spans_of
from graphdep.metrics.scores import NOTHING, micro_f1
from graphdep.tasks import ACCEPTABILITY, DUPLICATE, ENTAILMENT, RELATEDNESS, SIMILARITY
from graphdep.tasks.labels.model import DISTANCES, LENGTHS, f1_by_place
from graphdep.tasks.labels.settings import LabelScoring, ScoredWords, bio_tables
from graphdep.tasks.sentences.settings import expected_grade, kl_divergence

LABELS = ("O", "B-A", "B-B", "I-A", "I-B")
SCORING = LabelScoring(LABELS, "O", "bio")
STRANGE = "I-?"  # a label that training does not have

# For each word: whether it is scored, the true label and the prediction; the last words may be cut.
WORDS = st.tuples(st.booleans(), st.sampled_from((*LABELS, STRANGE)), st.sampled_from(LABELS))
EXAMPLES = st.lists(st.tuples(st.lists(WORDS, max_size=7), st.integers(0, 2)), max_size=4)


def arrays(rows) -> tuple[np.ndarray, ScoredWords]:
    """Predictions and words from rows ``(example, group, place, true label, prediction)``."""
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
    """All spans, by a test of each pair of bounds as in CoNLL-2005."""

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
    """The true and the predicted spans: (example, first word, end, label)."""
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
    asked, got = slow_sets(examples)
    wrong = {groups[example] for example, *_, label in asked ^ got}
    wrong |= {groups[example] for example, *_, label in asked if label == "?"}
    right = {group: group not in wrong for _, group, *_ in rows}
    found, all_right = SCORING.exact(*arrays(rows))
    assert all_right.tolist() == [1] * len(right)
    assert found.tolist() == [int(right[group]) for group in sorted(right)]
    assert SCORING.scores(*arrays(rows))["exact"] == pytest.approx(sum(right.values()) / len(right))


ROLES = ("O", *(f"{place}-{name}" for name in ("A", "C-A", "R", "C-R", "V", "C-V") for place in "BI"))


def slow_arguments(tags: tuple[str, ...]) -> list[tuple[str, list[tuple[int, int]]]]:
    """The arguments of a proposition as srl-eval.pl reads them: types, and the bounds of their phrases."""
    arguments: list[tuple[str, list[tuple[int, int]]]] = []
    for start, end, label in sorted(slow_spans([*tags])):
        kind = label[2:] if label.startswith("C-") else label
        open_ones = [phrases for type_, phrases in arguments if type_ == kind]
        if label.startswith("C-") and open_ones:
            open_ones[-1].append((start, end))
        else:
            arguments.append((kind, [(start, end)]))
    return [argument for argument in arguments if argument[0] != "V"]


@pytest.mark.parametrize("unseen", [(), ("B-C-A", "I-C-A", "I-C-R"), ("B-C-R", "I-C-R", "B-C-V", "I-C-V")])
@given(st.lists(st.lists(st.tuples(*[st.sampled_from(ROLES)] * 2), min_size=1, max_size=12), min_size=1))
def test_srl_eval(unseen, propositions):
    """Counts of arguments as by precrecf1, and perfect propositions, also for a C-X without training."""
    known = {label: n for n, label in enumerate(tag for tag in ROLES if tag not in unseen)}
    propositions = [
        [(there, found.replace("C-", "") if found in unseen else found) for there, found in words]
        for words in propositions
    ]
    right = found = there = perfect = 0
    for words in propositions:
        asked, got = (slow_arguments(tags) for tags in zip(*words))
        same = sum(argument in asked for argument in got)
        right, found, there = right + same, found + len(got), there + len(asked)
        perfect += same == len(got) == len(asked)
    scoring = LabelScoring(tuple(known), "O", "bio", "srl-eval")
    assert scoring.names == ("A", "R")
    rows = [(n, place, *pair) for n, words in enumerate(propositions) for place, pair in enumerate(words)]
    example, place = (np.array([row[n] for row in rows]) for n in (0, 1))
    target, prediction = (np.array([label_number(row[n], known) for row in rows]) for n in (2, 3))
    words = ScoredWords(target, example, example, place)
    scores = scoring.scores(prediction, words)
    assert scores["f1"] == pytest.approx(2 * right / (found + there) if found + there else 0)
    assert scores["exact"] == pytest.approx(perfect / len(propositions))
    counts = [(row["right"], row["found"], row["there"]) for row in scoring.table(prediction, words)]
    assert [sum(column) for column in zip(*counts)] == [right, found, there] or not counts


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-2, 2).filter(lambda n: n != -1)), min_size=1))
@pytest.mark.parametrize("outside", [None, "O", "Z"])
def test_labels_of_words(outside, pairs):
    """F1 scores the first label unless it is :obj:`outside`."""
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


# Scores of seqeval; the first row is the example of its documentation.
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
        ("O B-A I-A", "O I-A I-A", 1, 1),  # I- begins a span
        ("B-A B-B I-B", "B-A I-B I-B", 1, 1),
        ("B-A I-A / I-A O", "B-A I-A / I-A O", 1, 1),  # a span ends with its sentence
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
    """Labels are allowed if and only if their spans have the same labels."""
    follows, first = bio_tables(LABELS)
    numbers = [LABELS.index(tag) for tag in tags]
    allowed = first[numbers[0]] and all(follows[pair] for pair in itertools.pairwise(numbers))
    assert allowed == (bio_of(spans_of(tags), len(tags)) == tags)


def test_names():
    assert LabelScoring(("O", "B-X", "I-A", "B-A"), "O", "bio").names == ("A", "X")
    assert LabelScoring(("O", "A", "X"), "O").names == ("A", "X")
    assert LabelScoring(("A", "O", "X"), None).names == ("A", "O", "X")


def corpus(examples: list[list[bool]]) -> SimpleNamespace:
    """A corpus of sentences with marked words; node 0 is ROOT."""
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
    """The range of a value, by a loop."""
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


def test_kl_divergence_equals_its_formula():
    logits = torch.randn(3, 5)
    y = torch.tensor([[0, 0, 0.3, 0.7, 0], [1.0, 0, 0, 0, 0], [0, 0, 0, 0, 1.0]])
    expected = 0.0
    for p, q in zip(y, logits.softmax(-1)):
        expected += sum(float(a * (a / b).log()) for a, b in zip(p, q) if a > 0) / 3
    assert float(kl_divergence(logits, y)) == pytest.approx(expected, rel=1e-5)


def test_prediction_is_the_mean_grade():
    assert expected_grade(torch.tensor([[0, 0, 0.3, 0.7, 0]])).item() == pytest.approx(3.7)
    logits = torch.full((1, 5), 0.0)
    assert RELATEDNESS.predict(logits).item() == pytest.approx(3.0)


def test_scores_cover_the_whole_split():
    y = torch.tensor([0, 1, 2, 1])
    scores = ENTAILMENT.score(torch.eye(3)[[0, 1, 2, 2]] * 9, y, "test")
    assert scores["test_accuracy"] == 0.75
    assert scores.keys() == {"test_loss", "test_accuracy"}
    assert ENTAILMENT.floor(y, torch.tensor([0, 1]), "val") == {"val_accuracy": 0.5}


def test_what_is_compared_is_what_the_metrics_see():
    y = torch.tensor([[1.0, 0, 0, 0, 0], [0, 0.5, 0.5, 0, 0]])
    logits = torch.randn(2, 5)
    target, prediction = RELATEDNESS.compared(logits, y)
    assert target.dtype == prediction.dtype == "float64"
    assert target.tolist() == [1.0, 2.5]
    mse = ((prediction - target) ** 2).mean()
    assert RELATEDNESS.score(logits, y, "val")["val_mse"] == pytest.approx(mse, rel=1e-12)


def test_perfect_predictions_of_relatedness():
    y = torch.tensor([[1.0, 0, 0, 0, 0], [0, 0, 0, 0, 1.0], [0, 0.5, 0.5, 0, 0]])
    scores = RELATEDNESS.score(y.clamp(min=1e-12).log(), y, "val")
    assert scores["val_mse"] == pytest.approx(0.0, abs=1e-9)
    assert scores["val_pearson"] == pytest.approx(1.0)
    assert scores["val_loss"] == pytest.approx(0.0, abs=1e-6)


def test_a_regression_has_one_output():
    output, y = torch.tensor([[0.5], [4.0], [2.0], [7.0]], requires_grad=True), torch.tensor([1.0, 3, 2.5, 5])
    loss = SIMILARITY.loss(output, y)
    assert loss.item() == pytest.approx((0.25 + 1 + 0.25 + 4) / 4)
    loss.backward()
    assert output.grad.flatten().tolist() == pytest.approx([2 * d / 4 for d in (-0.5, 1, -0.5, 2)])
    target, prediction = SIMILARITY.compared(output.detach(), y)
    assert (prediction.tolist(), target.tolist()) == ([0.5, 4, 2, 7], [1, 3, 2.5, 5])
    scores = SIMILARITY.score(output.detach(), y, "val")
    assert scores["val_spearman"] == pytest.approx(1.0)
    assert scores["val_pearson_spearman"] == pytest.approx((1 + scores["val_pearson"]) / 2)
    assert SIMILARITY.floor(y, y, "val") == dict.fromkeys(list(scores)[1:], 0.0)


def test_goals_of_glue():
    y = torch.tensor([0, 1, 1, 1])
    logits = torch.eye(2)[[0, 1, 1, 0]] * 9
    assert ACCEPTABILITY.score(logits, y, "test")["test_mcc"] == pytest.approx(1 / 3**0.5)
    scores = DUPLICATE.score(logits, y, "test")
    assert scores["test_accuracy_f1"] == pytest.approx((0.75 + 0.8) / 2)
    assert list(scores)[1] == "test_f1"
