from __future__ import annotations

import itertools
import logging
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.loader import DataLoader

from graphdep import Sentence
from graphdep.datasets import PropBankEWT
from graphdep.datasets.base.rows import spread_rows
from graphdep.datasets.labels.bio import spans_of
from graphdep.datasets.labels.propbank import read_ewt, read_skeletons, span_head
from graphdep.parsing import Parser
from tests.kit.strategies import sentences
from tests.kit.tiny_corpora import write_tiny_propbank

SPLITS = ("train", "val", "test")


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """The files in the folders of the two releases."""
    folder = tmp_path_factory.mktemp("published")
    write_tiny_propbank(folder / "made")
    genre = folder / "propbank-release" / "data" / "google" / "ewt" / "answers"
    genre.mkdir(parents=True)
    shutil.move(folder / "made" / "raw" / "propbank", genre / "00")
    shutil.move(folder / "made" / "raw" / "ud", folder / "UD_English-EWT")
    return folder


@pytest.fixture(scope="module")
def root(published, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("root")
    PropBankEWT(root, raw_from=published)
    return root


def named(dataset: PropBankEWT, number: int) -> list[str | None]:
    return [None if y == -100 else dataset.labels[y] for y in dataset[number].y.tolist()]


def test_heads(root):
    train = PropBankEWT(root)
    assert (len(train), train.labels) == (24, ("O", "ARG0", "ARG1", "ARGM-NEG"))
    assert named(train, 0) == ["ARG0", "O", "ARGM-NEG", None, "ARG1", "O"]
    assert named(train, 1) == ["O", "O", "ARG0", "O", "O", None, "O", "ARG1", None, "O"]
    assert named(train, 2) == ["ARG0", None, "O", "ARG1", "O", "O", "O"]
    assert named(train, 3) == ["ARG0", "O", "O", None, "O", "ARG1", "O"]
    assert [int(data.mark.argmax()) - 1 for data in train[:4]] == [3, 5, 1, 3]
    assert all(int(data.mark.sum()) == 1 for data in train)
    assert train[0].group.tolist() != train[1].group.tolist()
    train[0].validate()


def test_spans(root):
    train = PropBankEWT(root, form="spans")
    # I- labels are there even if all spans of a label have one word.
    assert train.labels == ("O", "B-ARG0", "B-ARG1", "B-ARGM-NEG", "I-ARG0", "I-ARG1", "I-ARGM-NEG")
    assert named(train, 1) == ["B-ARG0", *["I-ARG0"] * 4, None, "B-ARG1", "I-ARG1", None, "O"]
    heads = PropBankEWT(root)
    assert (heads.y == -100).equal(train.y == -100)
    for number in range(len(train)):
        labels = named(heads, number)
        roles = {word: label for word, label in enumerate(labels) if label not in (None, "O")}
        spans = spans_of(named(train, number))
        assert len(spans) == len(roles)
        for start, end, label in spans:  # one head in each span, of the same label
            assert [roles[word] for word in range(start, end) if word in roles] == [label]


def test_splits(root):
    for form in ["heads", "spans"]:
        sizes = {split: len(PropBankEWT(root, split, form=form)) for split in SPLITS}
        assert sizes == {"train": 24, "val": 9, "test": 12}
        about = PropBankEWT(root, "test", form=form).describe()
        assert (about["unmatched_sentences"], about["unmatched_predicates"]) == (0, 0)
        data = PropBankEWT(root, form=form)
        words = [one.form_id.tolist() for one in data]
        changes = [a != b for a, b in itertools.pairwise(words)]
        assert data.sentence.tolist() == [0, *np.cumsum(changes).tolist()]
        assert 0 < sum(changes) < len(changes)
        batch = next(iter(DataLoader(data, batch_size=3)))
        assert batch.y.numel() == 6 + 10 + 7
        assert pickle.loads(pickle.dumps(PropBankEWT(root, form=form))).labels


def test_limit_selects_from_the_whole_split(root):
    some = PropBankEWT(root, limit=6)
    ids = some.example_id.tolist()
    assert len(ids) == 6
    whole = PropBankEWT(root)
    assert some.labels == whole.labels
    expected = [whole[place] for place in spread_rows(range(24), 6)]
    assert all(one.form_id.equal(other.form_id) for one, other in zip(some, expected))
    assert all(one.y.equal(other.y) for one, other in zip(some, expected))


def test_where_the_files_come_from(published, tmp_path):
    skeletons, treebank = published / "propbank-release", published / "UD_English-EWT"
    PropBankEWT(tmp_path, raw_from=skeletons, ud_from=treebank)
    kept = {path.relative_to(tmp_path / "raw").as_posix() for path in (tmp_path / "raw").rglob("*.*")}
    assert kept == {
        *(f"propbank/tiny.{split}.xml.gold_skel" for split in ("train", "dev", "test")),
        *(f"ud/en_ewt-ud-{split}.conllu" for split in ("train", "dev", "test")),
    }
    assert len(PropBankEWT(tmp_path, "test")) == 12


def test_other_corpora_of_the_release_are_left_alone(published, tmp_path):
    folder = tmp_path / "release"
    shutil.copytree(published, folder)
    other = folder / "propbank-release" / "data" / "ontonotes" / "tiny.train.xml.gold_skel"
    other.parent.mkdir()
    other.write_text("damaged", encoding="utf-8")
    assert len(PropBankEWT(tmp_path / "root", raw_from=folder)) == 24


def test_missing_files(published, tmp_path):
    message = r"\*\.gold_skel is not in .*propbank-release.*UD_English-EWT.*ud_from=DIR"
    with pytest.raises(FileNotFoundError, match=message):
        PropBankEWT(tmp_path / "a", raw_from=published / "UD_English-EWT")
    with pytest.raises(FileNotFoundError, match=r"en_ewt-ud-train\*\.conllu is not in .*--set ud_from=DIR"):
        PropBankEWT(tmp_path / "b", raw_from=published / "propbank-release")
    folder = tmp_path / "no-test"
    shutil.copytree(published, folder)
    (folder / "UD_English-EWT" / "en_ewt-ud-test.conllu").unlink()
    assert len(PropBankEWT(tmp_path / "c", raw_from=folder)) == 24
    with pytest.raises(FileNotFoundError, match=r"en_ewt-ud-test\*\.conllu is not in"):
        PropBankEWT(tmp_path / "c", "test")


def test_duplicate_files(published, tmp_path):
    folder = tmp_path / "twice"
    shutil.copytree(published, folder)
    shutil.copytree(folder / "UD_English-EWT", folder / "old")
    with pytest.raises(
        ValueError, match=r"holds several treebanks \(.*UD_English-EWT.*old.*\): name the folder"
    ):
        PropBankEWT(tmp_path / "root", raw_from=folder)
    shutil.rmtree(folder / "old")
    genre = folder / "propbank-release" / "data" / "google" / "ewt" / "answers"
    shutil.copytree(genre / "00", genre / "01")
    with pytest.raises(ValueError, match=r"holds several tiny\.dev\.xml\.gold_skel \(.*00.*, .*01"):
        PropBankEWT(tmp_path / "root", raw_from=folder)
    assert not (tmp_path / "root" / "raw").exists()


def test_sentences_that_do_not_match(published, tmp_path, caplog):
    folder = tmp_path / "other"
    shutil.copytree(published, folder)
    path = folder / "UD_English-EWT" / "en_ewt-ud-dev.conllu"
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    blocks[0] += "\n7\t!\t_\t_\t_\t_\t4\tpunct\t_\t_"
    blocks[2] += "\n8\t!\t_\t_\t_\t_\t2\tpunct\t_\t_"
    path.write_text("\n\n".join(blocks), encoding="utf-8")
    with caplog.at_level(logging.WARNING, "graphdep"):
        val = PropBankEWT(tmp_path / "root", "val", raw_from=folder)
    assert len(val) == 9 - 3
    assert val.unmatched == (
        "answers-tiny.dev-0001 (7 words, 6 tokens in the skeleton)",
        "answers-tiny.dev-0003 (8 words, 7 tokens in the skeleton)",
    )
    about = val.describe()
    assert (about["unmatched_sentences"], about["unmatched_predicates"]) == (2, 3)
    assert "(val): 2 sentences with 3 predicates are left out" in caplog.text
    assert "answers-tiny.dev-0003 (8 words" in caplog.text
    caplog.clear()
    again = PropBankEWT(tmp_path / "root", "val")  # from the processed file
    assert again.unmatched == val.unmatched
    assert "2 sentences with 3 predicates" in caplog.text
    caplog.clear()
    assert PropBankEWT(tmp_path / "root").describe()["unmatched_sentences"] == 0
    assert not caplog.records


class Backwards(Parser):
    fingerprint = "backwards"

    def parse_texts(self, texts):
        raise AssertionError("the words are known")

    parse_sentences = parse_texts

    def parse_words(self, words):
        return [self._tree(sentence) for sentence in words]

    def _tree(self, words):
        return Sentence(list(words), [*range(2, len(words) + 1), 0], ["dep"] * (len(words) - 1) + ["root"])


def test_heads_are_those_of_gold_trees_with_any_parser(root):
    gold, parsed = PropBankEWT(root), PropBankEWT(root, parser=Backwards())
    assert parsed.y.equal(gold.y)
    assert not torch.equal(parsed.path_id, gold.path_id)
    assert parsed.describe()["parser"] == "backwards"


@pytest.fixture
def ewt(tmp_path) -> Path:
    write_tiny_propbank(tmp_path)
    return tmp_path / "raw"


def read_dev(ewt):
    return read_ewt([ewt / "ud" / "en_ewt-ud-dev.conllu"], sorted(ewt.rglob("*.gold_skel")))


def change(path, old, new, count=1):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, count), encoding="utf-8")


