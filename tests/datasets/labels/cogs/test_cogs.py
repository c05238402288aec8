from __future__ import annotations

import logging
import pickle
from pathlib import Path

import pytest
import torch
from torch_geometric.loader import DataLoader

from graphdep import Vocab
from graphdep.datasets import COGS

FREE = [
    ("A cook saw Mila in a room .", "see ( agent = cook , theme = Mila )", "in_distribution"),
    ("The cook in a room sang .", "sing ( agent = * cook ( nmod . in = room ) )", "in_distribution"),
    ("cook", "cook", "primitive"),
    ("shark", "shark", "primitive"),
    ("Mila wanted to sing .", "want ( agent = Mila , xcomp = sing ( agent = Mila ) )", "exposure_example_x"),
]
FREE[0] = ("A cook saw Mila .", *FREE[0][1:])
GEN = [
    ("The shark sang .", "sing ( agent = * shark )", "prim_to_subj"),
    ("Mila said that a cook sang .", "say ( agent = Mila , ccomp = sing ( agent = cook ) )", "cp_recursion"),
]
INDEXED = [
    ("The cook in a room sang .",
     "* cook ( x _ 1 ) ; cook . nmod . in ( x _ 1 , x _ 4 ) AND room ( x _ 4 ) "
     "AND sing . agent ( x _ 5 , x _ 1 )",
     "in_distribution"),
]  # fmt: skip
# The nouns with a modifier alone.
MODIFIED = {"nominals": "modified"}


def write(folder: Path, **files) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        text = "".join("\t".join(row) + "\n" for row in rows)
        (folder / f"{name.replace('_', '-')}.tsv").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def files(tmp_path) -> Path:
    return write(tmp_path / "files", varfree_train=FREE, varfree_gen=GEN, dev=INDEXED, test=INDEXED)


@pytest.fixture
def sang(monkeypatch):
    """Lets *sang* and *sing* be a verb of the corpus, which it is not in the published one."""
    from graphdep.datasets.labels import cogs as cogs_words

    monkeypatch.setitem(cogs_words._IRREGULAR, "sing", "sang sung")


pytestmark = pytest.mark.usefixtures("sang")


def labels(dataset: COGS) -> list[tuple[int, dict[int, str]]]:
    """The marked word of each example, and the roles by their words."""
    marks = [data.mark[data.word >= 0].argmax().item() for data in dataset]
    named = [{p: dataset.labels[y] for p, y in enumerate(data.y.tolist())} for data in dataset]
    return [(m, {p: n for p, n in some.items() if n != "O"}) for m, some in zip(marks, named)]


def test_roles(tmp_path, files, caplog):
    train, test = (
        COGS(tmp_path / "c", split, "chain", raw_from=files, **MODIFIED) for split in ("train", "test")
    )
    assert train.labels == ("O", "agent", "nmod.in", "theme", "xcomp")
    assert labels(train) == [
        (2, {1: "agent", 3: "theme"}),
        (5, {1: "agent"}),
        (1, {4: "nmod.in"}),
        (0, {}),
        (0, {}),
        (1, {0: "agent", 3: "xcomp"}),
        (3, {0: "agent"}),
    ]
    assert train.group.tolist() == [1, 2, 2, 3, 4, 5, 5]
    assert train.types == ("exposure_example_x", "in_distribution", "primitive")
    assert train.type_id.tolist() == [1, 1, 1, 2, 2, 0, 0]
    # "ccomp" is a role that training does not have: wrong, and counted.
    assert [data.y.tolist() for data in test][1] == [1, 0, 0, 0, 0, -1, 0]
    assert (test.types, test.type_id.tolist()) == (("cp_recursion", "prim_to_subj"), [1, 0, 0])
    assert test.describe()["unknown_labels"] == 1
    assert "shark" in train.vocab
    about = train.describe()
    assert (about["sentences"], about["primitives"], about["left_out_sentences"]) == (3, 2, 0)
    assert COGS(tmp_path / "c", "test", "chain", **MODIFIED).types == test.types  # from the processed file
    assert pickle.loads(pickle.dumps(test)).types == test.types
    assert next(iter(DataLoader(test, batch_size=3))).type_id.shape == (3,)
    assert not caplog.records


