from __future__ import annotations

import sys

import pytest

from graphdep.datasets import OwnLabels
from graphdep.datasets.labels.words import Column, read_doc_bin

WORDS = ["Ann", "Dow", "\n", "sings", "It", "rains"]
HEADS = [1, 3, 1, 3, 5, 5]
DEPS = ["compound", "nsubj", "", "ROOT", "expl", "ROOT"]
TAGS = ["NNP", "NNP", "_SP", "VBZ", "PRP", "VBZ"]


@pytest.fixture
def path(tmp_path):
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc, DocBin

    vocab = spacy.blank("xx").vocab
    entities = ["B-PER", "I-PER", "O", "O", "", "O"]
    parsed = Doc(vocab, words=WORDS, heads=HEADS, deps=DEPS, tags=TAGS, ents=entities)
    plain = Doc(vocab, words=["Bob", "sleeps"], tags=["NNP", "VBZ"], ents=["B-PER", "O"])
    DocBin(docs=[parsed, plain], store_user_data=False).to_disk(tmp_path / "x.spacy")
    return tmp_path / "x.spacy"


def test_trees_and_columns(path):
    examples = read_doc_bin(path, Column("xpos"))
    assert [list(one.words) for one in examples] == [
        ["Ann", "Dow", "sings"],
        ["It", "rains"],
        ["Bob", "sleeps"],
    ]
    assert [list(one.labels) for one in examples] == [["NNP", "NNP", "VBZ"], ["PRP", "VBZ"], ["NNP", "VBZ"]]
    assert [one.tree and one.tree.head for one in examples] == [[2, 3, 0], [2, 0], None]
    assert examples[0].tree.deprel == ["compound", "nsubj", "root"]
    assert examples[2].place == f"{path}: document 2"


def test_entities(path, tmp_path, parser):
    dataset = OwnLabels(tmp_path / "root", train=path, val=path, scheme="bio", parser=parser)
    assert dataset.labels == ("O", "B-PER", "I-PER")
    assert [data.y.tolist() for data in dataset] == [[1, 2, 0], [-100, 0], [1, 0]]
    assert dataset.describe()["own_trees"] == 2


def test_what_is_no_such_file(tmp_path):
    pytest.importorskip("spacy")
    (tmp_path / "x.spacy").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"x.spacy: no DocBin of spaCy, or damaged"):
        read_doc_bin(tmp_path / "x.spacy", None)


def test_without_spacy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(
        ImportError, match=r"x.spacy: spaCy is not installed .*pip install 'graphdep\[spacy\]'"
    ):
        read_doc_bin(tmp_path / "x.spacy", None)
