from __future__ import annotations

import csv
from pathlib import Path

import pytest

from graphdep import Vocab
from graphdep.datasets import DailyDialog, DailyDialogSelection, Douban, ECommerce, Ubuntu, UbuntuIRC
from graphdep.datasets.selection.corpora import (
    TEST_COLUMNS,
    TRAIN_COLUMNS,
    read_log,
    read_test_csv,
    read_train_csv,
)
from graphdep.parsing import ParserUnavailableError, resolve_parser
from graphdep.parsing.parser import ChainParser

DIALOGUES = [
    ["Hi .", "Hello !", "Bye .", "See you ."],
    ["Hi .", "HELLO!", "What ?"],
    ["Alone ."],
    ["A ?", "B ."],
]
RESPONSES = [turn for turns in DIALOGUES for turn in turns[1:]]


def put_dialogues(root: Path, split: str = "train", dialogues=DIALOGUES) -> Path:
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
    put_dialogues(tmp_path)
    dataset = DailyDialogSelection(tmp_path, parser=parser)
    assert [pool[0] for pool in pools(dataset)] == RESPONSES
    assert dataset.context(4) == [["Hi", "."], ["Hello", "!"], ["Bye", "."]]
    assert dataset.labels().tolist() == [1, 0] * 6
    assert dataset.describe()["known_pools"] == 0


def test_as_many_responses_as_daily_dialog_has(tmp_path, parser):
    put_dialogues(tmp_path)
    dialogues = DailyDialog(tmp_path, parser=parser, min_freq=1)
    dataset = DailyDialogSelection(tmp_path, parser=parser, max_turns=4)
    assert [dialogues.response(i) for i in range(len(dialogues))] == [
        dataset.response(i) for i in range(0, len(dataset), 2)
    ]
    assert [dialogues.context(i) for i in range(len(dialogues))] == [
        dataset.context(i) for i in range(0, len(dataset), 2)
    ]


def test_negatives_are_responses_of_other_dialogues(tmp_path, parser):
    put_dialogues(tmp_path)
    number_of = {turn: number for number, turns in enumerate(DIALOGUES) for turn in turns[1:]}
    drawn = set()
    for seed in range(7):
        for right, *wrong in pools(DailyDialogSelection(tmp_path, parser=parser, seed=seed, negatives=2)):
            assert all(number_of[text] != number_of[right] for text in wrong)
            assert len({"".join(text.casefold().split()) for text in (right, *wrong)}) == 3
            drawn.update(wrong)
    assert drawn == set(RESPONSES)


def test_overlap(tmp_path, parser):
    put_dialogues(tmp_path)
    many = [[f"q {number}", f"a {number}"] for number in range(12)]
    put_dialogues(tmp_path, "validation", [["hi.", "Hello!", "new ."], *many])
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


def test_remaining_pools_reveal_nothing_about_train(tmp_path, parser):
    """Responses of dropped pools, which are in train, are not negatives of other pools."""
    put_dialogues(tmp_path)
    many = [[f"q {number}", f"a {number}"] for number in range(6)]
    put_dialogues(
        tmp_path, "validation", [["hi.", "Hello!", "Bye.", "See you ."], ["And ?", "What ?"], *many]
    )
    drawn = set()
    for seed in range(7):
        options = {"overlap": "drop", "negatives": 3, "seed": seed, "vocab": Vocab()}
        left = DailyDialogSelection(tmp_path, "val", parser, **options)
        right = {pool[0] for pool in pools(left)}
        assert right == {"What ?", *(f"a {number}" for number in range(6))}
        drawn |= {text for pool in pools(left) for text in pool[1:]}
    assert drawn == right  # "What ?" is in train too, after another turn


NAMES = {
    Douban: [("train.txt", "dev.txt", "test.txt"), ("train.sample", "valid.txt", "test.txt")],
    ECommerce: [
        ("train.txt", "dev.txt", "test.txt"),
        ("ECD_sample-train.txt", "ECD_sample-valid.txt", "ECD_sample-test.txt"),
    ],
}


def put_rows(folder: Path, names) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in zip(names, (2, 2, 10)):
        rows = [f"{int(i == 0)}\t你好 吗\t很 好\t谢谢 {i}\n" for i in range(size)]
        (folder / name).write_text("".join(rows), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("corpus", "names"), [(corpus, names) for corpus, layouts in NAMES.items() for names in layouts]
)
def test_splits(tmp_path, parser, corpus, names):
    raw = put_rows(tmp_path / "files", names)
    for split, size in zip(corpus.splits, (2, 2, 10)):
        dataset = corpus(tmp_path / "corpus", split, parser, raw_from=raw)
        assert dataset.labels().tolist() == [1, *[0] * (size - 1)]
        assert dataset.context(size - 1) == [["你好", "吗"], ["很", "好"]]
        assert dataset.response(size - 1) == ["谢谢", str(size - 1)]
        assert dataset.describe()["pools"] == 1
    assert sorted(path.name for path in (tmp_path / "corpus" / "raw").iterdir()) == sorted(names)


def test_a_parser_must_be_given(tmp_path, monkeypatch):
    corpus = Douban

    def missing(self):
        raise ParserUnavailableError("no models.")

    put_rows(tmp_path / "raw", NAMES[corpus][0])
    monkeypatch.setattr("graphdep.parsing.stanza.StanzaParser._load", missing)
    message = rf"no models\. {corpus.corpus} is in Chinese and needs a parser of Chinese, such as 'stanza:zh'"
    with pytest.raises(ParserUnavailableError, match=message):
        corpus(tmp_path)