def test_both_forms_of_a_sentence(tmp_path, files):
    free = COGS(tmp_path / "c", "val", "chain", raw_from=files, **MODIFIED)
    assert labels(free) == [(5, {1: "agent"}), (1, {4: "nmod.in"})]
    folder = write(tmp_path / "indexed", train=INDEXED, dev=INDEXED, gen=INDEXED, test=INDEXED)
    for split in COGS.splits:
        dataset = COGS(tmp_path / "d", split, "chain", form="original", raw_from=folder, **MODIFIED)
        assert labels(dataset) == labels(free)


def test_all_nouns(tmp_path, files):
    dataset = COGS(tmp_path / "c", "train", "chain", raw_from=files)
    assert labels(dataset)[:6] == [
        (2, {1: "agent", 3: "theme"}),
        (1, {}),
        (3, {}),
        (5, {1: "agent"}),
        (1, {4: "nmod.in"}),
        (4, {}),
    ]


def test_a_validation_split_that_is_drawn(tmp_path, caplog):
    rows = [("A cook saw Mila .", FREE[0][1], "in_distribution")] * 40 + FREE[2:]
    folder = write(tmp_path / "files", varfree_train=rows, varfree_gen=GEN)
    with caplog.at_level(logging.WARNING, "graphdep"):
        train, val = (
            COGS(tmp_path / "c", split, "chain", raw_from=folder, **MODIFIED) for split in ("train", "val")
        )
    assert caplog.text.count("has no dev.tsv, so 'val' is a tenth of the training sentences") == 2
    assert (len(train), len(val)) == (36 + 4, 4)
    assert val.types == ("in_distribution",)
    assert not set(train.group.tolist()) & set(val.group.tolist())
    assert sorted({*train.group.tolist(), *val.group.tolist()}) == list(range(1, 44))
    caplog.clear()
    assert len(COGS(tmp_path / "c", "test", "chain", **MODIFIED)) == 3
    assert not caplog.records
    write(tmp_path / "c" / "raw", dev=INDEXED)  # it appears later: no stale split
    assert len(COGS(tmp_path / "c", "train", "chain", **MODIFIED)) == 44
    assert len(COGS(tmp_path / "c", "val", "chain", **MODIFIED)) == 2


def test_sentences_that_are_not_their_forms(tmp_path, files, caplog):
    write(files, varfree_gen=[*GEN, *[("Mila slept .", "sing ( agent = Mila )", "prim_to_subj")] * 7])
    with caplog.at_level(logging.WARNING, "graphdep"):
        dataset = COGS(tmp_path / "c", "test", "chain", raw_from=files, **MODIFIED)
    named = "varfree-gen.tsv:3: 'slept' is no form of 'sing'; varfree-gen.tsv:4"
    assert f"COGS (test): 7 sentences are left out: {named}" in caplog.text
    assert "and 2 others" in caplog.text
    assert dataset.describe()["left_out_sentences"] == 7
    assert f"; 7 sentences are left out, as {named}" in dataset.describe()["note"]
    assert len(dataset) == 3


def test_wrong_options_and_missing_files(tmp_path, files):
    with pytest.raises(ValueError, match=r"'form' must be one of variable-free, original \(got 'free'\)"):
        COGS(tmp_path, form="free")
    with pytest.raises(ValueError, match=r"'nominals' must be one of modified, all \(got 'none'\)"):
        COGS(tmp_path, nominals="none")
    with pytest.raises(ValueError, match="'parser' cannot be 'gold': COGS has no trees of its own"):
        COGS(tmp_path, parser="gold")
    with pytest.raises(FileNotFoundError, match=r"^train\.tsv is not in"):
        COGS(tmp_path / "c", parser="chain", form="original", raw_from=files)
    with pytest.raises(FileNotFoundError, match=r"^dev\.tsv or varfree-train\.tsv is not in"):
        COGS(tmp_path / "d", "val", parser="chain", labels=("O", "agent"), vocab=Vocab())


def test_the_tree_is_the_parsers(tmp_path, files):
    chain, bundled = (
        COGS(tmp_path / "c", "val", p, raw_from=files, **MODIFIED) for p in ("chain", "bundled")
    )
    assert torch.equal(chain.y, bundled.y)
    assert not torch.equal(chain.path_id, bundled.path_id)
