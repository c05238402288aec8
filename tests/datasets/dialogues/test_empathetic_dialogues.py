from __future__ import annotations

import csv
import logging
from pathlib import Path

import pytest

from graphdep.datasets import EmpatheticDialogues
from graphdep.datasets.dialogues import EMOTIONS, read_by_emotion, read_published

HEADER = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags"
ROWS = [
    'hit:0_conv:1,1,sentimental,A fire_comma_ long ago,1,I saw it_comma_ "too" .,5|5|5_2|2|5,',
    "hit:0_conv:1,2,sentimental,A fire_comma_ long ago,0,Oh no !,5|5|5_2|2|5,",
    "hit:0_conv:1,3,sentimental,A fire_comma_ long ago,1,Yes .,5|5|5_2|2|5,<TAG>",
    "hit:1_conv:2,1,afraid,A dog,2,A dog barked .,5|5|5_2|2|5,",
]
TURNS = [['I saw it, "too" .', "Oh no !", "Yes ."], ["A dog barked ."]]


def published(folder: Path, rows=ROWS, header=HEADER) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    for name in ("train", "valid", "test"):
        candidates = ",one|two" if rows and name != "train" else ""
        text = "".join(f"{line}\n" for line in (header, *rows)).replace("<TAG>", f"<TAG>{candidates}")
        (folder / f"{name}.csv").write_text(text, encoding="utf-8", newline="")
    return folder


def by_emotion(folder: Path, sad=(), ids=("a b (1)", "c"), others=("o1", "o2")) -> Path:
    (folder / "by_emotion").mkdir(exist_ok=True, parents=True)
    header = "Dialog_ID,Type,Actor,Text"
    for name in EMOTIONS:
        (folder / "by_emotion" / f"{name}.csv").write_text(header + "\n")
    (folder / "by_emotion" / "afraid.csv").write_text(
        f'{header}\nc,situation,none,x\nc,utterance,speaker,"I ran, and ""hid"""\nc,utterance,listener, Oh \n'
    )
    (folder / "by_emotion" / "proud.csv").write_text(
        "\n".join([header, *(f"o{i},utterance,x,{text}" for i in (1, 2) for text in ("Hm", "So")), ""])
    )
    rows = [
        "a b (1),situation,none,a day",
        "a b (1),utterance,speaker,Well",
        "a b (1),utterance,listener,Good",
        *sad,
    ]
    (folder / "by_emotion" / "sad.csv").write_text("\n".join([header, *rows]) + "\n")
    for name, own in (("train", ids), ("valid", others[:1]), ("test", others[1:])):
        (folder / f"split_ids_{name}.txt").write_text("".join(f"{line}\n" for line in own))
    return folder


def read(raw: Path, split="train"):
    files = [raw / "by_emotion" / f"{name}.csv" for name in EMOTIONS]
    return read_by_emotion(raw / f"split_ids_{split}.txt", *files)


def test_published(tmp_path, parser):
    raw = published(tmp_path / "files")
    for name in ("train", "test"):
        dialogues = read_published(raw / f"{name}.csv", candidates=name == "test")
        assert [dialogue.turns for dialogue in dialogues] == TURNS
    dataset = EmpatheticDialogues(tmp_path / "corpus", parser=parser, raw_from=raw)
    assert dataset.layout == "published"
    assert [dataset.raw_response(i) for i in range(len(dataset))] == ["Oh no !", "Yes ."]
    assert dataset.describe()["one_turn_dialogues"] == 1
    test = EmpatheticDialogues(tmp_path / "corpus", "test", parser=parser)
    assert test.train_overlap["pairs"] == 2


def test_by_emotion(tmp_path, parser):
    raw = by_emotion(tmp_path / "files")
    dataset = EmpatheticDialogues(tmp_path / "corpus", "train", parser, raw_from=raw)
    assert dataset.layout == "by-emotion"
    assert [dataset.raw_context(i) for i in (0, 1)] == [["Well"], ['I ran, and "hid"']]
    assert [dataset.raw_response(i) for i in (0, 1)] == ["Good", "Oh"]
    copied = tmp_path / "corpus" / "raw" / "ed-by-emotion"
    assert len(list(copied.iterdir())) == len(EMOTIONS) + 3
    test = EmpatheticDialogues(tmp_path / "corpus", "test", parser)
    assert (test.raw_context(0), test.raw_response(0), len(test)) == (["Hm"], "So", 1)
    assert dataset.describe()["unlisted_dialogues"] == test.unlisted_dialogues == 0


