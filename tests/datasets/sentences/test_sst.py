from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.loader import DataLoader

from graphdep import Sentence, Vocab
from graphdep.datasets import SST
from graphdep.datasets.sentences import GradedTree, read_graded_trees, read_sst, read_sst_trees, with_brackets
from graphdep.vocab import PhraseVocab, VocabTokens

ROWS = [("a fine film", "1"), ('it is " not " fine .', "0"), ("dull", "0")]


def table(rows=ROWS, header="") -> str:
    return header + "".join(f"{text}\t{label}\n" for text, label in rows)


@pytest.fixture
def sentences(tmp_path) -> Path:
    return write(
        tmp_path / "sentences", {"train.tsv": table(), "dev.tsv": table(ROWS[:1]), "test.tsv": table()}
    )


@pytest.fixture
def glue(tmp_path) -> Path:
    """GLUE's three files; its texts end in a space."""
    rows = [(f"{text} ", label) for text, label in [*ROWS, ("fine", "1")]]
    header = "sentence\tlabel\n"
    unlabelled = "index\tsentence\n0\ta fine film\n"
    return write(
        tmp_path / "glue",
        {"train.tsv": table(rows, header), "dev.tsv": table(rows[:1], header), "test.tsv": unlabelled},
    )


def write(folder: Path, files: dict[str, str]) -> Path:
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


def test_sst_of_glue(tmp_path, parser, glue):
    dataset = SST(tmp_path / "sst", parser=parser, raw_from=glue)
    assert dataset.layout == "glue"
    assert [data.num_nodes for data in dataset] == [4, 8, 2, 2]
    with pytest.raises(
        FileNotFoundError, match=r"test-labeled\.tsv \(the labels of GLUE's own test\.tsv are"
    ):
        SST(tmp_path / "sst", "test", parser=parser, raw_from=glue)
    (glue / "test-labeled.tsv").write_text("sentence\tlabel\r\na fine film\t1\r\n", newline="")
    test = SST(tmp_path / "sst", "test", parser=parser, raw_from=glue)
    assert test[0].y.tolist() == [1]