def test_no_english_parser(tmp_path):
    corpus = ECommerce
    put_rows(tmp_path / "raw", NAMES[corpus][0])
    cached = resolve_parser("bundled", cache=tmp_path / "parses.sqlite")
    for english, shown in (("bundled", "'bundled'"), ("stanza", "'stanza'"), (cached, "CachedParser")):
        message = rf"'parser' is {shown}, of language 'en'\. {corpus.corpus} is in Chinese"
        with pytest.raises(ValueError, match=message):
            corpus(tmp_path, parser=english)


def test_other_parsers_of_chinese(tmp_path):
    put_rows(tmp_path / "raw", NAMES[Douban][0])
    for language in ("zh", "zh-hans", None):
        parser = ChainParser()
        parser.language = language
        assert len(Douban(tmp_path, parser=parser))
    with pytest.raises(ValueError, match="'arcs' cannot be 'enhanced': .* made of English trees, and Douban"):
        Douban(tmp_path, parser=ChainParser(), arcs="enhanced")


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
    assert second.context == (("a",), ())  # a blank turn is kept


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


def put_log(root: Path, folder: str = "train", log=LOG, links=LINKS, name: str = "2020") -> Path:
    target = root / folder
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{name}.ascii.txt"
    path.write_text("".join(f"{line}\n" for line in log))
    (target / f"{name}.annotation.txt").write_text("".join(f"{line}\n" for line in links), "utf-8")
    return path


def test_a_log(tmp_path):
    log = read_log(put_log(tmp_path))
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
    assert log.chain(8) == [7]  # of two answered messages the nearest


def test_pools_of_logs(tmp_path, parser):
    put_log(tmp_path / "raw")
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
        assert dataset.describe()["empty_utterances"] == 1  # message 7, in the context of message 8


@pytest.mark.parametrize("negatives_from", ["log", "split"])
def test_negatives(tmp_path, parser, negatives_from):
    """The rules one by one, for several seeds."""
    other = ["[10:00] <ann> a", "[10:00] <bob> b", "[10:01] <ann> c", "[10:01] <bob> d", "[10:02] <ann> x y"]
    put_log(tmp_path / "raw", log=[*LOG, "[10:06] <eve> Which  one ?"], links=[*LINKS, "9 11 -"])
    # Another log of several chains, whose responses can be negatives of each other.
    put_log(tmp_path / "raw", name="2021", log=[*other, "[10:03] <bob> z"], links=["0 1 -", "2 3 -", "4 5 -"])
    log = read_log(tmp_path / "raw" / "train" / "2020.ascii.txt")
    texts = {" ".join(text.split()): number for number, text in log.texts.items()}
    drawn = set()
    for seed in range(7):
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


def test_answers_to_messages_of_the_chain_are_not_negatives(tmp_path, parser):
    log = [f"[10:00] <a> text {number}" for number in range(7)]
    links = ["0 1 -", "1 2 -", "0 3 -", "1 4 -", "5 6 -"]
    put_log(tmp_path / "raw", log=log, links=links)
    for seed in range(8):
        dataset = UbuntuIRC(tmp_path, parser=parser, seed=seed)
        drawn = [" ".join(dataset.response(i)) for i in range(1, len(dataset), 2)]
        assert drawn[1] == drawn[3] == "text 6"  # 3 answers the first message of the chain 0, 1


def test_a_log_with_too_few_responses(tmp_path, parser):
    put_log(tmp_path / "raw")
    put_log(tmp_path / "raw", name="2021", log=["[10:00] <ann> a", "[10:00] <bob> b"], links=["0 1 -"])
    message = r"2021\.ascii\.txt:2: 0 responses can be negatives, fewer than 1; negatives_from='split' draws"
    with pytest.raises(ValueError, match=message):
        UbuntuIRC(tmp_path, parser=parser)
    dataset = UbuntuIRC(tmp_path, parser=parser, negatives_from="split")
    assert dataset.describe()["pools"] == 7
    put_log(tmp_path / "few" / "raw", links=LINKS[:1])
    with pytest.raises(ValueError, match=r"fewer than 1$"):
        UbuntuIRC(tmp_path / "few", parser=parser, negatives_from="split")


def test_draws_are_those_of_a_seed(tmp_path, parser):
    put_log(tmp_path / "raw", links=[*LINKS, "9 10 -"])
    put_log(tmp_path / "other" / "raw", links=[*LINKS, "9 10 -"])

    def content(root: Path, seed: int) -> str:
        return UbuntuIRC(root, parser=parser, seed=seed, negatives=2)._store.content()

    assert content(tmp_path, 0) == content(tmp_path / "other", 0)
    assert len({content(tmp_path, seed) for seed in range(4)}) > 1


def test_splits_of_logs(tmp_path, parser):
    log = [f"[10:00] <a> text {number}" for number in range(30)]
    links = [f"{number} {number + 2} -" for number in range(28)]  # two chains
    for folder in ("train", "dev", "test"):
        put_log(tmp_path / "files", folder, log, links)
    sizes = {}
    for split in UbuntuIRC.splits:
        dataset = UbuntuIRC(tmp_path / "corpus", split, parser, raw_from=tmp_path / "files")
        sizes[split] = (dataset.describe()["pools"], len(dataset))
    assert sizes == {"train": (28, 56), "val": (28, 280), "test": (28, 280)}
    copied = {str(path.relative_to(tmp_path / "corpus" / "raw")) for path in tmp_path.glob("corpus/raw/*/*")}
    assert copied == {f"{folder}/2020.{kind}.txt" for folder in ("train", "dev", "test") for kind in KINDS}


KINDS = ("ascii", "annotation")


def test_files_are_those_of_a_place_to_draw_from(tmp_path, parser):
    put_log(tmp_path / "raw")
    for negatives_from in ("log", "split", "log"):
        UbuntuIRC(tmp_path, parser=parser, negatives_from=negatives_from)
    assert len(list((tmp_path / "processed").iterdir())) == 2
