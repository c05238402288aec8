"""``graphdep predict`` of files of labelled words and of marked spans."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from graphdep.datasets import PropBankEWT
from graphdep.datasets.labels.words import Column
from graphdep.io import read_conllu
from graphdep.training import train
from graphdep.training.evaluation import read_predictions
from tests.kit.tiny_corpora import tiny_span_rows, write_span_rows
from tests.kit.tiny_encoder import write_tiny_encoder

CHAIN = {"crf": True, "max_epochs": 3}
LABELS = ("cause", "effect", "none")
TREE = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}
TAGGED = [
    {"id": "7", "text": "<e1>Rain</e1> makes <e2>big, cold floods</e2>."},
    {"id": "8", "text": "<e2>Rain</e2> needs a <e1>flood</e1>."},
]


def rows_of(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def predict(run, trained):
    """Predicts with a trained model of labels of words or of marked spans."""

    def predict(task: str, source: object, *arguments: object, parser: bool = True):
        folder, _ = trained(task, "dt", **(CHAIN if task == "labels" else {"max_epochs": 3}))
        named = ["--parser", "chain"] if parser else []
        return run("predict", "--checkpoint", folder / "best.ckpt", *named, "--input", source, *arguments)

    return predict


def test_labels_are_those_that_are_scored(predict, trained, role_rows, tmp_path):
    source, output = write_span_rows(tmp_path / "new.jsonl", role_rows), tmp_path / "out.jsonl"
    done = predict("labels", source, "--output", output, "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["sentences"], summary["words"], summary["replaced"]) == (20, 60, 20)
    assert (summary["parsed"], summary["parser_failures"], summary["cut_words"]) == (20, 0, 0)
    assert "labels of 20 rows were replaced" in done.stderr
    found = rows_of(output.read_text())
    assert [{**row, "labels": None} for row in found] == [{**row, "labels": None} for row in role_rows]
    labels = [label for row in found for label in row["labels"]]
    # Numbers of labels: O first, the others by name.
    folder, _ = trained("labels", "dt", **CHAIN)
    _, prediction, *_ = read_predictions(folder / "predictions.csv")
    assert [["O", "A0", "A1"].index(label) for label in labels] == prediction.tolist()
    assert predict("labels", source, "--batch-size", 1).stdout == output.read_text()


def test_spans_are_those_that_are_scored(predict, trained, tmp_path):
    rows = [{**row, "id": number} for number, row in enumerate(tiny_span_rows(trees=True))]
    source, output = write_span_rows(tmp_path / "new.jsonl", rows), tmp_path / "out.jsonl"
    done = predict("spans", source, "--output", output, "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["rows"], summary["parsed"], summary["parser_failures"]) == (15, 0, 0)
    assert (summary["lost_spans"], summary["replaced"]) == (0, [])
    found = rows_of(output.read_text())
    assert [{key: row[key] for key in rows[0]} for row in found] == rows
    folder, _ = trained("spans", "dt", max_epochs=3)
    _, prediction, *_ = read_predictions(folder / "predictions.csv")
    assert [1 + LABELS.index(row["prediction"]) for row in found] == prediction.tolist()
    for row in found:
        assert tuple(row["probabilities"]) == LABELS
        assert sum(row["probabilities"].values()) == pytest.approx(1)
        assert max(row["probabilities"], key=row["probabilities"].get) == row["prediction"]
    bare = [{key: value for key, value in row.items() if key != "label"} for row in rows]
    # Rows with trees need no --parser.
    again = predict("spans", write_span_rows(tmp_path / "bare.jsonl", bare), "--batch-size", 1, parser=False)
    assert [row["prediction"] for row in rows_of(again.stdout)] == [row["prediction"] for row in found]


def test_trees_marks_and_long_sentences(predict, tmp_path):
    words = ["Ann", "sees", "Bob"]
    whole = write_span_rows(tmp_path / "trees.jsonl", [{"words": words, "mark": 1, **TREE}])
    done = predict("labels", whole, parser=False)  # rows with trees need no --parser
    assert done.exit_code == 0, done.stderr
    assert len(rows_of(done.stdout)[0]["labels"]) == 3
    plain = write_span_rows(tmp_path / "plain.jsonl", [{"words": words, "mark": 1}])
    assert "which is used only if you name it" in predict("labels", plain, parser=False).stderr
    long = write_span_rows(tmp_path / "long.jsonl", [{"words": [*words, "now"], "mark": 1}])
    said = f"{long}:1: 'words' has more than max_words=3 words"
    assert said in predict("labels", long, "--max-words", 3).stderr
    done = predict("labels", long, "--max-words", 3, "--truncate")
    row = rows_of(done.stdout)[0]
    assert row["labels"][3] is None
    assert None not in row["labels"][:3]
    assert "1 word without a label, beyond max_words" in done.stderr
    late = write_span_rows(tmp_path / "late.jsonl", [{"words": [*words, "now"], "mark": 3}])
    assert (
        "'mark' is a word beyond max_words" in predict("labels", late, "--max-words", 3, "--truncate").stderr
    )


ROW_ERRORS = [
    ("labels", {"words": []}, "new.jsonl:2: 'words' must be a list of at least one word"),
    ("labels", {"labels": []}, "new.jsonl:2: no column 'words'"),
    ("labels", {"words": ["a"], "mark": 1}, "'mark' must be the number of one word, from 0 to 0 (got 1)"),
    (
        "labels",
        {"words": ["a"]},
        "new.jsonl:2: no 'mark' (number of a word, from 0): the model needs a marked word",
    ),
    ("labels", {"words": ["a"], "marks": 0}, "new.jsonl:2: unknown key 'marks' (did you mean 'mark'?)"),
    ("labels", {"words": ["a"], "mark": [0]}, "new.jsonl:2: 'mark' must be the number of one word"),
    ("labels", {"words": ["a"], "head": [0]}, "new.jsonl:2: no tree: no 'deprel'"),
    ("spans", {"spans": [[0, 1]]}, "new.jsonl:2: the model was trained with examples of 2 spans (got 1)"),
    ("spans", {"spans": [[0, 1], [4, 6]]}, "new.jsonl:2: span 2 reaches beyond the 4 words (got [4, 6])"),
    ("spans", {"words": []}, "new.jsonl:2: 'words' must be a list of"),
    ("spans", {"head": [0]}, "new.jsonl:2: no tree: no 'deprel'"),
    ("spans", {"text": "Rain"}, "new.jsonl:2: 'words', 'sentences' or 'text' must be there"),
    ("spans", {"heads": [2, 0, 2]}, "new.jsonl:2: unknown key 'heads' (did you mean 'head'?)"),
]


@pytest.mark.parametrize(("task", "row", "message"), ROW_ERRORS)
def test_wrong_rows(predict, role_rows, tmp_path, task, row, message):
    first = role_rows[0] if task == "labels" else {**tiny_span_rows()[0], "id": 1, "labels": []}
    second = row if task == "labels" else first | row
    done = predict(task, write_span_rows(tmp_path / "new.jsonl", [first, second]), "--output", "out.jsonl")
    assert done.exit_code == 2
    assert message in flat(done.stderr)
    assert not (tmp_path / "out.jsonl").exists()


def test_files_that_cannot_be_labelled(run, predict, trained, tmp_path):
    folder, _ = trained("ud-tags", "word-average")
    tags = ["--checkpoint", folder / "best.ckpt", "--input"]
    (tmp_path / "new.csv").write_text("text\nRain <e1>falls\n")
    (tmp_path / "new.conllu").write_text("1\tA\n")
    (tmp_path / "good.conllu").write_text("1\tA\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    done = run("predict", *tags, "new.csv")
    said = "which labels words in .jsonl, .json, CoNLL-U or column files (got 'new.csv')"
    assert said in flat(done.stderr)
    assert "new.conllu:1: " in run("predict", *tags, "new.conllu").stderr
    assert run("predict", *tags, "good.conllu").exit_code == 0
    done = run("predict", *tags, "good.conllu", "--text-columns", "text")
    assert "--text-columns is for files with columns" in done.stderr
    assert "'truncate' is for files" in run("predict", *tags, "good.conllu", "--truncate").stderr
    marked = write_span_rows(tmp_path / "marked.jsonl", [{"words": ["a"], "mark": 0}])
    assert "'mark' is for models that were trained with marks (got 0)" in run("predict", *tags, marked).stderr
    done = run("predict", *tags, write_span_rows(tmp_path / "plain.jsonl", [{"words": ["a"]}]))
    assert "1 parsed" in done.stderr
    assert "'text_columns' is for files of texts" in predict("labels", marked, "--text-columns", "a").stderr
    assert "good.conllu:1: no tag <e1> in the text" in predict("spans", "good.conllu").stderr
    assert "new.csv:2: the tag <e1> is not closed by </e1>" in predict("spans", "new.csv").stderr
    plain = write_span_rows(tmp_path / "spans.jsonl", tiny_span_rows())
    assert "which is used only if you name it" in predict("spans", plain, parser=False).stderr
    for task, model, what, known in (
        ("ud-tags", "word-average", "labels of words", "WordLabeller"),
        ("conll04", "bilstm", "labels of marked spans", "SpanClassifier"),
    ):
        own = {"readout": "top", "path": True} if task == "conll04" else {}
        done = run("embed", "a text", "--checkpoint", trained(task, model, **own)[0] / "best.ckpt")
        assert f"which gives {what}, not sentence vectors: see graphdep.{known}" in flat(done.stderr)


# ------------------------------------------------------------------------------------ labels in treebanks


@pytest.mark.parametrize(("model", "key"), [("dt@parser", "misc:Vowel"), ("bilstm", "feats:PronType")])
def test_labels_for_a_treebank(run, trained, marked, tmp_path, model, key):
    absent = {"absent": "No"} if key == "misc:Vowel" else {}
    own = {"raw_from": str(marked), "root": str(tmp_path / "ud"), "parser": "chain"}
    folder, result = trained("ud-tags", model, key=key, **absent, **own)
    source, output = marked / "en_mini-ud-test.conllu", tmp_path / "out.conllu"
    checkpoint = ["--checkpoint", folder / "best.ckpt"]
    parser = ["--parser", "chain"] if model == "dt@parser" else []
    done = run("predict", *checkpoint, "--input", source, "--output", output, *parser, "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["words"] == 13
    before, after = read_conllu(source), read_conllu(output)
    column = Column(key, **absent)
    asked = [label for sentence in before for label in column.labels(sentence)]
    found = [label for sentence in after for label in column.labels(sentence)]
    scored = [(label, mine) for label, mine in zip(asked, found) if label is not None]
    right = sum(label == mine for label, mine in scored) / len(scored)
    assert result["metrics"]["test_accuracy"] == pytest.approx(right)
    assert [sentence.head for sentence in after] == [sentence.head for sentence in before]
    assert [sentence.form for sentence in after] == [sentence.form for sentence in before]
    again = run("predict", *checkpoint, "--input", source, *parser, "--batch-size", 1)
    assert again.stdout == output.read_text()
    if parser:
        done = run("predict", *checkpoint, "--input", source)
        assert "which is used only if you name it" in done.stderr


def test_a_treebank_without_a_column_of_theirs(run, config_of, role_rows, tmp_path):
    """A model of sentences with and without a mark predicts both."""
    plain = [{key: value for key, value in row.items() if key != "mark"} for row in role_rows]
    file = write_span_rows(tmp_path / "train.jsonl", [*plain, *role_rows[:5]])
    own = {"train": file, "test": None, "root": str(tmp_path / "root")}
    result = train(config_of("labels", "dt", **own), tmp_path / "run")
    assert 0 < result["data"]["marked"]["train"] < result["data"]["examples"]["train"]
    source = tmp_path / "new.conllu"
    source.write_text("1\tAnn\t_\tX\t_\t_\t2\tnsubj\t_\t_\n2\tsleeps\t_\tY\t_\t_\t0\troot\t_\tA=b\n\n")
    checkpoint = ["--checkpoint", result["checkpoint"], "--parser", "chain", "--input"]
    done = run("predict", *checkpoint, source, "--output", "out.conllu")
    assert done.exit_code == 0, done.stderr
    assert "misc:Label of 2 words in 1 sentence" in done.stderr
    (sentence,) = read_conllu(tmp_path / "out.conllu")
    assert sentence.upos == ["X", "Y"]
    assert sentence.misc[0].removeprefix("Label=") in ("A0", "A1", "O")
    assert sentence.misc[1].removeprefix("A=b|Label=") in ("A0", "A1", "O")
    rows = [{"words": ["It", "rains"]}, {"words": ["It", "rains"], "mark": 0}]
    assert run("predict", *checkpoint, write_span_rows(tmp_path / "new.jsonl", rows)).exit_code == 0


def test_marks_in_a_treebank(run, config_of, role_rows, tmp_path):
    rows = ("{} _ _ _ _ 2 nsubj _ Role=A0", "sees _ _ _ _ 0 root _ {}", "{} _ _ _ _ 2 obj _ Role=A1")
    tree = "".join(f"{n} {row}\n" for n, row in enumerate(rows, 1)).replace(" ", "\t") + "\n"
    source = tmp_path / "train.conllu"
    source.write_text(
        "".join(tree.format(a, "Mark=Yes", b) for a, _, b in (row["words"] for row in role_rows))
    )
    keys = {"key": "misc:Role", "absent": "O", "mark_key": "misc:Mark", "test": str(source)}
    own = {"train": str(source), "root": str(tmp_path / "root"), "max_epochs": 15, "batch_size": 4}
    result = train(config_of("labels", "dt", **keys, **own), tmp_path / "run")
    assert result["data"]["marked"] == {"train": 18, "val": 2, "test": 20}
    options = ["--checkpoint", result["checkpoint"], "--input"]
    done = run("predict", *options, source)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == source.read_text()  # all labels are right, the rest is unchanged
    unmarked = tmp_path / "unmarked.conllu"
    unmarked.write_text(tree.format("Ann", "Mark=Yes", "Bob") + tree.format("Ann", "_", "Bob"))
    said = f"{unmarked}:5: the model needs a marked word, but none has 'misc:Mark'"
    assert said in flat(run("predict", *options, unmarked).stderr)


_ROLES_2009 = (
    "1 {0} _ _ _ _ _ _ 2 2 SBJ SBJ _ _ A0\n2 {1} _ _ _ _ _ _ 0 0 ROOT ROOT Y see.01 _\n"
    "3 {2} _ _ _ _ _ _ 2 2 OBJ OBJ _ _ A1\n\n"
).replace(" ", "\t")
_ROLES_2012 = (
    "a 0 0 {0} N (TOP(S(NP*) - - - - * (A0*) -\na 0 1 {1} V (VP* see 01 - - * (V*) -\n"
    "a 0 2 {2} N (NP*)))) - - - - * (A1*) -\n\n"
)


@pytest.mark.parametrize(
    ("text", "scheme"), [(_ROLES_2009, "words"), (_ROLES_2012, "bio"), ("{0} A0\n{1} O\n{2} A1\n\n", "words")]
)
def test_columns_are_labelled(run, config_of, role_rows, tmp_path, text, scheme):
    source = tmp_path / "train.txt"
    source.write_text("".join(text.format(*row["words"]) for row in role_rows))
    own = {"train": str(source), "root": str(tmp_path / "root"), "max_epochs": 15, "batch_size": 4}
    config = config_of("labels", "dt", **own, test=str(source), scheme=scheme, parser="chain")
    result = train(config, tmp_path / "run")
    roles = "see" in text
    assert result["data"]["marked"]["test"] == (20 if roles else 0)
    options = ["--checkpoint", result["checkpoint"], "--parser", "chain", "--input"]
    done = run("predict", *options, source)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == source.read_text()  # all labels are right, the rest is unchanged
    assert run("predict", *options, source, "--output", tmp_path / "rows.jsonl").exit_code == 0
    rows = rows_of((tmp_path / "rows.jsonl").read_text())
    assert [(row["words"], "mark" in row) for row in rows] == [(row["words"], roles) for row in role_rows]
    assert run("predict", *options, tmp_path / "rows.jsonl").stdout == (tmp_path / "rows.jsonl").read_text()
    refused = run("predict", *options, source, "--output", "out.csv")
    assert "'output' of columns must end in .jsonl" in flat(refused.stderr)
    other = tmp_path / "other.conll"
    other.write_text("Ann O\nsees O\nBob O\n" if roles else _ROLES_2009.format("Ann", "sees", "Bob"))
    said = "but the file has no marks" if roles else "are for models that were trained with marks"
    assert said in flat(run("predict", *options, other).stderr)


def test_roles_of_a_corpus(run, trained, places, tmp_path):
    folder, result = trained("propbank-ewt", "dt", crf=True)
    dataset = PropBankEWT(places("propbank-ewt")["root"], "test")
    examples = dataset.read(Path(dataset.raw_dir), "test")
    rows = [
        {"words": list(e.words), "mark": e.mark, "head": e.tree.head, "deprel": e.tree.deprel}
        for e in examples
    ]
    options = ["--checkpoint", folder / "best.ckpt", "--input"]
    done = run("predict", *options, write_span_rows(tmp_path / "new.jsonl", rows))
    assert done.exit_code == 0, done.stderr
    asked = [label for example in examples for label in example.labels]
    found = [label for row in rows_of(done.stdout) for label in row["labels"]]
    pairs = [(label, mine) for label, mine in zip(asked, found) if label is not None]
    assert result["metrics"]["test_accuracy"] == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
    unmarked = write_span_rows(tmp_path / "unmarked.jsonl", [{"words": ["Ann", "sees", "Bob"]}])
    assert "no 'mark' (number of a word, from 0): the model" in run("predict", *options, unmarked).stderr
    (tmp_path / "new.conllu").write_text("1\tAnn\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    done = run("predict", *options, "new.conllu")
    assert "which needs a marked word: use a .jsonl" in flat(done.stderr)


@pytest.mark.parametrize("model", ["bert", "bert-dam-basic"])
def test_words_that_a_pretrained_encoder_has_no_room_for(run, config_of, role_rows, tmp_path, model):
    encoder = write_tiny_encoder(tmp_path / "encoder", positions=12)
    plain = [{key: value for key, value in row.items() if key != "mark"} for row in role_rows]
    own = {"train": write_span_rows(tmp_path / "train.jsonl", plain), "test": None, "max_length": 10}
    config = config_of("labels", model, **own, root=str(tmp_path / "root"), encoder=encoder)
    checkpoint = train(config, tmp_path / "run")["checkpoint"]
    options = ["--checkpoint", checkpoint, "--parser", "chain", "--input"]
    rows = [{"words": ["Ann", "is", "it", "so", "what"]}, {"words": ["Ann"]}]
    done = run("predict", *options, write_span_rows(tmp_path / "new.jsonl", rows))
    assert done.exit_code == 0, done.stderr
    first, second = rows_of(done.stdout)
    assert len(first["labels"]) == 5
    assert first["labels"][-1] is None
    assert first["labels"][0] is not None
    assert second["labels"][0] is not None
    assert f"{first['labels'].count(None)} words without a label, beyond max_words" in done.stderr
    lines = [f"{n}\t{'word' * 3}\t_\tX\t_\t_\t{n - 1}\tdep\t_\t_\n" for n in range(1, 4)]
    (tmp_path / "new.conllu").write_text("".join(lines) + "\n")
    done = run("predict", *options, "new.conllu")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[2].endswith("\t_")
    assert "without a label, beyond the encoder's max_length" in done.stderr


# ---------------------------------------------------------------------------------------- tables of spans


def write_table(path: Path, rows=TAGGED) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_tags_and_characters_say_the_same(predict, tmp_path):
    done = [predict("spans", write_table(tmp_path / name)) for name in ("new.csv", "new.tsv")]
    with_commas, with_tabs = (
        list(csv.DictReader(one.stdout.splitlines(), delimiter=mark)) for one, mark in zip(done, ",\t")
    )
    assert with_commas == with_tabs
    assert [*with_commas[0]] == ["id", "text", "prediction", *(f"probability_{name}" for name in LABELS)]
    assert [row["text"] for row in with_commas] == [row["text"] for row in TAGGED]
    texts = [
        {"text": "Rain makes big, cold floods.", "spans": [[0, 4], [11, 27]]},
        {"text": "Rain needs a flood.", "spans": [[13, 18], [0, 4]]},
    ]
    found = rows_of(predict("spans", write_span_rows(tmp_path / "new.jsonl", texts)).stdout)
    for row, other in zip(found, with_commas):
        assert row["prediction"] == other["prediction"]
        for name in LABELS:
            assert row["probabilities"][name] == pytest.approx(float(other[f"probability_{name}"]), abs=1e-6)
    assert "2 rows, 2 parsed" in done[0].stderr
    again = predict("spans", write_table(tmp_path / "again.csv", with_commas))
    assert "of the input were replaced: prediction, probability_cause" in again.stderr
    assert again.stdout == done[0].stdout
    table = write_table(tmp_path / "body.csv", [{"body": row["text"]} for row in TAGGED])
    assert "no column 'text'" in predict("spans", table).stderr
    assert predict("spans", table, "--text-columns", "body").exit_code == 0


def test_words_that_are_not_read(predict, tmp_path):
    words = ["Rain", "makes", "a", "flood"]
    rows = [
        {"words": words, "spans": [[0, 1], [2, 4]]},
        {
            "words": words,
            "spans": [[0, 1], [3, 4]],
            "head": [2, 0, 4, 2],
            "deprel": ["nsubj", "root", "det", "obj"],
        },
    ]
    source = write_span_rows(tmp_path / "new.jsonl", rows)
    said = "new.jsonl:1: 'words' must be a list of 1 to 3 words"
    assert said in predict("spans", source, "--max-words", 3).stderr
    done = predict("spans", source, "--max-words", 3, "--truncate")
    first, second = rows_of(done.stdout)
    assert first["prediction"] in LABELS
    assert (second["prediction"], second["probabilities"]) == (None, None)
    assert "1 row without a prediction: a span is beyond max_words" in done.stderr
    table = write_table(tmp_path / "new.csv")
    said = "new.csv:2: 'text' must be a text of 1 to 5 words"
    assert said in predict("spans", table, "--max-words", 5).stderr
    done = predict("spans", table, "--max-words", 3, "--truncate")
    assert [row["prediction"] for row in csv.DictReader(done.stdout.splitlines())].count("") == 1


@pytest.mark.parametrize(
    ("task", "model", "options"),
    [("semeval2010", "bert-dam-basic", {}), ("aspects", "dra", {}), ("aspects", "bert-dt", {})],
)
def test_models_of_corpora(run, trained, tmp_path, task, model, options):
    folder, _ = trained(task, model, **options)
    one, two = "<e1>fire</e1> burns", "<e1>fire</e1> burns an old and decaying <e2>wooden house</e2>"
    fits, other = (two, one) if task == "semeval2010" else (one, two)
    asked = ["--checkpoint", folder / "best.ckpt", "--parser", "chain", "--input"]
    done = run("predict", *asked, write_table(tmp_path / "new.csv", [{"text": fits}]))
    assert done.exit_code == 0, done.stderr
    (row,) = csv.DictReader(done.stdout.splitlines())
    assert (row["prediction"] == "") == (task == "semeval2010")  # the second span is cut away
    done = run("predict", *asked, write_table(tmp_path / "other.csv", [{"text": other}]))
    assert (
        f"the model was trained with examples of {'2 spans' if task == 'semeval2010' else '1 span'}"
        in done.stderr
    )
