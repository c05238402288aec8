from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from pathlib import Path

import pytest

from graphdep.datasets import CoNLL04, SemEval2010Task8, SemEval2014Aspects
from graphdep.datasets.spans.corpora import TEST, TRAIN, read_aspect_terms, read_conll04
from graphdep.datasets.spans.rows import LABELS, UNDIRECTED
from tests.kit.tiny_corpora import write_tiny_aspects, write_tiny_conll04, write_tiny_semeval2010

SENTENCE = {
    "tokens": ["Ann", "Lee", "lives", "in", "Bern", "near", "Rome"],
    "entities": [
        {"type": "Peop", "start": 0, "end": 2},
        {"type": "Loc", "start": 4, "end": 5},
        {"type": "Loc", "start": 6, "end": 7},
    ],
    "relations": [{"type": "Live_In", "head": 0, "tail": 1}],
}


def write(path: Path, sentences: object) -> Path:
    path.write_text(json.dumps(sentences), encoding="utf-8")
    return path


@pytest.fixture
def conll04(tmp_path) -> Path:
    write_tiny_conll04(tmp_path / "files")
    return tmp_path / "files" / "raw"


def test_ordered_pairs(tmp_path):
    pairs, notes = read_conll04(
        write(tmp_path / "x.json", [SENTENCE, SENTENCE | {"entities": [], "relations": []}])
    )
    spans = [(0, 2), (4, 5), (6, 7)]
    expected = [
        ([a, b], "Live_In" if (a, b) == (spans[0], spans[1]) else "none")
        for a in spans
        for b in spans
        if a != b
    ]
    assert [(pair.spans, pair.label) for pair in pairs] == expected
    assert notes == ["sentences with fewer than two entities, without example: 1"]


def test_splits_of_conll04(tmp_path, conll04, parser):
    sets = {
        split: CoNLL04(tmp_path / "root", split, parser, raw_from=conll04)
        for split in ("train", "val", "test")
    }
    assert [len(sets[split]) for split in ("train", "val", "test")] == [48, 12, 16]
    assert sets["train"].labels == ("Kill", "Live_In", "none")
    assert sets["test"][0].mark.tolist() == [0, 1, 0, 2, 0]
    assert sets["test"][1].mark.tolist() == [0, 2, 0, 1, 0]
    assert "note" not in sets["val"].describe()
    assert sets["train"].vocab.state_dict() == sets["test"].vocab.state_dict()


@pytest.mark.parametrize(("negatives", "expected"), [(0, 0), (0.5, 8), (1, 16), (100, 32), (None, 32)])
def test_negatives_are_drawn_for_training_alone(tmp_path, conll04, parser, negatives, expected):
    options = {"raw_from": conll04, "negatives": negatives}
    labels = ("Kill", "Live_In", "none")
    train = CoNLL04(tmp_path / "root", "train", parser, labels=labels, **options)
    assert Counter(train.y.tolist()) == {0: 8, 1: 8, **({2: expected} if expected else {})}
    assert Counter(CoNLL04(tmp_path / "root", "test", parser, labels=labels, **options).y.tolist())[2] == 10
    again = CoNLL04(tmp_path / "root", "train", parser, labels=labels, seed=1, **options)
    assert (again.processed_file_names == train.processed_file_names) is False
    if negatives is not None:
        drawn = f"{expected} of 32 pairs without relation, drawn with seed 0"
        left_out = "pairs without relation, left out (negatives): 32"
        assert (drawn if negatives else left_out) in train.describe()["note"]


def test_none_is_a_class_even_if_no_pair_is_drawn(tmp_path, conll04, parser):
    train = CoNLL04(tmp_path / "root", "train", parser, raw_from=conll04, negatives=0)
    assert train.labels == ("Kill", "Live_In", "none")
    assert CoNLL04(tmp_path / "root", "test", parser, negatives=0).describe()["unknown_labels"] == 0
    every = CoNLL04(tmp_path / "root", "train", parser)
    assert len(CoNLL04(tmp_path / "root", "train", parser, negatives=float("inf"))) == len(every)


