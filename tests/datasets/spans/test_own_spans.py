from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from graphdep.datasets import OwnSpans
from graphdep.datasets.base.rows import option_names

WORDS = ["Rain", "makes", "fine", "mud", "."]
ROW = {"words": WORDS, "spans": [[0, 1], [2, 4]], "label": "cause"}
TREE = {"head": [2, 0, 4, 2, 2], "deprel": ["nsubj", "root", "amod", "obj", "punct"]}


def write(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def train(tmp_path) -> Path:
    other = [{"words": ["Mud", "is", str(n)], "spans": [[0, 1], [2, 3]], "label": "other"} for n in range(9)]
    return write(tmp_path / "train.jsonl", [ROW, *other])


def own(tmp_path, parser, split="train", **options) -> OwnSpans:
    return OwnSpans(tmp_path / "root", split, parser, **options)


def test_words(tmp_path, parser, train):
    sets = {
        split: own(tmp_path, parser, split, train=train, test=train) for split in ("train", "val", "test")
    }
    assert [len(sets[split]) for split in ("train", "val", "test")] == [9, 1, 10]
    assert sets["test"][0].mark.tolist() == [0, 1, 0, 2, 2, 0]
    assert (sets["train"].labels, sets["train"].num_spans) == (("cause", "other"), 2)
    assert sets["val"].describe()["note"] == "val is 1 of the 10 sentences to train on, drawn with seed 0"
    assert "note" not in sets["test"].describe()
    assert not list((tmp_path / "root").glob("raw/*"))
    with pytest.raises(ValueError, match="'split' must be one of train, val"):
        own(tmp_path, parser, "test", train=train)


def test_a_sentence_is_in_one_split(tmp_path, parser):
    rows = [
        ROW | {"spans": spans, "words": [str(n)] * 5, "label": label}
        for n in range(6)
        for spans, label in (([[0, 1]], "a"), ([[1, 2]], "b"))
    ]
    path = write(tmp_path / "pairs.jsonl", rows)
    val = own(tmp_path, parser, "val", train=path, val_fraction=0.5, seed=3)
    train = own(tmp_path, parser, train=path, val_fraction=0.5, seed=3)
    sentences = [{tuple(data.input_ids.tolist()) for data in part} for part in (val, train)]
    assert len(val) == len(train) == 6
    assert not sentences[0] & sentences[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        # Each split would make its own draw, and share sentences with the other.
        ({"seed": None}, r"'seed' must be a whole number \(got None\)"),
        ({"seed": 1.5}, r"'seed' must be a whole number \(got 1.5\)"),
        ({"train": None}, r"'train' must be a file"),
        ({"labels": "cause"}, r"'labels' must be a list of labels, none of them twice \(got 'cause'\)"),
        ({"labels": []}, r"'labels' must be a list of labels, none of them twice \(got \[\]\)"),
        ({"labels": ["a", "b", "a"]}, r"'labels' must be .* twice \(got \['a', 'b', 'a'\]\)"),
    ],
)
def test_wrong_options(tmp_path, parser, train, options, message):
    with pytest.raises(ValueError, match=message):
        own(tmp_path, parser, **{"train": train, **options})


def test_texts_and_characters(tmp_path, parser):
    rows = [
        {"text": " Rain doesn't make mud.", "spans": [[1, 5], [19, 22]], "label": "a"},
        {"text": "It rains.", "spans": [[0, 2], [3, 8]], "label": "b"},
    ]
    dataset = own(
        tmp_path, parser, train=write(tmp_path / "t.jsonl", rows), val=write(tmp_path / "v.jsonl", rows)
    )
    assert dataset[0].mark.tolist() == [0, 1, 0, 0, 0, 2, 0]
    assert dataset[1].mark.tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t")])
def test_tags(tmp_path, parser, suffix, mark):
    path = tmp_path / f"train.{suffix}"
    rows = [
        ("sentence", "relation"),
        ("<e1>Rain</e1> makes <e2>fine mud</e2>.", "cause"),
        ("<e2>It</e2> is <e1>mud</e1>.", "other"),
    ]
    path.write_text("".join(mark.join(row) + "\n" for row in rows), encoding="utf-8")
    options = {"train": path, "val": path, "text_column": "sentence", "label_column": "relation"}
    dataset = own(tmp_path, parser, **options)
    assert [data.mark.tolist() for data in dataset] == [[0, 1, 0, 2, 2, 0], [0, 2, 0, 1, 0]]


