from __future__ import annotations

from pathlib import Path

import pytest

from graphdep.datasets import Douban, ECommerce, Ubuntu, UDTreebank
from graphdep.datasets.base.raw import visible_files
from graphdep.io import atomic_path

CSV = {
    "train": "Context,Utterance,Label\nhi __eou__ __eot__,yes {word},1\n",
    "val": "Context,Ground Truth Utterance,"
    + ",".join(f"Distractor_{i}" for i in range(9))
    + "\nhi __eou__ __eot__,yes {word}"
    + ",no" * 9
    + "\n",
}


def put(folder: Path, name: str, word: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = f"1\thi\tyes {word}\n0\thi\tno\n"
    if name.endswith(".csv"):
        text = CSV["train" if "train" in name else "val"].format(word=word)
    (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("force_reload", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "split", "before", "after"),
    [
        (Douban, Douban, "train", "train.txt", "train.sample"),
        (Douban, Douban, "val", "valid.txt", "dev.txt"),
        (Douban, ECommerce, "train", "train.txt", "ECD_sample-train.txt"),
        (Ubuntu, Ubuntu, "val", "valid.txt", "dev.txt"),
        (Ubuntu, Ubuntu, "train", "train.csv", "ubuntu_corpus_train.csv"),
        (Ubuntu, Ubuntu, "val", "valid.csv", "ubuntu_corpus_dev.csv"),
    ],
)
def test_a_copied_file_that_would_not_be_read(
    tmp_path, parser, first, second, split, before, after, force_reload
):
    one, other = put(tmp_path / "one", before, "one"), put(tmp_path / "other", after, "other")
    if split != "train":
        put(one, before.replace("valid", "train"), "one")
    dataset = first(tmp_path / "root", split, parser, raw_from=one, pool_size=None)
    raw = Path(dataset.raw_dir)
    there = sorted(raw.iterdir())
    message = rf"'raw_from' has {other / after}, but {raw / after} would not be read beside {raw / before}"
    for _ in range(2):
        with pytest.raises(ValueError, match=f"{message}: use another 'root' or delete {raw / before}"):
            second(
                *(tmp_path / "root", split, parser), raw_from=other, pool_size=None, force_reload=force_reload
            )
        assert sorted(raw.iterdir()) == there


def test_a_file_with_precedence_is_read(tmp_path, parser):
    one, other = put(tmp_path / "one", "train.sample", "one"), put(tmp_path / "other", "train.txt", "other")
    for folder, word in ((one, "one"), (other, "other")):
        dataset = Douban(tmp_path / "root", "train", parser, raw_from=folder, pool_size=None)
        assert dataset.response(0) == ["yes", word]


def test_files_that_are_being_written_are_ignored(tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    text = "1\tSings\tsing\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    (raw / "en_one-ud-train.conllu").write_text(text, encoding="utf-8")
    with atomic_path(raw / "en_one-ud-train.conllu") as half:
        assert half.parent == raw
        assert [path.name for path in visible_files(raw, "*.conllu")] == ["en_one-ud-train.conllu"]
        assert [path.name for path in visible_files(tmp_path, "**/*.conllu")] == ["en_one-ud-train.conllu"]
        assert len(UDTreebank(tmp_path)) == 1
        half.write_text(text, encoding="utf-8")