def test_without_a_dev_file(tmp_path, conll04, parser):
    (conll04 / "conll04_dev.json").unlink()
    train, val = (CoNLL04(tmp_path / "root", split, parser, raw_from=conll04) for split in ("train", "val"))
    assert len(train) + len(val) == 48
    assert "training sentences, drawn with seed 0" in val.describe()["note"]
    sentences = [{tuple(data.input_ids.tolist()) for data in part} for part in (train, val)]
    assert not sentences[0] & sentences[1]


def test_several_relations_of_the_same_entities(tmp_path, caplog):
    more = [{"type": kind, "head": 0, "tail": 1} for kind in ("Live_In", "Kill")]
    with caplog.at_level(logging.WARNING, "graphdep"):
        pairs, notes = read_conll04(write(tmp_path / "x.json", [SENTENCE | {"relations": more}]))
    assert pairs[0].label == "Live_In"
    assert notes == ["further relations of the same entities, left out: 1"]
    assert "entities, left out: 1" in caplog.text


BLOCK = '7\t"A <e1>cat</e1> in a<e2>box</e2> isn\'t ""big"""\r\nContent-Container(e1,e2)\r\nComment:\r\n\r\n'


@pytest.fixture
def task8(tmp_path) -> Path:
    write_tiny_semeval2010(tmp_path / "files")
    return tmp_path / "files" / "raw"


def numbers(dataset) -> list[int]:
    return dataset.number.tolist()


def test_splits_of_task_8(tmp_path, task8, parser, caplog):
    with caplog.at_level(logging.WARNING, "graphdep"):
        sets = {
            split: SemEval2010Task8(tmp_path / "root", split, parser, raw_from=task8)
            for split in ("train", "val", "test")
        }
    assert "TRAIN_FILE.TXT has 30 sentences, the published file 8000" in caplog.text
    assert numbers(sets["test"]) == [*range(8001, 8013)]
    assert sorted(numbers(sets["train"]) + numbers(sets["val"])) == [*range(1, 31)]
    assert len(sets["val"]) == 3
    assert sets["val"].describe()["note"] == (
        "3 of the 30 training sentences, drawn with seed 0; 3 words of the parser cut at the border of a span"
    )
    other = SemEval2010Task8(tmp_path / "root", "val", parser, seed=1)
    assert numbers(other) != numbers(sets["val"])
    assert len(SemEval2010Task8(tmp_path / "root", "val", parser, val_fraction=0.5)) == 15
    data = sets["test"][0]
    assert data.mark.tolist() == [0, 0, 0, 1, 0, 0, 2, 0]
    assert (sets["test"].labels, sets["test"].num_spans) == (LABELS, 2)
    assert [LABELS[y] for y in sets["test"].y.tolist()][:3] == [
        "Cause-Effect(e1,e2)",
        "Cause-Effect(e2,e1)",
        "Other",
    ]


def test_without_direction(tmp_path, task8, parser):
    dataset = SemEval2010Task8(tmp_path / "root", "test", parser, raw_from=task8, direction=False)
    assert dataset.labels == UNDIRECTED
    assert [UNDIRECTED[y] for y in dataset.y.tolist()] == ["Cause-Effect", "Cause-Effect", "Other"] * 4
    assert dataset.num_classes == 10


@pytest.mark.parametrize("inner", ["SemEval2010_task8_{}", "SemEval2010_task8_all_data/SemEval2010_task8_{}"])
def test_the_folders_of_the_archive(tmp_path, task8, parser, inner):
    for name, part in ((TRAIN, "training"), (TEST, "testing_keys")):
        folder = tmp_path / "archive" / inner.format(part)
        folder.mkdir(parents=True)
        shutil.copy(task8 / name, folder)
    dataset = SemEval2010Task8(tmp_path / "root", "test", parser, raw_from=tmp_path / "archive")
    assert len(dataset) == 12
    assert sorted(path.name for path in (tmp_path / "root" / "raw").iterdir()) == [TEST, TRAIN]


def test_words_split_by_a_mark(tmp_path, task8, parser):
    (task8 / TEST).write_text(BLOCK, encoding="utf-8", newline="")
    dataset = SemEval2010Task8(tmp_path / "root", "test", parser, raw_from=task8)
    # ROOT A cat in a box isn't ""big"": without the quotation marks around it
    assert dataset[0].mark.tolist() == [0, 0, 1, 0, 0, 2] + [0] * 2
    assert dataset.describe()["note"] == "1 word of the parser cut at the border of a span"


