"""Floors without syntax: the most frequent label, look-ups, and frozen encoders."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score

from graphdep.datasets import PropBankEWT
from graphdep.datasets.labels.base import UDTags
from graphdep.datasets.labels.bio import spans_of
from graphdep.datasets.labels.words import Column
from graphdep.datasets.spans.rows import span_key
from graphdep.datasets.spans.texts import parse_examples
from graphdep.metrics import semeval2010_macro_f1
from graphdep.metrics.scores import NOTHING
from graphdep.nn.pretrained import load_encoder
from graphdep.parsing import resolve_parser
from graphdep.sentence import Sentence
from graphdep.tasks.labels import model as words_model
from graphdep.tasks.labels.model import LabelTask, label_floors, labelled_words
from graphdep.tasks.labels.settings import LabelScoring
from graphdep.tasks.spans import model as spans_model
from graphdep.tasks.spans.model import SpanTask, span_floors
from graphdep.training import load_splits
from graphdep.training.ablation import ablate
from graphdep.training.build import BuildInputs, load_pretrained
from graphdep.training.family import build_task
from graphdep.training.floors import frozen_words
from graphdep.training.table import markdown
from tests.kit.tiny_corpora import read_tiny_treebank, tiny_span_rows, write_span_rows

OUTSIDE = {"semeval2010": "Other", "conll04": "none"}


def commonest(labels: list, order: tuple = ()) -> object:
    """The most frequent label; of several the first in ``order``, or by name."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], order.index(label) if order else label))


# -------------------------------------------------------------------------------------- labels of words


def slow_label_floors(column: Column, train, split) -> dict[str, float]:
    """The floors word by word, by dictionaries over the raw files."""
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


