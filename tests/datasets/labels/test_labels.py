from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest
import torch
from torch_geometric.loader import DataLoader

from graphdep.datasets import OwnLabels
from graphdep.datasets.base.parsed import digests
from graphdep.datasets.labels.base import UDTags, relation_paths
from graphdep.datasets.labels.words import Column

TREE = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}
ROW = {"words": ["Ann", "reads", "books"], "labels": ["A0", None, "A1"], "mark": 1}
ROWS = [ROW, {"words": ["It", "rains"], "labels": ["O", "O"]}, {"words": ["Bob"], "labels": ["A0"]}]


def write(path: Path, rows=ROWS) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def load(tmp_path, parser):
    """Writes the rows to a file and loads a split."""
    path = write(tmp_path / "train.jsonl")

    def load(split: str = "train", **options) -> OwnLabels:
        own = {"train": path, "val": path, "parser": parser}
        return OwnLabels(tmp_path / "root", split, **{**own, **options})

    return load


def test_json_lines(load, tmp_path):
    train, val = load(), load("val")
    assert train.labels == val.labels == ("O", "A0", "A1")
    assert [data.y.tolist() for data in train] == [[1, -100, 2], [0, 0], [1]]
    assert [data.mark.tolist() for data in train] == [[0, 0, 1, 0], [0, 0, 0], [0, 0]]
    about = train.describe()
    assert (about["scored_words"], about["marked"], about["own_trees"]) == (5, 1, 0)
    assert about["note"] == (
        "5 of 6 words are scored; 1 example has a marked word; 2 examples have none, though others have"
    )
    assert train.corpus == "train.jsonl"
    assert next(iter(DataLoader(val, batch_size=3))).y.shape == (6,)
    assert pickle.loads(pickle.dumps(train)).describe() == about
    assert load().describe() == about  # from the processed file
    assert not (tmp_path / "root" / "raw").exists()
    assert load(outside="A1").labels == ("A1", "A0", "O")


def test_words_of_marked_sentences_are_looked_up_by_paths(load, tmp_path, parser):
    train = load()
    tree = parser.parse_words([ROW["words"]])[0]
    assert train.looks_up == "path"
    assert torch.equal(train[0].path_id, digests(relation_paths(tree, 1)))
    plain = load(train=write(tmp_path / "plain.jsonl", ROWS[1:]))
    assert plain.looks_up == "form"
    assert not plain.mark.any()


def test_rows_that_have_a_tree_keep_it(load, tmp_path, parser):
    path = write(tmp_path / "trees.jsonl", [ROW | TREE, *ROWS[1:]])
    some = load(train=path)
    assert some[0].governor_index.tolist() == [0, 2, 0, 2]
    assert some.describe()["own_trees"] == 1
    assert ("Ann", "reads", "books") not in [tuple(words) for words in parser.texts]
    with pytest.raises(ValueError, match=r"trees.jsonl:2: the sentence has no gold tree"):
        load(train=path, parser="gold")
    whole = load(train=write(tmp_path / "all.jsonl", [ROW | TREE] * 2), parser="gold", scheme="words")
    assert whole.describe()["parser"] == "gold"


def test_conllu_has_the_examples_of_the_treebank(tmp_path, raw):
    files = {split: raw / f"en_mini-ud-{name}.conllu" for split, name in (("train", "train"), ("val", "dev"))}
    for key in ("upos", "feats:PronType"):
        mine = OwnLabels(tmp_path / "own", "val", **files, key=key, outside=None)
        theirs = UDTags(tmp_path / "ud", "val", raw_from=raw, key=key)
        assert mine.labels == theirs.labels
        assert torch.equal(mine.y, theirs.y)
        assert torch.equal(mine.form_id, theirs.form_id)
        assert [d.governor_index.tolist() for d in mine] == [d.governor_index.tolist() for d in theirs]
        assert mine.vocab == theirs.vocab
    lines = files["val"].read_text(encoding="utf-8").split("\n")
    for example in mine.read(Path(), "val"):
        line = int(example.place.rpartition(":")[2])
        assert lines[line - 1].split("\t")[:2] in (
            ["1", example.words[0]],
            ["1-2", lines[line - 1].split("\t")[1]],
        )


