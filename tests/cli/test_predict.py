from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphdep.cli import app
from graphdep.training import TrainConfig, train
from tests.kit.runs import SIZES
from tests.kit.tiny_corpora import write_tiny_sick

OWN = {"max_epochs": 1, "lr": 0.05, "accelerator": "cpu", "parser": "chain", **SIZES}
ROWS = [("a fine film", "good, I say"), ("dull", "bad"), ("fine", "good, I say"), ("a dull day", "bad")] * 3


def write_csv(path: Path, rows, header=("text", "label")) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory) -> dict[str, str]:
    """Models of texts, of numbers, and of pairs."""
    folder = tmp_path_factory.mktemp("runs")
    columns = {"text_columns": "text", "label_column": "label", "root": str(folder / "root")}
    texts = write_csv(folder / "texts.csv", ROWS)
    numbers = write_csv(folder / "numbers.csv", [(text, str(len(text))) for text, _ in ROWS])
    runs = {
        "csv": {"task": "csv", "train": str(texts), **columns, **OWN},
        "csv-regression": {"task": "csv-regression", "train": str(numbers), **columns, **OWN},
        "sick-e": {"task": "sick-e", **OWN, **write_tiny_sick(folder / "sick")},
    }
    return {
        name: train(TrainConfig.of("dt", **settings), folder / name)["checkpoint"]
        for name, settings in runs.items()
    }


@pytest.fixture
def predict(run, checkpoints) -> Callable:
    def predict(task: str, *arguments: object):
        return run("predict", "--checkpoint", checkpoints[task], "--parser", "chain", *arguments)

    return predict


