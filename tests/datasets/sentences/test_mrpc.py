from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
import torch
from torch_geometric.loader import DataLoader

from graphdep.datasets import MRPC
from graphdep.datasets.sentences import DEV_IDS, MRPC_COLUMNS, TEST, TRAIN, read_mrpc

HEAD = "\t".join(MRPC_COLUMNS) + "\n"
ROW = "1\t11\t12\tA dog runs\tA dog ran\n"


def rows(start: int, stop: int) -> str:
    """Rows in which every third is no paraphrase; the second sentence has a bare quote."""
    return "".join(
        f'{int(i % 3 > 0)}\t{10 * i}\t{10 * i + 1}\tDog {i} runs\t"Dog {i} ran, he said\n'
        for i in range(start, stop)
    )


@pytest.fixture
def msrp(tmp_path) -> Path:
    folder = tmp_path / "msrp"
    folder.mkdir()
    (folder / TRAIN).write_bytes(b"\xef\xbb\xbf" + (HEAD + rows(1, 26)).replace("\n", "\r\n").encode())
    (folder / TEST).write_text(HEAD + rows(26, 30), encoding="utf-8")
    (folder / DEV_IDS[0]).write_text("30\t31\n50\t51\n", encoding="utf-8")
    return folder


@pytest.fixture
def glue(tmp_path) -> Path:
    folder = tmp_path / "glue"
    folder.mkdir()
    (folder / "train.tsv").write_text("\ufeff" + HEAD + rows(1, 5), encoding="utf-8")
    (folder / "dev.tsv").write_text(HEAD + rows(5, 7), encoding="utf-8")
    (folder / "test.tsv").write_text("index\t#1 ID\t#2 ID\t#1 String\t#2 String\n", encoding="utf-8")
    return folder


def first_ids(dataset: MRPC) -> list[int]:
    return dataset.pair[:, 0].tolist()


def test_mrpc(tmp_path, parser, msrp, caplog):
    sets = {s: MRPC(tmp_path / "mrpc", s, parser=parser, raw_from=msrp) for s in ("train", "val", "test")}
    assert first_ids(sets["train"]) == [10 * i for i in range(1, 26) if i not in (3, 5)]
    assert first_ids(sets["val"]) == [30, 50]
    assert first_ids(sets["test"]) == [260, 270, 280, 290]
    data = sets["val"][0]
    assert data.y.tolist() == [0]
    assert data.y.dtype == torch.long
    assert data.pair.tolist() == [[30, 31]]
    assert data.segment.tolist() == data.utterance.tolist() == [0] * 4 + [1] * 6
    data.validate()
    assert {'"Dog 1 ran, he said', "Dog 1 runs"} < set(parser.texts)
    assert (sets["val"].num_classes, sets["val"].layout, MRPC.labels[1]) == (2, "msrp", "paraphrase")
    assert next(iter(DataLoader(sets["test"], batch_size=4))).pair.shape == (4, 2)
    assert "7" in sets["train"].vocab  # "Dog 7"
    assert "3" not in sets["test"].vocab
    assert not caplog.records


@pytest.mark.parametrize("name", DEV_IDS)
def test_mrpc_takes_the_dev_ids_by_each_name(tmp_path, parser, msrp, name):
    (msrp / DEV_IDS[0]).rename(msrp / name)
    assert first_ids(MRPC(tmp_path / "mrpc", "val", parser=parser, raw_from=msrp)) == [30, 50]


def test_mrpc_without_dev_ids(tmp_path, parser, msrp, caplog):
    dev_ids = (msrp / DEV_IDS[0]).read_bytes()
    (msrp / DEV_IDS[0]).unlink()
    with caplog.at_level(logging.WARNING, "graphdep"):
        val = MRPC(tmp_path / "mrpc", "val", parser=parser, raw_from=msrp)
        assert first_ids(val) == [100, 200]
        assert "has no mrpc_dev_ids.tsv, so 'val' is every tenth pair" in caplog.text
        caplog.clear()
        assert 100 not in first_ids(MRPC(tmp_path / "mrpc", "train", parser=parser))
        MRPC(tmp_path / "mrpc", "test", parser=parser, vocab=val.vocab)
    assert len(caplog.records) == 1
    (msrp / DEV_IDS[0]).write_bytes(dev_ids)  # they appear later: no stale split
    assert first_ids(MRPC(tmp_path / "mrpc", "val", parser=parser, raw_from=msrp)) == [30, 50]