def test_sst_keeps_the_layouts_apart(tmp_path, parser, sentences, glue):
    root = tmp_path / "sst"
    assert len(SST(root, parser=parser, raw_from=sentences)) == 3
    assert len(SST(root, parser=parser, raw_from=glue)) == 4
    with pytest.raises(
        ValueError, match=r"raw has both layouts: say which with 'layout' \(one of sentence, g"
    ):
        SST(root, parser=parser)
    assert [len(SST(root, parser=parser, layout=layout)) for layout in ("sentence", "glue")] == [3, 4]
    with pytest.raises(ValueError, match=r"'layout' is 'glue', but the files in raw_from=.* are 'sentence'"):
        SST(root, parser=parser, layout="glue", raw_from=sentences)
    (sentences / "dev.tsv").write_text((glue / "dev.tsv").read_text("utf-8"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"mixes two layouts: train.tsv is 'sentence', dev.tsv is 'glue'"):
        SST(root, parser=parser, raw_from=sentences)


TREES = [
    "(3 (2 It) (4 (3 (2 really) (3 works)) (2 .)))",
    "(2 (2 neither) (2 (1 dull) (3 (2 -LRB-) (4 fine))))",  # neutral, with phrases that are not
    "(0 (1 dull) (2 1\\/2))",
]


def phrases_of(text: str) -> list[tuple[list[str], int]]:
    """All phrases of a tree, by recursion over its brackets: each before its parts."""
    grade, rest = int(text[1]), text[3:-1]
    if not rest.startswith("("):
        return [([{"-LRB-": "(", "-RRB-": ")"}.get(rest, rest.replace("\\/", "/"))], grade)]
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            parts.append(phrases_of(rest[start : place + 1].strip()))
            start = place + 1
    words = [word for part in parts for word in part[0][0]]
    return [(words, grade), *(phrase for part in parts for phrase in part)]


@pytest.fixture
def treebank(tmp_path) -> Path:
    whole = "".join(f"{tree}\n" for tree in TREES)
    return write(
        tmp_path / "treebank", {"train.txt": whole, "dev.txt": f"{TREES[0]}\n", "test.txt": TREES[2]}
    )


@pytest.mark.parametrize("phrases", [False, True])
def test_sst_of_the_treebank(tmp_path, parser, treebank, phrases):
    dataset = SST(tmp_path / "sst", parser=parser, raw_from=treebank, phrases=phrases, root_node=False)
    assert dataset.layout == "trees"
    wanted = [phrases_of(tree) if phrases else phrases_of(tree)[:1] for tree in TREES]
    expected = [(words, int(grade > 2)) for tree in wanted for words, grade in tree if grade != 2]
    assert len(expected) == (9 if phrases else 2)
    found = [(dataset.vocab.words_of(data.input_ids), int(data.y)) for data in dataset]
    assert found == [([word.lower() for word in words], label) for words, label in expected]
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


@given(st.lists(trees, min_size=1, max_size=4))
def test_read_sst_trees_reads_what_was_written(tmp_path_factory, drawn):
    path = tmp_path_factory.getbasetemp() / "written.txt"
    lines = [bracketed(tree) for tree in drawn]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read_sst_trees(path) == [phrases_of(line) for line in lines]


def test_sst_without_files(tmp_path, parser):
    with pytest.raises(
        FileNotFoundError, match=r"train\.tsv is not in .*SST-2 consists of .*SST-2\.zip.*raw_from"
    ):
        SST(tmp_path / "sst", parser=parser, raw_from=tmp_path)
    with pytest.raises(ValueError, match=r"'layout' must be one of sentence, glue, trees \(got 'phrases'\)"):
        SST(tmp_path / "sst", parser=parser, layout="phrases")


words = st.lists(st.text(st.characters(categories=["L", "N", "P"]), min_size=1), min_size=1)


@given(st.lists(st.tuples(words, st.sampled_from([0, 1])), min_size=1), st.booleans())
def test_read_sst_reads_what_was_written(tmp_path_factory, rows, glue):
    path = tmp_path_factory.getbasetemp() / "written.tsv"
    text = table([(" ".join(row), label) for row, label in rows], "sentence\tlabel\n" if glue else "")
    path.write_text(text, encoding="utf-8")
    assert read_sst(path, "glue" if glue else "sentence") == rows


GRADED = (
    "(3 (2 It) (4 (2 's) (4 lovely)))\n"
    "(2 (2 A) (2 film))\n"
    "(1 (1 (0 dull) (2 ,)) (2 (2 long) (2 -LRB-)))\n"
    "(4 Wow)\n"
)


@pytest.fixture
def graded_files(tmp_path) -> Path:
    return write(tmp_path / "graded", {"train.txt": GRADED, "dev.txt": GRADED, "test.txt": GRADED})


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
    assert bare[0].word_y.tolist() == [-1, -1, 1]
    assert len(SST(tmp_path / "sst", parser=parser, trees=True, limit=1)) == 1


def test_trees_may_have_the_labels_of_a_parser(tmp_path):
    """Of the topmost constituent of the parser over the same words."""
    tree = GradedTree(["a", "b", "c"], [(3, 0, 3), (2, 0, 1), (4, 1, 3), (2, 1, 2), (4, 2, 3)])
    parsed = Sentence(*CHAIN, constituents=[("S", 0, 3), ("VP", 0, 3), ("NP", 0, 2)])
    assert with_brackets(parsed, tree).constituents == [("S", 0, 3), ("X", 1, 3)]
    assert with_brackets(Sentence(*CHAIN), tree).constituents == [("X", 0, 3), ("X", 1, 3)]


CHAIN = (["a", "b", "c"], [0, 1, 2], ["root", "dep", "dep"])


def test_trees_that_cannot_be(tmp_path, parser, graded_files):
    folder = tmp_path / "sst"
    with pytest.raises(ValueError, match=r"'trees' is for layout='trees'.* \(got layout='glue'"):
        SST(folder, parser=parser, trees=True, layout="glue")
    with pytest.raises(ValueError, match="'trees' is for layout='trees', without 'phrases'"):
        SST(folder, parser=parser, trees=True, phrases=True, raw_from=graded_files)
    with pytest.raises(ValueError, match="'trees' is for layout='trees', .* not for 'tokens'"):
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
