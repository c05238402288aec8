from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphdep.cli import app
from graphdep.training import TrainConfig, train
from graphdep.training.evaluation import read_predictions
from tests.kit.tiny_corpora import tiny_span_rows, write_span_rows

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
SHORT = {"max_epochs": 3, "batch_size": 4, "lr": 0.05, "accelerator": "cpu", "min_freq": 1, "parser": "chain"}
LABELS = ("cause", "effect", "none")
TAGGED = [
    {"id": "7", "text": "<e1>Rain</e1> makes <e2>big, cold floods</e2>."},
    {"id": "8", "text": "<e2>Rain</e2> needs a <e1>flood</e1>."},
]


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
    """Of a model of two spans, that was trained on trees."""
    folder = tmp_path_factory.mktemp("own")
    file = write_span_rows(folder / "rows.jsonl", tiny_span_rows(trees=True))
    places = {"train": file, "test": file, "root": str(folder / "root")}
    config = TrainConfig.of("dt", task="spans", **places, **SIZES, **SHORT)
    return train(config, folder / "run")["checkpoint"]


@pytest.fixture
def predict(run, checkpoint):
    def predict(source: object, *arguments: object):
        return run("predict", "--checkpoint", checkpoint, "--parser", "chain", "--input", source, *arguments)

    return predict


def write_table(path: Path, rows=TAGGED) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("labelled", [True, False])
def test_the_labels_are_those_that_are_scored(run, predict, checkpoint, tmp_path, labelled):
    rows = tiny_span_rows(trees=True)
    rows = [{**row, "id": number} for number, row in enumerate(rows)]
    for row in rows if not labelled else ():
        del row["label"]
    source, output = write_span_rows(tmp_path / "new.jsonl", rows), tmp_path / "out.jsonl"
    done = predict(source, "--output", output, "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["rows"], summary["parsed"], summary["parser_failures"]) == (15, 0, 0)
    assert (summary["lost_spans"], summary["replaced"]) == (0, [])
    found = rows_of(output.read_text())
    assert [{key: row[key] for key in rows[0]} for row in found] == rows
    _, prediction, _ = read_predictions(Path(checkpoint).with_name("predictions.csv"))
    assert [1 + LABELS.index(row["prediction"]) for row in found] == prediction.tolist()
    for row in found:
        assert tuple(row["probabilities"]) == LABELS
        assert sum(row["probabilities"].values()) == pytest.approx(1)
        assert max(row["probabilities"], key=row["probabilities"].get) == row["prediction"]
    again = rows_of(predict(source, "--batch-size", 1).stdout)
    assert [row["prediction"] for row in again] == [row["prediction"] for row in found]
    # No parser has to be named where none is needed.
    assert run("predict", "--checkpoint", checkpoint, "--input", source).exit_code == 0


def test_tags_and_characters_say_the_same(predict, tmp_path):
    tables = [write_table(tmp_path / name) for name in ("new.csv", "new.tsv")]
    done = [predict(table) for table in tables]
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
    found = rows_of(predict(write_span_rows(tmp_path / "new.jsonl", texts)).stdout)
    for row, other in zip(found, with_commas):
        assert row["prediction"] == other["prediction"]
        for name in LABELS:
            assert row["probabilities"][name] == pytest.approx(float(other[f"probability_{name}"]), abs=1e-6)
    assert "2 rows, 2 of them parsed, 0 with a chain tree" in done[0].stderr
    again = predict(write_table(tmp_path / "again.csv", with_commas))
    assert "which are replaced: prediction, probability_cause" in again.stderr
    assert again.stdout == done[0].stdout


def test_the_column_of_texts(predict, tmp_path):
    table = write_table(tmp_path / "new.csv", [{"body": row["text"]} for row in TAGGED])
    assert "no column 'text'" in predict(table).stderr
    assert predict(table, "--text-columns", "body").exit_code == 0


def test_words_that_are_not_read(predict, tmp_path):
    words = ["Rain", "makes", "a", "flood"]
    rows = [
        {"words": words, "spans": [[0, 1], [2, 4]]},
        {"words": words, "spans": [[0, 1], [3, 4]], "head": [2, 0, 4, 2], "deprel": ["x", "root", "x", "x"]},
    ]
    source = write_span_rows(tmp_path / "new.jsonl", rows)
    assert "new.jsonl:1: 'words' must be a list of 1 to 3 words" in predict(source, "--max-words", 3).stderr
    done = predict(source, "--max-words", 3, "--truncate")
    first, second = rows_of(done.stdout)
    assert first["prediction"] in LABELS
    assert (second["prediction"], second["probabilities"]) == (None, None)
    assert "1 row without a prediction: a span is not read" in done.stderr
    table = write_table(tmp_path / "new.csv")
    assert "new.csv:2: 'text' must be a text of 1 to 5 words" in predict(table, "--max-words", 5).stderr
    done = predict(table, "--max-words", 3, "--truncate")
    assert [row["prediction"] for row in csv.DictReader(done.stdout.splitlines())].count("") == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"spans": [[0, 1]]}, "new.jsonl:2: the model was trained on 2 spans an example (got '1')"),
        ({"spans": [[0, 1], [4, 6]]}, "new.jsonl:2: span 2 reaches beyond the 4 words (got [4, 6])"),
        ({"words": []}, "new.jsonl:2: 'words' must be a list of"),
        ({"head": [0]}, "new.jsonl:2: 'deprel' must be a list of names of relations"),
        ({"text": "Rain"}, "new.jsonl:2: 'words' or 'text' must be there"),
    ],
)
def test_rows_that_are_none(predict, tmp_path, row, message):
    first = tiny_span_rows()[0]
    done = predict(write_span_rows(tmp_path / "new.jsonl", [first, first | row]), "--output", "out.jsonl")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "out.jsonl").exists()


