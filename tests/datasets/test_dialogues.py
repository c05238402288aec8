from __future__ import annotations

import csv
import dataclasses
import logging
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from graphdep import Sentence, Vocab, to_data
from graphdep.datasets import DailyDialog, EmpatheticDialogues
from graphdep.datasets.dialogues import EMOTIONS, Dialogue, read_by_emotion, read_daily_dialog, read_published
from graphdep.parsing.parser import Parsed
from graphdep.sentence import join_sentences
from graphdep.sentence.sentence import truncate
from graphdep.testing import assert_same_data
from graphdep.transforms import resolve
from graphdep.vocab.pieces import PieceVocab

DIALOGUES = [
    ["Hello there", "Hi | how are you", "Fine", "Good", "And you", "Well"],
    ["Only one"],
    ["Are you Fine", "Yes", "Good"],
]
VAL = [["Are you FINE", "yes", "bad luck"], ["and  You", "Well"]]
TEST = [["what is this", "a long long long long answer", "well"]]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes the three raw files into a folder and returns it."""

    def write(train=DIALOGUES, val=VAL, test=TEST) -> Path:
        folder = tmp_path / "raw_files"
        folder.mkdir(exist_ok=True)
        for name, dialogues in (("train", train), ("validation", val), ("test", test)):
            lines = ["".join(f"{turn} __eou__ " for turn in turns) + "\n" for turns in dialogues]
            (folder / f"dialogues_{name}.txt").write_text("".join(lines), encoding="utf-8")
        return folder

    return write


@pytest.fixture
def load(tmp_path, parser, write) -> Callable[..., DailyDialog]:
    """Writes the raw files and loads a split."""
    raw = write()

    def load(split: str = "train", **options) -> DailyDialog:
        options = {"parser": parser, "raw_from": raw, "min_freq": 1} | options
        return DailyDialog(tmp_path / "corpus", split, **options)

    return load


def tree(text: str, max_words: int = 50, roots: str = "all") -> Sentence:
    chains = [Sentence.chain(part.split()) for part in text.split("|")]
    return truncate(join_sentences(chains, roots=roots), max_words)


def with_graph(tree: Sentence) -> Sentence:
    """The tree with an arc from its last word to its first, a copy of its first word, and a constituent."""
    deps = [[(str(head), label)] for head, label in zip(tree.head, tree.deprel)]
    deps[0].append((str(len(tree)), "conj"))
    empty = [("1.1", tree.form[0], *["_"] * 6, "1:dep", "CopyOf=1")]
    return dataclasses.replace(tree, deps=deps, empty=empty, constituents=[("NP", 0, len(tree))])


def slow(dialogues, vocab, max_turns=4, max_words=50, roots="all", graphs=False):
    """All examples, from the texts by plain loops."""
    examples = []
    read = {"arcs": "own", "phrases": "spans"} if graphs else {}
    for turns in dialogues:
        whole = [tree(turn, roots=roots) for turn in turns]
        trees = [truncate(with_graph(one) if graphs else one, max_words) for one in whole]
        for turn in range(1, len(turns)):
            data = to_data(trees[:turn][-max_turns:], vocab=vocab, positions="example", **read)
            data.target_ids = torch.tensor([vocab[w] for w in trees[turn].form] + [4])
            examples.append(data)
    return examples


@pytest.mark.parametrize(
    "options",
    [{}, {"max_turns": 1}, {"max_turns": 2, "max_words": 2}, {"roots": "first"}, {"roots": "all"}],
    ids=str,
)
def test_examples_are_those_of_the_texts(load, options):
    dataset = load(**options)
    expected = slow(DIALOGUES, dataset.vocab, **options)
    assert len(dataset) == len(expected) == 7
    for number, (data, other) in enumerate(zip(dataset, expected)):
        data.validate()
        assert (data.dialogue.item(), data.turn.item()) == (
            (0, number + 1) if number < 5 else (1, number - 4)
        )
        del data.dialogue, data.turn
        assert_same_data(data, other)
    assert dataset.describe()["target_tokens"] == sum(len(data.target_ids) for data in expected)


def test_graphs_and_constituents_are_read(load, parser, monkeypatch):
    monkeypatch.setattr(DailyDialog, "_enhanced", lambda self, trees: [*map(with_graph, trees)])
    monkeypatch.setattr(parser, "gives_constituents", True, raising=False)
    dataset = load(arcs="own", constituents=True, max_words=2)
    for data, other in zip(dataset, slow(DIALOGUES, dataset.vocab, max_words=2, graphs=True), strict=True):
        del data.dialogue, data.turn
        assert_same_data(data, other)


def dra(sentences: list[list[str]]) -> set[tuple[int, int]]:
    """DRA's equation 2 over the dependencies of all sentences: pairs (i, j) in which node i sees node j.

    ROOT, node 0, sees all words; a word sees its dependents; each node sees itself.
    """
    pairs, start = {(0, node) for node in range(sum(map(len, sentences)) + 1)}, 0
    for words in sentences:  # chains: each word is the dependent of the one before
        pairs |= {(start + word, start + word + 1) for word in range(1, len(words))}
        pairs |= {(start + word, start + word) for word in range(1, len(words) + 1)}
        start += len(words)
    return pairs


@pytest.mark.parametrize(("roots", "more"), [({}, set()), ({"roots": "first"}, {(1, 3), (1, 6)})])
def test_a_turn_of_three_sentences_has_the_rows_of_equation_2(load, write, roots, more):
    write(train=[["I agree | how are you | fine", "Fine"]])
    data = resolve("dra")(load(**roots)[0])
    expected = dra([["I", "agree"], ["how", "are", "you"], ["fine"]]) | more
    assert {*map(tuple, data.edge_index.flip(0).T.tolist())} == expected


def test_a_cut_turn_keeps_the_roots_that_are_left(load, write):
    write(train=[["I agree | how are you | fine", "Fine"]])
    for max_words, roots in ((6, 3), (4, 2), (2, 1)):
        depth = load(max_words=max_words)[0].depth
        assert depth.numel() == max_words + 1
        assert int((depth == 1).sum()) == roots


def test_words_and_texts(load):
    dataset = load(max_turns=2, max_words=2)
    assert dataset.context(2) == [["Hi", "how"], ["Fine"]]
    assert dataset.response(2) == ["Good"]
    assert dataset.raw_context(2) == ["Hi | how are you", "Fine"]
    assert dataset.raw_response(0) == "Hi | how are you"
    assert dataset.raw_context(5) == ["Are you Fine"]
    for number, data in enumerate(dataset):
        words = [["[ROOT]", *turn] for turn in dataset.context(number)]
        assert data.input_ids.tolist() == [dataset.vocab[word] for turn in words for word in turn]
        assert data.target_ids[:-1].tolist() == [dataset.vocab[word] for word in dataset.response(number)]
    part = dataset[2:6]
    assert [part.raw_response(i) for i in range(-1, 4)] == ["Yes", "Good", "And you", "Well", "Yes"]
    again = load(max_turns=2, max_words=2)
    assert again.context(2) == dataset.context(2)
    assert again.copy([2]).context(0) == dataset.context(2)
    for other in (part, again.copy([2]), pickle.loads(pickle.dumps(dataset))):
        assert other.options() == dataset.options()
    assert dataset.num_classes == 0
    assert "_parser" not in pickle.loads(pickle.dumps(dataset)).__dict__


def test_vocabulary_counts_each_turn_once(load):
    counts = Counter(
        word.lower() for turns in DIALOGUES if len(turns) > 1 for t in turns for word in tree(t).form
    )
    for min_freq in (1, 2, 3):
        words = load(min_freq=min_freq).vocab.words[5:]
        assert sorted(words) == sorted(word for word, count in counts.items() if count >= min_freq)
    assert load("test", min_freq=2).vocab == load(min_freq=2).vocab


def test_unknown_words_are_those_of_the_responses(load):
    dataset = load("test", max_words=4)
    responses = [word for words in map(dataset.response, range(len(dataset))) for word in words]
    unknown = [word for word in responses if word not in dataset.vocab]
    assert responses == ["a", "long", "long", "long", "well"]
    assert dataset.describe()["unknown_words"] == len(unknown) / len(responses) == 4 / 5
    assert dataset[1:].describe()["unknown_words"] == 0


def test_a_word_that_looks_special_ends_no_response(tmp_path, parser, write):
    raw = write(train=[["[ROOT] there", "so [EOU] so [SEP]"]])
    vocab = Vocab(["so", "there"], lower=True)
    dataset = DailyDialog(tmp_path / "corpus", parser=parser, raw_from=raw, vocab=vocab)
    assert dataset[0].target_ids.tolist() == [5, 0, 5, 0, 4]
    assert dataset[0].input_ids.tolist() == [1, 0, 6]
    assert dataset.describe()["unknown_words"] == 2 / 4


def test_a_slice_describes_itself(load):
    dataset = load(max_words=2)
    whole, part = dataset.describe(), dataset[5:].describe()
    assert whole.items() - part.items() >= {("dialogues", 2), ("truncated_turns", 2)}
    assert (part["dialogues"], part["examples"], part["target_tokens"]) == (1, 2, 4)
    assert part["words"] == 2 + (2 + 1)
    of_all = {"truncated_turns", "one_turn_dialogues", "label_mismatches", "overlap_pairs"}
    of_all |= {"overlap_responses", "parser_failures", "unknown_relations", "relation_types", "relations"}
    assert whole.keys() - part.keys() == of_all
    assert dataset.copy([5, 6]).describe() == part
    assert dataset[:].describe() == dataset.copy().describe() == whole


def test_limit_parses_no_further_than_needed(load, parser):
    dataset = load(limit=2)
    assert sorted(parser.texts) == sorted(["Hello there", "Hi | how are you", "Fine"])
    assert (len(dataset), "good" in dataset.vocab) == (2, False)
    assert len(load(limit=6)) == 6
    assert parser.texts[-1] != "Good"
    assert load(limit=100).describe()["examples"] == 7


def test_overlap_is_counted(load):
    overlap = load("val").train_overlap
    assert overlap == {
        "examples": 3,
        "pairs": 2,
        "pair_share": pytest.approx(2 / 3),
        "responses": 2,
        "response_share": pytest.approx(2 / 3),
    }
    assert load("test").train_overlap["pairs"] == 0
    assert load("test").train_overlap["responses"] == 1
    assert load("train").train_overlap is None
    assert load("val").describe()["overlap_pairs"] == pytest.approx(2 / 3)


def test_overlap_is_dropped(load):
    dataset = load("val", overlap="drop")
    assert [dataset.raw_response(i) for i in range(len(dataset))] == ["bad luck"]
    assert dataset.raw_context(0) == ["Are you FINE", "yes"]
    assert dataset.train_overlap == load("val").train_overlap
    assert [load("test", overlap="drop").raw_response(i) for i in (0, 1)] == TEST[0][1:]
    assert load("val", overlap="drop", limit=1).raw_response(0) == "bad luck"


def test_without_the_training_file(tmp_path, parser, write):
    raw = write()
    (raw / "dialogues_train.txt").unlink()
    vocab = Vocab(["well"], lower=True)
    dataset = DailyDialog(tmp_path / "corpus", "val", parser, raw_from=raw, vocab=vocab)
    assert (len(dataset), dataset.train_overlap, dataset.describe()["overlap_pairs"]) == (3, None, None)
    assert dataset.vocab == vocab
    with pytest.raises(FileNotFoundError, match=r"train\.txt \(overlap='drop' compares with it\) is not in"):
        DailyDialog(tmp_path / "corpus", "val", parser, vocab=vocab, overlap="drop")
    with pytest.raises(FileNotFoundError, match=r"train\.txt \(the vocabulary is built from it unless"):
        DailyDialog(tmp_path / "corpus", "val", parser)
    write()
    again = DailyDialog(tmp_path / "corpus", "val", parser, raw_from=raw, vocab=vocab)
    assert again.train_overlap["pairs"] == 2


def test_truncated_turns_and_dialogues_of_one_turn_are_counted(load):
    described = load(max_words=2).describe()
    assert (described["truncated_turns"], described["one_turn_dialogues"]) == (2, 1)
    assert described["dialogues"] == 2
    assert load("test", max_words=5).response(0) == ["a", "long", "long", "long", "long"]
    assert load("test", max_words=5)[0].target_ids.numel() == 6


def test_a_turn_without_words_is_kept(tmp_path, parser, write, monkeypatch):
    raw = write(train=[["\u200b", "a \u200b b", "c"]])
    parse = parser.parse_texts
    monkeypatch.setattr(
        parser, "parse_texts", lambda ts: [p if "c" in t else Parsed([]) for t, p in zip(ts, parse(ts))]
    )
    dataset = DailyDialog(tmp_path / "corpus", parser=parser, raw_from=raw, min_freq=1)
    assert (dataset.context(1), dataset.parser_failures) == ([["\u200b"], ["a", "\u200b", "b"]], 2)


def test_pieces(load, tmp_path):
    pytest.importorskip("tokenizers")
    dataset, words = load(pieces=270), load()
    assert isinstance(dataset.vocab, PieceVocab)
    assert len(dataset.vocab) <= 270
    for number, data in enumerate(dataset):
        data.validate()
        turns = [
            [turn for word in turn for turn in dataset.vocab.encode(word)] for turn in dataset.context(number)
        ]
        assert data.input_ids.tolist() == [piece for turn in turns for piece in (1, *turn)]
        assert data.position.tolist() == list(range(data.num_nodes))
        assert dataset.vocab.decode(data.target_ids.tolist()) == " ".join(dataset.response(number)).lower()
        assert data.target_ids[-1] == 4
        for key in ("depth", "word", "utterance", "deprel", "node_type"):
            first = [new for new, word in enumerate(lead(data)) if word == new]
            assert torch.equal(data[key][first], words[number][key])
    again = load(pieces=270)
    assert again.vocab == dataset.vocab
    val = load("val", pieces=270, vocab=dataset.vocab)
    assert val.describe()["unknown_words"] == 0
    assert torch.equal(val[0].target_ids, load("val", pieces=270)[0].target_ids)
    with pytest.raises(ValueError, match=r"'pieces' is 270, but 'vocab' has words \(got Vocab\("):
        load("val", pieces=270, vocab=words.vocab)


def lead(data) -> list[int]:
    """The first node of each node's word."""
    places = list(zip(data.utterance.tolist(), data.word.tolist()))
    return [places.index(place) for place in places]


