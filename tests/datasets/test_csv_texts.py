from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest
import torch
from torch_geometric.loader import DataLoader

from graphdep.datasets import CSVTexts
from graphdep.parsing.parser import Parsed
from graphdep.sentence import Sentence
from graphdep.vocab import Vocab, VocabTokens
from tests.kit.tiny_corpora import Unasked

ROWS = [(f"text number {i}", ["good", "bad", "so so"][i % 3]) for i in range(20)]


def write(path: Path, rows=ROWS, header="text,label\n") -> Path:
    path.write_text(header + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def load(tmp_path, parser):
    """Writes the rows to a file and loads a split."""
    write(tmp_path / "train.csv")

    def load(split: str = "train", **options) -> CSVTexts:
        own = {
            "train": tmp_path / "train.csv",
            "text_columns": "text",
            "label_column": "label",
            "parser": parser,
        }
        return CSVTexts(tmp_path / "root", split, **{**own, **options})

    return load


def test_one_text(load, tmp_path):
    train, val = load(), load("val")
    assert (train.labels, train.num_classes) == (("bad", "good", "so so"), 3)
    assert (len(train), len(val)) == (18, 2)
    assert val.labels == train.labels
    assert val.vocab == train.vocab
    data = train[0]
    assert data.y.shape == (1,)
    assert data.y.dtype == torch.long
    data.validate()
    assert train.corpus == "train.csv"
    assert next(iter(DataLoader(val, batch_size=2))).y.shape == (2,)
    again = pickle.loads(pickle.dumps(train))
    assert again.labels == train.labels
    assert not (tmp_path / "root" / "raw").exists()


def test_pairs_and_json(load, tmp_path):
    rows = [{"a": "one two", "b": "three", "same": i % 2 == 0, "id": i} for i in range(4)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"train": path, "val": path, "text_columns": ["a", "b"], "label_column": "same"}
    train = load(**options)
    assert train.labels == (False, True)
    assert train.y.tolist() == [1, 0, 1, 0]
    assert train[0].utterance.tolist() == train[0].segment.tolist() == [0, 0, 0, 1, 1]
    tokens = VocabTokens(Vocab(["one", "two", "three"]))
    pieces = load(**options, tokens=tokens, max_length=9)
    assert pieces[0].segment.tolist() == [0, 0, 0, 0, 1, 1]


def test_validation_examples_are_not_in_training(load):
    texts = {s: {data.input_ids[-1].item() for data in load(s, lower=False)} for s in ("train", "val")}
    assert not texts["train"] & (texts["val"] - {1})  # words that occur only in val are unknown
    rows = {s: [row.line for row in load(s).read(Path(), s)] for s in ("train", "val")}
    assert sorted(rows["train"] + rows["val"]) == list(range(2, 22))
    assert rows["train"] == sorted(rows["train"])
    other = load("val", seed=1)
    assert [row.line for row in other.read(Path(), "val")] != rows["val"]
    assert len(load("val", val_fraction=0.5)) == 10
    assert len(load("val", val_fraction=0.99)) == 19  # one row remains for training
    assert load("val").processed_file_names != other.processed_file_names


def test_files_for_val_and_test(load, tmp_path):
    test = write(tmp_path / "test.csv", ROWS[:3])
    options = {"val": write(tmp_path / "val.csv", ROWS[3:5]), "test": test}
    assert [len(load(split, **options)) for split in ("train", "val", "test")] == [20, 2, 3]
    with pytest.raises(ValueError, match=r"'split' must be one of train, val \(got 'test'\)"):
        load("test")
    write(test, ROWS[:4])
    assert len(load("test", **options)) == 4  # processed files do not hide it
    with pytest.raises(FileNotFoundError, match=r"no file .*gone.csv, which is 'test'$"):
        load("test", test=tmp_path / "gone.csv")
    with pytest.raises(
        FileNotFoundError, match=r"no file .*gone.csv, which is 'train' \(words and classes are"
    ):
        load("test", test=test, train=tmp_path / "gone.csv")


def test_words_and_classes_of_a_checkpoint_need_no_training_file(load, tmp_path):
    train, test = load(), write(tmp_path / "test.csv", ROWS[:3])
    loaded = load("test", test=test)
    (tmp_path / "train.csv").unlink()
    alone = load("test", test=test, vocab=train.vocab, labels=train.labels)
    assert alone.y.tolist() == loaded.y.tolist() == [1, 0, 2]


def test_regression(load, tmp_path):
    path = write(tmp_path / "train.csv", [("a", "1.5"), ("b", "-2"), ("c", "1e2")])
    train = load(goal="regression", val=path)
    assert train.y.tolist() == [1.5, -2.0, 100.0]
    assert train.y.dtype == torch.float
    assert (train.labels, train.num_classes) == ((), 1)
    write(path, [("a", "1.5"), ("b", "much")])
    with pytest.raises(ValueError, match=r"csv:3: 'label' must be a number .* \(got 'much'\)"):
        load(goal="regression", val=path)
    with pytest.raises(
        ValueError, match=re.escape("'labels' are for goal='classification' (got ['a', 'b'])")
    ):
        load(goal="regression", labels=["a", "b"])


def test_limit_acts_before_parsing_and_not_on_the_classes(load, parser):
    train = load(limit=2)
    assert (len(train), train.num_classes) == (2, 3)
    assert len(parser.texts) == 2


def test_an_unseen_label(load, tmp_path):
    for split in ["val", "test"]:
        path = write(tmp_path / "other.csv", [("a", "good"), ("b", "Good")])
        classes = "'bad', 'good', 'so so' (got 'Good')"
        message = f"{path}:3: 'label' is not a class of the training file, {classes}"
        with pytest.raises(ValueError, match=re.escape(message)):
            load(split, **{split: path})


def test_the_errors_of_all_rows_and_files_come_together(load, tmp_path, parser):
    rows = [("", "good"), ("fine", "bad"), ("b", ""), ("c", "good")]
    files = {"train": write(tmp_path / "a.csv", rows), "test": write(tmp_path / "b.csv", [(" ", "bad")])}
    text = "'text' must be a text with at least one word"
    first = [
        f"{files['train']}:2: {text} (got '')",
        f"{files['train']}:4: 'label' must be the name of a class",
    ]
    with pytest.raises(ValueError) as found:
        load(**files)
    assert str(found.value) == "; ".join(
        [f"{first[0]}", f"{first[1]} (got '')", f"{files['test']}:2: {text} (it is blank)"]
    )
    write(files["test"], [("a", "odd"), (" ", "odd"), ("a", "even"), ("", ""), ("", "bad")])
    with pytest.raises(ValueError, match=r"b.csv:6: 'text' [^;]*; and 4 more$") as found:
        load(**files)
    assert [str(error).count("b.csv") for error in found.value.errors] == [0, 0] + [1] * 7
    assert "b.csv:2: 'label' is not a class of the training file, 'bad', 'good'" in str(found.value.errors[5])
    write(files["train"], [("a, b", "good"), ("c", "bad"), ("d, e, f", "bad")])
    with pytest.raises(
        ValueError, match="a.csv:2: 3 columns instead of 2.*; .*a.csv:4: 4 columns.*; .*b.csv:3"
    ):
        load(**files)
    assert parser.texts == []


def test_semicolons_of_a_spreadsheet(load, tmp_path, caplog):
    rows = "".join(f"{text};{label};\n" for text, label in ROWS)
    path = tmp_path / "de.csv"
    path.write_text(f'text;label;"a note, more"\n"a, b; c";good;\n{rows}', encoding="utf-8")
    train = load(train=path, val=path)
    assert (len(train), train.labels) == (21, ("bad", "good", "so so"))
    assert train.texts()[0] == ("a, b; c",)
    assert caplog.messages == [f"{path}: the separator is ';', as in the header"]
    path.write_bytes("text;label\nschön;good\n".encode("latin-1"))
    advice = r"de.csv:2: not UTF-8 at byte 3 \(got 'f6 6e 3b 67'\): save it as UTF-8 \(in Excel: CSV UTF-8\)$"
    with pytest.raises(ValueError, match=advice):
        load(train=path)


def test_labels_of_two_kinds_and_one_class(load, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a", "label": 1}\n{"text": "b", "label": true}\n')
    with pytest.raises(ValueError, match=r"x.jsonl:2: 'label' is bool here and int in line 1 \(got True\)"):
        load(train=path)
    path.write_text('{"text": "a", "label": 1}\n{"text": "b", "label": 0}\n')
    val = tmp_path / "val.jsonl"
    val.write_text('{"text": "a", "label": true}\n')
    with pytest.raises(
        ValueError, match=r"val.jsonl:1: 'label' is not a class of the training file, 0, 1 \(got True\)"
    ):
        load("val", train=path, val=val)
    with pytest.raises(ValueError, match=r"train.csv:2: 'label': all labels of the training split are 'x'"):
        load(train=write(tmp_path / "train.csv", [("a", "x"), ("b", "x")]))


@pytest.mark.parametrize("marked", [1, 2])
def test_a_file_of_marked_spans_is_noticed(load, tmp_path, caplog, marked):
    rows = [("<e1>a</e1> b", "x"), ("<e1>a</e1> c" if marked == 2 else "a c", "y")]
    path = write(tmp_path / "train.csv", rows)
    load(train=path, val=path)
    assert ("train.csv:2: most texts have <e1>...</e1>" in caplog.text) == (marked == 2)


def test_wrong_options(load):
    for options, message in [
        (
            {"text_columns": ["a", "b", "c"]},
            r"'text_columns' must name one or two columns \(got \['a', 'b', 'c'",
        ),
        ({"text_columns": ["a", "a"]}, "'text_columns' must name one or two columns"),
        ({"label_column": "text"}, r"'label_column' must be no column of texts \(got 'text'\)"),
        ({"goal": "ranking"}, r"'goal' must be one of classification, regression \(got 'ranking'\)"),
        ({"val_fraction": 1.0}, r"'val_fraction' must be between 0 and 1 \(got 1.0\)"),
        ({"seed": None}, r"'seed' must be a whole number \(got None\)"),
        ({"raw_from": "x"}, "'raw_from' is for corpora"),
        ({"val": "x.xlsx"}, r"'val' must end in .csv, .tsv, .jsonl, .json, .parquet \(got 'x.xlsx'\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            load(**options)


@pytest.mark.parametrize("split", ["train", "val"])
def test_a_longer_text_has_file_and_line_before_anything_is_parsed(load, tmp_path, split):
    rows = [*ROWS[:7], ("word " * 10_001, "good"), *ROWS[7:]]
    write(tmp_path / "train.csv", rows)
    write(tmp_path / "val.csv", rows)
    options = {"parser": Unasked(), "val": tmp_path / "val.csv"}
    message = "{}.csv:9: 'text' has more than max_words={} words"
    with pytest.raises(ValueError, match=message.format(split, 10_000)):
        load(split, **options)
    with pytest.raises(ValueError, match=message.format(split, 9_999)):
        load(split, **options, max_words=9_999)
    with pytest.raises(ValueError, match="'max_words' must be at most 1000000"):
        load(split, **options, max_words=10**9)


def test_a_longer_text_is_truncated(load, tmp_path):
    short = [(" ".join(text.split()[:2]), label) for text, label in ROWS]
    cut, default = load(max_words=2, truncate=True), load()
    write(tmp_path / "train.csv", short)
    assert [[*data.input_ids] for data in cut] == [[*data.input_ids] for data in load()]
    write(tmp_path / "train.csv")
    assert [[*data.input_ids] for data in load(max_words=4)] == [[*data.input_ids] for data in default]
    with pytest.raises(ValueError, match="has more than max_words=1 words"):
        load(max_words=1)  # whatever limit the processed file had
    names = {load(max_words=n, truncate=True).processed_paths[0] for n in (2, 3)}
    assert len({*names, default.processed_paths[0]}) == 3


def test_a_parse_with_more_words_is_refused_or_truncated(load):
    class Letters(Unasked):
        def parse_texts(self, texts):
            return [Parsed([Sentence.chain(list(text))]) for text in texts]

    with pytest.raises(ValueError, match="train.csv:2: 'text' has more than max_words=5 words"):
        load(parser=Letters(), max_words=5)
    data = load(parser=Letters(), max_words=5, truncate=True)[0]
    assert data.num_nodes == 6


SINGS = {"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}
HUMS = {"form": ["He", "hums"], "head": [2, 0], "deprel": ["nsubj", "root"]}
OWN = [
    {"text": SINGS},
    {"text": [SINGS, HUMS]},
    {"text": [{"id": 1, "text": "Sing", "head": 0, "deprel": "root"}]},
    {"text": ["own", "words"]},
    {"text": "She sings", "head": [2, 0], "deprel": ["nsubj", "root"]},
    {"text": "She sings.", **SINGS},
    {"text": "She sings."},
    {"text": "She sings.", "words": ["She", "sings", "."]},
]
GOVERNORS = [[2, 0], [2, 0, 4, 2], [0], [0, 1], [2, 0], [2, 0], [0, 1], [0, 1, 2]]


def governors(data):
    """The governor of each word, from 1."""
    return [int(data.word[g]) + 1 for g in data.governor_index[1:].tolist()]


def write_own(path, rows):
    path.write_text("".join(json.dumps({**row, "label": "ab"[i % 2]}) + "\n" for i, row in enumerate(rows)))
    return path


def test_texts_with_trees(tmp_path):
    path = write_own(tmp_path / "own.jsonl", OWN)
    options = {"text_columns": "text", "label_column": "label", "parser": "chain"}
    dataset = CSVTexts(tmp_path / "root", train=path, val=path, **options)
    assert [governors(data) for data in dataset] == GOVERNORS
    assert dataset.describe()["own_trees"] == 5
    assert (dataset.describe()["note"], dataset.describe()["tree_scheme"]) == ("own trees: 5 texts", "as-is")
    assert dataset.texts()[:2] == [("She sings",), ("She sings He hums",)]
    again = CSVTexts(tmp_path / "root", train=path, val=path, **options)
    assert again.describe() == dataset.describe()


def test_pairs_with_trees(tmp_path):
    rows = [{"a": SINGS, "b": "He hums ."}, {"a": ["x"], "b": [HUMS]}] * 2
    path = write_own(tmp_path / "own.jsonl", rows)
    options = {"text_columns": ("a", "b"), "label_column": "label", "parser": "chain"}
    first, second, *_ = CSVTexts(tmp_path / "root", train=path, val=path, **options)
    assert first.governor_index.tolist() == [0, 2, 0, 3, 3, 4, 5]
    assert second.governor_index.tolist() == [0, 0, 2, 4, 2]
    assert second.segment.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("attach", [[2, 0], [0, 1]]), ("parse", [[2, 0], [0, 1]]), ("skip", [[2, 0]] * 2)],
)
def test_invalid_trees(tmp_path, policy, expected):
    bad = {"text": {**SINGS, "head": [0, 0]}}
    path = write_own(tmp_path / "own.jsonl", [OWN[0], bad, OWN[0], OWN[0]])
    options = {"text_columns": "text", "label_column": "label", "parser": "chain", "val": path}
    with pytest.raises(ValueError, match=r"own.jsonl:2: words \[1, 2\] all have head 0.*--bad-trees"):
        CSVTexts(tmp_path / "root", train=path, **options)
    dataset = CSVTexts(tmp_path / "root", train=path, bad_trees=policy, **options)
    assert [governors(data) for data in dataset][:2] == expected
    assert dataset.describe()["bad_trees"] == {"several roots": 1}
    assert dataset.describe()["own_trees"] == {"attach": 4, "parse": 3, "skip": 3}[policy]
    assert "1 of 4 trees is bad: several roots (1)" in dataset.describe()["note"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "She sings", "head": [2, 0]}, "own.jsonl:2: no tree: no 'deprel'"),
        ({"text": "a b c", "head": [2, 0], "deprel": ["x", "y"]}, "'head' has 2 entries for 3 words"),
        ({"text": {"words": ["a"]}}, "own.jsonl:2: 'text': no 'head' among the keys"),
        ({"text": 7}, "own.jsonl:2: 'text' must be a text"),
        ({"text": ["A text.", "a b"]}, r"own.jsonl:2: 'text\[0\]' has white space"),
        ({"text": "a b", "tokens": ["a", "c"]}, "own.jsonl:2: 'tokens' are not the words of 'text'"),
        ({"text": "a b", "sentences": [["a"], ["b"]]}, "own.jsonl:2: 'sentences' beside 'text' are not"),
    ],
)
def test_wrong_trees(tmp_path, row, message):
    path = write_own(tmp_path / "own.jsonl", [OWN[0], row])
    with pytest.raises(ValueError, match=message):
        CSVTexts(tmp_path, train=path, val=path, text_columns="text", label_column="label", parser="chain")


def test_a_table_has_no_trees(tmp_path):
    (tmp_path / "own.csv").write_text('text,head,deprel,label\na b,"[2, 0]","[x, root]",c\na b,,,d\n')
    with pytest.raises(ValueError, match=r"own.csv:2: a table has no trees: write its rows to .jsonl"):
        CSVTexts(
            tmp_path, train=tmp_path / "own.csv", text_columns="text", label_column="label", parser="chain"
        )


def test_texts_with_a_graph_alone_are_parsed(tmp_path):
    rows = [{"text": "She sings", "edges": [[1, 2, "agent"]]}, {**OWN[4], "edges": [[2, 1, "sings"]]}] * 3
    path = write_own(tmp_path / "own.jsonl", rows)
    options = {"text_columns": "text", "label_column": "label", "parser": "chain", "arcs": "own"}
    dataset = CSVTexts(tmp_path / "root", train=path, val=path, **options)
    first, second, *_ = dataset
    assert [governors(data) for data in (first, second)] == [[0, 1], [2, 0]]
    assert dataset.describe()["own_trees"] == 3
    assert [data.arc_index.tolist() for data in (first, second)] == [[[1], [2]], [[2], [1]]]
