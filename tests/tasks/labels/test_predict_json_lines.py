from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphdep.cli import app
from graphdep.datasets import PropBankEWT
from graphdep.io import read_conllu
from graphdep.training import TrainConfig, train
from graphdep.training.evaluation import read_predictions
from tests.kit.tiny_corpora import write_tiny_propbank

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
SHORT = {"max_epochs": 3, "batch_size": 4, "lr": 0.05, "accelerator": "cpu", "min_freq": 1, "parser": "chain"}
NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve")
ROWS = [
    {"words": [a, "sees", b], "labels": ["A0", None, "A1"], "mark": 1, "id": f"{a}{b}"}
    for a in NAMES
    for b in NAMES
    if a != b
]
TREE = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}


def write(path: Path, rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows_of(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
    """Of a model of marks, with a chain that is learned."""
    folder = tmp_path_factory.mktemp("own")
    places = {"train": str(write(folder / "train.jsonl", ROWS)), "root": str(folder / "root")}
    rows = [{**row, "labels": ["O" if label is None else label for label in row["labels"]]} for row in ROWS]
    places["train"] = str(write(folder / "train.jsonl", rows))
    places["test"] = str(write(folder / "test.jsonl", ROWS))
    config = TrainConfig.of("dt", task="labels", **places, **SIZES, **SHORT, crf=True)
    return train(config, folder / "run")["checkpoint"]


def test_the_labels_are_those_that_are_scored(run, checkpoint, tmp_path):
    source, output = write(tmp_path / "new.jsonl", ROWS), tmp_path / "out.jsonl"
    options = ["--checkpoint", checkpoint, "--parser", "chain"]
    done = run("predict", *options, "--input", source, "--output", output, "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["sentences"], summary["words"], summary["replaced"]) == (20, 60, 20)
    assert (summary["parsed"], summary["parser_failures"], summary["cut_words"]) == (20, 0, 0)
    assert "20 rows had labels, which are replaced" in done.stderr
    found = rows_of(output.read_text())
    assert [{**row, "labels": None} for row in found] == [{**row, "labels": None} for row in ROWS]
    labels = [label for row in found for label, old in zip(row["labels"], (0, None, 0)) if old is not None]
    # Codes of labels: 0 for O, and the others by name.
    _, prediction, _ = read_predictions(Path(checkpoint).with_name("predictions.csv"))
    assert [["O", "A0", "A1"].index(label) for label in labels] == prediction.tolist()
    again = run("predict", *options, "--input", source, "--batch-size", 1)
    assert again.stdout == output.read_text()


def test_trees_marks_and_long_sentences(run, checkpoint, tmp_path):
    options = ["--checkpoint", checkpoint, "--input"]
    whole = write(tmp_path / "trees.jsonl", [{"words": ["Ann", "sees", "Bob"], "mark": 1, **TREE}])
    done = run("predict", *options, whole)  # no parser has to be named where none is needed
    assert done.exit_code == 0, done.stderr
    assert len(rows_of(done.stdout)[0]["labels"]) == 3
    plain = write(tmp_path / "plain.jsonl", [{"words": ["Ann", "sees", "Bob"], "mark": 1}])
    assert "only 'bundled' is taken from a checkpoint" in run("predict", *options, plain).stderr
    options = ["--checkpoint", checkpoint, "--parser", "chain", "--max-words", 3, "--input"]
    long = write(tmp_path / "long.jsonl", [{"words": ["Ann", "sees", "Bob", "now"], "mark": 1}])
    assert f"{long}:1: 'words' has more than max_words=3 words" in run("predict", *options, long).stderr
    done = run("predict", *options, long, "--truncate")
    row = rows_of(done.stdout)[0]
    assert row["labels"][3] is None
    assert None not in row["labels"][:3]
    assert "1 word not read, and without a label" in done.stderr
    late = write(tmp_path / "late.jsonl", [{"words": ["Ann", "sees", "Bob", "now"], "mark": 3}])
    assert "'mark' is a word that is not read" in run("predict", *options, late, "--truncate").stderr


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"words": []}, "new.jsonl:2: 'words' must be a list of at least one word"),
        ({"labels": []}, "new.jsonl:2: no column 'words'"),
        ({"words": ["a"], "mark": 1}, "'mark' must be the number of one word, from 0 to 0 (got '1')"),
        (
            {"words": ["a"]},
            "new.jsonl:2: no 'mark', the number of a word, from 0: the model labels words as a",
        ),
        ({"words": ["a"], "marks": 0}, "new.jsonl:2: unknown key 'marks' (did you mean 'mark'?)"),
        ({"words": ["a"], "mark": [0]}, "new.jsonl:2: 'mark' must be the number of one word"),
        ({"words": ["a"], "head": [0]}, "new.jsonl:2: 'deprel' must be a list of names of relations"),
    ],
)
def test_rows_that_are_none(run, checkpoint, tmp_path, row, message):
    source = write(tmp_path / "new.jsonl", [ROWS[0], row])
    options = ["--checkpoint", checkpoint, "--parser", "chain", "--input", source]
    done = run("predict", *options, "--output", "out.jsonl")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "out.jsonl").exists()
    assert "'text_columns' is for files of texts" in run("predict", *options, "--text-columns", "a").stderr


