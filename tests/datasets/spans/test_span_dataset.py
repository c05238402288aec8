from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from graphdep import Sentence
from graphdep.datasets.spans.base import SpanDataset
from graphdep.datasets.spans.rows import SpanExample

TREE = Sentence(["A", "dog", "bites", "a", "man"], [2, 3, 0, 5, 3], ["det", "nsubj", "root", "det", "obj"])
OTHER = Sentence(["It", "rains"], [2, 0], ["nsubj", "root"])
EXAMPLES = {
    "train": [
        SpanExample(TREE.form, [(0, 2), (3, 5)], "bites", TREE, "t:1"),
        SpanExample(TREE.form, [(3, 5), (0, 2)], "bitten", TREE, "t:2"),
        SpanExample(OTHER.form, [(0, 2), (1, 2)], "bites", OTHER, "t:3"),
    ],
    "val": [SpanExample(OTHER.form, [(0, 1), (1, 2)], "barks", OTHER, "v:1")],
    "test": [SpanExample(TREE.form, [(0, 1), (4, 5)], None, TREE, "x:1")],
}


class Corpus(SpanDataset):
    corpus, published = "spans", "nowhere"
    found = EXAMPLES

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return [folder / "data.txt"]

    def raw_file_pattern(self, split: str) -> str:
        return "data.txt"

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        self.said[split] = f"read {split}"
        return self.found[split]


@pytest.fixture
def root(tmp_path) -> Path:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "data.txt").write_text("raw", encoding="utf-8")
    return tmp_path


def test_keys(root):
    data = Corpus(root, "train", "gold")
    assert data.labels == ("bites", "bitten")
    assert (data.num_classes, data.num_spans, len(data)) == (2, 2, 3)
    assert [one.y.tolist() for one in data] == [[0], [1], [0]]
    assert [one.mark.tolist() for one in data] == [[0, 1, 1, 0, 2, 2], [0, 2, 2, 0, 1, 1], [0, 1, 3]]
    assert [one.lost.tolist() for one in data] == [[0]] * 3
    assert data[0].governor_index.tolist() == [0, 2, 3, 0, 5, 3]
    assert data.example_id.tolist() == [0, 1, 2]
    assert data.sentence.tolist() == [0, 0, 1]
    assert data.describe()["note"] == "read train"
    batch = next(iter(DataLoader(data, batch_size=3)))
    assert batch.mark.tolist() == [m for one in data for m in one.mark.tolist()]
    assert [one.mark.tolist() for one in Batch.to_data_list(batch)] == [one.mark.tolist() for one in data]


def test_unknown_labels_and_none(root):
    val = Corpus(root, "val", "gold")
    assert val.y.tolist() == [-1]
    about = val.describe()
    assert about["unknown_labels"] == 1
    assert about["note"] == "read val; 1 labels that training does not have, which are wrong"
    test = Corpus(root, "test", "gold")
    assert "y" not in test[0]
    assert test.describe()["unknown_labels"] == 0
    assert Corpus(root, "val", "gold", labels=("barks", "bites")).y.tolist() == [0]
    assert Corpus(root, "train", "gold")[1:].describe()["examples"] == 2


def test_a_parser_and_the_vocabulary(root, parser):
    parsed = Corpus(root, "train", parser)
    assert parsed[0].governor_index.tolist() == [0, 0, 1, 2, 3, 4]
    assert torch.equal(parsed.mark, Corpus(root, "train", "gold").mark)
    # The sentence of two examples counts once.
    assert "dog" not in Corpus(root, "train", "gold", min_freq=2).vocab
    assert Corpus(root, "train", "gold", limit=1).labels == ("bites", "bitten")
    with pytest.raises(ValueError, match="^t:1: the sentence has no tree of its own"):
        type("Bare", (Corpus,), {"found": {"train": [replace(EXAMPLES["train"][0], tree=None)] * 2}})(
            root, "train", "gold", labels=("a", "b")
        )


@pytest.mark.parametrize(("max_length", "lost"), [(None, 0), (14, 0), (9, 1), (7, 1), (3, 1)])
def test_pieces_and_lost_spans(root, new_tokens, caplog, max_length, lost):
    with caplog.at_level(logging.WARNING, "graphdep"):
        data = Corpus(root, "train", "gold", tokens=new_tokens(), max_length=max_length)
    assert data[0].lost.tolist() == [lost]
    assert data[0].y.tolist() == [0]
    if max_length is None:
        assert [mark for mark in data[0].mark.tolist() if mark] == [1] * 4 + [2] * 4
    assert data.describe()["lost_spans"] == int((data.lost > 0).sum())
    assert ("cuts away all of a span of" in caplog.text) == bool(lost)
    assert ("which are wrong" in data.describe()["note"]) == bool(lost)


@pytest.mark.parametrize(
    ("changed", "labels", "message"),
    [
        ({"spans": [(0, 1)]}, ("bites", "bitten"), "t:2: 1 spans, but 2 at t:1"),
        ({"label": None}, ("bites", "bitten"), "t:2: no label, but one at t:1"),
        ({"label": "bites"}, None, "t:1: all labels of the training split are 'bites'"),
    ],
)
def test_bad_examples(root, changed, labels, message):
    first, second, _ = EXAMPLES["train"]
    found = {"train": [first, replace(second, **changed)]}
    with pytest.raises(ValueError, match=f"^{message}"):
        type("Bad", (Corpus,), {"found": found})(root, "train", "gold", labels=labels)


def test_options(root):
    with pytest.raises(TypeError, match="unexpected keyword argument 'label'"):
        Corpus(root, "train", "gold", label=("a",))
    with pytest.raises(ValueError, match="nothing has a label"):
        found = {"train": EXAMPLES["test"]}
        type("None", (Corpus,), {"found": found})(root, "train", "gold")
    with pytest.raises(ValueError, match="'parser' cannot be 'gold': spans has no trees of its own"):
        type("Bare", (Corpus,), {"own_trees": False})(root, "train", "gold")