def test_a_split_of_single_turns(tmp_path, parser, write):
    raw = write(test=[["alone"], ["alone"]])
    with pytest.raises(ValueError, match="the split 'test' has no examples in .*dialogues_test"):
        DailyDialog(tmp_path / "corpus", "test", parser, raw_from=raw)


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
    for _ in range(2):  # the second time from the processed file
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


HEADER = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags"
ROWS = [
    'hit:0_conv:1,1,sentimental,A fire_comma_ long ago,1,I saw it_comma_ "too" .,5|5|5_2|2|5,',
    "hit:0_conv:1,2,sentimental,A fire_comma_ long ago,0,Oh no !,5|5|5_2|2|5,",
    "hit:0_conv:1,3,sentimental,A fire_comma_ long ago,1,Yes .,5|5|5_2|2|5,<TAG>",
    "hit:1_conv:2,1,afraid,A dog,2,A dog barked .,5|5|5_2|2|5,",
]
EMPATHETIC_TURNS = [['I saw it, "too" .', "Oh no !", "Yes ."], ["A dog barked ."]]


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


def read_split(raw: Path, split="train"):
    files = [raw / "by_emotion" / f"{name}.csv" for name in EMOTIONS]
    return read_by_emotion(raw / f"split_ids_{split}.txt", *files)


