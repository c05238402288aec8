from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphdep.datasets import UbuntuIRC
from graphdep.datasets.selection.corpora import read_log

LOG = [
    "=== bob joined #ubuntu",
    "[10:00] <ann> how do i mount a disk ?",
    "[10:01] <bob> ann: which one ?",
    "[10:01]  * cid waves",
    "[10:02] <ann> bob , the usb one",
    "[10:02] <Bob> Ann: see fstab",
    "[10:03] <cid> well, hello: all",
    "[10:03] <ann>",
    "[10:04] <ann> bob:",
    "[10:04] (dan/#ubuntu) cid: hi",
    "[10:05] -eve:#ubuntu- spam",
]
LINKS = ["1 2 -", "2 4 - ", "4 5 -", "1 5 -", "3 3 -", "0 6 -", "3 6 -", "5 8 -", "6 9 -", "8 7 -"]


def put(root: Path, folder: str = "train", log=LOG, links=LINKS, name: str = "2020") -> Path:
    target = root / folder
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{name}.ascii.txt"
    path.write_text("".join(f"{line}\n" for line in log))
    (target / f"{name}.annotation.txt").write_text("".join(f"{line}\n" for line in links), "utf-8")
    return path


def test_a_log(tmp_path):
    log = read_log(put(tmp_path))
    assert log.texts == {
        1: "how do i mount a disk ?",
        2: "which one ?",
        3: "cid waves",
        4: "the usb one",
        5: "see fstab",
        6: "well, hello: all",
        7: "",
        8: "bob:",
        9: "hi",
        10: "spam",
    }
    assert log.answered == {2: {1}, 4: {2}, 5: {4, 1}, 6: {3}, 8: {5, 7}, 9: {6}}
    assert log.chain(5) == [1, 2, 4]
    assert log.chain(9) == [3, 6]
    assert log.chain(8) == [7]  # the nearest of the two, which answers nothing


def test_pools(tmp_path, parser):
    put(tmp_path / "raw")
    for max_turns in (None, 2):
        dataset = UbuntuIRC(tmp_path, parser=parser, max_turns=max_turns)
        right = [(dataset.context(i), " ".join(dataset.response(i))) for i in range(0, len(dataset), 2)]
        assert [response for _, response in right] == [
            *("which one ?", "the usb one", "see fstab", "well, hello: all", "bob:", "hi")
        ]
        chain = [
            [*map(str.split, ("how do i mount a disk ?", "which one ?", "the usb one"))],
            [["cid", "waves"]],
        ]
        assert right[2][0] == chain[0][-(max_turns or 9) :]
        assert right[3][0] == chain[1]
        assert dataset.labels().tolist() == [1, 0] * 6
        assert dataset.describe()["empty_utterances"] == 1  # message 7 in the context of message 8


@pytest.mark.parametrize("negatives_from", ["log", "split"])
def test_negatives(tmp_path, parser, negatives_from):
    """Against the rules, one by one, over many seeds."""
    other = ["[10:00] <ann> a", "[10:00] <bob> b", "[10:01] <ann> c", "[10:01] <bob> d", "[10:02] <ann> x y"]
    put(tmp_path / "raw", log=[*LOG, "[10:06] <eve> Which  one ?"], links=[*LINKS, "9 11 -"])
    # Two chains of the other log, each of which has the response of the other one to draw.
    put(tmp_path / "raw", name="2021", log=[*other, "[10:03] <bob> z"], links=["0 1 -", "2 3 -", "4 5 -"])
    log = read_log(tmp_path / "raw" / "train" / "2020.ascii.txt")
    texts = {" ".join(text.split()): number for number, text in log.texts.items()}
    drawn = set()
    for seed in range(12):
        dataset = UbuntuIRC(tmp_path, parser=parser, seed=seed, negatives=2, negatives_from=negatives_from)
        assert dataset.labels().tolist() == [1, 0, 0] * 10
        for pool in range(7):
            right, *wrong = [" ".join(dataset.response(3 * pool + i)) for i in range(3)]
            message = sorted(log.answered)[pool]
            chain = log.chain(message)
            assert right == " ".join(log.texts[message].split())
            assert len({text.casefold() for text in (right, *wrong)}) == 3
            for text in wrong:
                drawn.add(text)
                if text not in ("b", "d", "z"):
                    assert texts[text] in log.answered
                    assert texts[text] not in chain
                    assert not log.answered[texts[text]] & {*chain}
        for pool in range(7, 10):
            of_other = {" ".join(dataset.response(3 * pool + i)) for i in range(3)}
            assert negatives_from == "split" or of_other == {"b", "d", "z"}
    assert bool(drawn & {"b", "d", "z"}) is (negatives_from == "split")
    assert len(drawn) > 4


