from __future__ import annotations

import pickle
import shutil

import pytest
import torch

from graphdep.datasets.labels.base import UDTags
from graphdep.datasets.labels.words import Column


def slow_targets(column, sentences, classes):
    return [
        [-100 if label is None else classes.index(label) if label in classes else -1 for label in labels]
        for labels in map(column.labels, sentences)
    ]


@pytest.mark.parametrize("key", ["upos", "deprel", "lemma", "feats", "feats:PronType", "feats:VerbForm"])
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_a_number_for_each_word(tmp_path, raw, read, key, split):
    dataset = UDTags(tmp_path, split, raw_from=raw, key=key)
    column, sentences = Column(key), read(split)
    known = {label for sentence in read("train") for label in column.labels(sentence) if label is not None}
    assert list(dataset.labels) == sorted(known)
    assert dataset.num_classes == len(known)
    expected = slow_targets(column, sentences, sorted(known))
    assert [data.y.tolist() for data in dataset] == expected
    flat = [y for row in expected for y in row]
    assert dataset.y.tolist() == flat
    assert all(data.y.numel() == data.form_id.numel() == len(s) for data, s in zip(dataset, sentences))
    about = dataset.describe()
    assert about["scored_words"] == sum(y != -100 for y in flat)
    assert about["unknown_labels"] == flat.count(-1)
    assert f"{about['scored_words']} of {len(flat)} words are scored by their {key}" in about["note"]
    assert ("wrong" in about["note"]) == (flat.count(-1) > 0)


def test_a_form_has_its_number_in_all_splits(tmp_path, raw, read):
    numbers: dict[str, set[int]] = {}
    for split in ("train", "val", "test"):
        for data, sentence in zip(UDTags(tmp_path, split, raw_from=raw), read(split)):
            for form, number in zip(sentence.form, data.form_id.tolist()):
                numbers.setdefault(form, set()).add(number)
    assert {len(own) for own in numbers.values()} == {1}
    assert len(set.union(*numbers.values())) == len(numbers)
    assert numbers["The"] != numbers["the"]


def test_labels_that_the_checkpoint_has(tmp_path, raw):
    dataset = UDTags(tmp_path, "test", raw_from=raw, labels=("VERB", "NOUN"))
    assert dataset.labels == ("VERB", "NOUN")
    assert set(dataset.y.tolist()) == {-1, 0, 1}
    again = UDTags(tmp_path, "test", raw_from=raw, labels=("NOUN", "VERB"))
    assert (again.y == 0).sum() == (dataset.y == 1).sum()


def test_the_limited_training_split_knows_all_labels_of_the_file(tmp_path, raw):
    whole, some = UDTags(tmp_path, raw_from=raw), UDTags(tmp_path, raw_from=raw, limit=1)
    assert len(some) == 1
    assert some.labels == whole.labels


def test_a_key_of_misc_and_a_label_for_the_others(tmp_path, marked, read):
    dataset = UDTags(tmp_path, raw_from=marked, key="misc:Length")
    assert dataset.labels == ("1", "2", "3")
    lengths = [len(word) for sentence in read("train") for word in sentence.form]
    assert dataset.y.tolist() == [length - 1 if length < 4 else -100 for length in lengths]
    with pytest.raises(ValueError, match="are 'Yes'; with absent=LABEL"):
        UDTags(tmp_path, raw_from=marked, key="misc:Vowel")
    vowels = UDTags(tmp_path, raw_from=marked, key="misc:Vowel", absent="No")
    words = [word for sentence in read("train") for word in sentence.form]
    assert vowels.labels == ("No", "Yes")
    assert vowels.y.tolist() == [int(word[0].lower() in "aeiou") for word in words]


def test_wrong_keys(tmp_path, raw):
    with pytest.raises(
        ValueError, match="'key' 'misc:BeginSeg': no word of the training split has it; the keys"
    ):
        UDTags(tmp_path, raw_from=raw, key="misc:BeginSeg")
    with pytest.raises(ValueError, match=r"\(did you mean 'feats:Number'\?\)"):
        UDTags(tmp_path, raw_from=raw, key="feats:Numer")
    with pytest.raises(ValueError, match=r"'key' must be one of .* \(got 'form'\)"):
        UDTags(tmp_path, raw_from=raw, key="form")
    with pytest.raises(
        ValueError, match="no word of the split 'val' has a label \\(is scored by their feats:Voice"
    ):
        UDTags(tmp_path, "val", raw_from=raw, key="feats:Voice", labels=("Act", "Pass"))


def test_without_a_training_file(tmp_path, raw):
    shutil.copytree(raw, tmp_path / "files")
    (tmp_path / "files" / "en_mini-ud-train.conllu").unlink()
    with pytest.raises(FileNotFoundError, match="the labels are learned from it unless 'labels' are given"):
        UDTags(tmp_path / "ud", "val", raw_from=tmp_path / "files")


def test_trees_of_a_parser(tmp_path, raw, read):
    gold, chain = (UDTags(tmp_path, "test", raw_from=raw, parser=parser) for parser in ("gold", "chain"))
    assert gold.describe()["parser"] == "gold"
    assert chain.describe()["parser"] != "gold"
    assert torch.equal(gold.y, chain.y)
    assert torch.equal(gold.form_id, chain.form_id)
    assert chain[0].governor_index.tolist() == [0, *range(len(read("test")[0]))]
    assert gold[0].governor_index.tolist() != chain[0].governor_index.tolist()
    assert pickle.loads(pickle.dumps(chain)).labels == chain.labels


def test_digests_tell_labels_apart(tmp_path, raw):
    names = [UDTags(tmp_path, raw_from=raw, key=key).processed_file_names for key in ("upos", "deprel")]
    assert names[0] != names[1]
    assert UDTags(tmp_path, raw_from=raw).processed_file_names == names[0]
