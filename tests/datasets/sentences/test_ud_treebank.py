from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graphdep import ConlluError, RelationVocab, Vocab
from graphdep.datasets import UDTreebank
from graphdep.io import format_conllu, read_conllu

RAW = Path(__file__).parents[3] / "datasets" / "mini" / "ud" / "raw"
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
    assert enhanced.describe()["unknown_relations"] > 0  # conj:and is a conj


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


def test_ud_treebank_without_training_file(tmp_path):
    raw = tmp_path / "raw_files"
    raw.mkdir()
    shutil.copy(RAW / "en_mini-ud-test.conllu", raw)
    with pytest.raises(FileNotFoundError, match=r"\*-ud-train\*\.conllu \(the vocabulary is built from it"):
        UDTreebank(tmp_path / "ud", "test", raw_from=raw)
    dataset = UDTreebank(tmp_path / "ud", "test", raw_from=raw, vocab=Vocab())
    assert dataset[0].input_ids.tolist() == [1] + 7 * [0]


def test_ud_treebank_in_parts(tmp_path):
    raw = tmp_path / "raw_files"
    raw.mkdir()
    for name, sentence in zip("ba", read_conllu(RAW / "en_mini-ud-train.conllu")):
        (raw / f"en_mini-ud-train-{name}.conllu").write_text(format_conllu(sentence) + "\n")
    dataset = UDTreebank(tmp_path / "ud", raw_from=raw)
    assert [data.num_nodes for data in dataset] == [11, 8]  # by file name
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


def test_ud_treebank_refuses_options(tmp_path):
    with pytest.raises(ValueError, match=r"'arcs' must be one of basic, enhanced \(got 'gold'\)"):
        UDTreebank(tmp_path / "ud", raw_from=RAW, arcs="gold")
    with pytest.raises(ValueError, match=r"'split' must be one of train, val, test \(got 'dev'\)"):
        UDTreebank(tmp_path / "ud", "dev", raw_from=RAW)
