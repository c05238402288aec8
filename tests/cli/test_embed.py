from __future__ import annotations

import io
import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

from graphdep import SentenceEncoder
from graphdep.cli import app

TEXTS = ["ann saw bob", "", "bob saw ann", "  ", "ann saw bob"]


@pytest.fixture(scope="module")
def checkpoint(corpus, tmp_path_factory):
    """A model trained on trees from a file, so that its parser must be given."""
    from graphdep.training import TrainConfig, train

    settings = {
        "root": corpus[1],
        "parser": corpus[3],
        "hidden_channels": 8,
        "ff_channels": 8,
        "num_layers": 1,
    }
    settings |= {"heads": 2, "relation_dim": 4, "head_channels": 4, "max_epochs": 1, "accelerator": "cpu"}
    return train(TrainConfig.of("dt", **settings), tmp_path_factory.mktemp("run"))["checkpoint"]


@pytest.fixture(scope="module")
def model(checkpoint, corpus):
    """Options that load the model."""
    return ["--checkpoint", checkpoint, *corpus[2:]]


@pytest.fixture(scope="module")
def expected(checkpoint, corpus):
    return SentenceEncoder(checkpoint, parser=corpus[3]).encode(TEXTS).numpy()


def read(path):
    if path.suffix.lower() == ".npy":
        return np.load(path, allow_pickle=False)
    return np.loadtxt(path, delimiter="," if path.suffix == ".csv" else "\t", dtype=np.float32)


@pytest.mark.parametrize("name", ["vectors.npy", "X.NPY", "vectors.csv", "new/vectors.TSV"])
def test_line_i_is_row_i(run, model, expected, tmp_path, name):
    (tmp_path / "texts.txt").write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*TEXTS, ""]).encode())
    done = run("embed", *model, "--input", "texts.txt", "--output", name)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    vectors = read(tmp_path / name)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, expected)
    assert f"5 texts, 8 numbers each -> {name}" in done.stderr


def test_the_last_line_may_lack_its_break_and_may_be_empty(run, model, tmp_path):
    for content, rows in (("ann saw bob", 1), ("ann saw bob\n", 1), ("ann saw bob\n\n", 2), ("\n", 1)):
        (tmp_path / "texts.txt").write_text(content)
        done = run("embed", *model, "--input", "texts.txt", "--json")
        assert json.loads(done.stdout)["shape"] == [rows, 8]


