"""The treebank of a few sentences that the repository has, with a key of MISC of its own."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from graphdep.io import read_conllu, write_conllu
from graphdep.sentence import Sentence

_NAMES = {"train": "train", "val": "dev", "test": "test"}


def read_tiny_treebank(folder: str | Path, split: str) -> list[Sentence]:
    """Return the sentences of a split: ``train``, ``val`` or ``test``."""
    return read_conllu(Path(folder) / f"en_mini-ud-{_NAMES[split]}.conllu")


def write_tiny_tags(raw: str | Path, folder: str | Path) -> Path:
    """Write the treebank in ``raw`` with ``Vowel=Yes`` in MISC at words that begin with a vowel, and
    ``Length`` at short words, and return the folder.
    """
    for split, name in _NAMES.items():
        file = Path(folder) / f"en_mini-ud-{name}.conllu"
        write_conllu(map(_tagged, read_tiny_treebank(raw, split)), file)
    return Path(folder)


def _tagged(sentence: Sentence) -> Sentence:
    cells = []
    for word, cell in zip(sentence.form, sentence.misc or ["_"] * len(sentence)):
        own = ["Vowel=Yes"] if word[0].lower() in "aeiou" else []
        own += [f"Length={len(word)}"] if len(word) < 4 else []
        cells.append("|".join([*([cell] if cell != "_" else []), *own]) or "_")
    return dataclasses.replace(sentence, misc=cells)
