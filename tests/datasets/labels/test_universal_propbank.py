from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets import PropBankEWT, UniversalPropBank
from graphdep.datasets.labels.propbank import read_up
from tests.kit.tiny_corpora import write_tiny_propbank, write_tiny_up


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("up")
    write_tiny_up(folder)
    return folder / "raw"


@pytest.fixture(scope="module")
def without_train(published, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("without")
    for path in published.glob("*-up-[!t]*.conllu"):
        shutil.copy(path, folder)
    shutil.copy(published / "en_tiny-up-test.conllu", folder)
    return folder


def test_roles_are_those_of_propbank(tmp_path, published):
    for split, size in [("train", 24), ("val", 9), ("test", 12)]:
        write_tiny_propbank(tmp_path / "propbank")
        up = UniversalPropBank(tmp_path / "up", split, raw_from=published)
        propbank = PropBankEWT(tmp_path / "propbank", split)
        assert len(up) == len(propbank) == size
        assert up.labels == propbank.labels == ("O", "ARG0", "ARG1", "ARGM-NEG")
        assert up.y.equal(propbank.y)
        assert up.mark.equal(propbank.mark)
        assert up.path_id.equal(propbank.path_id)
        about = up.describe()
        assert (about["unannotated_sentences"], about["second_roles"]) == (0, 0)


def test_no_training_file(tmp_path, without_train):
    message = (
        r"\*-up-train\*\.conllu\* is not in .*universalpropositions.*--set train_from=dev\) the dev file"
    )
    with pytest.raises(FileNotFoundError, match=message):
        UniversalPropBank(tmp_path, raw_from=without_train)
    (without_train / "en_tiny-up-test.conllu").rename(tmp_path / "en_tiny-up-test.conllu")
    with pytest.raises(FileNotFoundError, match=r"test.* is not in (?!.*train_from)"):
        UniversalPropBank(tmp_path / "root", "test", raw_from=without_train, train_from="dev")
    (tmp_path / "en_tiny-up-test.conllu").rename(without_train / "en_tiny-up-test.conllu")


def forms(dataset, group="form_id"):
    return [tuple(data[group].tolist()) for data in dataset]


def test_training_on_dev(tmp_path, without_train):
    for fraction in [0.01, 0.3, 0.5, 0.99]:
        options = {"raw_from": without_train, "train_from": "dev", "val_fraction": fraction}
        train, val = (UniversalPropBank(tmp_path, split, **options) for split in ("train", "val"))
        assert len(train) + len(val) == 9
        assert set(forms(train)).isdisjoint(forms(val))
        # Seven of the nine sentences of the dev file have predicates, two of them two; all sentences differ.
        different = len(set(forms(train) + forms(val)))
        assert len(set(forms(val))) == min(max(1, round(different * fraction)), different - 1)
        assert len(UniversalPropBank(tmp_path, "test", **options)) == 12
        whole = UniversalPropBank(tmp_path, "val", **options, labels=val.labels, force_reload=True)
        assert forms(whole) == forms(val)


def test_another_draw_is_another_file(tmp_path, without_train):
    options = {"raw_from": without_train, "train_from": "dev", "val_fraction": 0.3}
    drawn = {seed: forms(UniversalPropBank(tmp_path, "val", **options, seed=seed)) for seed in range(6)}
    assert len({tuple(some) for some in drawn.values()}) > 1
    assert forms(UniversalPropBank(tmp_path, "val", **options, seed=3)) == drawn[3]


def test_equal_sentences_are_in_one_split(tmp_path, without_train):
    folder = tmp_path / "dev"
    folder.mkdir()
    text = (without_train / "en_tiny-up-dev.conllu").read_text(encoding="utf-8")
    (folder / "en-up-dev.conllu").write_text(f"{text}\n{text}", encoding="utf-8")
    options = {"raw_from": folder, "train_from": "dev", "val_fraction": 0.5}
    train, val = (UniversalPropBank(tmp_path / "root", split, **options) for split in ("train", "val"))
    assert len(train) + len(val) == 18
    assert set(forms(train)).isdisjoint(forms(val))


def test_left_out_parts_are_counted(tmp_path, published, caplog):
    names = "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC UP:PRED UP:ARGHEADS\n"
    rows = (
        "1\tAnn\t_\t_\t_\t_\t2\tnsubj\t_\t_\t_\t_\n2\tsings\t_\t_\t_\t_\t0\troot\t_\t_\tsing.01\tA0:1|A1:1\n"
    )
    bare = "# propbank = no-up\n1\tThanks\t_\t_\t_\t_\t0\troot\t_\t_\t_\t_\n"
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "de-up-test.conllup").write_text(f"{names}{rows}\n{bare}", encoding="utf-8")
    with caplog.at_level(logging.WARNING, "graphdep"):
        own = UniversalPropBank(
            tmp_path, "test", labels=("A0", "A1", "O"), vocab=vocab_of(published, tmp_path)
        )
    about = own.describe()
    assert (about["unannotated_sentences"], about["second_roles"]) == (1, 1)
    assert "(test): 1 roles are left out" in caplog.text
    assert own.y.tolist() == [0, -100]


def vocab_of(published, folder):
    return UniversalPropBank(folder / "other", raw_from=published).vocab