@pytest.mark.parametrize("key", ["upos", "lemma", "feats:PronType"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_floors_of_tags_by_counting(tmp_path, raw, key, split):
    # Floors tell words below min_freq apart, which are unknown to the model.
    options = {"raw_from": raw, "key": key, "min_freq": 3}
    train, dataset = UDTags(tmp_path, "train", **options), UDTags(tmp_path, split, **options)
    expected = slow_label_floors(Column(key), *(read_tiny_treebank(raw, name) for name in ("train", split)))
    found = label_floors(LabelScoring(train.labels), train, dataset, split)
    assert found == pytest.approx({f"{split}_{name}": value for name, value in expected.items()})


def slow_path(tree: Sentence, start: int, end: int) -> str:
    """The shortest path from one word to another, and the relation of the latter."""
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
def test_roles_are_looked_up_by_their_way_from_the_predicate(places, form, split):
    root = places("propbank-ewt")["root"]
    train, dataset = PropBankEWT(root, form=form), PropBankEWT(root, split, form=form)
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
        read_as = spans_of if form == "spans" else list
        right.append(read_as(guessed) == read_as(example.labels))
        pairs += [pair for pair in zip(example.labels, guessed) if pair[0] is not None]
        for labels, names in ((example.labels, there), (guessed, found)):
            words = [(word, word + 1, label) for word, label in enumerate(labels) if label not in (None, "O")]
            names |= {(number, *span) for span in (spans_of(labels) if form == "spans" else words)}
    scoring = LabelScoring(train.labels, "O", "bio" if form == "spans" else "words")
    scores = label_floors(scoring, train, dataset, split)
    f1 = 2 * len(there & found) / (len(there) + len(found))
    assert scores[f"{split}_f1_lookup"] == pytest.approx(f1, abs=1e-9)
    assert 0.5 < f1 <= 1
    assert scores[f"{split}_accuracy_lookup"] == pytest.approx(np.mean([a == b for a, b in pairs]))
    assert scores[f"{split}_exact_lookup"] == pytest.approx(np.mean(right))
    assert scores[f"{split}_f1"] == 0
    assert scores[f"{split}_accuracy"] == pytest.approx(np.mean([a == "O" for a, _ in pairs]))


def test_words_that_were_cut_are_wrong_in_floors_too(places, encoder):
    root, options = places("propbank-ewt")["root"], {"form": "spans", "max_length": 24}
    whole = PropBankEWT(root, "test", form="spans")
    options["tokens"] = load_encoder(encoder).tokens
    train, cut = (PropBankEWT(root, split, **options) for split in ("train", "test"))
    keys, away, words = labelled_words(cut, "path")
    all_keys, none, all_words = labelled_words(whole, "path")
    assert not none.any()
    assert 0 < away.sum() < len(away)
    for column, expected in zip(words, all_words):  # the same rows in the same order
        assert column.tolist() == expected.tolist()
    assert keys[~away].tolist() == all_keys[~away].tolist()
    assert away.sum() == sum(int((data.cut_y != -100).sum()) for data in cut)
    scoring = LabelScoring(train.labels, "O", "bio")
    floors = label_floors(scoring, train, cut, "test")
    right = (words.target == 0) & ~away
    assert floors["test_accuracy"] == pytest.approx(right.mean())
    # All predictions are O, so examples without a span are right, including their cut words.
    complete = [(words.target[words.example == number] == 0).all() for number in np.unique(words.example)]
    assert floors["test_exact"] == pytest.approx(np.mean(complete))
    full = label_floors(scoring, PropBankEWT(root, form="spans"), whole, "test")
    assert all(floors[name] <= full[name] for name in full)
    assert floors["test_f1_lookup"] < full["test_f1_lookup"]
    assert cut.describe()["scored_words"] == len(away) == whole.describe()["scored_words"]
    some = whole[[4, 1]]  # a slice has its own words
    _, _, words = labelled_words(some, "form")
    expected = [number for number in (4, 1) for y in whole[number].y.tolist() if y != -100]
    assert words.example.tolist() == expected


# -------------------------------------------------------------------------------- labels of marked spans


def read_keys(dataset) -> list[tuple[str, str]]:
    """The key and the label of each example, from the raw files."""
    examples = dataset.read(Path(dataset.raw_dir), dataset.split)
    marked = parse_examples(examples, resolve_parser("chain")).marked
    return [(span_key(one.tree, one.spans), example.label) for example, one in zip(examples, marked)]


def slow_span_floors(task: str, train, split, lost) -> dict[str, float]:
    """The floors row by row, by dictionaries."""
    order, known = train.labels, {}
    for key, label in read_keys(train):
        known.setdefault(key, []).append(label)
    often = commonest([label for labels in known.values() for label in labels], order)
    rows = read_keys(split)
    there = [label if label in order else "(unknown)" for _, label in rows]
    looked_up = [commonest(known[key], order) if key in known else often for key, _ in rows]
    scores = {}
    for found, end in (([often] * len(rows), ""), (looked_up, "_lookup")):
        found = ["(lost)" if gone else label for label, gone in zip(found, lost)]
        scored = [label for label in {*there, *found} if label not in (OUTSIDE.get(task), "(lost)")]
        options = {"labels": scored, "zero_division": 0}
        scores |= {
            f"accuracy{end}": accuracy_score(there, found),
            f"exact{end}": accuracy_score(there, found),
            f"f1{end}": f1_score(there, found, average="micro", **options) if scored else 0.0,
            f"macro_f1{end}": f1_score(there, found, average="macro", **options) if scored else 0.0,
        }
    return scores


def floors_of(config, splits, split):
    pretrained = load_pretrained(config) if config.pretrained else None
    parts = BuildInputs(
        len(splits.vocab), len(splits.relations), pretrained=pretrained, labels=splits.labels()
    )
    return span_floors(build_task(config, parts), splits["train"], splits[split], split)


@pytest.mark.parametrize("task", ["conll04", "aspects", "spans"])
def test_floors_of_spans_by_counting(config_of, task):
    config = config_of(task, "dt")
    splits = load_splits(config)
    for split in ("train", "val", "test"):
        expected = slow_span_floors(task, splits["train"], splits[split], [0] * len(splits[split]))
        found = floors_of(config, splits, split)
        assert found == pytest.approx({f"{split}_{name}": value for name, value in expected.items()})


def test_what_has_lost_a_span_is_wrong(config_of):
    config = config_of("semeval2010", "bert")
    splits = load_splits(config)
    for split in ("train", "test"):
        lost = splits[split].copy().lost.tolist()
        assert 0 < sum(lost) < len(lost)
        found = floors_of(config, splits, split)
        expected = slow_span_floors("semeval2010", splits["train"], splits[split], lost)
        for name in ("accuracy", "f1", "accuracy_lookup", "f1_lookup"):
            assert found[f"{split}_{name}"] == pytest.approx(expected[name])
    y, known = splits["test"].copy().y.numpy(), splits["train"].copy().y.numpy()
    whole = config_of("semeval2010", "dt")
    official = floors_of(whole, load_splits(whole), "test")["test_macro_f1"]
    assert official == semeval2010_macro_f1(splits.labels()).floor(known, y)


def test_a_tree_gives_labels_away(config_of, tmp_path):
    """If the label depends on which word is the subject, the look-up is always right."""
    rows = [{**row, "label": "down"} for row in tiny_span_rows(trees=True)]
    turned = [{**row, "spans": row["spans"][::-1], "label": "up"} for row in rows]
    file = write_span_rows(tmp_path / "turned.jsonl", rows + turned)
    config = config_of("spans", "dt", train=file, test=file, root=str(tmp_path / "root"))
    found = floors_of(config, load_splits(config), "test")
    assert (found["test_accuracy"], found["test_accuracy_lookup"]) == (0.5, 1.0)


# ------------------------------------------------------------------- what an encoder gives without training


@pytest.fixture(scope="module")
def frozen(encoder):
    return load_encoder(encoder)


@pytest.fixture(scope="module")
def reference(encoder):
    """States of words by Hugging Face's model for one text: the mean over their pieces."""
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(encoder).eval(), AutoTokenizer.from_pretrained(encoder)

    def reference(data) -> torch.Tensor:
        inside = data.input_ids[data.word >= 0].tolist()
        ids = torch.tensor([[tokenizer.cls_token_id, *inside, tokenizer.sep_token_id]])
        with torch.no_grad():
            x = model(ids).last_hidden_state[0, 1:-1]
        word = data.word[data.word >= 0]
        return torch.stack([x[word == number].mean(dim=0) for number in range(int(word.max()) + 1)])

    return reference


@pytest.mark.parametrize(("marks", "max_length"), [(True, 40), (True, 8), (False, 40)])
def test_each_scored_word_has_its_own_state(config_of, frozen, reference, marks, max_length):
    task, split = ("propbank-ewt", "val") if marks else ("ud-tags", "test")
    dataset = load_splits(config_of(task, "bert", max_length=max_length))[split]
    some = [dataset[number] for number in range(2)]
    for data, found in zip(some, frozen_words(frozen, some)):
        torch.testing.assert_close(found, reference(data), rtol=1e-4, atol=1e-5)
    read = words_model._Read.of(dataset, frozen)
    states_of = {int(data.example_id): (data, reference(data)) for data in dataset}
    features = read.rows(np.arange(len(read.cut)))
    assert bool(read.cut.any()) == (max_length == 8)
    for row, (number, place) in enumerate(zip(read.words.example.tolist(), read.words.place.tolist())):
        data, states = states_of[number]
        assert read.cut[row] == (place >= len(data.y))
        if read.cut[row]:
            continue
        assert int(data.y[place]) == read.words.target[row] == read.known[row]
        marked = data.word[data.mark > 0].unique() if marks else []
        u, v = states[place], states[marked[0]] if len(marked) else torch.zeros(states.size(1))
        expected = torch.cat([u, v, (u - v).abs(), u * v]) if marks else u
        torch.testing.assert_close(features[row], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("max_length", [40, 8])
def test_scores_are_those_of_the_splits(config_of, frozen, max_length, monkeypatch):
    config, seen = config_of("propbank-ewt", "bert", max_length=max_length), []

    def scores(self, prediction, words):
        seen.append((prediction, words))
        return real(self, prediction, words)

    real = LabelScoring.scores
    monkeypatch.setattr(LabelScoring, "scores", scores)
    found = LabelTask.floor_frozen(config, load_splits(config), frozen)
    metrics = ("accuracy", "f1", "macro_f1", "exact")
    assert found.keys() == {f"{split}_{name}" for split in ("val", "test") for name in metrics}
    assert len(seen) == 2
    for prediction, words in seen:
        assert len(prediction) == len(words.target)
        assert bool((prediction == NOTHING).any()) == (max_length == 8)
    assert (found["test_accuracy"] > 0.3) == (max_length == 40)


@pytest.mark.parametrize("task", ["semeval2010", "aspects"])
def test_each_span_is_the_mean_of_its_words(config_of, frozen, task):
    dataset = load_splits(config_of(task, "bert"))["val"]
    read = spans_model._Read.of(dataset, frozen)
    features = read.rows(np.arange(len(dataset)))
    for number, data in enumerate(dataset):
        (states,) = frozen_words(frozen, [data])
        spans = []
        for span in range(1, dataset.num_spans + 1):
            words = sorted({int(w) for w, m in zip(data.word, data.mark) if m == span and w >= 0})
            spans.append(states[words].mean(dim=0) if words else torch.zeros(states.size(1)))
        expected = spans[0]
        if len(spans) == 2:
            u, v = spans
            expected = torch.cat([u, v, (u - v).abs(), u * v])
        torch.testing.assert_close(features[number], expected, rtol=1e-5, atol=1e-6)
        assert read.lost[number] == bool(data.lost)
        assert read.known[number] == (-1 if data.lost else int(data.y))


def test_a_row_below_the_frozen_floor_is_called_untrained(
    trained, settings_of, config_of, frozen, tmp_path, monkeypatch
):
    config = config_of("semeval2010", "bert-dam-basic")
    _, result = trained("semeval2010", "bert-dam-basic")
    assert result["floor_frozen"] == SpanTask.floor_frozen(config, load_splits(config), frozen)
    assert result["floor_frozen"].keys() == {n for n in result["metrics"] if not n.endswith("_loss")}
    settings = {name: value for name, value in settings_of("semeval2010", True).items() if name != "task"}
    for value, told in ((1.0, True), (-1.0, False)):
        floor = {f"{split}_macro_f1": value for split in ("val", "test")}
        monkeypatch.setattr(SpanTask, "floor_frozen", lambda *args, floor=floor: floor)
        summary = ablate("semeval2010", ["bert"], [0], tmp_path / str(value), settings=settings)
        assert ("- UNTRAINED bert: test_macro_f1" in markdown(summary)) is told