def test_dialogues_that_no_split_has_are_counted(tmp_path, parser, caplog):
    raw = by_emotion(tmp_path / "files", ["d,utterance,x,Lost", "e,situation,x,Lost"])
    for made in (True, False):  # the second time from the processed file
        caplog.clear()
        with caplog.at_level(logging.WARNING, "graphdep.datasets"):
            dataset = EmpatheticDialogues(tmp_path / "corpus", "val", parser, raw_from=raw if made else None)
        assert dataset.describe()["unlisted_dialogues"] == 2
        assert caplog.messages == ["EmpatheticDialogues (val): 2 dialogues are in no split"]
    (raw / "split_ids_test.txt").unlink()
    assert read(raw)[1] is None


def test_line_breaks_and_long_texts_of_emotions(tmp_path):
    long = "so" * 90_000
    raw = by_emotion(tmp_path, ['d,utterance,x,"hello\nworld\r\n"', f"d,utterance,y,{long}"], ids=("d",))
    limit = csv.field_size_limit()
    assert read(raw)[0][0].turns == ["hello world", long.strip()]
    assert csv.field_size_limit() == limit


def test_lines_after_line_breaks_are_right(tmp_path):
    raw = by_emotion(tmp_path, ['d,utterance,x,"a\nb"', "d,remark,x,y"])
    with pytest.raises(ValueError, match=r"sad\.csv:7: 'Type' must be"):
        read(raw)
    raw = by_emotion(tmp_path, ['d,utterance,x,"a\nb"', 'd,utterance,x,"open', "d,utterance,x,y"])
    with pytest.raises(ValueError, match=r"sad\.csv:7: bad quotes .* \(got 'd,utterance,x,\"open'\)"):
        read(raw)


@pytest.mark.parametrize("split", ["train", "valid"])
def test_an_id_in_two_splits(tmp_path, split):
    raw = by_emotion(tmp_path, others=("c", "o2"))
    other = {"train": r"valid\.txt:1: the id is in split_ids_train", "valid": r"train\.txt:2: .*_valid"}[
        split
    ]
    with pytest.raises(ValueError, match=rf"split_ids_{other}\.txt, too \(got 'c'\)"):
        read(raw, split)


def test_layouts_are_kept_apart(tmp_path, parser):
    first, second = published(tmp_path / "first"), by_emotion(tmp_path / "second")
    root = tmp_path / "corpus"
    for raw in (first, second):
        EmpatheticDialogues(root, parser=parser, raw_from=raw)
    with pytest.raises(ValueError, match=r"has both layouts: .*\(one of published, by-emotion\)"):
        EmpatheticDialogues(root, parser=parser)
    loaded = [
        EmpatheticDialogues(root, parser=parser, layout=layout) for layout in ("published", "by-emotion")
    ]
    assert [dataset.raw_response(0) for dataset in loaded] == ["Oh no !", "Good"]
    with pytest.raises(ValueError, match=r"'layout' must be one of published, by-emotion \(got 'csv'\)"):
        EmpatheticDialogues(root, parser=parser, layout="csv")


def test_a_ninth_column_is_not_of_train(tmp_path):
    path = published(tmp_path) / "test.csv"
    with pytest.raises(ValueError, match=r"test\.csv:4: 9 columns instead of 8"):
        read_published(path)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (("c", "d"), r"split_ids_train\.txt:2: the id is in none of the 32 other files \(got 'd'\)"),
        (("c", "a b (1)", "c"), r"split_ids_train\.txt:3: the id is twice here \(got 'c'\)"),
    ],
)
def test_wrong_ids(tmp_path, ids, message):
    raw = by_emotion(tmp_path, ids=ids)
    with pytest.raises(ValueError, match=message):
        read(raw)


def test_without_files(tmp_path, parser):
    with pytest.raises(
        FileNotFoundError, match=r"train\.csv is not in .*ed-published.*empatheticdialogues\.tar"
    ):
        EmpatheticDialogues(tmp_path, parser=parser)
    by_emotion(tmp_path / "raw" / "x")
    with pytest.raises(
        FileNotFoundError, match=r"split_ids_train\.txt with afraid\.csv \.\.\. trusting\.csv is"
    ):
        EmpatheticDialogues(tmp_path, parser=parser, layout="by-emotion")
