from __future__ import annotations

import logging
import pickle
import re
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.loader import DataLoader

from graphdep import ConlluError, NodeType, RelationVocab, Sentence, Vocab
from graphdep.datasets import MRPC, SICK, SST, UDTreebank
from graphdep.datasets.sentences import (
    DEV_IDS,
    MRPC_COLUMNS,
    SICK_COLUMNS,
    TEST,
    TRAIN,
    GradedTree,
    read_graded_trees,
    read_mrpc,
    read_sick,
    read_sst,
    read_sst_trees,
    relatedness_target,
    subtree_spans,
    with_brackets,
)
from graphdep.io import format_conllu, read_conllu
from graphdep.vocab import PhraseVocab, VocabTokens
from tests.kit import strategies

ROW = "1\tA dog runs\tA cat runs\t3.5\tNEUTRAL\n"
TABLE = "\t".join(SICK_COLUMNS) + "\n" + ROW


def test_sick_relatedness(tmp_path, parser, write_sick):
    dataset = SICK(tmp_path / "sick", "train", parser=parser, raw_from=write_sick())
    assert len(dataset) == 3
    assert dataset.num_classes == 5
    data = dataset[1]
    assert torch.equal(data.y, torch.tensor([[0, 0.75, 0.25, 0, 0]]))
    assert data.score.tolist() == [2.25]
    assert data.pair.tolist() == [2]
    assert data.segment.tolist() == data.utterance.tolist() == [0] * 6 + [1] * 6
    assert (data.node_type == NodeType.ROOT).nonzero().flatten().tolist() == [0, 6]
    assert "edge_index" not in data
    data.validate()


def test_sick_entailment_labels_do_not_depend_on_the_split(tmp_path, parser, write_sick):
    raw = write_sick()
    dataset = SICK(tmp_path / "sick", "train", "entailment", parser=parser, raw_from=raw)
    assert [SICK.labels[data.y] for data in dataset] == ["ENTAILMENT", "CONTRADICTION", "NEUTRAL"]
    assert dataset[0].y.dtype == torch.long
    assert dataset[0].y.shape == (1,)
    assert "score" not in dataset[0]
    single = SICK(tmp_path / "sick", "val", "entailment", parser=parser)
    assert len(single) == 1
    assert single.num_classes == 3
    assert single[0].y.tolist() == [1]
    assert single[0].num_nodes == 14


def test_sick_vocabulary_is_of_the_training_split(tmp_path, parser, write_sick):
    raw = write_sick(test=[("9", "A zebra chases the cat", "A dog", "3.0", "NEUTRAL")])
    train = SICK(tmp_path / "sick", "train", parser=parser, raw_from=raw)
    test = SICK(tmp_path / "sick", "test", parser=parser, raw_from=raw)
    assert test.vocab == train.vocab
    assert "zebra" not in test.vocab
    assert "DOG" in test.vocab
    assert test[0].input_ids.tolist()[:3] == [1, test.vocab["a"], 0]
    assert test.describe()["unknown_words"] == pytest.approx(1 / 7)
    assert "sees" not in SICK(tmp_path / "sick", "test", parser=parser, min_freq=2).vocab
    assert "a" not in SICK(tmp_path / "sick", "val", parser=parser, lower=False, min_freq=4).vocab


def test_sick_limit_acts_before_parsing(tmp_path, parser, write_sick):
    dataset = SICK(tmp_path / "sick", "train", parser=parser, raw_from=write_sick(), limit=1)
    assert len(dataset) == 1
    assert len(parser.texts) == 2
    assert "sees" not in dataset.vocab


def test_sick_keeps_a_text_one_tree(tmp_path, parser, write_sick):
    raw = write_sick([("1", "A dog runs | It barks", "A dog", "3", "NEUTRAL")])
    data = SICK(tmp_path / "sick", "train", parser=parser, raw_from=raw)[0]
    assert data.utterance.max() == 1
    assert data.word.tolist() == [-1, 0, 1, 2, 3, 4, -1, 0, 1]