def test_columns_and_spans(load, tmp_path):
    path = tmp_path / "names.conll"
    path.write_text("-DOCSTART- O\n\nAnn B-PER\nDow I-PER\nsings O\n\nBob B-PER\nin _\nParis B-LOC\n")
    train = load(train=path, val=path, scheme="bio")
    assert train.labels == ("O", "B-LOC", "B-PER", "I-PER", "I-LOC")  # I-LOC is added
    assert [data.y.tolist() for data in train] == [[2, 3, 0], [2, -100, 1]]
    assert train.describe()["left_out"] == {"comments": 1}
    assert "1 comment left out" in train.describe()["note"]
    for labels, message in (
        (["O", "I-PER", "O"], "bad.jsonl:2: word 2: 'I-PER' is invalid here in IOB2; 'B-PER' would"),
        (["I-PER", "O", "O"], "bad.jsonl:2: word 1: 'I-PER' is invalid"),
        (["B-LOC", "I-PER", "O"], "bad.jsonl:2: word 2: 'I-PER' is invalid"),
        (["B-LOC", None, "I-LOC"], "bad.jsonl:2: word 3: 'I-LOC' is invalid"),
        (["S-LOC", "E-PER", "O"], "bad.jsonl:1: word 1: 'B-PER' is invalid here in BIOES; 'S-PER'"),
        (["PER", "O", "O"], r"bad.jsonl:2: 'labels' of spans must be O, B-LABEL or I-LABEL \(got 'PER'"),
    ):
        good = {"words": ["a"], "labels": ["B-PER"]}
        with pytest.raises(ValueError, match=message):
            load(train=write(tmp_path / "bad.jsonl", [good, ROW | {"labels": labels}]), scheme="bio")


def test_labels_that_do_not_occur_in_training(load, tmp_path):
    test = load("test", test=write(tmp_path / "test.jsonl", [ROW | {"labels": ["A9", "A0", None]}]))
    assert test.y.tolist() == [-1, 1, -100]
    assert test.describe()["unknown_labels"] == 1
    assert "1 with 1 label that training does not have ('A9'), counted as wrong" in test.describe()["note"]


def test_drawn_validation_sentences(load, tmp_path):
    rows = [
        {"words": ["word", str(n)], "labels": ["a", "b"], "mark": mark} for n in range(20) for mark in (0, 1)
    ]
    path = write(tmp_path / "many.jsonl", rows)
    sets = {split: load(split, train=path, val=None) for split in ("train", "val")}
    assert [len(sets[split]) for split in ("train", "val")] == [36, 4]
    words = {split: {tuple(one.words) for one in data.read(Path(), split)} for split, data in sets.items()}
    assert not words["train"] & words["val"]
    drawn = "2 of the 20 training sentences, drawn with seed 0"
    assert [drawn in sets[split].describe()["note"] for split in ("train", "val")] == [False, True]
    once = write(tmp_path / "once.jsonl", [*rows, *({"words": [x], "labels": [x]} for x in "cdefgh")])
    some = [load(split, train=once, val=None, val_fraction=0.5) for split in ("train", "val")]
    assert [data.labels for data in some] == [tuple("abcdefgh")] * 2
    other = load("val", train=path, val=None, seed=1)
    assert {tuple(one.words) for one in other.read(Path(), "val")} != words["val"]
    assert len(load("val", train=path, val=None, val_fraction=0.5)) == 20
    with pytest.raises(ValueError, match=r"one.jsonl:1: fewer than two different sentences in 1 row"):
        load(train=write(tmp_path / "one.jsonl", [ROW]), val=None)