def test_read_ewt(ewt):
    found, left_out = read_dev(ewt)
    assert [one.skeleton.number for one in found] == list(range(9))
    assert all(len(one.tree) == len(one.skeleton) for one in found)
    assert {one.path.name for one in found} == {"tiny.dev.xml.gold_skel"}
    assert (left_out.names, left_out.predicates) == ([], 0)


def test_unmatched_sentences_are_named(ewt):
    skeleton = ewt / "propbank" / "tiny.dev.xml.gold_skel"
    blocks = skeleton.read_text(encoding="utf-8").split("\n\n")
    del blocks[0]  # sentence 0
    assert blocks[3].splitlines()[5].split()[2] == "5"
    blocks[3] = "\n".join(blocks[3].splitlines()[:5])  # sentence 4 lacks a token
    more = blocks[-1].replace("tiny   8", "tiny   11")
    skeleton.write_text("\n\n".join([*blocks, more]), encoding="utf-8")
    found, left_out = read_dev(ewt)
    assert [one.skeleton.number for one in found] == [1, 2, 3, 5, 6, 7, 8]
    assert left_out.names == [
        "answers-tiny.dev-0001 (6 words, no skeleton)",
        "answers-tiny.dev-0005 (6 words, 5 tokens in the skeleton)",
        "answers-tiny.dev-0012 (not in the treebank, 6 tokens in the skeleton)",
    ]
    assert left_out.predicates == 2


