from __future__ import annotations

import csv
from pathlib import Path

import pytest

from graphdep.datasets import Ubuntu
from graphdep.datasets.selection.corpora import TEST_COLUMNS, TRAIN_COLUMNS, read_test_csv, read_train_csv

CONTEXT = "how do i mount it ? __eou__ __eot__ with fstab __eou__ man fstab __eou__ __eot__ "


def put_csv(path: Path, rows, header) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def put_v2(folder: Path, names=("train", "valid", "test")) -> Path:
    put_csv(folder / f"{names[0]}.csv", [(CONTEXT, "thanks __eou__", "1.0")], TRAIN_COLUMNS)
    for name in names[1:]:
        put_csv(folder / f"{name}.csv", [(CONTEXT, *(f"r {i} __eou__" for i in range(10)))], TEST_COLUMNS)
    return folder


def put_v1(folder: Path, pools: int = 2) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in (("train", 2), ("valid", 10), ("test", 10)):
        rows = [f"{int(i == 0)}\tc {pool}\tr {i}\n" for pool in range(pools) for i in range(size)]
        (folder / f"{name}.txt").write_text("".join(rows))
    return folder


def test_train_of_version_2(tmp_path):
    rows = [
        (CONTEXT, "thanks __eou__ bye __eou__", "1.0"),
        (CONTEXT, "no", "0"),
        ('say "hi",\nbob', " ", "1"),
    ]
    first, second = read_train_csv(put_csv(tmp_path / "train.csv", rows, TRAIN_COLUMNS))
    assert first.context == (("how do i mount it ?",), ("with fstab", "man fstab"))
    assert first.candidates == (("thanks", "bye"), ("no",))
    assert first.labels == (1, 0)
    assert second.context == (('say "hi",\nbob',),)
    assert second.candidates == ((),)


def test_validation_of_version_2(tmp_path):
    rows = [(f"a __eot__ {text} __eot__ ", *map(str, range(10))) for text in ("b", "")]
    first, second = read_test_csv(put_csv(tmp_path / "test.csv", rows, TEST_COLUMNS))
    assert first.context == (("a",), ("b",))
    assert first.labels == (1, *[0] * 9)
    assert first.candidates == tuple((str(number),) for number in range(10))
    assert second.context == (("a",), ())  # a blank turn stays


def test_a_long_field(tmp_path):
    path = put_csv(tmp_path / "train.csv", [("word" * 50_000, "a", "1")], TRAIN_COLUMNS)
    limit = csv.field_size_limit()
    ((context,),) = next(read_train_csv(path)).context
    assert len(context) == 200_000
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    "names", [("train", "valid", "test"), tuple(f"ubuntu_corpus_{name}" for name in ("train", "dev", "test"))]
)
def test_version_2(tmp_path, parser, names):
    raw = put_v2(tmp_path / "files", names)
    train = Ubuntu(tmp_path / "corpus", parser=parser, raw_from=raw)
    assert train.layout == "v2"
    assert train.context(0) == ["how do i mount it ?".split(), "with fstab man fstab".split()]
    assert train.response(0) == ["thanks"]
    for split in ("val", "test"):
        dataset = Ubuntu(tmp_path / "corpus", split, parser)
        assert dataset.labels().tolist() == [1, *[0] * 9]
    assert (tmp_path / "corpus" / "raw" / "ubuntu-v2" / f"{names[1]}.csv").is_file()


def test_version_1(tmp_path, parser):
    raw = put_v1(tmp_path / "files")
    (raw / "train.txt").write_text("1\thow now ? __eou__ brown cow __eou__\twell __eot__\t__eou__\n")
    dataset = Ubuntu(tmp_path / "corpus", parser=parser, raw_from=raw)
    assert dataset.layout == "v1"
    assert dataset.context(0) == [["how", "now", "?", "brown", "cow"], ["well"]]
    assert dataset.sentences(0)[0][0].head == [0, 1, 2, 0, 4]  # each message has its root
    assert dataset.response(0) == []
    assert [len(Ubuntu(tmp_path / "corpus", split, parser)) for split in Ubuntu.splits] == [1, 20, 20]


def test_pools_of_val_and_test_have_ten_candidates(tmp_path, parser):
    raw = put_v1(tmp_path / "raw" / "ubuntu-v1", pools=1)
    for split, name in (("val", "valid"), ("test", "test")):
        path = raw / f"{name}.txt"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:9]))
        with pytest.raises(
            ValueError, match=rf"{name}\.txt:1: the context has 9 candidates .* instead of 10"
        ):
            Ubuntu(tmp_path, split, parser)
        assert len(Ubuntu(tmp_path, split, parser, pool_size=3)) == 9
        assert Ubuntu(tmp_path, split, parser, pool_size=None).groups().tolist() == [0] * 9
    with pytest.raises(ValueError, match=r"'pool_size' must be at least 1 \(got 0\)"):
        Ubuntu(tmp_path, parser=parser, pool_size=0)


def test_both_versions(tmp_path, parser):
    put_v1(tmp_path / "raw" / "ubuntu-v1")
    put_v2(tmp_path / "raw" / "ubuntu-v2")
    with pytest.raises(ValueError, match=r"has both layouts: say which with 'layout' \(one of v1, v2\)"):
        Ubuntu(tmp_path, parser=parser)
    assert len(Ubuntu(tmp_path, parser=parser, layout="v1")) == 4
    assert len(Ubuntu(tmp_path, parser=parser, layout="v2")) == 1
    with pytest.raises(ValueError, match=r"'layout' must be one of v1, v2 \(got 'v3'\)"):
        Ubuntu(tmp_path, parser=parser, layout="v3")


def test_without_files(tmp_path, parser):
    message = (
        r"train\.txt is not in .*ubuntu-v1 .*Ubuntu consists of .*valid\.txt or dev\.txt.*dropbox.*raw_from"
    )
    with pytest.raises(FileNotFoundError, match=message):
        Ubuntu(tmp_path, parser=parser)
