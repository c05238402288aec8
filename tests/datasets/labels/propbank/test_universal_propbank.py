from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest

from graphdep.datasets import PropBankEWT, UniversalPropBank
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


@pytest.mark.parametrize(("split", "size"), [("train", 24), ("val", 9), ("test", 12)])
def test_roles_are_those_of_propbank(tmp_path, published, split, size):
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


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.5, 0.99])
def test_training_on_dev(tmp_path, without_train, fraction):
    options = {"raw_from": without_train, "train_from": "dev", "val_fraction": fraction}
    train, val = (UniversalPropBank(tmp_path, split, **options) for split in ("train", "val"))
    assert len(train) + len(val) == 9
    assert set(forms(train)).isdisjoint(forms(val))
    # Seven of the dev file's nine sentences have a predicate, and two of them have two; all differ.
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


def test_sentences_of_the_same_words_are_in_one_part(tmp_path, without_train):
    folder = tmp_path / "dev"
    folder.mkdir()
    text = (without_train / "en_tiny-up-dev.conllu").read_text(encoding="utf-8")
    (folder / "en-up-dev.conllu").write_text(f"{text}\n{text}", encoding="utf-8")
    options = {"raw_from": folder, "train_from": "dev", "val_fraction": 0.5}
    train, val = (UniversalPropBank(tmp_path / "root", split, **options) for split in ("train", "val"))
    assert len(train) + len(val) == 18
    assert set(forms(train)).isdisjoint(forms(val))


def test_what_is_left_out_is_counted(tmp_path, published, caplog):
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


def test_too_few_sentences(tmp_path, without_train):
    text = (without_train / "en_tiny-up-dev.conllu").read_text(encoding="utf-8")
    (tmp_path / "en-up-dev.conllu").write_text(text.split("\n\n")[0] + "\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"en-up-dev\.conllu: fewer than two different sentences with predicates: 'val'"
    ):
        UniversalPropBank(tmp_path / "root", raw_from=tmp_path, train_from="dev")


def test_several_languages(tmp_path, published):
    folder = tmp_path / "raw"
    shutil.copytree(published, folder)
    shutil.copy(folder / "en_tiny-up-dev.conllu", folder / "de-up-dev.conllu")
    with pytest.raises(ValueError, match=r"holds several corpora \(de-up-dev\.conllu, en_tiny-up-dev"):
        UniversalPropBank(tmp_path, "val")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_from": "test"}, r"'train_from' must be one of train, dev \(got 'test'\)"),
        ({"val_fraction": 0}, r"'val_fraction' must be between 0 and 1 \(got 0\)"),
        ({"seed": None}, r"'seed' must be a whole number \(got None\)"),
        ({"val_fraction": 1.0}, r"'val_fraction' must be between 0 and 1 \(got 1\.0\)"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        UniversalPropBank(tmp_path, **options)
