from __future__ import annotations

import dataclasses

import pytest

from graphdep import ConlluError, Sentence
from graphdep.io import write_conllu
from graphdep.parsing import ConlluParser

A = Sentence(["Hi", "!"], [0, 1], ["root", "punct"], comments=["# text = Hi!"])
B = Sentence(["Go", "on"], [0, 1], ["root", "compound:prt"])
C = Sentence(["Go", "on"], [2, 0], ["dep", "root"], comments=["# text = Go on", "# second = yes"])


@pytest.fixture
def parser(tmp_path):
    write_conllu([A, B, C], tmp_path / "some file.conllu")
    return ConlluParser(tmp_path / "some file.conllu")


def test_texts(parser):
    assert parser.parse(["Go  on", "Hi!", "Hi! Go on", "Hi!Go on Go on\n", " "]) == [
        [B],
        [A],
        [A, B],
        [A, B, C],
        [],
    ]
    assert parser.failures == 0


def test_words(parser):
    assert parser.parse_words([["Go", "on"], ["Hi", "!"]]) == [B, A]


def test_what_is_not_there_is_an_error(parser):
    with pytest.raises(ValueError, match=r"some file\.conllu has the text 'Hi\? Go'"):
        parser.parse(["Hi!", "Hi? Go"])
    with pytest.raises(ValueError, match="has the text 'Hi! Hi!'"):
        parser.parse(["Hi! Hi!"])
    with pytest.raises(ValueError, match="has the words 'Hi'"):
        parser.parse_words([["Hi"]])


def test_fingerprint_is_that_of_the_content(parser, tmp_path):
    write_conllu([A, B, C], tmp_path / "copy.conllu")
    assert ConlluParser(tmp_path / "copy.conllu").fingerprint == parser.fingerprint
    write_conllu([A, dataclasses.replace(B, deprel=["root", "dep"]), C], tmp_path / "copy.conllu")
    assert ConlluParser(tmp_path / "copy.conllu").fingerprint != parser.fingerprint


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        ConlluParser(tmp_path / "none.conllu")
    (tmp_path / "bad.conllu").write_text("no conllu\n")
    with pytest.raises(ConlluError, match=r"bad\.conllu:1"):
        ConlluParser(tmp_path / "bad.conllu")