def test_published(tmp_path, parser):
    raw = published(tmp_path / "files")
    for name in ("train", "test"):
        dialogues = read_published(raw / f"{name}.csv", candidates=name == "test")
        assert [dialogue.turns for dialogue in dialogues] == EMPATHETIC_TURNS
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


def test_dialogues_in_no_split_are_counted(tmp_path, parser, caplog):
    raw = by_emotion(tmp_path / "files", ["d,utterance,x,Lost", "e,situation,x,Lost"])
    for made in (True, False):  # the second time from the processed file
        caplog.clear()
        with caplog.at_level(logging.WARNING, "graphdep.datasets"):
            dataset = EmpatheticDialogues(tmp_path / "corpus", "val", parser, raw_from=raw if made else None)
        assert dataset.describe()["unlisted_dialogues"] == 2
        assert caplog.messages == ["EmpatheticDialogues (val): 2 dialogues are in no split"]
    (raw / "split_ids_test.txt").unlink()
    assert read_split(raw)[1] is None


def test_line_breaks_and_long_texts_of_emotions(tmp_path):
    long = "so" * 90_000
    raw = by_emotion(tmp_path, ['d,utterance,x,"hello\nworld\r\n"', f"d,utterance,y,{long}"], ids=("d",))
    limit = csv.field_size_limit()
    assert read_split(raw)[0][0].turns == ["hello world", long.strip()]
    assert csv.field_size_limit() == limit