def test_a_treebank_without_a_column_of_theirs(run, tmp_path):
    plain = [{key: value for key, value in row.items() if key != "mark"} for row in ROWS]
    places = {"train": str(write(tmp_path / "train.jsonl", plain)), "root": str(tmp_path / "root")}
    checkpoint = train(TrainConfig.of("dt", task="labels", **places, **SIZES, **SHORT), tmp_path / "run")
    source = tmp_path / "new.conllu"
    source.write_text("1\tAnn\t_\tX\t_\t_\t2\tnsubj\t_\t_\n2\tsleeps\t_\tY\t_\t_\t0\troot\t_\tA=b\n\n")
    options = ["--checkpoint", checkpoint["checkpoint"], "--input", source, "--output", "out.conllu"]
    done = run("predict", *options)
    assert done.exit_code == 0, done.stderr
    assert "misc:Label of 2 words in 1 sentence, 0 of them with a chain tree" in done.stderr
    (sentence,) = read_conllu(tmp_path / "out.conllu")
    assert sentence.upos == ["X", "Y"]
    labels = {"A0", "A1"}
    assert sentence.misc[0].removeprefix("Label=") in labels
    assert sentence.misc[1].removeprefix("A=b|Label=") in labels


def test_marks_in_a_treebank(run, tmp_path):
    rows = ("{} _ _ _ _ 2 nsubj _ Role=A0", "sees _ _ _ _ 0 root _ {}", "{} _ _ _ _ 2 obj _ Role=A1")
    tree = "".join(f"{n} {row}\n" for n, row in enumerate(rows, 1)).replace(" ", "\t") + "\n"
    source = tmp_path / "train.conllu"
    source.write_text("".join(tree.format(a, "Mark=Yes", b) for a in NAMES for b in NAMES if a != b))
    keys = {"key": "misc:Role", "absent": "O", "mark_key": "misc:Mark", "test": str(source)}
    places = {"train": str(source), "root": str(tmp_path / "root")}
    config = TrainConfig.of("dt", task="labels", **places, **keys, **SIZES, **SHORT | {"max_epochs": 30})
    result = train(config, tmp_path / "run")
    assert result["data"]["marked"] == {"train": 18, "val": 2, "test": 20}
    options = ["--checkpoint", result["checkpoint"], "--input"]
    done = run("predict", *options, source)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == source.read_text()  # it knows them by heart, and all but the labels stays
    unmarked = tmp_path / "unmarked.conllu"
    unmarked.write_text(tree.format("Ann", "Mark=Yes", "Bob") + tree.format("Ann", "_", "Bob"))
    said = f"{unmarked}:5: no word has 'misc:Mark', the mark"
    assert said in " ".join(run("predict", *options, unmarked).stderr.split())


def test_a_model_of_sentences_with_and_without_a_mark_takes_both(run, tmp_path):
    mixed = [*ROWS, {"words": ["It", "rains"], "labels": ["O", "O"]}, {"words": ["So"], "labels": ["O"]}]
    places = {"train": str(write(tmp_path / "train.jsonl", mixed)), "root": str(tmp_path / "root")}
    config = TrainConfig.of("word-average", task="labels", **places, **SIZES, **SHORT, val_seed=3)
    result = train(config, tmp_path / "run")
    assert result["data"]["marked"]["train"] < result["data"]["examples"]["train"]
    rows = [{"words": ["It", "rains"]}, {"words": ["It", "rains"], "mark": 0}]
    new = write(tmp_path / "new.jsonl", rows)
    done = run("predict", "--checkpoint", result["checkpoint"], "--parser", "chain", "--input", new)
    assert done.exit_code == 0, done.stderr


