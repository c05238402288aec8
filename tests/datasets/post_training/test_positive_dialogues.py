from __future__ import annotations

import random

import pytest

from graphdep import Sentence, Vocab
from graphdep.datasets import DailyDialogSelection, Douban, Masking, PostTrainingDataset, positive_dialogues
from graphdep.vocab import VocabTokens
from tests.kit.tiny_corpora import write_tiny_dialogues

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
        ["c", "g"],
        ["c", "h"],  # without the blank one
    ]
    assert sorted(positive_dialogues(dataset[:2])) == [["a b", "c", "d e"]]


def test_trees(tmp_path, parser):
    dialogues = positive_dialogues(rows(tmp_path, ROWS, parser), trees=True)
    longest = max(dialogues, key=len)
    assert longest == [Sentence.chain(text.split()) for text in ("a b", "c", "d e", "i")]
    assert [Sentence.chain(["c"]), Sentence.chain(["h"])] in dialogues
    places = {id(u) for dialogue in dialogues for u in dialogue if u == longest[1]}
    assert len(places) == 1


def reply_tree(draw: random.Random, size: int) -> list[list[str]]:
    """The chains of replies to each message but the first ones, some of which are blank."""
    blank = {number for number in range(size) if draw.random() < 0.1}
    answers = {number: draw.randint(max(0, number - 4), number - 1) for number in range(2, size)}
    chains = []
    for message in answers:
        chain = [message]
        while chain[0] in answers:
            chain.insert(0, answers[chain[0]])
        chains.append(["" if number in blank else f"m{number}" for number in chain])
    return chains


def windows(chain: list[str], k: int) -> list[tuple[str, ...]]:
    turns = [turn for turn in chain if turn]
    if len(turns) <= k:
        return [tuple(turns)] if len(turns) > 1 else []
    return [tuple(turns[end - k : end + 1]) for end in range(k, len(turns))]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_each_window_of_branching_chains_is_there_once(tmp_path, parser, seed, k):
    chains = reply_tree(random.Random(seed), 60)
    dataset = rows(tmp_path, "".join("1\t" + "\t".join(chain) + "\n" for chain in chains), parser)
    dialogues = positive_dialogues(dataset, short_context=k)
    turns = [tuple(turn for turn in chain if turn) for chain in chains]
    longest = {one for one in turns if not any(one != two and two[: len(one)] == one for two in turns)}
    expected = {window for chain in longest for window in windows(chain, k)}
    drawn = [window for dialogue in dialogues for window in windows(dialogue, k)]
    assert sorted(drawn) == sorted(expected)
    assert len(drawn) < sum(len(windows(chain, k)) for chain in longest)  # they do branch
    vocab = Vocab(f"m{number}" for number in range(60))
    samples = PostTrainingDataset(
        dialogues, VocabTokens(vocab), Masking(len(vocab), [5]), short_context=k, shares=(0.0, 0.0, 1.0)
    )
    assert len(samples) == len(expected)


def test_what_two_dialogues_share_is_cut(tmp_path, parser):
    text = "1\ta\tb\tc\td\te\n1\ta\tb\tc\td\tf\n1\ta\tx\n"
    dataset = rows(tmp_path, text, parser)
    for k, second in ((1, "df"), (3, "bcdf"), (9, "abcdf")):
        assert sorted(map("".join, positive_dialogues(dataset, short_context=k))) == sorted(
            ["abcde", second, "ax"]
        )


def test_wrong_options(tmp_path, parser):
    with pytest.raises(ValueError, match=r"'short_context' must be at least 1 \(got 0\)"):
        positive_dialogues(rows(tmp_path, ROWS, parser), short_context=0)


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
