from __future__ import annotations

from pathlib import Path

import pytest

from graphdep.datasets import DailyDialog
from graphdep.datasets.dialogues import Dialogue, read_daily_dialog

LINES = ["Hi . __eou__ Hello ! __eou__", "A __eou__ B \x7f __eou__ C __eou__ ", "One __eou__"]
TURNS = [["Hi .", "Hello !"], ["A", "B", "C"], ["One"]]
ACTS = ["1 2 ", "1 2 3", "1"]


def put(folder: Path, name: str, lines=LINES, acts=None) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"dialogues_{name}.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    if acts is not None:
        (folder / f"dialogues_act_{name}.txt").write_text("".join(f"{line}\n" for line in acts))
    return path


def test_read(tmp_path):
    path = put(tmp_path, "train")
    assert read_daily_dialog(path) == [Dialogue(turns) for turns in TURNS]
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert [dialogue.turns for dialogue in read_daily_dialog(path)] == TURNS


@pytest.mark.parametrize(
    "places",
    [
        ("", "", ""),
        ("train", "validation", "test"),
        ("ijcnlp_dailydialog/train", "ijcnlp_dailydialog/validation", "ijcnlp_dailydialog/test"),
    ],
    ids=["flat", "folders", "archive"],
)
def test_layouts(tmp_path, parser, places):
    raw = tmp_path / "unpacked"
    for place, name in zip(places, ("train", "validation", "test")):
        put(raw / place, name, acts=ACTS)
    for split in DailyDialog.splits:
        dataset = DailyDialog(tmp_path / "corpus", split, parser, raw_from=raw)
        assert [dataset.raw_response(i) for i in range(len(dataset))] == ["Hello !", "B", "C"]
    copied = sorted(path.name for path in (tmp_path / "corpus" / "raw").iterdir())
    assert copied == sorted(
        f"dialogues_{kind}{name}.txt" for kind in ("", "act_") for name in ("train", "validation", "test")
    )


def test_other_numbers_of_labels_are_a_warning(tmp_path, parser, caplog):
    put(tmp_path / "raw", "train", acts=["1 2", "1 2", "1"])
    for _ in range(2):  # the second comes from the processed file
        caplog.clear()
        dataset = DailyDialog(tmp_path, parser=parser)
        text = "DailyDialog (train): dialogues_train.txt:2: 3 turns, but 2 labels in dialogues_act_train.txt"
        assert caplog.messages == [text]
        assert dataset.describe()["label_mismatches"] == 1
        assert len(dataset) == 3
    caplog.clear()
    assert DailyDialog(tmp_path, parser=parser, limit=1).warnings == []
    (tmp_path / "raw" / "dialogues_emotion_train.txt").write_text("0 0\n0\n0 0\n")
    warnings = DailyDialog(tmp_path, parser=parser).warnings
    assert [text[:24] for text in warnings] == ["dialogues_train.txt:2: 3", "dialogues_train.txt:3: 1"]
    assert warnings[0].endswith(
        "but 2 labels in dialogues_act_train.txt, 1 labels in dialogues_emotion_train.txt"
    )


def test_a_damaged_file_is_not_copied(tmp_path, parser):
    put(tmp_path / "files", "train")
    put(tmp_path / "files", "test", ["A __eou__ B"])
    with pytest.raises(ValueError, match="dialogues_test"):
        DailyDialog(tmp_path / "corpus", parser=parser, raw_from=tmp_path / "files")
    assert not list((tmp_path / "corpus" / "raw").glob("*"))


def test_without_files(tmp_path, parser):
    with pytest.raises(
        FileNotFoundError, match=r"dialogues_train\.txt is not in .*yanran\.li/dailydialog.*raw_from"
    ):
        DailyDialog(tmp_path, parser=parser)
