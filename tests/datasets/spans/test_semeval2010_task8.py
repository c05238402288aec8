from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest

from graphdep.datasets import SemEval2010Task8
from graphdep.datasets.spans.corpora import TEST, TRAIN
from graphdep.datasets.spans.rows import LABELS, UNDIRECTED
from tests.kit.tiny_corpora import write_tiny_semeval2010

BLOCK = '7\t"A <e1>cat</e1> in a<e2>box</e2> isn\'t ""big"""\r\nContent-Container(e1,e2)\r\nComment:\r\n\r\n'


@pytest.fixture
def raw(tmp_path) -> Path:
    write_tiny_semeval2010(tmp_path / "files")
    return tmp_path / "files" / "raw"


def numbers(dataset) -> list[int]:
    return dataset.number.tolist()


def test_splits(tmp_path, raw, parser, caplog):
    with caplog.at_level(logging.WARNING, "graphdep"):
        sets = {
            split: SemEval2010Task8(tmp_path / "root", split, parser, raw_from=raw)
            for split in ("train", "val", "test")
        }
    assert "TRAIN_FILE.TXT has 30 sentences, the published file 8000" in caplog.text
    assert numbers(sets["test"]) == [*range(8001, 8013)]
    assert sorted(numbers(sets["train"]) + numbers(sets["val"])) == [*range(1, 31)]
    assert len(sets["val"]) == 3
    assert sets["val"].describe()["note"] == "val is 3 of the 30 sentences to train on, drawn with seed 0"
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


def test_without_direction(tmp_path, raw, parser):
    dataset = SemEval2010Task8(tmp_path / "root", "test", parser, raw_from=raw, direction=False)
    assert dataset.labels == UNDIRECTED
    assert [UNDIRECTED[y] for y in dataset.y.tolist()] == ["Cause-Effect", "Cause-Effect", "Other"] * 4
    assert dataset.num_classes == 10


@pytest.mark.parametrize("inner", ["SemEval2010_task8_{}", "SemEval2010_task8_all_data/SemEval2010_task8_{}"])
def test_the_folders_of_the_archive(tmp_path, raw, parser, inner):
    for name, part in ((TRAIN, "training"), (TEST, "testing_keys")):
        folder = tmp_path / "archive" / inner.format(part)
        folder.mkdir(parents=True)
        shutil.copy(raw / name, folder)
    dataset = SemEval2010Task8(tmp_path / "root", "test", parser, raw_from=tmp_path / "archive")
    assert len(dataset) == 12
    assert sorted(path.name for path in (tmp_path / "root" / "raw").iterdir()) == [TEST, TRAIN]


def test_words_that_a_mark_cuts(tmp_path, raw, parser):
    (raw / TEST).write_text(BLOCK, encoding="utf-8", newline="")
    dataset = SemEval2010Task8(tmp_path / "root", "test", parser, raw_from=raw)
    # ROOT A cat in a box is n't "" big "": without the quotation marks around it
    assert dataset[0].mark.tolist() == [0, 0, 1, 0, 0, 2] + [0] * 5
    assert dataset.describe()["note"] == "1 words of TEST_FILE_FULL.TXT cut at a mark"


def test_options(tmp_path, raw, parser):
    with pytest.raises(ValueError, match=r"'val_fraction' must be between 0 and 1 \(got 1\)"):
        SemEval2010Task8(tmp_path, "val", parser, val_fraction=1)
    with pytest.raises(ValueError, match="'parser' cannot be 'gold'"):
        SemEval2010Task8(tmp_path, parser="gold")
    with pytest.raises(FileNotFoundError, match=f"{TRAIN} is not in"):
        SemEval2010Task8(tmp_path / "root", parser=parser)
    (raw / TRAIN).write_text(BLOCK, encoding="utf-8")
    with pytest.raises(ValueError, match="1: fewer than two different sentences in 1 row"):
        SemEval2010Task8(tmp_path / "root", parser=parser, raw_from=raw)
