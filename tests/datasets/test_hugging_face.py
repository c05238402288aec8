from __future__ import annotations

import pytest

from graphdep.datasets import CSVTexts, OwnLabels, OwnSpans, from_hf

datasets = pytest.importorskip("datasets", reason="needs the library datasets")
if not hasattr(datasets, "Dataset"):  # else the folder datasets was imported
    pytest.skip("needs the library datasets", allow_module_level=True)


def of(columns, **features):
    known = datasets.Dataset.from_dict(columns).features
    return datasets.Dataset.from_dict(columns, features=datasets.Features({**known, **features}))


CLASSES = datasets.ClassLabel(names=["bad", "good"])
FILMS = {"sentence": ["A fine film.", "So dull."] * 10, "label": [1, 0] * 10, "idx": list(range(20))}


@pytest.fixture
def root(tmp_path):
    return {"root": tmp_path / "hf", "parser": "chain"}


def test_texts_have_the_names_of_their_classes(root):
    parts = datasets.DatasetDict({"train": of(FILMS, label=CLASSES), "validation": of(FILMS, label=CLASSES)})
    made = from_hf(parts, text="sentence", **root)
    assert {name: (type(part), len(part)) for name, part in made.items()} == {
        "train": (CSVTexts, 20),
        "val": (CSVTexts, 20),
    }
    assert made["train"].labels == ("bad", "good")
    assert made["train"][0].y.tolist() == [1]
    again = from_hf(parts, text="sentence", **root)
    assert len([*(root["root"]).glob("*.jsonl")]) == 2  # the same content, the same files
    assert again["val"][1].y.tolist() == [0]


def test_a_dataset_alone_is_for_training_and_validation_is_drawn(root):
    made = from_hf(of(FILMS), text="sentence", **root)
    assert {name: len(part) for name, part in made.items()} == {"train": 18, "val": 2}
    assert made["train"].labels == (0, 1)


def test_pairs_and_numbers(root):
    rows = of({"a": ["One man.", "Two men."] * 5, "b": ["A man.", "Dogs."] * 5, "score": [4.5, 1.0] * 5})
    made = from_hf(rows, text=("a", "b"), label="score", goal="regression", **root)
    assert made["train"].num_classes == 1
    assert made["train"][0].y.dtype.is_floating_point


def test_words(root):
    tags = datasets.List(datasets.ClassLabel(names=["O", "B-PER"]))
    rows = of({"tokens": [["Ann", "sings"], ["It", "rains"]], "ner_tags": [[1, 0], [0, 0]]}, ner_tags=tags)
    made = from_hf({"train": rows, "dev": rows}, words="tokens", label="ner_tags", scheme="bio", **root)
    assert isinstance(made["train"], OwnLabels)
    assert made["train"].labels[:2] == ("O", "B-PER")
    assert made["val"][0].y.tolist() == [1, 0]


def test_spans(root):
    rows = {"text": ["Rain makes mud."] * 4, "at": [[[0, 4], [11, 14]]] * 4, "label": ["cause", "other"] * 2}
    made = from_hf({"train": of(rows), "val": of(rows)}, text="text", spans="at", **root)
    assert isinstance(made["train"], OwnSpans)
    assert made["train"].labels == ("cause", "other")


def test_errors_have_names(root):
    for options, message in [
        ({}, "either 'text' or 'words' must be given"),
        ({"text": "sentence", "words": "w"}, "either 'text' or 'words'"),
        ({"text": "film"}, "train: no column 'film'; the columns are sentence, label, idx"),
        ({"text": ("sentence", "b"), "spans": "at"}, "name one column if 'spans' is given"),
        ({"text": "sentence", "splits": {"train": "all"}}, "no split 'all' for 'train'; there are train"),
        (
            {"text": "sentence", "splits": {"dev": "train"}},
            "'splits' must be one of train, val, test \\(got 'dev'\\)",
        ),
        ({"text": "sentence", "splits": {"val": "train"}}, "no split 'to train on'"),
    ]:
        with pytest.raises(ValueError, match=message):
            from_hf(of(FILMS), **options, **root)


def test_unknown_splits_and_missing_labels(root):
    films = of(FILMS, label=CLASSES)
    parts = datasets.DatasetDict({"train": films, "validation_matched": films})
    with pytest.raises(
        ValueError, match="unknown split 'validation_matched' among train, validation_matched: name"
    ):
        from_hf(parts, text="sentence", **root)
    chosen = {"train": "train", "val": "validation_matched"}
    assert len(from_hf(parts, text="sentence", splits=chosen, **root)["val"]) == 20
    hidden = of({"sentence": ["A film."], "label": [-1], "idx": [0]}, label=CLASSES)
    with pytest.raises(
        ValueError, match="test, row 0: 'label' is not among the classes bad, good \\(got -1\\)"
    ):
        from_hf({"train": films, "test": hidden}, text="sentence", **root)
    with pytest.raises(ValueError, match="'data' must be a Dataset or DatasetDict \\(got list\\)"):
        from_hf([1], text="sentence", **root)


TREES = {"head": [["2", "0"]] * 4, "deprel": [["nsubj", "root"]] * 4, "tokens": [["She", "sings"]] * 4}


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ({"text": "sentence"}, {"sentence": ["She sings."] * 4, "label": ["a", "b"] * 2}),
        ({"words": "tokens", "label": "tags"}, {"tags": [["a", "b"]] * 4, "mark": [1] * 4}),
        ({"words": "tokens", "spans": "spans"}, {"spans": [[[0, 1]]] * 4, "label": ["a", "b"] * 2}),
    ],
    ids=["text", "words", "spans"],
)
def test_trees_of_rows_are_kept(root, given, columns):
    rows = datasets.Dataset.from_dict({**TREES, **columns})
    made = from_hf({"train": rows, "val": rows}, **given, **root)
    assert made["val"][0].governor_index.tolist() == [0, 2, 0]  # the parser's is a chain
    if "mark" in columns:
        assert made["val"][0].mark.tolist() == [0, 0, 1]