def test_sick_counts_failures_of_the_parser(tmp_path, parser, write_sick, caplog):
    raw = write_sick(test=[("1", "A dog FAIL", "A dog", "3", "NEUTRAL")])
    for _ in range(2):
        dataset = SICK(tmp_path / "sick", "test", parser=parser, raw_from=raw)
        assert dataset.parser_failures == dataset.describe()["parser_failures"] == 1
        assert dataset[0].num_nodes == 7
    assert SICK(tmp_path / "sick", "train", parser=parser).parser_failures == 0


def test_sick_without_root_nodes(tmp_path, parser, write_sick):
    data = SICK(tmp_path / "sick", "val", parser=parser, raw_from=write_sick(), root_node=False)[0]
    assert (data.node_type == NodeType.WORD).all()
    assert data.governor_index[0] == 0


@given(st.floats(1, 5))
def test_relatedness_target(score):
    target = relatedness_target(score).double()
    grades = torch.arange(1, 6).double()
    assert torch.isclose(target.sum(), torch.tensor(1.0).double(), atol=1e-6)
    assert torch.isclose((target * grades).sum(), torch.tensor(score).double(), atol=1e-5)
    used = target.nonzero().flatten().tolist()
    assert (target >= 0).all()
    assert used in ([used[0]], [used[0], used[0] + 1])


def test_read_sick_accepts_windows_files(tmp_path):
    path = tmp_path / "SICK_train.txt"
    path.write_bytes(b"\xef\xbb\xbf" + TABLE.removesuffix("\n").replace("\n", "\r\n").encode())
    assert read_sick(path) == [(1, ("A dog runs", "A cat runs"), 3.5, "NEUTRAL")]


@given(st.lists(st.tuples(st.integers(0, len(TABLE) - 1), st.binary(max_size=3)), max_size=3))
def test_read_sick_reads_or_refuses(tmp_path_factory, edits):
    content = bytearray((TABLE + ROW.replace("1", "2", 1)).encode())
    for place, replacement in edits:
        content[place : place + 1] = replacement
    path = tmp_path_factory.getbasetemp() / "fuzz.txt"
    path.write_bytes(bytes(content))
    try:
        pairs = read_sick(path)
    except ValueError as error:
        assert re.match(rf"{re.escape(str(path))}:[1-4]: ", str(error))
    else:
        assert pairs
        assert all(1 <= pair.score <= 5 and pair.label in SICK.labels for pair in pairs)


HEAD = "\t".join(MRPC_COLUMNS) + "\n"
MRPC_ROW = "1\t11\t12\tA dog runs\tA dog ran\n"


def rows(start: int, stop: int) -> str:
    """Rows of MRPC, every third without a paraphrase; second sentences begin with a quotation mark."""
    return "".join(
        f'{int(i % 3 > 0)}\t{10 * i}\t{10 * i + 1}\tDog {i} runs\t"Dog {i} ran, he said\n'
        for i in range(start, stop)
    )


@pytest.fixture
def msrp(tmp_path) -> Path:
    folder = tmp_path / "msrp"
    folder.mkdir()
    (folder / TRAIN).write_bytes(b"\xef\xbb\xbf" + (HEAD + rows(1, 26)).replace("\n", "\r\n").encode())
    (folder / TEST).write_text(HEAD + rows(26, 30), encoding="utf-8")
    (folder / DEV_IDS[0]).write_text("30\t31\n50\t51\n", encoding="utf-8")
    return folder


@pytest.fixture
def glue(tmp_path) -> Path:
    folder = tmp_path / "glue"
    folder.mkdir()
    (folder / "train.tsv").write_text("\ufeff" + HEAD + rows(1, 5), encoding="utf-8")
    (folder / "dev.tsv").write_text(HEAD + rows(5, 7), encoding="utf-8")
    (folder / "test.tsv").write_text("index\t#1 ID\t#2 ID\t#1 String\t#2 String\n", encoding="utf-8")
    return folder


def first_ids(dataset: MRPC) -> list[int]:
    return dataset.pair[:, 0].tolist()