def test_trees_of_their_own(tmp_path, parser, train):
    path = write(tmp_path / "test.jsonl", [ROW | TREE, ROW])
    test = own(tmp_path, parser, "test", train=train, test=path)
    assert test[0].governor_index.tolist() == [0, 2, 0, 4, 2, 2]
    assert test[1].governor_index.tolist() == [0, 0, 1, 2, 3, 4]
    assert test.describe()["note"] == "1 of 2 examples have a parse of their own"
    with pytest.raises(ValueError, match=r"test.jsonl:2: the sentence has no tree of its own"):
        own(tmp_path, "gold", "test", train=train, test=path, vocab=test.vocab, labels=test.labels)
    all_own = write(tmp_path / "gold.jsonl", [ROW | TREE, ROW | TREE | {"label": "other"}])
    gold = own(tmp_path, "gold", train=all_own, val=all_own)
    assert gold.describe()["parser"] == "gold"
    assert torch.equal(gold[0].governor_index, test[0].governor_index)


def test_unknown_labels_are_counted(tmp_path, parser, train):
    test = own(
        tmp_path, parser, "test", train=train, test=write(tmp_path / "x.jsonl", [ROW | {"label": "new"}])
    )
    assert test.y.tolist() == [-1]
    assert test.describe()["unknown_labels"] == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"spans": [[0, 1], [4, 6]]}, r"span 2 reaches beyond the 5 words \(got \[4, 6\]\)"),
        ({"spans": [[0, 0]]}, "span 1 is empty"),
        ({"spans": []}, "an example has one or two spans .got 0."),
        ({"spans": [[0, 1]] * 3}, "an example has one or two spans .got 3."),
        ({"spans": {"a": 1}}, r"'spans' must be a list"),
        ({"spans": [0, 1]}, "span 1 must be two whole numbers .got int 0."),
        ({"words": None}, "'words' or 'text' must be there, .* .got neither."),
        ({"text": "Rain"}, "'words' or 'text' must be there, .* .got 'words' and 'text'."),
        ({"words": []}, "'words' must be a list of 1 to 10000 words"),
        ({"words": ["Rain", ""]}, "'words' must be a list of 1 to 10000 words"),
        ({"words": "Rain"}, "'words' must be a list of 1 to 10000 words .got 'Rain'."),
        ({"words": ["a"] * 10_001}, "'words' must be a list of 1 to 10000 words"),
        ({"label": 1}, "a label must be a text .got int 1."),
        ({"label": None}, "no label, but one at"),
        ({"head": [0] * 5}, "'deprel' must be a list of names"),
        ({**TREE, "head": [2, 1, 4, 2, 2]}, "no tree: no root"),
        ({**TREE, "head": [2, 0]}, "no tree: 'head' has 2 entries for 5 words"),
        ({**TREE, "deprel": [1] * 5}, "'deprel' must be a list of names"),
        (
            {"words": None, "text": "Rain", "spans": [[0, 5]]},
            r"span 1 reaches beyond the 4 characters \(got \[0, 5\]\)",
        ),
        (
            {"words": None, "text": "Rain rain", "spans": [[0, 3]]},
            r"a span begins or ends inside of a word \(got 'Rai'\)",
        ),
        ({"words": None, "text": "Rain  it", "spans": [[4, 5]]}, "span 1 has no word .got ' '."),
        ({"words": None, "text": " ", "spans": [[0, 1]]}, "'text' must be a text of 1 to 10000 words"),
        (
            {"words": None, "text": "Rain it", "spans": [[0, 4]], **TREE},
            "'words' or .* with 'words'",
        ),
    ],
)
def test_bad_rows(tmp_path, parser, train, row, message):
    path = write(tmp_path / "test.jsonl", [ROW, ROW | row])
    with pytest.raises(ValueError, match=f"test.jsonl:2: {message}"):
        own(tmp_path, parser, "test", train=train, test=path)


def test_bad_tags_and_files(tmp_path, parser, train):
    path = tmp_path / "train.csv"
    path.write_text("text,label\n<e1>Rain</e1>,a\n<e1>Rain,b\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"train.csv:3: a text has <e1>...</e1>, .* \(got '<e1>Rain'\)"):
        own(tmp_path, parser, train=path, val=train)
    path.write_text("text,label\n<e1>Ra</e1>in,a\n", encoding="utf-8")
    with pytest.raises(ValueError, match="train.csv:2: a span begins or ends inside of a word"):
        own(tmp_path, parser, train=path, val=train)
    with pytest.raises(ValueError, match=r"'train' must end in .csv, .tsv, .jsonl, .parquet"):
        own(tmp_path, parser, train="x.txt")
    with pytest.raises(FileNotFoundError, match="no file .*none.jsonl, which is 'test'"):
        own(tmp_path, parser, "test", train=train, test=tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="'raw_from' is for corpora"):
        own(tmp_path, parser, train=train, raw_from=tmp_path)
    with pytest.raises(ValueError, match="'label_column' must be no column of texts"):
        own(tmp_path, parser, train=train, label_column="text")
    with pytest.raises(
        ValueError, match="train.jsonl:1: fewer than two different sentences in 2 rows: 'val'"
    ):
        own(tmp_path, parser, train=write(tmp_path / "train.jsonl", [ROW, ROW]))


def test_options_are_known():
    assert {"train", "val", "text_column", "labels", "limit"} <= set(option_names(OwnSpans))