def test_roles_of_a_corpus(run, tmp_path):
    places = write_tiny_propbank(tmp_path / "ewt")
    config = TrainConfig.of("dt", task="propbank-ewt", **places, **SIZES, **SHORT)
    result = train(config, tmp_path / "run")
    dataset = PropBankEWT(places["root"], "test")
    examples = dataset.read(Path(dataset.raw_dir), "test")
    rows = [
        {"words": list(e.words), "mark": e.mark, "head": e.tree.head, "deprel": e.tree.deprel}
        for e in examples
    ]
    options = ["--checkpoint", result["checkpoint"], "--input"]
    done = run("predict", *options, write(tmp_path / "new.jsonl", rows))
    assert done.exit_code == 0, done.stderr
    asked = [label for example in examples for label in example.labels]
    found = [label for row in rows_of(done.stdout) for label in row["labels"]]
    pairs = [(label, mine) for label, mine in zip(asked, found) if label is not None]
    right = sum(label == mine for label, mine in pairs) / len(pairs)
    assert result["metrics"]["test_accuracy"] == pytest.approx(right)
    unmarked = write(tmp_path / "unmarked.jsonl", [{"words": ["Ann", "sees", "Bob"]}])
    assert "no 'mark', the number of a word, from 0: the model" in run("predict", *options, unmarked).stderr
    (tmp_path / "new.conllu").write_text("1\tAnn\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    done = run("predict", *options, "new.conllu")
    assert "which labels words as a marked one sees them: a .jsonl" in " ".join(done.stderr.split())


def test_a_mark_that_nobody_learned_from(run, tiny, tmp_path):
    result = train(TrainConfig.of("word-average", **{**tiny, "max_epochs": 1}), tmp_path / "run")
    options = ["--checkpoint", result["checkpoint"], "--input"]
    done = run("predict", *options, write(tmp_path / "new.jsonl", [{"words": ["a"], "mark": 0}]))
    assert "'mark' is for models that have learned from marks (got '0')" in done.stderr
    done = run("predict", *options, write(tmp_path / "new.jsonl", [{"words": ["a"]}]))
    assert done.exit_code == 0, done.stderr
    assert "1 of them parsed" in done.stderr


@pytest.mark.parametrize("model", ["bert", "bert-dt", "bert-dam-basic"])
def test_words_that_a_pretrained_encoder_has_no_room_for(run, tmp_path, model):
    pytest.importorskip("transformers")
    from tests.kit.tiny_encoder import write_tiny_encoder

    encoder = write_tiny_encoder(tmp_path / "encoder", positions=12)
    plain = [{key: value for key, value in row.items() if key != "mark"} for row in ROWS]
    places = {"train": str(write(tmp_path / "train.jsonl", plain)), "root": str(tmp_path / "root")}
    own = {"parser": "chain", "accelerator": "cpu", "max_epochs": 1, "max_length": 10, "encoder": encoder}
    checkpoint = train(TrainConfig.of(model, task="labels", **places, **own), tmp_path / "run")["checkpoint"]
    options = ["--checkpoint", checkpoint, "--parser", "chain", "--input"]
    rows = [{"words": ["Ann", "is", "it", "so", "what"]}, {"words": ["Ann"]}]
    done = run("predict", *options, write(tmp_path / "new.jsonl", rows))
    assert done.exit_code == 0, done.stderr
    first, second = rows_of(done.stdout)
    assert len(first["labels"]) == 5
    assert first["labels"][-1] is None
    assert first["labels"][0] is not None
    assert second["labels"][0] is not None
    assert f"{first['labels'].count(None)} words not read, and without a label" in done.stderr
    (tmp_path / "new.conllu").write_text(
        "".join(f"{n}\t{'word' * 3}\t_\tX\t_\t_\t{n - 1}\tx\t_\t_\n" for n in range(1, 4)) + "\n"
    )
    done = run("predict", *options, "new.conllu")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[2].endswith("\t_")
    assert "without a label: the encoder has no room for more" in done.stderr
