from __future__ import annotations

import pytest

from graphdep.io import parse_conllu, read_conllu


@pytest.fixture
def parser(corpus):
    return ["--parser", corpus[3]]


def test_a_text_becomes_conllu_on_stdout(run, parser):
    done = run("parse", "ann saw  bob", *parser)
    assert done.exit_code == 0, done.stderr
    (sentence,) = parse_conllu(done.stdout)
    assert (sentence.form, sentence.head) == (["ann", "saw", "bob"], [2, 0, 2])
    assert "1 texts, 1 sentences, 0 texts with a chain tree" in done.stderr


def test_a_file_holds_a_text_a_line(run, parser, tmp_path):
    (tmp_path / "texts.txt").write_text("ann saw bob\n\nbob saw ann\r\n", encoding="utf-8")
    done = run("parse", "texts.txt", *parser, "--output", "trees.conllu")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert [sentence.form[0] for sentence in read_conllu(tmp_path / "trees.conllu")] == ["ann", "bob"]
    assert "2 texts" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [("missing.txt", "no file 'missing.txt'"), ("  ", "there is no text to parse"), (".", "'.' is a folder")],
)
def test_errors(run, parser, text, message):
    done = run("parse", text, *parser)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_file_that_is_not_utf8(run, parser, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    done = run("parse", "latin.txt", *parser)
    assert done.exit_code == 2
    assert "latin.txt: not UTF-8 at byte 3" in done.stderr


def test_a_failure_leaves_no_output(run, parser, tmp_path):
    done = run("parse", "a text that the file does not have", *parser, "--output", "trees.conllu")
    assert done.exit_code == 2
    assert not (tmp_path / "trees.conllu").exists()