def test_long_sentences(load, tmp_path):
    long = {"words": ["w"] * 500, "labels": ["a", "b"] * 250}
    path = write(tmp_path / "long.jsonl", [ROWS[0], long])
    assert len(load(train=path)[1].y) == 500
    with pytest.raises(
        ValueError,
        match=r"long.jsonl:2: 500 words are more than max_words=100: raise the limit, or set truncate",
    ):
        load(train=path, max_words=100)
    cut = load(train=path, max_words=2, truncate=True)
    assert [data.y.numel() for data in cut] == [2, 2]
    assert cut.describe()["truncated_words"] == 499
    assert "499 words cut" in cut.describe()["note"]
    many = {"words": ["w"] * 10_001, "labels": ["a"] * 10_001}
    with pytest.raises(ValueError, match=r"many.jsonl:1: 10001 words are more than max_words=10000"):
        load(train=write(tmp_path / "many.jsonl", [many]))
    marked = write(tmp_path / "marked.jsonl", [ROW | {"mark": 2}])
    with pytest.raises(ValueError, match=r"marked.jsonl:1: the marked word 2 is beyond max_words=2"):
        load(train=marked, max_words=2, truncate=True)
    own = write(tmp_path / "own.jsonl", [ROW | TREE | {"head": [2, 3, 0]}, *ROWS])
    assert load(train=own, max_words=2, truncate=True)[0].governor_index.tolist() == [0, 2, 0]


def test_invalid_rows(load, tmp_path):
    for row, message in [
        ({"labels": ["a"]}, "1 labels for 3 words"),
        ({"labels": ["a"] * 4}, "4 labels for 3 words"),
        ({"labels": "abc"}, r"'labels' must be a list \(got 'abc'\)"),
        ({"labels": ["a", 3, "b"]}, r"a label must be a text \(got int 3\)"),
        ({"labels": ["a", " ", "b"]}, "a label must be a text"),
        ({"labels": ["a", "x\u0007", "b"]}, "'label' has a control character"),
        ({"words": []}, "'words' must be a list of at least one word"),
        ({"words": "Ann reads books"}, "'words' must be a list of at least one word"),
        ({"words": ["Ann", 3, "books"]}, "'words' must be a list of at least one word"),
        ({"words": ["Ann", " ", "books"]}, "'words' must be a list of at least one word"),
        ({"mark": [0, 1]}, r"'mark' must be the number of one word, from 0 to 2 \(got \[0, 1\]\)"),
        ({"mark": True}, "'mark' must be the number of one word"),
        ({"mark": "1"}, "'mark' must be the number of one word"),
        ({"mark": 3}, r"'mark' must be the number of one word, from 0 to 2 \(got 3\)"),
        ({"mark": -1}, "'mark' must be the number of one word, from 0 to 2"),
        ({"head": [2, 0, 2]}, "no tree: no 'deprel'"),
        ({"head": [2, 0, 2], "stanford_head": [0, 1, 1]}, "no tree: 'head' and 'stanford_head' are the same"),
        ({**TREE, "head": [2, 0]}, "no tree: "),
        ({**TREE, "head": [2, 0, 4]}, "word 3: head 4 is out of range"),
        ({**TREE, "head": [2, 1, 2]}, "no root"),
        ({**TREE, "head": [2, 0, 2.0]}, "no tree: word 3: 'head' must be a whole number"),
        ({**TREE, "deprel": ["nsubj", "root", 3]}, "no tree: word 3: 'deprel' must be text"),
    ]:
        path = write(tmp_path / "bad.jsonl", [ROW, ROW | row])
        with pytest.raises(ValueError, match=rf"bad.jsonl:2: .*{message}|bad.jsonl:2: {message}"):
            load(train=path)
    path = write(tmp_path / "bad.jsonl", [ROW | {"words": []}, ROW, ROW | {"labels": "abc"}])
    with pytest.raises(ValueError, match=r"bad.jsonl:1: 'words' must.*; .*bad.jsonl:3: 'labels' must"):
        load(train=path)