def test_mrpc(tmp_path, parser, msrp, caplog):
    sets = {s: MRPC(tmp_path / "mrpc", s, parser=parser, raw_from=msrp) for s in ("train", "val", "test")}
    assert first_ids(sets["train"]) == [10 * i for i in range(1, 26) if i not in (3, 5)]
    assert first_ids(sets["val"]) == [30, 50]
    assert first_ids(sets["test"]) == [260, 270, 280, 290]
    data = sets["val"][0]
    assert data.y.tolist() == [0]
    assert data.y.dtype == torch.long
    assert data.pair.tolist() == [[30, 31]]
    assert data.segment.tolist() == data.utterance.tolist() == [0] * 4 + [1] * 6
    data.validate()
    assert {'"Dog 1 ran, he said', "Dog 1 runs"} < set(parser.texts)
    assert (sets["val"].num_classes, sets["val"].layout, MRPC.labels[1]) == (2, "msrp", "paraphrase")
    assert next(iter(DataLoader(sets["test"], batch_size=4))).pair.shape == (4, 2)
    assert "7" in sets["train"].vocab  # "Dog 7"
    assert "3" not in sets["test"].vocab
    assert not caplog.records


@pytest.mark.parametrize("name", DEV_IDS)
def test_mrpc_takes_the_dev_ids_by_each_name(tmp_path, parser, msrp, name):
    (msrp / DEV_IDS[0]).rename(msrp / name)
    assert first_ids(MRPC(tmp_path / "mrpc", "val", parser=parser, raw_from=msrp)) == [30, 50]


def test_mrpc_without_dev_ids(tmp_path, parser, msrp, caplog):
    dev_ids = (msrp / DEV_IDS[0]).read_bytes()
    (msrp / DEV_IDS[0]).unlink()
    with caplog.at_level(logging.WARNING, "graphdep"):
        val = MRPC(tmp_path / "mrpc", "val", parser=parser, raw_from=msrp)
        assert first_ids(val) == [100, 200]
        assert "has no mrpc_dev_ids.tsv, so 'val' is every tenth pair" in caplog.text
        caplog.clear()
        assert 100 not in first_ids(MRPC(tmp_path / "mrpc", "train", parser=parser))
        MRPC(tmp_path / "mrpc", "test", parser=parser, vocab=val.vocab)
    assert len(caplog.records) == 1
    (msrp / DEV_IDS[0]).write_bytes(dev_ids)  # the processed split is not used
    assert first_ids(MRPC(tmp_path / "mrpc", "val", parser=parser, raw_from=msrp)) == [30, 50]


def test_mrpc_of_glue(tmp_path, parser, msrp, glue):
    train = MRPC(tmp_path / "mrpc", parser=parser, raw_from=glue)
    assert train.layout == "glue"
    assert first_ids(train) == [10, 20, 30, 40]
    assert first_ids(MRPC(tmp_path / "mrpc", "val", parser=parser)) == [50, 60]
    with pytest.raises(
        FileNotFoundError, match=rf"{re.escape(TEST)} \(GLUE's test.tsv has no labels\) is not in"
    ):
        MRPC(tmp_path / "mrpc", "test", parser=parser)
    (glue / TEST).write_bytes((msrp / TEST).read_bytes())
    (glue / TRAIN).write_bytes((msrp / TRAIN).read_bytes())  # as after GLUE's script
    test = MRPC(tmp_path / "mrpc", "test", parser=parser, raw_from=glue)
    assert first_ids(test) == [260, 270, 280, 290]
    assert first_ids(MRPC(tmp_path / "both", "val", parser=parser, raw_from=glue)) == [50, 60]
    assert first_ids(MRPC(tmp_path / "both", "test", parser=parser, layout="msrp", raw_from=glue))


def test_mrpc_keeps_the_layouts_apart(tmp_path, parser, msrp, glue):
    root = tmp_path / "mrpc"
    val = {"split": "val", "parser": parser}
    assert first_ids(MRPC(root, **val, raw_from=msrp)) == [30, 50]
    assert first_ids(MRPC(root, **val, raw_from=glue)) == [50, 60]
    with pytest.raises(ValueError, match=r"raw has both layouts: set 'layout' \(one of msrp, glue"):
        MRPC(root, **val)
    assert [len(MRPC(root, parser=parser, layout=layout)) for layout in ("msrp", "glue")] == [23, 4]
    with pytest.raises(ValueError, match=r"'layout' is 'glue', but the files in raw_from=.* are 'msrp'"):
        MRPC(root, **val, layout="glue", raw_from=msrp)
    (msrp / TRAIN).unlink()  # both layouts have the same test file
    assert MRPC(tmp_path / "glue", parser=parser, raw_from=glue).layout == "glue"
    assert len(MRPC(tmp_path / "glue", "test", parser=parser, raw_from=msrp)) == 4
    assert MRPC(tmp_path / "glue", parser=parser).layout == "glue"