def test_mrpc_of_glue(tmp_path, parser, msrp, glue):
    train = MRPC(tmp_path / "mrpc", parser=parser, raw_from=glue)
    assert train.layout == "glue"
    assert first_ids(train) == [10, 20, 30, 40]
    assert first_ids(MRPC(tmp_path / "mrpc", "val", parser=parser)) == [50, 60]
    with pytest.raises(
        FileNotFoundError, match=rf"{re.escape(TEST)} \(GLUE's test.tsv has no labels\) is not in"
    ):
        MRPC(tmp_path / "mrpc", "test", parser=parser)
    (glue / TEST).write_bytes((msrp / TEST).read_bytes())
    (glue / TRAIN).write_bytes((msrp / TRAIN).read_bytes())  # GLUE's script leaves it there
    test = MRPC(tmp_path / "mrpc", "test", parser=parser, raw_from=glue)
    assert first_ids(test) == [260, 270, 280, 290]
    assert first_ids(MRPC(tmp_path / "both", "val", parser=parser, raw_from=glue)) == [50, 60]
    assert first_ids(MRPC(tmp_path / "both", "test", parser=parser, layout="msrp", raw_from=glue))


def test_mrpc_keeps_the_layouts_apart(tmp_path, parser, msrp, glue):
    root = tmp_path / "mrpc"
    val = {"split": "val", "parser": parser}
    assert first_ids(MRPC(root, **val, raw_from=msrp)) == [30, 50]
    assert first_ids(MRPC(root, **val, raw_from=glue)) == [50, 60]
    with pytest.raises(
        ValueError, match=r"raw has both layouts: say which with 'layout' \(one of msrp, glue"
    ):
        MRPC(root, **val)
    assert [len(MRPC(root, parser=parser, layout=layout)) for layout in ("msrp", "glue")] == [23, 4]
    with pytest.raises(ValueError, match=r"'layout' is 'glue', but the files in raw_from=.* are 'msrp'"):
        MRPC(root, **val, layout="glue", raw_from=msrp)
    (msrp / TRAIN).unlink()  # the test file is that of both layouts
    assert MRPC(tmp_path / "glue", parser=parser, raw_from=glue).layout == "glue"
    assert len(MRPC(tmp_path / "glue", "test", parser=parser, raw_from=msrp)) == 4
    assert MRPC(tmp_path / "glue", parser=parser).layout == "glue"


def test_mrpc_copies_no_files_of_another_corpus(tmp_path, parser):
    for name in ("train.tsv", "dev.tsv", "test.tsv"):
        (tmp_path / name).write_text("sentence\tlabel\na fine film\t1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"train\.tsv:1: no column 'Quality'"):
        MRPC(tmp_path / "mrpc", parser=parser, raw_from=tmp_path)
    assert not list((tmp_path / "mrpc").glob("raw/*"))


def test_mrpc_with_an_empty_split(tmp_path, parser, msrp):
    dev_ids = msrp / DEV_IDS[0]
    right = dev_ids.read_text(encoding="utf-8")
    dev_ids.write_text("".join(f"{10 * i}\t{10 * i + 1}\n" for i in range(1, 26)), encoding="utf-8")
    for split in MRPC.splits:  # the vocabulary is that of the training split
        with pytest.raises(
            ValueError, match=rf"the split 'train' has no examples in .*{TRAIN} and .*{DEV_IDS[0]}"
        ):
            MRPC(tmp_path / "mrpc", split, parser=parser, raw_from=msrp)
    dev_ids.write_text(right, encoding="utf-8")
    MRPC(tmp_path / "mrpc", parser=parser, raw_from=msrp)
    dev_ids.unlink()
    (msrp / TRAIN).write_text(HEAD + rows(1, 9), encoding="utf-8")
    few = tmp_path / "few"
    assert len(MRPC(few, parser=parser, raw_from=msrp)) == 8
    with pytest.raises(ValueError, match=rf"the split 'val' has no examples in .*few/raw/{TRAIN}$"):
        MRPC(few, "val", parser=parser)


def test_mrpc_refuses(tmp_path, parser, msrp):
    with pytest.raises(ValueError, match=r"'layout' must be one of msrp, glue \(got 'sentence'\)"):
        MRPC(tmp_path / "mrpc", parser=parser, layout="sentence")
    with pytest.raises(FileNotFoundError, match=r"msr_paraphrase_train\.txt is not in .*mrpc_dev_ids\.tsv"):
        MRPC(tmp_path / "mrpc", parser=parser, raw_from=tmp_path)
    (msrp / DEV_IDS[1]).write_text("10\t11\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"several lists of IDs \(mrpc_dev_ids.tsv, dev_ids.tsv\): keep one"):
        MRPC(tmp_path / "mrpc", parser=parser, raw_from=msrp)


def test_read_mrpc_repairs_the_known_character(tmp_path):
    path = tmp_path / TRAIN
    path.write_text(HEAD + ROW.replace("A dog runs", ' Ann\x12s "dog  runs '), encoding="utf-8")
    assert read_mrpc(path) == [(1, (11, 12), ("Ann's \"dog  runs", "A dog ran"))]