def test_several_languages(tmp_path, published):
    folder = tmp_path / "raw"
    shutil.copytree(published, folder)
    shutil.copy(folder / "en_tiny-up-dev.conllu", folder / "de-up-dev.conllu")
    with pytest.raises(ValueError, match=r"holds several corpora \(de-up-dev\.conllu, en_tiny-up-dev"):
        UniversalPropBank(tmp_path, "val")


FORMS = ("Ann", "wants", "to", "sing")
TREE = ["2\tnsubj", "0\troot", "4\tmark", "2\txcomp"]
ROLESETS = ("_", "want.01", "_", "sing.01")
LABELS = [("ARG0", "ARG0"), ("V", "_"), ("_", "_"), ("ARG1", "V")]


def conllu(number):
    return f"{number + 1}\t{FORMS[number]}\t_\t_\t_\t_\t{TREE[number]}"


def text_of(rows):
    return "".join(f"{row}\n" for row in rows)


LONG = text_of("\t".join([conllu(n), "_\tSpaceAfter=No", ROLESETS[n], *LABELS[n]]) for n in range(4))
SHORT = text_of(
    "\t".join([conllu(n), "_" if ROLESETS[n] == "_" else "Y", ROLESETS[n], *LABELS[n]]) for n in range(4)
)
NAMES = (
    "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC UP:PRED UP:ARGHEADS UP:ARGSPANS\n"
)
LISTED = NAMES + text_of(
    "\t".join([conllu(n), "_\t_", ROLESETS[n], heads, "_"])
    for n, heads in enumerate(["_", "ARG0:1|V:2|ARG1:4", "_", "ARG0:1|V:4"])
)
BARE = text_of("\t".join([conllu(n), "_\t_\t_\t"]) for n in range(4))


def write(folder, text):
    path = folder / "en-up-dev.conllu"
    path.write_text(text, encoding="utf-8")
    return path


def test_read_up(tmp_path):
    for text in [LONG, SHORT, LISTED]:
        (sentence,) = read_up(write(tmp_path, text))
        assert sentence.tree.form == list(FORMS)
        assert sentence.tree.head == [2, 0, 4, 2]
        first, second = sentence.predicates
        offset = 1 if text is LISTED else 0
        assert (first.word, first.line, first.roleset) == (1, 2 + offset, "want.01")
        assert first.labels == ("ARG0", "V", "_", "ARG1")
        assert (second.word, second.line, second.roleset) == (3, 4 + offset, "sing.01")
        assert second.labels == ("ARG0", "_", "_", "V")
        assert (sentence.second_roles, sentence.annotated) == (0, True)
        assert sentence.tree.misc == (["SpaceAfter=No"] * 4 if text is LONG else None)


def test_sentences_without_predicates(tmp_path):
    short = text_of(f"{conllu(n)}\t_\t_" for n in range(4))
    assert [len(one.predicates) for one in read_up(write(tmp_path, f"{BARE}\n{LONG}\n \n{BARE}"))] == [
        0,
        2,
        0,
    ]
    assert [len(one.predicates) for one in read_up(write(tmp_path, f"{short}\n{SHORT}"))] == [0, 2]
    assert not read_up(write(tmp_path, BARE.replace("_\t_\t_\t\n", "_\t_\t\t\n")))[0].predicates


def test_sentences_marked_as_not_annotated(tmp_path):
    found = read_up(write(tmp_path, f"# sent_id = x\n# propbank = no-up\n{BARE}\n{LONG}"))
    assert [one.annotated for one in found] == [False, True]


def test_ranges_and_empty_nodes(tmp_path):
    lines = LONG.splitlines()
    lines.insert(2, "3-4\ttosing\t" + "\t".join("_" * 8))
    lines.insert(1, "1.1\tvery\t_\t_\t_\t_\t_\t_\t2:dep\t_\t\t")
    (sentence,) = read_up(write(tmp_path, text_of(lines)))
    assert len(sentence.tree) == 4
    assert len(sentence.tree.multiword) == len(sentence.tree.empty) == 1
    assert [(one.word, one.line) for one in sentence.predicates] == [(1, 3), (3, 6)]
    lines = SHORT.splitlines()
    lines.insert(2, "3-4\ttosing\t" + "\t".join("_" * 9))
    assert len(read_up(write(tmp_path, text_of(lines)))[0].tree.multiword) == 1


def test_the_first_of_two_roles_counts(tmp_path):
    text = LISTED.replace("ARG0:1|V:4", "ARG0:1|ARG1:1|A:b:2")
    (sentence,) = read_up(write(tmp_path, text))
    assert sentence.second_roles == 1
    assert sentence.predicates[1].labels == ("ARG0", "A:b", "_", "_")


@given(st.lists(st.lists(st.sampled_from(["_", "ARG0", "V"]), min_size=4, max_size=4), max_size=4))
def test_columns_belong_to_predicates_in_their_order(tmp_path_factory, columns):
    rolesets = [f"be.0{n}" if n < len(columns) else "_" for n in range(4)]
    rows = [[conllu(n), "_\t_", rolesets[n], *(column[n] for column in columns)] for n in range(4)]
    path = write(tmp_path_factory.getbasetemp(), text_of(map("\t".join, rows)))
    (sentence,) = read_up(path)
    assert [list(one.labels) for one in sentence.predicates] == columns
    assert [one.word for one in sentence.predicates] == list(range(len(columns)))