def test_files_of_another_kind(run, predict, checkpoint, tmp_path):
    (tmp_path / "new.conllu").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    assert "must end in .csv, .tsv, .jsonl, .parquet" in predict("new.conllu").stderr
    (tmp_path / "new.csv").write_text("text\nRain <e1>falls\n")
    assert "new.csv:2: a text has <e1>...</e1>" in predict("new.csv").stderr
    plain = write_span_rows(tmp_path / "plain.jsonl", tiny_span_rows())
    done = run("predict", "--checkpoint", checkpoint, "--input", plain)
    assert "only 'bundled' is taken from a checkpoint" in done.stderr
    done = run("embed", "a text", "--checkpoint", checkpoint)
    assert "no sentence vectors but labels of marked spans: see graphdep.SpanClassifier" in " ".join(
        done.stderr.split()
    )


@pytest.mark.parametrize("task", ["semeval2010", "aspects"])
@pytest.mark.parametrize("model", ["dt", "bert-dt", "bert-dam-basic"])
def test_models_of_corpora(run, roots, on_encoder, tmp_path, task, model):
    own = on_encoder if model.startswith("bert") else {**SIZES, **SHORT}
    config = TrainConfig.of(model, task=task, root=roots[task], **{**own, "max_epochs": 1})
    checkpoint = train(config, tmp_path / "run")["checkpoint"]
    one, two = "<e1>fire</e1> burns", "<e1>fire</e1> burns an old and decaying <e2>wooden house</e2>"
    fits, other = (two, one) if task == "semeval2010" else (one, two)
    options = ["--checkpoint", checkpoint, "--parser", "chain", "--input"]
    done = run("predict", *options, write_table(tmp_path / "new.csv", [{"text": fits}]))
    assert done.exit_code == 0, done.stderr
    (row,) = csv.DictReader(done.stdout.splitlines())
    cut = model.startswith("bert") and task == "semeval2010"
    assert (row["prediction"] == "") == cut
    done = run("predict", *options, write_table(tmp_path / "other.csv", [{"text": other}]))
    assert f"the model was trained on {2 if task == 'semeval2010' else 1} spans" in done.stderr


def test_keys_that_are_nearly_right_are_refused(predict, tmp_path):
    source = tmp_path / "near.jsonl"
    row = {"words": ["Rain", "makes", "mud"], "spans": [[0, 1], [2, 3]], "label": None}
    source.write_text(json.dumps(row | {"heads": [2, 0, 2]}) + "\n")
    assert f"{source}:1: unknown key 'heads' (did you mean 'head'?)" in " ".join(
        predict(source).stderr.split()
    )
    source.write_text(json.dumps(row | {"id": 1, "labels": []}) + "\n")
    done = predict(source)
    assert done.exit_code == 0, done.stderr
    assert "1 row, 1 of them parsed" in done.stderr