def test_rows_get_a_prediction_and_probabilities(predict, tmp_path):
    source = write_csv(tmp_path / "new.csv", [("7", "fine,\nfine"), ("8", "dull")], ("id", "text"))
    done = predict("csv", "--input", source, "--output", tmp_path / "out.csv", "--json")
    assert done.exit_code == 0, done.stderr
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]] == ["id", "text", "prediction", "probability_bad", "probability_good, I say"]
    assert [(row["id"], row["text"]) for row in rows] == [("7", "fine,\nfine"), ("8", "dull")]
    for row in rows:
        probabilities = {name: float(row[f"probability_{name}"]) for name in ("bad", "good, I say")}
        assert sum(probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert row["prediction"] == max(probabilities, key=probabilities.get)
    summary = json.loads(done.stdout)
    assert (summary["rows"], summary["parser_failures"], summary["cut_words"]) == (2, 0, 0)
    assert (summary["cut_rows"], summary["replaced"], summary["unknown_words"]) == (0, [], 1 / 3)
    assert "replaced" not in done.stderr
    again = predict("csv", "--input", tmp_path / "out.csv")  # what is there already is replaced
    assert read_csv(again.stdout)[1] == rows[1]
    replaced = "prediction, probability_bad, probability_good, I say"
    assert f"columns of the input were replaced: {replaced}\n" in again.stderr
    assert "\n2 rows" in again.stderr


def test_words_that_the_vocabulary_lacks_are_counted(predict, tmp_path):
    source = tmp_path / "new.jsonl"
    source.write_text('{"text": "dull zorp, a fine zorp"}\n{"text": "fine"}\n')
    done = predict("csv", "--input", source, "--output", tmp_path / "out.jsonl", "--json")
    assert json.loads(done.stdout)["unknown_words"] == 2 / 6
    note = "2 of 6 words not in the vocabulary of the model, read as [UNK]: 'zorp,', 'zorp'\n2 rows"
    assert note in done.stderr


def test_json_lines_and_tsv_have_the_same_predictions(predict, tmp_path, checkpoints):
    from graphdep import SequenceClassifier

    texts = ["a fine film", "dull", "so what"]
    source = tmp_path / "new.jsonl"
    source.write_text("".join(json.dumps({"body": text, "n": [1]}) + "\n" for text in texts))
    done = predict("csv", "--input", source, "--text-columns", "body")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["body"], row["n"]) for row in rows] == [(text, [1]) for text in texts]
    model = SequenceClassifier.load(checkpoints["csv"], parser="chain", device="cpu")
    assert [row["prediction"] for row in rows] == model.predict(texts).tolist()
    expected = model.predict_proba(texts).tolist()
    assert [[*row["probabilities"].values()] for row in rows] == [pytest.approx(row) for row in expected]
    (tmp_path / "new.tsv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    lines = predict("csv", "--input", tmp_path / "new.tsv").stdout.splitlines()
    assert lines[0].split("\t") == ["text", "prediction", "probability_bad", "probability_good, I say"]
    assert [line.split("\t")[1] for line in lines[1:]] == [row["prediction"] for row in rows]


def test_existing_columns_are_replaced(predict, tmp_path):
    source = tmp_path / "new.jsonl"
    rows = [{"text": "dull"}, {"text": "fine", "probabilities": 1, "probability_bad": 2, "prediction": 3}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = predict("csv", "--input", source)
    assert "of the input were replaced: prediction, probabilities\n" in done.stderr
    _, row = map(json.loads, done.stdout.splitlines())
    assert (row["probability_bad"], set(row["probabilities"])) == (2, {"bad", "good, I say"})
    done = predict("csv-regression", "--input", source)  # which gives no probabilities
    assert "of the input were replaced: prediction\n" in done.stderr
    assert json.loads(done.stdout.splitlines()[1])["probabilities"] == 1


@pytest.mark.parametrize("model", ["bert", "bert-dam-basic"])
def test_cutting_a_long_text_does_not_change_other_predictions(run, tmp_path, model):
    pytest.importorskip("transformers")
    from tests.kit.tiny_encoder import write_tiny_encoder

    encoder = write_tiny_encoder(tmp_path / "encoder", positions=12)
    columns = {"text_columns": "text", "label_column": "label", "root": str(tmp_path / "root")}
    own = {**columns, "parser": "chain", "accelerator": "cpu", "max_epochs": 1, "max_length": 10}
    train_file = write_csv(tmp_path / "texts.csv", ROWS)
    config = TrainConfig.of(model, task="csv", train=str(train_file), encoder=encoder, **own)
    checkpoint = train(config, tmp_path / "run")["checkpoint"]
    options = ["--checkpoint", checkpoint, "--parser", "chain", "--input"]
    alone = run("predict", *options, write_csv(tmp_path / "short.csv", [("fine",), ("dull",)], ("text",)))
    long = [("fine",), ("a b " * 500,), ("dull",), ("a " * 10,)]
    done = run("predict", *options, write_csv(tmp_path / "long.csv", long, ("text",)))
    assert "4 rows, 994 words cut in 2 rows\n" in done.stderr
    assert "vocabulary" not in done.stderr
    rows = read_csv(done.stdout)
    for mine, expected in zip((rows[0], rows[2]), read_csv(alone.stdout)):
        assert mine["prediction"] == expected["prediction"]
        assert float(mine["probability_bad"]) == pytest.approx(float(expected["probability_bad"]), abs=1e-5)


def test_numbers(predict, tmp_path):
    done = predict("csv-regression", "--input", write_csv(tmp_path / "new.csv", [("a",), ("b",)], ("text",)))
    rows = read_csv(done.stdout)
    assert [*rows[0]] == ["text", "prediction"]
    assert all(float(row["prediction"]) for row in rows)


def test_pairs_of_another_task(predict, tmp_path):
    source = write_csv(tmp_path / "new.csv", [("ann saw bob", "bob saw ann")], ("a", "b"))
    done = predict("sick-e", "--input", source)
    assert "'sick-e', which has no names of columns: give --text-columns" in done.stderr
    done = predict("sick-e", "--input", source, "--text-columns", "a, b")
    assert read_csv(done.stdout)[0]["prediction"] in ("NEUTRAL", "ENTAILMENT", "CONTRADICTION")
    done = predict("sick-e", "--input", source, "--text-columns", "a")
    assert "'text_columns' must name 2 columns, one per text of the model (got 'a')" in done.stderr


def test_semicolons_are_read(predict, tmp_path, caplog):
    (tmp_path / "new.csv").write_text('id;text\n1;"fine, really"\n')
    done = predict("csv", "--input", tmp_path / "new.csv")
    assert read_csv(done.stdout)[0]["text"] == "fine, really"
    assert "new.csv: the separator is ';', as in the header" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text\nfine\n \n", "new.csv:3: 'text' must be a text with at least one word"),
        ("txt\nfine\n", "new.csv:1: no column 'text'; the columns are txt"),
        ("text,b\nfine\n", "new.csv:2: 1 columns instead of 2"),
    ],
)
def test_an_invalid_row_is_named_and_nothing_is_written(predict, tmp_path, content, message):
    (tmp_path / "new.csv").write_text(content)
    done = predict("csv", "--input", tmp_path / "new.csv", "--output", tmp_path / "out.csv")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_texts_as_arguments_in_a_file_and_from_stdin(predict, checkpoints, tmp_path):
    lines = ["a fine film", "dull"]
    said = predict("csv", *lines)
    assert said.exit_code == 0, said.stderr
    rows = read_csv(said.stdout)
    assert [*rows[0]] == ["text", "prediction", "probability_bad", "probability_good, I say"]
    assert [row["text"] for row in rows] == lines
    source = write_csv(tmp_path / "new.csv", [(line,) for line in lines], ("text",))
    assert read_csv(predict("csv", "--input", source).stdout) == rows
    assert read_csv(predict("csv", source).stdout) == rows  # as a TEXT, which names a file
    (tmp_path / "new.txt").write_text("".join(f"{line}\n" for line in lines))
    for given in (["new.txt"], ["--input", "new.txt"]):
        assert read_csv(predict("csv", *given).stdout) == rows
    command = ["predict", "--checkpoint", checkpoints["csv"], "--parser", "chain"]
    for given in (["-"], ["--input", "-"]):
        done = CliRunner().invoke(app, [*command, *given], input="\n".join(lines))
        assert read_csv(done.stdout) == rows
    done = predict("csv", "--input", "new.txt", "--output", tmp_path / "out.jsonl")
    assert done.exit_code == 0, done.stderr
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["prediction"] for row in written] == [row["prediction"] for row in rows]