def test_lines_after_line_breaks_are_right(tmp_path):
    raw = by_emotion(tmp_path, ['d,utterance,x,"a\nb"', "d,remark,x,y"])
    with pytest.raises(ValueError, match=r"sad\.csv:7: 'Type' must be"):
        read_split(raw)
    raw = by_emotion(tmp_path, ['d,utterance,x,"a\nb"', 'd,utterance,x,"open', "d,utterance,x,y"])
    with pytest.raises(ValueError, match=r"sad\.csv:7: bad quotes .* \(got 'd,utterance,x,\"open'\)"):
        read_split(raw)


def test_an_id_in_two_splits(tmp_path):
    for split in ["train", "valid"]:
        raw = by_emotion(tmp_path, others=("c", "o2"))
        other = {"train": r"valid\.txt:1: the id is in split_ids_train", "valid": r"train\.txt:2: .*_valid"}[
            split
        ]
        with pytest.raises(ValueError, match=rf"split_ids_{other}\.txt, too \(got 'c'\)"):
            read_split(raw, split)


def test_train_has_no_ninth_column(tmp_path):
    path = published(tmp_path) / "test.csv"
    with pytest.raises(ValueError, match=r"test\.csv:4: 9 columns instead of 8"):
        read_published(path)


def test_wrong_ids(tmp_path):
    for ids, message in [
        (("c", "d"), r"split_ids_train\.txt:2: the id is in none of the 32 other files \(got 'd'\)"),
        (("c", "a b (1)", "c"), r"split_ids_train\.txt:3: the id is twice here \(got 'c'\)"),
    ]:
        raw = by_emotion(tmp_path, ids=ids)
        with pytest.raises(ValueError, match=message):
            read_split(raw)
