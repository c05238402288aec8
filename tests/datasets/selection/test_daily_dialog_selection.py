from __future__ import annotations

from pathlib import Path

import pytest

from graphdep import Vocab
from graphdep.datasets import DailyDialog, DailyDialogSelection

DIALOGUES = [
    ["Hi .", "Hello !", "Bye .", "See you ."],
    ["Hi .", "HELLO!", "What ?"],
    ["Alone ."],
    ["A ?", "B ."],
]
RESPONSES = [turn for turns in DIALOGUES for turn in turns[1:]]


def put(root: Path, split: str = "train", dialogues=DIALOGUES) -> Path:
    folder = root / "raw"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["".join(f"{turn} __eou__ " for turn in turns) + "\n" for turns in dialogues]
    (folder / f"dialogues_{split}.txt").write_text("".join(lines))
    return folder


def pools(dataset) -> list[list[str]]:
    size = len(dataset) // dataset.describe()["pools"]
    texts = [" ".join(dataset.response(i)) for i in range(len(dataset))]
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def test_pools(tmp_path, parser):
    put(tmp_path)
    dataset = DailyDialogSelection(tmp_path, parser=parser)
    assert [pool[0] for pool in pools(dataset)] == RESPONSES
    assert dataset.context(4) == [["Hi", "."], ["Hello", "!"], ["Bye", "."]]
    assert dataset.labels().tolist() == [1, 0] * 6
    assert dataset.describe()["known_pools"] == 0


def test_as_many_responses_as_daily_dialog_has(tmp_path, parser):
    put(tmp_path)
    dialogues = DailyDialog(tmp_path, parser=parser, min_freq=1)
    dataset = DailyDialogSelection(tmp_path, parser=parser, max_turns=4)
    assert [dialogues.response(i) for i in range(len(dialogues))] == [
        dataset.response(i) for i in range(0, len(dataset), 2)
    ]
    assert [dialogues.context(i) for i in range(len(dialogues))] == [
        dataset.context(i) for i in range(0, len(dataset), 2)
    ]


def test_negatives_are_responses_of_other_dialogues(tmp_path, parser):
    put(tmp_path)
    number_of = {turn: number for number, turns in enumerate(DIALOGUES) for turn in turns[1:]}
    drawn = set()
    for seed in range(12):
        for right, *wrong in pools(DailyDialogSelection(tmp_path, parser=parser, seed=seed, negatives=2)):
            assert all(number_of[text] != number_of[right] for text in wrong)
            assert len({"".join(text.casefold().split()) for text in (right, *wrong)}) == 3
            drawn.update(wrong)
    assert drawn == set(RESPONSES)


def test_not_enough_negatives(tmp_path, parser):
    put(tmp_path)
    with pytest.raises(
        ValueError, match=r"dialogues_train\.txt:1: 2 responses can be negatives, fewer than 9"
    ):
        DailyDialogSelection(tmp_path, parser=parser, negatives=9)


def test_overlap(tmp_path, parser):
    put(tmp_path)
    many = [[f"q {number}", f"a {number}"] for number in range(12)]
    put(tmp_path, "validation", [["hi.", "Hello!", "new ."], *many])
    val = DailyDialogSelection(tmp_path, "val", parser)
    assert (val.describe()["pools"], val.describe()["known_pools"]) == (14, 1)
    assert len(val) == 140
    left = DailyDialogSelection(tmp_path, "val", parser, overlap="drop")
    assert [pool[0] for pool in pools(left)] == [pool[0] for pool in pools(val)[1:]]
    (tmp_path / "raw" / "dialogues_train.txt").unlink()
    alone = DailyDialogSelection(tmp_path, "val", parser, vocab=val.vocab)
    assert alone.describe()["known_pools"] == 0
    with pytest.raises(FileNotFoundError, match="overlap='drop' compares with it"):
        DailyDialogSelection(tmp_path, "val", parser, overlap="drop", vocab=val.vocab)


def test_what_is_left_tells_nothing_about_train(tmp_path, parser):
    """Responses of known pools, all of them in train, are no negatives of those that are left."""
    put(tmp_path)
    many = [[f"q {number}", f"a {number}"] for number in range(6)]
    put(tmp_path, "validation", [["hi.", "Hello!", "Bye.", "See you ."], ["And ?", "What ?"], *many])
    drawn = set()
    for seed in range(12):
        options = {"overlap": "drop", "negatives": 3, "seed": seed, "vocab": Vocab()}
        left = DailyDialogSelection(tmp_path, "val", parser, **options)
        right = {pool[0] for pool in pools(left)}
        assert right == {"What ?", *(f"a {number}" for number in range(6))}
        drawn |= {text for pool in pools(left) for text in pool[1:]}
    assert drawn == right  # "What ?", which is in train behind something else, too


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"overlap": "x"}, r"'overlap' must be one of keep, drop \(got 'x'\)"),
        ({"overlap": "drop"}, "overlap='drop' is for val and test"),
    ],
)
def test_wrong_options(tmp_path, parser, options, message):
    put(tmp_path)
    with pytest.raises(ValueError, match=message):
        DailyDialogSelection(tmp_path, parser=parser, **options)
