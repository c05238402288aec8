from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from graphdep.datasets.labels.column import Column
from graphdep.datasets.labels.ud_tags import UDTags
from graphdep.tasks.labels.floors import label_floors, look_up
from graphdep.tasks.labels.task import METRICS


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
    target, found = [], []
    for sentence in split:
        for form, label in zip(sentence.form, column.labels(sentence)):
            if label is not None:
                known = {other for labels in by_form.values() for other in labels}
                target.append(label if label in known else "(unknown)")
                found.append(commonest(by_form[form]) if form in by_form else often)
    return {
        "accuracy": accuracy_score(target, [often] * len(target)),
        "accuracy_lookup": accuracy_score(target, found),
        "macro_f1": f1_score(target, [often] * len(target), average="macro", zero_division=0),
        "macro_f1_lookup": f1_score(target, found, average="macro", zero_division=0),
    }


@pytest.mark.parametrize("key", ["upos", "deprel", "lemma", "feats:PronType", "feats:VerbForm"])
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_floors_by_counting(tmp_path, raw, read, key, split):
    # Words below min_freq are one to the model, and none the less words.
    options = {"raw_from": raw, "key": key, "min_freq": 3}
    train, dataset = UDTags(tmp_path, "train", **options), UDTags(tmp_path, split, **options)
    expected = slow_floors(Column(key), read("train"), read(split))
    found = label_floors(METRICS, train, dataset, split, "lookup")
    assert found == pytest.approx({f"{split}_{name}": value for name, value in expected.items()})


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=1), st.lists(st.integers(-5, 5)))
def test_look_up(pairs, asked):
    words, labels = (np.array(column) for column in zip(*pairs))
    otherwise = np.full(len(asked), 9)
    expected = [
        commonest([label for word, label in pairs if word == one]) if one in words else 9 for one in asked
    ]
    assert look_up(words, labels, np.array(asked, dtype=int), otherwise).tolist() == expected