def test_files_that_cannot_be_read(load, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(ROW) + "\n\n" + json.dumps(ROW) + "\n")
    with pytest.raises(ValueError, match=r"bad.jsonl:2: a blank line"):
        load(train=path)
    path.write_text(json.dumps({"words": ["a"]}) + "\n")
    with pytest.raises(ValueError, match=r"bad.jsonl:1: no column 'labels'"):
        load(train=path)
    path.write_bytes(b'{"words": ["\xfc"], "labels": ["a"]}\n')
    with pytest.raises(ValueError, match=r"bad.jsonl:1: not UTF-8"):
        load(train=path)
    with pytest.raises(FileNotFoundError, match=r"no file .*gone.jsonl, which is 'train'"):
        load(train=tmp_path / "gone.jsonl")
    message = "'train' must be a .jsonl, .json, .parquet or .spacy file, or CoNLL-U or columns of words"
    with pytest.raises(ValueError, match=re.escape(message)):
        load(train="x.csv")
    (tmp_path / "bad.conllu").write_text("1\ta\t_\tX\t_\t_\t7\troot\t_\t_\n\n")
    with pytest.raises(ValueError, match=r"bad.conllu:1: "):
        load(train=tmp_path / "bad.conllu")


def test_wrong_options(load):
    for options, message in [
        ({"scheme": "iob"}, r"'scheme' must be one of words, bio"),
        ({"scheme": "bio", "outside": "X"}, r"'outside' must be 'O' where 'scheme' is 'bio' \(got 'X'\)"),
        ({"val": None, "val_fraction": 1.0}, r"'val_fraction' must be between 0 and 1"),
        ({"val": None, "seed": None}, r"'seed' must be a whole number \(got None\)"),
        ({"train": None}, r"'train' must be a file"),
        ({"labels": "NV"}, "'labels' must be a list of distinct labels"),
        ({"key": "word"}, "'key' must be one of upos"),
        ({"max_words": 0}, "'max_words' must be at least 1"),
        ({"raw_from": "x"}, "'raw_from' is for corpora"),
        ({"split": "test"}, r"'split' must be one of train, val \(got 'test'\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            load(**options)


def test_all_words_have_one_label(load, tmp_path):
    with pytest.raises(ValueError, match=r"one.jsonl:1: all labels of the training split are 'a'"):
        load(train=write(tmp_path / "one.jsonl", [{"words": ["x"], "labels": ["a"]}]))


def test_a_split_without_labels(load, tmp_path):
    none = write(tmp_path / "none.jsonl", [{"words": ["x"], "labels": [None]}])
    with pytest.raises(ValueError, match=r"none.jsonl:1: no word of the split 'test' has a label$"):
        load("test", test=none)


def test_processed_files_are_never_stale(load, tmp_path):
    names = {
        name
        for options in ({}, {"outside": "A0"}, {"max_words": 5}, {"max_words": 5, "truncate": True})
        for name in load(**options).processed_file_names
    }
    assert len(names) == 4
    before = load().processed_file_names
    write(tmp_path / "train.jsonl", ROWS[:2])
    assert load().processed_file_names != before


MARKED = """# sent_id = 1
1\tAnn\t_\tX\t_\t_\t2\tnsubj\t_\tRole=A0
2\treads\t_\tX\t_\t_\t0\troot\t_\tMark=Yes
3\tbooks\t_\tX\t_\t_\t2\tobj\t_\tRole=A1|Mood

1\tIt\t_\tX\t_\t_\t2\texpl\t_\t_
2\trains\t_\tX\t_\t_\t0\troot\t_\tRole=V

"""


def test_a_key_of_misc_marks_a_word_of_a_tree(load, tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_text(MARKED, encoding="utf-8")
    own = {"train": path, "val": path, "key": "misc:Role", "absent": "O"}
    plain, train = load(**own), load(**own, mark_key="misc:Mark")
    assert plain.describe()["marked"] == 0
    assert [data.mark.tolist() for data in train] == [[0, 0, 1, 0], [0, 0, 0]]
    assert train.looks_up == "path"
    assert load(**own, mark_key="misc:Mood")[0].mark.tolist() == [0, 0, 0, 1]  # any value
    assert "1 example has none, though others have" in train.describe()["note"]
    with pytest.raises(ValueError, match=r"'misc:Merk': no word has it \(did you mean 'misc:Mark'"):
        load(**own, mark_key="misc:Merk")
    twice = tmp_path / "twice.conllu"
    twice.write_text(MARKED.replace("Role=A0", "Role=A0|Mark=Yes"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"twice.conllu:2: 2 words have 'misc:Mark', .* \(got Ann, reads\)"):
        load(**own | {"train": twice}, mark_key="misc:Mark")
    for key in ("Mark", "misc", "upos:Mark"):
        with pytest.raises(ValueError, match=f"'mark_key' must be feats:KEY or misc:KEY \\(got '{key}'\\)"):
            load(**own, mark_key=key)


def test_misspelled_keys_are_refused(load, tmp_path):
    for old, new in [("mark", "marks"), ("mark", "Mark"), ("head", "heads"), ("deprel", "deprels")]:
        row = {new if key == old else key: value for key, value in (ROW | TREE).items()}
        path = write(tmp_path / "near.jsonl", [ROW, row])
        with pytest.raises(
            ValueError, match=rf"near.jsonl:2: unknown key '{new}' \(did you mean '{old}'\?\)"
        ):
            load(train=path)
        others = {"id": 1, "text": "Ann reads books", "lang": "en", "marks": [1], "tags": ["N"]}
        assert len(load(train=write(tmp_path / "own.jsonl", [ROW | others, *ROWS[1:]]))) == 3


def test_a_frequent_label_that_f1_scores_is_noted(load, tmp_path):
    none = [{"words": ["It", "is", "so"], "labels": ["none", "none", "A"]}] * 2
    path = write(tmp_path / "none.jsonl", [*none, {"words": ["No"], "labels": ["B"]}])
    said = "57% of the labels are 'none', which f1 scores like any other label: --set outside=none leaves"
    train = load(train=path, outside="O")
    assert said in train.describe()["note"]
    assert said not in load("val", train=path, val=path).describe()["note"]
    for outside in ("none", None):
        assert "counts" not in load(train=path, outside=outside).describe()["note"]
    assert "counts" not in load().describe()["note"]


def slow_targets(column, sentences, classes):
    return [
        [-100 if label is None else classes.index(label) if label in classes else -1 for label in labels]
        for labels in map(column.labels, sentences)
    ]


def test_a_number_for_each_word(tmp_path, raw, read):
    for split in ["train", "val", "test"]:
        for key in ["upos", "deprel", "lemma", "feats", "feats:PronType", "feats:VerbForm"]:
            dataset = UDTags(tmp_path, split, raw_from=raw, key=key)
            column, sentences = Column(key), read(split)
            known = {
                label for sentence in read("train") for label in column.labels(sentence) if label is not None
            }
            assert list(dataset.labels) == sorted(known)
            assert dataset.num_classes == len(known)
            expected = slow_targets(column, sentences, sorted(known))
            assert [data.y.tolist() for data in dataset] == expected
            flat = [y for row in expected for y in row]
            assert dataset.y.tolist() == flat
            assert all(
                data.y.numel() == data.form_id.numel() == len(s) for data, s in zip(dataset, sentences)
            )
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


def test_labels_of_a_checkpoint(tmp_path, raw):
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


def test_a_split_without_the_key(tmp_path, raw):
    with pytest.raises(
        ValueError, match="no word of the split 'val' has a label \\(is scored by their feats:Voice"
    ):
        UDTags(tmp_path, "val", raw_from=raw, key="feats:Voice", labels=("Act", "Pass"))


def test_trees_of_a_parser(tmp_path, raw, read):
    gold, chain = (UDTags(tmp_path, "test", raw_from=raw, parser=parser) for parser in ("gold", "chain"))
    assert gold.describe()["parser"] == "gold"
    assert chain.describe()["parser"] != "gold"
    assert torch.equal(gold.y, chain.y)
    assert torch.equal(gold.form_id, chain.form_id)
    assert chain[0].governor_index.tolist() == [0, *range(len(read("test")[0]))]
    assert gold[0].governor_index.tolist() != chain[0].governor_index.tolist()
    assert pickle.loads(pickle.dumps(chain)).labels == chain.labels