def test_mrpc_with_an_empty_split(tmp_path, parser, msrp):
    dev_ids = msrp / DEV_IDS[0]
    right = dev_ids.read_text(encoding="utf-8")
    dev_ids.write_text("".join(f"{10 * i}\t{10 * i + 1}\n" for i in range(1, 26)), encoding="utf-8")
    for split in MRPC.splits:  # all need the vocabulary of train
        with pytest.raises(
            ValueError, match=rf"the split 'train' has no examples in .*{TRAIN} and .*{DEV_IDS[0]}"
        ):
            MRPC(tmp_path / "mrpc", split, parser=parser, raw_from=msrp)
    dev_ids.write_text(right, encoding="utf-8")
    MRPC(tmp_path / "mrpc", parser=parser, raw_from=msrp)
    dev_ids.unlink()
    (msrp / TRAIN).write_text(HEAD + rows(1, 9), encoding="utf-8")
    few = tmp_path / "few"
    assert len(MRPC(few, parser=parser, raw_from=msrp)) == 8
    with pytest.raises(ValueError, match=rf"the split 'val' has no examples in .*few/raw/{TRAIN}$"):
        MRPC(few, "val", parser=parser)


def test_mrpc_refuses(tmp_path, parser, msrp):
    (msrp / DEV_IDS[1]).write_text("10\t11\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"several lists of IDs \(mrpc_dev_ids.tsv, dev_ids.tsv\): keep one"):
        MRPC(tmp_path / "mrpc", parser=parser, raw_from=msrp)


def test_read_mrpc_repairs_the_known_character(tmp_path):
    path = tmp_path / TRAIN
    path.write_text(HEAD + MRPC_ROW.replace("A dog runs", ' Ann\x12s "dog  runs '), encoding="utf-8")
    assert read_mrpc(path) == [(1, (11, 12), ("Ann's \"dog  runs", "A dog ran"))]


ROWS = [("a fine film", "1"), ('it is " not " fine .', "0"), ("dull", "0")]


def table(rows=ROWS, header="") -> str:
    return header + "".join(f"{text}\t{label}\n" for text, label in rows)


@pytest.fixture
def sentences(tmp_path) -> Path:
    return write_files(
        tmp_path / "sentences", {"train.tsv": table(), "dev.tsv": table(ROWS[:1]), "test.tsv": table()}
    )


@pytest.fixture
def glue_of_sst(tmp_path) -> Path:
    """GLUE's three files; its texts end in a space."""
    rows = [(f"{text} ", label) for text, label in [*ROWS, ("fine", "1")]]
    header = "sentence\tlabel\n"
    unlabelled = "index\tsentence\n0\ta fine film\n"
    return write_files(
        tmp_path / "glue",
        {"train.tsv": table(rows, header), "dev.tsv": table(rows[:1], header), "test.tsv": unlabelled},
    )


def write_files(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def test_sst(tmp_path, parser, sentences):
    dataset = SST(tmp_path / "sst", "train", parser=parser, raw_from=sentences)
    assert [data.y.tolist() for data in dataset] == [[1], [0], [0]]
    assert dataset[0].y.dtype == torch.long
    assert [data.num_nodes for data in dataset] == [4, 8, 2]
    assert dataset[1].segment.unique().tolist() == [0]
    assert dataset.layout == "sentence"
    assert [SST.labels[data.y] for data in dataset] == ["positive", "negative", "negative"]
    for data in dataset:
        data.validate()
    val = SST(tmp_path / "sst", "val", parser=parser)
    assert (len(val), val.num_classes) == (1, 2)
    assert val.vocab == dataset.vocab
    assert next(iter(DataLoader(dataset, batch_size=3))).y.tolist() == [1, 0, 0]
    assert "_parser" not in pickle.loads(pickle.dumps(dataset)).__dict__


def test_sst_keeps_the_words_of_the_corpus(tmp_path, parser, sentences):
    (sentences / "train.tsv").write_text(table([("one | two n't", "1")]), encoding="utf-8")
    dataset = SST(tmp_path / "sst", parser=parser, raw_from=sentences, root_node=False)
    assert dataset[0].num_nodes == 4
    assert dataset[0].input_ids.tolist() == [dataset.vocab[word] for word in ("one", "|", "two", "n't")]
    assert dataset.describe()["unknown_words"] == 0
    assert parser.texts == []


def test_sst_of_glue(tmp_path, parser, glue_of_sst):
    dataset = SST(tmp_path / "sst", parser=parser, raw_from=glue_of_sst)
    assert dataset.layout == "glue"
    assert [data.num_nodes for data in dataset] == [4, 8, 2, 2]
    with pytest.raises(
        FileNotFoundError, match=r"test-labeled\.tsv \(the labels of GLUE's own test\.tsv are"
    ):
        SST(tmp_path / "sst", "test", parser=parser, raw_from=glue_of_sst)
    (glue_of_sst / "test-labeled.tsv").write_text("sentence\tlabel\r\na fine film\t1\r\n", newline="")
    test = SST(tmp_path / "sst", "test", parser=parser, raw_from=glue_of_sst)
    assert test[0].y.tolist() == [1]


def test_sst_keeps_the_layouts_apart(tmp_path, parser, sentences, glue_of_sst):
    root = tmp_path / "sst"
    assert len(SST(root, parser=parser, raw_from=sentences)) == 3
    assert len(SST(root, parser=parser, raw_from=glue_of_sst)) == 4
    with pytest.raises(ValueError, match=r"raw has both layouts: set 'layout' \(one of sentence, g"):
        SST(root, parser=parser)
    assert [len(SST(root, parser=parser, layout=layout)) for layout in ("sentence", "glue")] == [3, 4]
    with pytest.raises(ValueError, match=r"'layout' is 'glue', but the files in raw_from=.* are 'sentence'"):
        SST(root, parser=parser, layout="glue", raw_from=sentences)
    (sentences / "dev.tsv").write_text((glue_of_sst / "dev.tsv").read_text("utf-8"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"mixes two layouts: train.tsv is 'sentence', dev.tsv is 'glue'"):
        SST(root, parser=parser, raw_from=sentences)


TREES = [
    "(3 (2 It) (4 (3 (2 really) (3 works)) (2 .)))",
    "(2 (2 neither) (2 (1 dull) (3 (2 -LRB-) (4 fine))))",  # a neutral sentence with other phrases
    "(0 (1 dull) (2 1\\/2))",
]


def phrases_of(text: str) -> list[tuple[list[str], int]]:
    """All phrases of a tree in preorder, by recursion over its brackets."""
    grade, rest = int(text[1]), text[3:-1]
    if not rest.startswith("("):
        return [([{"-LRB-": "(", "-RRB-": ")"}.get(rest, rest.replace("\\/", "/"))], grade)]
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            parts.append(phrases_of(rest[start : place + 1].strip()))
            start = place + 1
    some_words = [word for part in parts for word in part[0][0]]
    return [(some_words, grade), *(phrase for part in parts for phrase in part)]


@pytest.fixture
def treebank(tmp_path) -> Path:
    whole = "".join(f"{tree}\n" for tree in TREES)
    return write_files(
        tmp_path / "treebank", {"train.txt": whole, "dev.txt": f"{TREES[0]}\n", "test.txt": TREES[2]}
    )


@pytest.mark.parametrize("phrases", [False, True])
def test_sst_of_the_treebank(tmp_path, parser, treebank, phrases):
    dataset = SST(tmp_path / "sst", parser=parser, raw_from=treebank, phrases=phrases, root_node=False)
    assert dataset.layout == "trees"
    wanted = [phrases_of(tree) if phrases else phrases_of(tree)[:1] for tree in TREES]
    expected = [(some_words, int(grade > 2)) for tree in wanted for some_words, grade in tree if grade != 2]
    assert len(expected) == (9 if phrases else 2)
    found = [(dataset.vocab.words_of(data.input_ids), int(data.y)) for data in dataset]
    assert found == [([word.lower() for word in some_words], label) for some_words, label in expected]
    val, test = (
        SST(tmp_path / "sst", split, parser=parser, phrases=phrases, vocab=dataset.vocab)
        for split in ("val", "test")
    )
    assert [data.y.tolist() for data in (*val, *test)] == [[1], [0]]  # whole sentences
    assert test.vocab.words_of(test[0].input_ids) == ["[ROOT]", "dull", "1/2"]
    assert len([*(tmp_path / "sst" / "processed").glob("*")]) == 3


def test_sst_keeps_phrases_apart_and_spreads_a_limit(tmp_path, parser, treebank, sentences):
    options = {"parser": parser, "raw_from": treebank}
    plain, whole, some = (
        SST(tmp_path / "sst", **options, **more)
        for more in ({}, {"phrases": True}, {"phrases": True, "limit": 3})
    )
    assert [len(dataset) for dataset in (plain, whole, some)] == [2, 9, 3]
    assert len(SST(tmp_path / "sst", phrases=True, limit=1, split="val", **options)) == 1
    texts = [[data.vocab.words_of(one.input_ids) for one in data] for data in (whole, some)]
    places = [texts[0].index(text) for text in texts[1]]
    assert places == sorted(places)
    assert [place // 3 for place in places] == [0, 1, 2]  # one of each third
    with pytest.raises(ValueError, match=r"'phrases' is for layout='trees' \(got layout='sentence'\)"):
        SST(tmp_path / "sst", parser=parser, raw_from=sentences, phrases=True)


trees = st.recursive(
    st.tuples(st.integers(0, 4), st.text(st.characters(categories=["L", "N"]), min_size=1)),
    lambda part: st.tuples(st.integers(0, 4), st.lists(part, min_size=1, max_size=3)),
)


def bracketed(tree: tuple) -> str:
    grade, inside = tree
    return f"({grade} {inside if isinstance(inside, str) else ' '.join(map(bracketed, inside))})"


@settings(max_examples=25)
@given(st.lists(trees, min_size=1, max_size=4))
def test_read_sst_trees_reads_what_was_written(tmp_path_factory, drawn):
    path = tmp_path_factory.getbasetemp() / "written.txt"
    lines = [bracketed(tree) for tree in drawn]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read_sst_trees(path) == [phrases_of(line) for line in lines]


some_words = st.lists(st.text(st.characters(categories=["L", "N", "P"]), min_size=1), min_size=1)


@settings(max_examples=25)
@given(st.lists(st.tuples(some_words, st.sampled_from([0, 1])), min_size=1), st.booleans())
def test_read_sst_reads_what_was_written(tmp_path_factory, rows, glue_of_sst):
    path = tmp_path_factory.getbasetemp() / "written.tsv"
    text = table([(" ".join(row), label) for row, label in rows], "sentence\tlabel\n" if glue_of_sst else "")
    path.write_text(text, encoding="utf-8")
    assert read_sst(path, "glue" if glue_of_sst else "sentence") == rows


GRADED = (
    "(3 (2 It) (4 (2 's) (4 lovely)))\n"
    "(2 (2 A) (2 film))\n"
    "(1 (1 (0 dull) (2 ,)) (2 (2 long) (2 -LRB-)))\n"
    "(4 Wow)\n"
)


@pytest.fixture
def graded_files(tmp_path) -> Path:
    return write_files(tmp_path / "graded", {"train.txt": GRADED, "dev.txt": GRADED, "test.txt": GRADED})


def test_trees_have_the_labels_of_all_nodes(tmp_path, parser, graded_files):
    dataset = SST(tmp_path / "sst", parser=parser, trees=True, raw_from=graded_files)
    assert dataset.layout == "trees"
    assert [data.y.tolist() for data in dataset] == [[1], [0], [1]]  # without the neutral sentence
    assert dataset[0].word_y.tolist() == [-1, -1, -1, 1]
    assert dataset[0].phrase_index.tolist() == [[1, 2], [3, 3]]
    assert dataset[0].phrase_y.tolist() == [1, 1]
    assert dataset[1].word_y.tolist() == [-1, 0, -1, -1, -1]
    assert dataset[1].phrase_index.tolist() == [[1, 1, 3], [4, 2, 4]]
    assert dataset[1].phrase_y.tolist() == [0, 0, -1]
    assert (dataset[2].word_y.tolist(), dataset[2].phrase_y.tolist()) == ([-1, 1], [])
    # In a chain, a subtree has all words from its top word on; ", long (" is no phrase.
    assert [data.node_y.tolist() for data in dataset] == [[1, 1, 1, 1], [0, 0, -2, -1, -1], [1, 1]]
    assert dataset.describe()["without_phrase"] == 1 / 8
    assert "the subtrees of 1 of 8 words (12.5%) are not phrases" in dataset.describe()["note"]
    assert dataset[:1].describe()["without_phrase"] == 0
    assert {PhraseVocab().label(label) for label in dataset._data.phrase_type.tolist()} == {"X"}
    joined = next(iter(DataLoader(dataset, batch_size=3)))
    assert joined.phrase_y.tolist() == [1, 1, 0, 0, -1]
    assert joined.phrase_index[0].tolist() == [1, 2, 5, 5, 7]
    for data in dataset:
        data.validate()
    val = SST(tmp_path / "sst", "val", parser=parser, trees=True)
    assert val[0].phrase_y.tolist() == [1, 1]
    plain = SST(tmp_path / "sst", parser=parser, layout="trees")
    assert "phrase_y" not in plain[0]
    assert plain.processed_paths != dataset.processed_paths
    assert [(data.y.item(), data.num_nodes) for data in plain] == [(d.y.item(), d.num_nodes) for d in dataset]
    bare = SST(tmp_path / "sst", parser=parser, trees=True, root_node=False)
    assert (bare[0].word_y.tolist(), bare[0].node_y.tolist()) == ([-1, -1, 1], [1, 1, 1])
    assert len(SST(tmp_path / "sst", parser=parser, trees=True, limit=1)) == 1


@given(strategies.sentences(multiroot=True))
def test_the_words_of_a_subtree(sentence):
    def under(word: int) -> set[int]:
        return {word}.union(*(under(other) for other, head in enumerate(sentence.head) if head == word + 1))

    spans = [(min(words), max(words) + 1, len(words)) for words in map(under, range(len(sentence)))]
    assert subtree_spans(sentence) == [
        (first, end) if end - first == count else None for first, end, count in spans
    ]


def test_trees_may_have_the_labels_of_a_parser(tmp_path):
    """The label is that of the parser's topmost constituent over the same words."""
    tree = GradedTree(["a", "b", "c"], [(3, 0, 3), (2, 0, 1), (4, 1, 3), (2, 1, 2), (4, 2, 3)])
    parsed = Sentence(*CHAIN, constituents=[("S", 0, 3), ("VP", 0, 3), ("NP", 0, 2)])
    assert with_brackets(parsed, tree).constituents == [("S", 0, 3), ("X", 1, 3)]
    assert with_brackets(Sentence(*CHAIN), tree).constituents == [("X", 0, 3), ("X", 1, 3)]


CHAIN = (["a", "b", "c"], [0, 1, 2], ["root", "dep", "dep"])


def test_impossible_trees(tmp_path, parser, graded_files):
    folder = tmp_path / "sst"
    with pytest.raises(ValueError, match=r"'trees' is for layout='trees'.* \(got layout='glue'"):
        SST(folder, parser=parser, trees=True, layout="glue")
    with pytest.raises(ValueError, match="'trees' is for layout='trees' without 'phrases'"):
        SST(folder, parser=parser, trees=True, phrases=True, raw_from=graded_files)
    with pytest.raises(ValueError, match="'trees' is for layout='trees' .* not 'tokens'"):
        SST(folder, parser=parser, trees=True, tokens=VocabTokens(Vocab(["a"])), raw_from=graded_files)
    (graded_files / "train.txt").write_text("(3 (2 It) (9 works))\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"train.txt:1: a grade must be 0, 1, 2, 3 or 4, and not '9'"):
        SST(folder, parser=parser, trees=True, raw_from=graded_files)


def test_the_label_of_a_word_under_two_nodes(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("(3 (2 (4 It)) (3 works))\n", encoding="utf-8")
    [tree] = read_graded_trees(path)
    assert tree.words == ["It", "works"]
    assert tree.phrases[1:3] == [(["It"], 2), (["It"], 4)]
    assert tree.grade == 3


RAW = Path(__file__).parents[2] / "datasets" / "mini" / "ud" / "raw"
relations = RelationVocab()


@pytest.mark.parametrize(("split", "sentences", "words"), [("train", 6, 42), ("val", 2, 14), ("test", 2, 13)])
def test_ud_treebank_splits(tmp_path, split, sentences, words):
    dataset = UDTreebank(tmp_path / "ud", split, raw_from=RAW)
    facts = dataset.describe()
    assert (facts["examples"], facts["words"], facts["parser"]) == (sentences, words, "gold")
    assert dataset.num_classes == 0
    assert facts["parser_failures"] == 0
    assert "edge_index" not in dataset[0]
    assert dataset[0].validate()


def test_ud_treebank_gold_tree(tmp_path):
    data = UDTreebank(tmp_path / "ud", "train", raw_from=RAW)[0]
    assert data.governor_index.tolist() == [0, 3, 3, 4, 0, 6, 4, 4]
    assert data.deprel[3] == relations["nsubj"]
    assert data.depth[4] == 1


def test_ud_treebank_enhanced_arcs(tmp_path):
    basic = UDTreebank(tmp_path / "ud", "train", raw_from=RAW)
    enhanced = UDTreebank(tmp_path / "ud", "train", raw_from=RAW, arcs="enhanced")
    assert basic[2].num_nodes == 8
    assert enhanced[2].num_nodes == 9
    arcs = list(zip(enhanced[4].arc_index.t().tolist(), enhanced[4].arc_type.tolist()))
    assert ([6, 1], relations["nsubj:xsubj"]) in arcs
    assert ([2, 1], relations["nsubj"]) in arcs
    assert basic[4].arc_index.size(1) == 7
    assert enhanced[4].arc_index.size(1) == 10
    assert enhanced.describe()["unknown_relations"] > 0  # conj:and counts as conj


def test_ud_treebank_learns_the_labels_of_its_graphs(tmp_path):
    raw = tmp_path / "raw_files"
    shutil.copytree(RAW, raw)
    train = raw / "en_mini-ud-train.conllu"
    train.write_text(train.read_text() * 5)
    labels = [
        label
        for sentence in read_conllu(train)
        for label in [
            *(label for deps in sentence.deps or [] for _, label in deps),
            *(part.partition(":")[2] for row in sentence.empty for part in row[8].split("|")),
        ]
    ]
    dataset = UDTreebank(tmp_path / "ud", "val", raw_from=raw, arcs="enhanced")
    assert (
        {*dataset.relations.learned} == {label for label in labels if label not in relations} >= {"conj:and"}
    )
    basic = UDTreebank(tmp_path / "ud", "val", raw_from=raw, relations=dataset.relations)
    assert basic.relations.learned == dataset.relations.learned
    assert UDTreebank(tmp_path / "ud", "val", raw_from=raw).relations == relations


def test_ud_treebank_in_parts(tmp_path):
    raw = tmp_path / "raw_files"
    raw.mkdir()
    for name, sentence in zip("ba", read_conllu(RAW / "en_mini-ud-train.conllu")):
        (raw / f"en_mini-ud-train-{name}.conllu").write_text(format_conllu(sentence) + "\n")
    dataset = UDTreebank(tmp_path / "ud", raw_from=raw)
    assert [data.num_nodes for data in dataset] == [11, 8]  # sorted by file name
    (raw / "fr_other-ud-train.conllu").write_text(format_conllu(sentence) + "\n")
    with pytest.raises(ValueError, match="holds several corpora .*en_mini.*fr_other.*its own 'root'"):
        UDTreebank(tmp_path / "other", raw_from=raw)


def test_ud_treebank_names_the_line_of_an_error(tmp_path):
    raw = tmp_path / "raw_files"
    raw.mkdir()
    text = (RAW / "en_mini-ud-train.conllu").read_text()
    (raw / "en_mini-ud-train.conllu").write_text(text.replace("4\tnsubj\t4:nsubj", "44\tnsubj\t4:nsubj", 1))
    with pytest.raises(ConlluError, match=r"en_mini-ud-train\.conllu:5: .*44"):
        UDTreebank(tmp_path / "ud", raw_from=raw)
