from __future__ import annotations

import json
import logging
from collections import Counter
from pathlib import Path

import pytest

from graphdep.datasets import CoNLL04
from graphdep.datasets.spans.corpora import read_conll04
from tests.kit.tiny_corpora import write_tiny_conll04

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
def raw(tmp_path) -> Path:
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
    assert notes == ["1 sentences with fewer than two entities have no example"]


def test_splits(tmp_path, raw, parser):
    sets = {
        split: CoNLL04(tmp_path / "root", split, parser, raw_from=raw) for split in ("train", "val", "test")
    }
    assert [len(sets[split]) for split in ("train", "val", "test")] == [48, 12, 16]
    assert sets["train"].labels == ("Kill", "Live_In", "none")
    assert sets["test"][0].mark.tolist() == [0, 1, 0, 2, 0]
    assert sets["test"][1].mark.tolist() == [0, 2, 0, 1, 0]
    assert "note" not in sets["val"].describe()
    assert sets["train"].vocab.state_dict() == sets["test"].vocab.state_dict()


@pytest.mark.parametrize(("negatives", "expected"), [(0, 0), (0.5, 8), (1, 16), (100, 32), (None, 32)])
def test_negatives_are_drawn_for_training_alone(tmp_path, raw, parser, negatives, expected):
    options = {"raw_from": raw, "negatives": negatives}
    labels = ("Kill", "Live_In", "none")
    train = CoNLL04(tmp_path / "root", "train", parser, labels=labels, **options)
    assert Counter(train.y.tolist()) == {0: 8, 1: 8, **({2: expected} if expected else {})}
    assert Counter(CoNLL04(tmp_path / "root", "test", parser, labels=labels, **options).y.tolist())[2] == 10
    again = CoNLL04(tmp_path / "root", "train", parser, labels=labels, seed=1, **options)
    assert (again.processed_file_names == train.processed_file_names) is False
    if negatives is not None:
        assert f"{expected} of 32 pairs without relation, drawn with seed 0" in train.describe()["note"]


def test_none_is_a_class_also_where_none_is_drawn(tmp_path, raw, parser):
    train = CoNLL04(tmp_path / "root", "train", parser, raw_from=raw, negatives=0)
    assert train.labels == ("Kill", "Live_In", "none")
    assert CoNLL04(tmp_path / "root", "test", parser, negatives=0).describe()["unknown_labels"] == 0
    every = CoNLL04(tmp_path / "root", "train", parser)
    assert len(CoNLL04(tmp_path / "root", "train", parser, negatives=1e308)) == len(every)


def test_without_a_dev_file(tmp_path, raw, parser):
    (raw / "conll04_dev.json").unlink()
    train, val = (CoNLL04(tmp_path / "root", split, parser, raw_from=raw) for split in ("train", "val"))
    assert len(train) + len(val) == 48
    assert "sentences to train on, drawn with seed 0" in val.describe()["note"]
    sentences = [{tuple(data.input_ids.tolist()) for data in part} for part in (train, val)]
    assert not sentences[0] & sentences[1]


def test_several_relations_of_the_same_entities(tmp_path, caplog):
    more = [{"type": kind, "head": 0, "tail": 1} for kind in ("Live_In", "Kill")]
    with caplog.at_level(logging.WARNING, "graphdep"):
        pairs, notes = read_conll04(write(tmp_path / "x.json", [SENTENCE | {"relations": more}]))
    assert pairs[0].label == "Live_In"
    assert notes == ["1 further relations of the same entities are left out"]
    assert "1 further relations" in caplog.text


@pytest.mark.parametrize("negatives", [-1, float("nan")])
def test_bad_options(tmp_path, parser, negatives):
    with pytest.raises(ValueError, match="'negatives' must be at least 0"):
        CoNLL04(tmp_path, parser=parser, negatives=negatives)
