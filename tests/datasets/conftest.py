from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from graphdep import Sentence
from graphdep.datasets.sentences import SICK_COLUMNS
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed

ROWS = [
    ("1", "A dog chases the cat", "The cat is chased by a dog", "4.5", "ENTAILMENT"),
    ("2", "A Dog chases the cat", "The cat chases a dog", "2.25", "CONTRADICTION"),
    ("5", "A dog sees a bird", "A man sleeps", "1", "NEUTRAL"),
]


class ChainParser(Parser):
    """Returns chains, one per part between ``|``; records its texts, and fails on ``FAIL``."""

    def __init__(self, version: str = "1") -> None:
        super().__init__(progress=False)
        self.version = version
        self.texts: list[str] = []

    @property
    def fingerprint(self) -> str:
        return f"chain/{self.version}"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        if "FAIL" in " ".join(texts):
            raise RuntimeError("no parse")
        self.texts += texts
        return [Parsed([Sentence.chain(part.split()) for part in text.split("|")]) for text in texts]

    def parse_sentences(self, sentences: Sequence[Sequence[str]]) -> list[Parsed]:
        return [Parsed([Sentence.chain(words)]) for words in sentences]


class LetterTokens:
    """Pieces are letters; ``z`` is unknown."""

    cls_id, sep_id, eou_id, unk_id = 2, 3, 4, 5

    def __init__(self, fingerprint: str = "letters") -> None:
        self.fingerprint = fingerprint

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        return [[self.unk_id if letter == "z" else ord(letter) for letter in word] for word in words]


@pytest.fixture
def new_tokens() -> type[LetterTokens]:
    return LetterTokens


@pytest.fixture
def parser() -> ChainParser:
    return ChainParser()


@pytest.fixture
def new_parser() -> type[ChainParser]:
    return ChainParser


@pytest.fixture
def write_sick(tmp_path: Path) -> Callable[..., Path]:
    """Writes the three raw files of a tiny SICK into a folder and returns it."""

    def write(train=ROWS, val=ROWS[:1], test=ROWS[1:], folder: str = "raw_files") -> Path:
        target = tmp_path / folder
        target.mkdir(exist_ok=True)
        for name, rows in (("SICK_train", train), ("SICK_trial", val), ("SICK_test_annotated", test)):
            text = "".join("\t".join(row) + "\n" for row in [tuple(SICK_COLUMNS), *rows])
            (target / f"{name}.txt").write_text(text, encoding="utf-8")
        return target

    return write
