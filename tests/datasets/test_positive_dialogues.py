from __future__ import annotations

import pytest

from graphdep import Sentence
from graphdep.datasets import DailyDialogSelection, Douban, positive_dialogues
from graphdep.testing.tiny_corpus import write_tiny_dialogues

ROWS = """\
1\ta b\tc\td e
0\ta b\tc\tf
1\tc\tg
0\tc\ta
1\tc\t \th
0\tc\t \ta
1\ta b\tc\td e\ti
0\ta b\tc\td e\tf
"""


def rows(folder, text, parser):
    (folder / "raw").mkdir()
    for name in ("train", "valid", "test"):
        (folder / "raw" / f"{name}.txt").write_text(text)
    return Douban(folder, "train", parser, log=False)


def test_right_responses_end_dialogues_and_beginnings_are_left_out(tmp_path, parser):
    dataset = rows(tmp_path, ROWS, parser)
    assert sorted(positive_dialogues(dataset)) == [
        ["a b", "c", "d e", "i"],
        ["c", "", "h"],
        ["c", "g"],
    ]
    assert sorted(positive_dialogues(dataset[:2])) == [["a b", "c", "d e"]]


def test_trees(tmp_path, parser):
    dialogues = positive_dialogues(rows(tmp_path, ROWS, parser), trees=True)
    longest = max(dialogues, key=len)
    assert longest == [Sentence.chain(text.split()) for text in ("a b", "c", "d e", "i")]
    assert "" in next(dialogue for dialogue in dialogues if dialogue[-1] == Sentence.chain(["h"]))
    places = {id(u) for dialogue in dialogues for u in dialogue if u == longest[1]}
    assert len(places) == 1


def test_turns_become_the_dialogues_they_are_from(tmp_path):
    settings = write_tiny_dialogues(tmp_path)
    lines = (tmp_path / "raw" / "train" / "dialogues_train.txt").read_text().splitlines()
    raw = {tuple(turn.strip() for turn in line.split("__eou__")[:-1]) for line in lines}
    whole = [one for one in raw if not any(one != other and other[: len(one)] == one for other in raw)]
    dataset = DailyDialogSelection(settings["root"], "train", settings["parser"], log=False)
    assert sorted(map(tuple, positive_dialogues(dataset))) == sorted(whole)


def test_no_right_response(tmp_path, parser):
    dataset = rows(tmp_path, ROWS, parser)
    with pytest.raises(ValueError, match=r"'dataset' has no right response \(got 1 pairs\)"):
        positive_dialogues(dataset[1:2])