def test_wrong_names(ewt):
    before = "answers-tiny.dev-0002"
    for name in ["answers-0001", "answers-tiny.dev-x", "answers-tiny.dev-0000", "a-b-", ""]:
        change(ewt / "ud" / "en_ewt-ud-dev.conllu", f"sent_id = {before}", f"sent_id = {name}")
        before = name
        with pytest.raises(ValueError, match=rf"sentence 2: sent_id must be GENRE-DOC.* \(got '{name}'\)"):
            read_dev(ewt)


def test_the_same_name_twice(ewt):
    change(ewt / "ud" / "en_ewt-ud-dev.conllu", "tiny.dev-0002", "tiny.dev-0001")
    with pytest.raises(
        ValueError, match=r"sentence 2: sent_id must be .*dev\.conllu: sentence 1 has it, too"
    ):
        read_dev(ewt)
    shutil.copy(ewt / "ud" / "en_ewt-ud-test.conllu", ewt / "ud" / "en_ewt-ud-dev.conllu")
    with pytest.raises(ValueError, match=r"test\.conllu: sentence 1: sent_id must be .* has it, too"):
        read_ewt([ewt / "ud" / f"en_ewt-ud-{s}.conllu" for s in ("dev", "test")], [])


ROWS = [
    "doc 0 0 [WORD] PRP (TOP(S(NP*) - - (ARG0* *",
    "doc 0 1 [WORD] PRP * - - *) (ARG1*)",
    "doc 0 2 [WORD] VBZ (VP* give give.01 (V*) *",
    "doc 0 3 [WORD] RP *) - - (C-V*) *",
    "doc 0 4 [WORD] VB *)) try try.01 * (V*)",
]
TEXT = "\n".join(ROWS) + "\n"