TERMS = (
    '<aspectTerm term="fish &amp; chips" polarity="positive" from="4" to="16"/>\n'
    '<aspectTerm term="wine" polarity="conflict" from="18" to="22"/>\n'
)
XML = (
    "<sentences>\n<sentence id='1'><text>The fish &amp; chips, wine!</text>\n"
    f"<aspectTerms>\n{TERMS}</aspectTerms>\n"
    '<aspectCategories><aspectCategory category="food" polarity="positive"/></aspectCategories></sentence>\n'
    "<sentence id='2'><text>Nice.</text></sentence></sentences>\n"
)


@pytest.fixture
def aspects(tmp_path) -> Path:
    write_tiny_aspects(tmp_path / "files")
    return tmp_path / "files" / "raw"


def load(tmp_path, aspects, parser, split="test", **options) -> SemEval2014Aspects:
    return SemEval2014Aspects(tmp_path / "root", split, parser, raw_from=aspects, **options)


def test_splits_of_aspects(tmp_path, aspects, parser):
    sets = {split: load(tmp_path, aspects, parser, split) for split in ("train", "val", "test")}
    assert [len(sets[split]) for split in ("train", "val", "test")] == [22, 2, 8]
    assert sets["train"].labels == ("conflict", "negative", "neutral", "positive")
    assert sets["test"].num_spans == 1
    assert sets["test"][0].mark.tolist() == [0, 0, 1, 1, 0, 0]
    assert "training sentences, drawn with seed 0" in sets["val"].describe()["note"]


@pytest.mark.parametrize(("polarities", "labels"), [(4, ["positive", "conflict"]), (3, ["positive"])])
def test_polarities(tmp_path, aspects, parser, polarities, labels):
    (aspects / "Restaurants_Test_Gold.xml").write_text(XML, encoding="utf-8")
    test = load(tmp_path, aspects, parser, polarities=polarities)
    assert [test.labels[y] for y in test.y.tolist()] == labels
    assert test[0].mark.tolist() == [0, 0, 1, 1, 1, 0, 0]
    note = test.describe()["note"]
    assert "1 sentences without a term in Restaurants_Test_Gold.xml" in note
    assert ("1 terms of conflicting polarity left out" in note) == (polarities == 3)


def test_words_split_by_a_term(tmp_path, aspects, parser):
    text = XML.replace(
        '"wine" polarity="conflict" from="18" to="22"', '"win" polarity="neutral" from="18" to="21"'
    )
    (aspects / "Restaurants_Test_Gold.xml").write_text(text, encoding="utf-8")
    test = load(tmp_path, aspects, parser)
    assert "2 words of the parser cut at the border of a span" in test.describe()["note"]
    assert test[1].mark.tolist() == [0, 0, 0, 0, 0, 1, 0]


def test_a_file_for_validation_and_the_other_domain(tmp_path, aspects, parser):
    (aspects / "Restaurants_Val.xml").write_text(XML, encoding="utf-8")
    assert len(load(tmp_path, aspects, parser, "val")) == 2
    assert len(load(tmp_path, aspects, parser, "train")) == 24
    for old, new in (
        ("Restaurants_Train.xml", "Laptop_Train_v2.xml"),
        ("Restaurants_Test_Gold.xml", "Laptops_Test_Gold.xml"),
    ):
        (aspects / old).rename(aspects / new)
    laptops = SemEval2014Aspects(tmp_path / "laptops", "test", parser, raw_from=aspects, domain="laptops")
    assert len(laptops) == 8


def test_the_folder_of_the_archive(tmp_path, aspects, parser):
    (aspects / "ABSA_Gold_TestData").mkdir()
    (aspects / "Restaurants_Test_Gold.xml").rename(
        aspects / "ABSA_Gold_TestData" / "Restaurants_Test_Gold.xml"
    )
    assert len(load(tmp_path, aspects, parser)) == 8
    assert (tmp_path / "root" / "raw" / "Restaurants_Test_Gold.xml").is_file()


def test_lines(tmp_path):
    path = tmp_path / "x.xml"
    path.write_text(XML, encoding="utf-8")
    first, second = read_aspect_terms(path)
    assert (first.line, first.text, [term.line for term in first.terms]) == (
        2,
        "The fish & chips, wine!",
        [4, 5],
    )
    assert (second.text, second.terms) == ("Nice.", [])