def test_answers_to_any_message_of_the_chain_are_no_negatives(tmp_path, parser):
    log = [f"[10:00] <a> text {number}" for number in range(7)]
    links = ["0 1 -", "1 2 -", "0 3 -", "1 4 -", "5 6 -"]
    put(tmp_path / "raw", log=log, links=links)
    for seed in range(8):
        dataset = UbuntuIRC(tmp_path, parser=parser, seed=seed)
        drawn = [" ".join(dataset.response(i)) for i in range(1, len(dataset), 2)]
        assert drawn[1] == drawn[3] == "text 6"  # 3 answers the first message of the chain 0, 1


def test_a_log_with_too_few_responses(tmp_path, parser):
    put(tmp_path / "raw")
    put(tmp_path / "raw", name="2021", log=["[10:00] <ann> a", "[10:00] <bob> b"], links=["0 1 -"])
    message = r"2021\.ascii\.txt:2: 0 responses can be negatives, fewer than 1; negatives_from='split' draws"
    with pytest.raises(ValueError, match=message):
        UbuntuIRC(tmp_path, parser=parser)
    dataset = UbuntuIRC(tmp_path, parser=parser, negatives_from="split")
    assert dataset.describe()["pools"] == 7
    put(tmp_path / "few" / "raw", links=LINKS[:1])
    with pytest.raises(ValueError, match=r"fewer than 1$"):
        UbuntuIRC(tmp_path / "few", parser=parser, negatives_from="split")


def test_limit_takes_pools_of_all_logs(tmp_path, parser):
    log = [f"[10:00] <a> text {number}" for number in range(30)]
    links = [f"{number} {number + 2} -" for number in range(28)]
    for name in "abcd":
        put(tmp_path / "raw", log=[f"{line} {name}" for line in log], links=links, name=name)
    dataset = UbuntuIRC(tmp_path, parser=parser, limit=16)
    assert len(dataset) == 16
    assert sorted(dataset.response(i)[-1] for i in range(0, 16, 2)) == [*"aabbccdd"]


def test_draws_are_those_of_a_seed(tmp_path, parser):
    put(tmp_path / "raw", links=[*LINKS, "9 10 -"])
    put(tmp_path / "other" / "raw", links=[*LINKS, "9 10 -"])

    def content(root: Path, seed: int) -> str:
        return UbuntuIRC(root, parser=parser, seed=seed, negatives=2)._store.content()

    assert content(tmp_path, 0) == content(tmp_path / "other", 0)
    assert len({content(tmp_path, seed) for seed in range(4)}) > 1


def test_splits(tmp_path, parser):
    log = [f"[10:00] <a> text {number}" for number in range(30)]
    links = [f"{number} {number + 2} -" for number in range(28)]  # two chains
    for folder in ("train", "dev", "test"):
        put(tmp_path / "files", folder, log, links)
    sizes = {}
    for split in UbuntuIRC.splits:
        dataset = UbuntuIRC(tmp_path / "corpus", split, parser, raw_from=tmp_path / "files")
        sizes[split] = (dataset.describe()["pools"], len(dataset))
    assert sizes == {"train": (28, 56), "val": (28, 280), "test": (28, 280)}
    copied = {str(path.relative_to(tmp_path / "corpus" / "raw")) for path in tmp_path.glob("corpus/raw/*/*")}
    assert copied == {f"{folder}/2020.{kind}.txt" for folder in ("train", "dev", "test") for kind in KINDS}


KINDS = ("ascii", "annotation")


def test_without_files(tmp_path, parser):
    pattern = re.escape("train/*.ascii.txt and *.annotation.txt")
    with pytest.raises(FileNotFoundError, match=f"{pattern} is not in .*irc-disentanglement"):
        UbuntuIRC(tmp_path, parser=parser)
    put(tmp_path / "raw").with_name("2020.annotation.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"2020\.annotation\.txt is missing"):
        UbuntuIRC(tmp_path, parser=parser)


def test_files_are_those_of_a_place_to_draw_from(tmp_path, parser):
    put(tmp_path / "raw")
    for negatives_from in ("log", "split", "log"):
        UbuntuIRC(tmp_path, parser=parser, negatives_from=negatives_from)
    assert len(list((tmp_path / "processed").iterdir())) == 2


@pytest.mark.parametrize("negatives", [0, -1])
def test_wrong_options(tmp_path, parser, negatives):
    with pytest.raises(ValueError, match=r"'negatives_from' must be one of log, split \(got 'x'\)"):
        UbuntuIRC(tmp_path, parser=parser, negatives_from="x")
    with pytest.raises(ValueError, match=rf"'negatives' must be at least 1 \(got {negatives}\)"):
        UbuntuIRC(tmp_path, parser=parser, negatives=negatives)