def write_skeletons(folder, text):
    path = folder / "doc.xml.gold_skel"
    path.write_text(text, encoding="utf-8")
    return path


def test_read_skeletons(tmp_path):
    text = "\n \n" + TEXT.replace(" ", "   ") + "\n\n" + "doc 3 0 [WORD] UH (TOP*) - -\n"
    first, second = read_skeletons(write_skeletons(tmp_path, text))
    assert (first.number, first.line, len(first)) == (0, 3, 5)
    assert first.tags == ("PRP", "PRP", "VBZ", "RP", "VB")
    assert first.parse == ("(TOP(S(NP*)", "*", "(VP*", "*)", "*))")
    give, attempt = first.predicates
    assert (give.word, give.line, give.roleset) == (2, 5, "give.01")
    assert give.spans == ((0, 2, "ARG0"), (2, 3, "V"), (3, 4, "C-V"))
    assert (attempt.word, attempt.line, attempt.roleset) == (4, 7, "try.01")
    assert attempt.spans == ((1, 2, "ARG1"), (4, 5, "V"))
    assert (second.number, second.line, second.predicates) == (3, 10, ())


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["ARG0", "R-ARG1"])), max_size=5)
)
def test_spans_of_a_column(tmp_path_factory, parts):
    spans, cells, end = [(0, 1, "V")], ["(V*)"], 1
    for gap, size, label in parts:
        spans.append((end + gap, end + gap + size, label))
        cells += ["*"] * gap + ["*"] * size
        cells[end + gap] = f"({label}*"
        end += gap + size
        cells[end - 1] += ")"
    rows = [f"doc 0 {i} [WORD] X * - {'be.01' if i == 0 else '-'} {cell}" for i, cell in enumerate(cells)]
    (sentence,) = read_skeletons(write_skeletons(tmp_path_factory.getbasetemp(), "\n".join(rows)))
    assert sentence.predicates[0].spans == tuple(spans)


def arcs_to_the_root(head, word):
    return 0 if word < 0 else 1 + arcs_to_the_root(head, head[word] - 1)


@given(sentences(), st.data())
def test_the_word_nearest_to_the_root(tree, data):
    head = tree.head
    start = data.draw(st.integers(0, len(head) - 1))
    end = data.draw(st.integers(start + 1, len(head)))
    found = span_head(tree, start, end)
    assert start <= found < end
    assert not start <= head[found] - 1 < end  # its governor is outside
    distance = [arcs_to_the_root(head, word) for word in range(len(head))]
    assert all((distance[found], found) <= (distance[word], word) for word in range(start, end))