def test_pairs_as_arguments_and_lines(predict, tmp_path):
    rows = read_csv(predict("sick-e", "ann saw bob", "bob saw ann", "ann saw ann", "eve saw eve").stdout)
    assert [(row["text_1"], row["text_2"]) for row in rows] == [
        ("ann saw bob", "bob saw ann"),
        ("ann saw ann", "eve saw eve"),
    ]
    (tmp_path / "pairs.txt").write_text("ann saw bob\tbob saw ann\nann saw ann\teve saw eve\n")
    assert read_csv(predict("sick-e", "pairs.txt").stdout) == rows
    assert "give an even number of texts (got 1)" in predict("sick-e", "ann saw bob").stderr
    (tmp_path / "pairs.txt").write_text("ann saw bob\n")
    assert "pairs.txt:1: not 2 texts separated by a tab" in predict("sick-e", "pairs.txt").stderr


@pytest.mark.parametrize("names", [("sentence1", "sentence2"), ("premise", "hypothesis")])
def test_usual_column_names_are_recognised(predict, tmp_path, names):
    source = write_csv(tmp_path / "new.csv", [("1", "ann saw bob", "bob saw ann")], ("index", *names))
    done = predict("sick-e", "--input", source)
    assert done.exit_code == 0, done.stderr
    done = predict("csv", "--input", source)
    assert f"{source}:1: no column 'text'; the columns are index, {', '.join(names)}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either a TEXT or --input FILE"),
        (["a text", "--input", "new.txt"], "give either a TEXT or --input FILE"),
        (["none.csv"], "no file 'none.csv' (a text would have spaces)"),
        (["a text", "--text-columns", "a"], "--text-columns is for files with columns (got texts)"),
        (["a text", "--output", "out.txt"], "'output' must end in .csv, .tsv, .jsonl (got 'out.txt')"),
        (["--input", "a.csv", "--text-columns", "b"], "a.csv:1: no column 'b'; the columns are text"),
    ],
)
def test_errors_before_the_model_is_loaded(predict, tmp_path, monkeypatch, arguments, message):
    monkeypatch.setattr("graphdep.training.checkpoint.load_task", lambda *_: pytest.fail("too late"))
    (tmp_path / "new.txt").write_text("fine\n")
    write_csv(tmp_path / "a.csv", [("fine",)], ("text",))
    done = predict("csv", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_the_folder_of_a_run_is_a_checkpoint(run, checkpoints):
    folder = Path(checkpoints["csv"]).parent
    done = run("predict", "--checkpoint", folder, "--parser", "chain", "a fine film")
    assert done.exit_code == 0, done.stderr
    done = run("predict", "--checkpoint", folder.parent, "--parser", "chain", "a fine film")
    assert f"is a folder without a best.ckpt: name one of the runs {folder}" in done.stderr


def test_invalid_outputs_are_refused_before_the_work(predict, tmp_path):
    source = write_csv(tmp_path / "new.csv", [("fine",)], ("text",))
    done = predict("csv", "--input", source, "--output", tmp_path / "out.jsonl")
    assert "'output' must end in .csv, like the input" in done.stderr
    done = predict("csv", "--input", source, "--output", source)
    assert "'output' would overwrite the file of --input" in done.stderr
    assert "--json needs --output" in predict("csv", "--input", source, "--json").stderr


def test_a_checkpoint_of_another_family_is_refused(run, tmp_path):
    from tests.kit.tiny_corpora import write_tiny_selection

    corpus = write_tiny_selection(tmp_path / "corpus")
    settings = {"encoder": "transformer", "hidden_channels": 8, "num_layers": 1, "heads": 2, "max_epochs": 1}
    config = TrainConfig.of("bert", task="ubuntu", **corpus, **settings, accelerator="cpu")
    checkpoint = train(config, tmp_path / "run")["checkpoint"]
    source = write_csv(tmp_path / "new.csv", [("fine",)], ("text",))
    done = run("predict", "--checkpoint", checkpoint, "--input", source, "--parser", "chain")
    assert "which gives rankings, not predictions for files" in done.stderr


def test_a_long_text_is_an_error_with_its_line_or_cut(predict, tmp_path):
    source = write_csv(tmp_path / "new.csv", [("a\nfilm",), ("a fine dull film",)], ("text",))
    done = predict("csv", "--input", source, "--max-words", 3, "--output", tmp_path / "out.csv")
    assert done.exit_code == 2
    assert f"{source}:4: 'text' has more than max_words=3 words" in done.stderr
    assert not (tmp_path / "out.csv").exists()
    cut = read_csv(predict("csv", "--input", source, "--max-words", 3, "--truncate").stdout)
    assert [row["text"] for row in cut] == ["a\nfilm".replace("\n", ""), "a fine dull film"]
    short = write_csv(tmp_path / "short.csv", [("a fine dull",)], ("text",))
    (expected,) = read_csv(predict("csv", "--input", short).stdout)
    assert cut[1]["probability_bad"] == expected["probability_bad"]
    done = predict("csv", "--input", source, "--max-words", 10**9)
    assert "'max_words' must be at most 1000000 (got 1000000000)" in done.stderr
    done = predict("csv", "--input", source, "--batch-size", 10**20)
    assert "'batch_size' must be at most 1000000" in done.stderr


def test_a_long_text_of_a_pair_is_named_by_column(predict, tmp_path):
    rows = [("a b", "c"), ("a", "word " * 10_001)]
    source = write_csv(tmp_path / "pairs.csv", rows, ("one", "two"))
    done = predict("sick-e", "--input", source, "--text-columns", "one,two")
    assert f"{source}:3: 'two' has more than max_words=10000 words" in done.stderr


def test_predictions_of_parquet_are_json_lines(predict, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra [parquet]")
    from pyarrow.parquet import write_table

    write_table(pyarrow.table({"text": ["fine", "dull"], "id": [7, 8]}), tmp_path / "new.parquet")
    done = predict("csv", "--input", tmp_path / "new.parquet", "--output", tmp_path / "out.csv")
    assert "'output' must end in .jsonl" in done.stderr
    done = predict("csv", "--input", tmp_path / "new.parquet", "--output", tmp_path / "out.jsonl")
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["text"], row["id"]) for row in rows] == [("fine", 7), ("dull", 8)]
    assert all(row["prediction"] in row["probabilities"] for row in rows)


FORMULAS = ["=cmd|'/c calc'!A0", "@x", "+b", "-1+1", "a;=1"]


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_formulas_are_guarded_only_on_request(predict, tmp_path, kind):
    """By default cells are unchanged, so that programs can read the file."""
    tab = "\t" if kind == "tsv" else ","
    source = tmp_path / f"new.{kind}"
    rows = [["text", "=1+1", "number"], *(["fine", cell, "-0.5"] for cell in FORMULAS)]
    source.write_text("".join(tab.join(row) + "\n" for row in rows), encoding="utf-8")
    done = predict("csv", "--input", source)
    assert [line.split(tab)[:3] for line in done.stdout.splitlines()] == rows
    done = predict("csv", "--input", source, "--guard-formulas")
    guarded = [["text", "'=1+1", "number"], *(["fine", "'" + cell, "-0.5"] for cell in FORMULAS[:-1])]
    assert [line.split(tab)[:3] for line in done.stdout.splitlines()] == [*guarded, ["fine", "a;'=1", "-0.5"]]


def test_only_tables_have_formulas(predict, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": "fine"}\n')
    done = predict("csv", "--input", tmp_path / "new.jsonl", "--guard-formulas")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--guard-formulas is for .csv and .tsv" in done.stderr
