from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from graphdep.datasets import PropBankEWT
from graphdep.datasets.labels.base import UDTags
from graphdep.datasets.labels.words import Column, spans_of
from graphdep.sentence import Sentence
from graphdep.tasks.labels.model import label_floors, labelled_words
from graphdep.tasks.labels.settings import LabelScoring


def commonest(labels: list) -> object:
    """The first by name of the most frequent ones."""
    counts = Counter(labels)
    return min(label for label in counts if counts[label] == max(counts.values()))


def slow_floors(column: Column, train, split) -> dict[str, float]:
    """Word by word, by dictionaries over the files' own texts."""
    by_form: dict[str, list[str]] = {}
    for sentence in train:
        for form, label in zip(sentence.form, column.labels(sentence)):
            if label is not None:
                by_form.setdefault(form, []).append(label)
    often = commonest([label for labels in by_form.values() for label in labels])
    known = {other for labels in by_form.values() for other in labels}
    target, found, whole = [], [], []
    for sentence in split:
        first = len(target)
        for form, label in zip(sentence.form, column.labels(sentence)):
            if label is not None:
                target.append(label if label in known else "(unknown)")
                found.append(commonest(by_form[form]) if form in by_form else often)
        whole.append(slice(first, len(target)))
    scores: dict[str, float] = {}
    for prediction, end in (([often] * len(target), ""), (found, "_lookup")):
        accuracy = accuracy_score(target, prediction)
        right = [target[words] == prediction[words] for words in whole if target[words]]
        scores |= {
            f"accuracy{end}": accuracy,
            f"f1{end}": accuracy,  # every word has a label
            f"macro_f1{end}": f1_score(target, prediction, average="macro", zero_division=0),
            f"exact{end}": sum(right) / len(right),
        }
    return scores


@pytest.mark.parametrize("key", ["upos", "deprel", "lemma", "feats:PronType", "feats:VerbForm"])
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_floors_by_counting(tmp_path, raw, read, key, split):
    # Words below min_freq are one to the model, and none the less words.
    options = {"raw_from": raw, "key": key, "min_freq": 3}
    train, dataset = UDTags(tmp_path, "train", **options), UDTags(tmp_path, split, **options)
    expected = slow_floors(Column(key), read("train"), read(split))
    found = label_floors(LabelScoring(train.labels), train, dataset, split, "lookup")
    assert found == pytest.approx({f"{split}_{name}": value for name, value in expected.items()})


def slow_path(tree: Sentence, start: int, end: int) -> str:
    """The arcs from one word to another, by a search for the shortest way, and the other's own relation."""
    ways = {start: ""}
    for _ in range(2):
        for word, way in list(ways.items()):
            for other in range(len(tree)):
                if tree.head[other] == word + 1:
                    ways.setdefault(other, f"{way}>{tree.deprel[other]}")
                if tree.head[word] == other + 1:
                    ways.setdefault(other, f"{way}<{tree.deprel[word]}")
    return f"{ways.get(end, 'far')} {tree.deprel[end]}"


@pytest.mark.parametrize("form", ["heads", "spans"])
@pytest.mark.parametrize("split", ["val", "test"])
def test_roles_are_looked_up_by_their_way_from_the_predicate(roles, form, split):
    train, dataset = PropBankEWT(roles, form=form), PropBankEWT(roles, split, form=form)
    read = {name: train.read(Path(train.raw_dir), name) for name in ("train", split)}
    by_way: dict[str, list[str]] = {}
    for example in read["train"]:
        for word, label in enumerate(example.labels):
            if label is not None:
                by_way.setdefault(slow_path(example.tree, example.mark, word), []).append(label)
    often = commonest([label for labels in by_way.values() for label in labels])
    assert often == "O"
    there, found, right, pairs = set(), set(), [], []
    for number, example in enumerate(read[split]):
        guessed = [
            None
            if label is None
            else commonest(by_way.get(slow_path(example.tree, example.mark, word), [often]))
            for word, label in enumerate(example.labels)
        ]
        right.append(guessed == example.labels)
        pairs += [pair for pair in zip(example.labels, guessed) if pair[0] is not None]
        for labels, names in ((example.labels, there), (guessed, found)):
            words = [(word, word + 1, label) for word, label in enumerate(labels) if label not in (None, "O")]
            names |= {(number, *span) for span in (spans_of(labels) if form == "spans" else words)}
    scoring = LabelScoring(train.labels, "O", "bio" if form == "spans" else "words")
    scores = label_floors(scoring, train, dataset, split, "lookup")
    assert scores[f"{split}_f1_lookup"] == pytest.approx(
        2 * len(there & found) / (len(there) + len(found)), abs=1e-9
    )
    assert 0.5 < scores[f"{split}_f1_lookup"] <= 1
    assert scores[f"{split}_accuracy_lookup"] == pytest.approx(np.mean([a == b for a, b in pairs]))
    assert scores[f"{split}_exact_lookup"] == pytest.approx(np.mean(right))
    assert scores[f"{split}_f1"] == 0
    assert scores[f"{split}_accuracy"] == pytest.approx(np.mean([a == "O" for a, _ in pairs]))


def test_words_that_were_cut_are_wrong_in_floors_too(roles, tokens):
    whole = PropBankEWT(roles, "test", form="spans")
    options = {"form": "spans", "tokens": tokens, "max_length": 24}
    train, cut = (PropBankEWT(roles, split, **options) for split in ("train", "test"))
    keys, away, words = labelled_words(cut, "path")
    all_keys, none, all_words = labelled_words(whole, "path")
    assert not none.any()
    assert 0 < away.sum() < len(away)
    for column, expected in zip(words, all_words):  # the same rows in the same order
        assert column.tolist() == expected.tolist()
    assert keys[~away].tolist() == all_keys[~away].tolist()
    assert away.sum() == sum(int((data.cut_y != -100).sum()) for data in cut)
    scoring = LabelScoring(train.labels, "O", "bio")
    floors = label_floors(scoring, train, cut, "test", "lookup")
    right = (words.target == 0) & ~away
    assert floors["test_accuracy"] == pytest.approx(right.mean())
    complete = [right[words.example == number].all() for number in np.unique(words.example)]
    assert floors["test_exact"] == pytest.approx(np.mean(complete))
    full = label_floors(scoring, PropBankEWT(roles, form="spans"), whole, "test", "lookup")
    assert all(floors[name] <= full[name] for name in full)
    assert floors["test_f1_lookup"] < full["test_f1_lookup"]
    about = cut.describe()
    assert about["scored_words"] == len(away) == whole.describe()["scored_words"]


def test_a_part_of_a_split_has_its_own_words(roles):
    whole = PropBankEWT(roles, "test")
    some = whole[[4, 1]]
    _, _, words = labelled_words(some, "form")
    assert words.example.tolist() == [
        number for number in (4, 1) for y in whole[number].y.tolist() if y != -100
    ]