def test_stdin_to_stdout(run, model, expected):
    arguments = ["embed", *model, "--input", "-", "--batch-size", "1"]
    done = CliRunner().invoke(app, arguments, input="\n".join(TEXTS).encode())
    assert done.exit_code == 0, done.stderr
    vectors = np.loadtxt(io.StringIO(done.stdout), delimiter=",", dtype=np.float32)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_one_text_as_json(run, model, checkpoint, expected):
    done = run("embed", *model, "ann saw bob", "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    np.testing.assert_allclose(result.pop("vectors"), expected[:1], atol=1e-6)
    assert result == {"checkpoint": checkpoint, "shape": [1, 8], "parser_failures": 0, "output": None}


def test_json_and_a_file(run, model, tmp_path):
    done = run("embed", *model, "ann saw bob", "--output", "vectors.npy", "--json")
    result = json.loads(done.stdout)
    assert result["output"] == "vectors.npy"
    assert "vectors" not in result
    assert np.load(tmp_path / "vectors.npy").shape == (1, 8)


def test_texts_of_a_column(run, model, expected, tmp_path):
    rows = "".join(f'{number},"{text}"\n' for number, text in enumerate(TEXTS))
    (tmp_path / "texts.csv").write_text("id,body\n" + rows)
    for given in (["--input", "texts.csv"], ["texts.csv"]):
        done = run(
            "embed", *model, *given, "--text-columns", "body", "--output", "vectors.npy", "--overwrite"
        )
        assert done.exit_code == 0, done.stderr
        np.testing.assert_array_equal(np.load(tmp_path / "vectors.npy"), expected)
    done = run("embed", *model, "--input", "texts.csv")
    assert (
        "texts.csv has columns: name the one with the texts (--text-columns; it has id, body)" in done.stderr
    )
    assert done.exit_code == 2


def test_several_texts_and_a_file(run, model, expected, tmp_path):
    vectors = [json.loads(run("embed", *model, *TEXTS[::2], "--json").stdout)["vectors"]]
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in TEXTS[::2]))
    vectors.append(json.loads(run("embed", *model, "texts.txt", "--json").stdout)["vectors"])
    for found in vectors:
        np.testing.assert_allclose(found, expected[::2], atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.txt"], "no file 'none.txt' (a text would have spaces)"),
        (["ann saw bob", "--input", "empty.txt"], "give either a TEXT or --input FILE"),
        (["--input", "latin.txt", "--text-columns", "a"], "--text-columns is for files with columns"),
        ([], "give either a TEXT or --input FILE"),
        (["--input", "empty.txt"], "empty.txt: there are no lines"),
        (["--input", "latin.txt"], "latin.txt:2: not UTF-8 at byte 3"),
        (["ann", "--output", "vectors.pkl"], "'output' must end in .npy, .csv, .tsv (got 'vectors.pkl')"),
        (["ann", "--checkpoint", "none.ckpt"], "no checkpoint at none.ckpt"),
        (["no such tree", "--output", "vectors.npy"], "has the text 'no such tree'"),
    ],
)
def test_errors(run, model, tmp_path, arguments, message):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "latin.txt").write_bytes(b"tea\ncaf\xe9")
    done = run("embed", *model, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "vectors.npy").exists()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("texts.csv", "'output' would overwrite the file of --input (got 'texts.csv')"),
        ("model.npy", "'output' would overwrite the file of --checkpoint (got 'model.npy')"),
        ("folder.csv", "'output' must be a file (got the folder 'folder.csv')"),
        (
            "texts.csv/a/v.npy",
            "cannot be written: 'texts.csv' is not a writable folder (got 'texts.csv/a/v.npy')",
        ),
        ("closed/v.npy", "cannot be written: 'closed' is not a writable folder (got 'closed/v.npy')"),
    ],
)
def test_an_invalid_output_is_refused_before_reading(run, tmp_path, monkeypatch, output, message):
    for name in ("texts.csv", "model.ckpt"):
        (tmp_path / name).write_bytes(b"no UTF-8 and no checkpoint: \xff")
    (tmp_path / "model.npy").symlink_to("model.ckpt")
    for name in ("folder.csv", "closed"):
        (tmp_path / name).mkdir()
    # The user who runs the tests may be root.
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != "closed")
    before = sorted(tmp_path.rglob("*"))
    done = run("embed", "--checkpoint", "model.ckpt", "--input", "./texts.csv", "--output", output)
    assert done.exit_code == 2
    assert message in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "texts.csv").read_bytes().endswith(b"\xff")


def test_the_parser_of_a_checkpoint_must_be_given(run, checkpoint, corpus):
    done = run("embed", "--checkpoint", checkpoint, "ann saw bob")
    assert done.exit_code == 2
    assert f"trained with the parser '{corpus[3]}', which is used only if you name it" in done.stderr
    assert "--parser" in done.stderr


def test_a_long_line_is_an_error_with_its_number_or_cut(run, model, tmp_path):
    (tmp_path / "in.txt").write_text("ann saw bob\n\nann saw bob again\n")
    done = run("embed", *model, "--input", "in.txt", "--max-words", 3)
    assert done.exit_code == 2
    assert "in.txt:3 has more than max_words=3 words" in done.stderr
    cut = run("embed", *model, "--input", "in.txt", "--max-words", 3, "--truncate").stdout.splitlines()
    assert cut[2] == cut[0] != cut[1]
    done = run("embed", *model, "word " * 10_001)
    assert "'texts[0]' has more than max_words=10000 words" in done.stderr
