"""Reads treebanks for the training of a parser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def read_splits(treebanks: Sequence[Path], limit: int | None = None) -> dict[str, list[str]]:
    """The sentences of ``"train"``, ``"dev"`` and ``"test"``, each as its lines of CoNLL-U.

    The dev and test splits are those of the first treebank. If it has no training split, every fifth sentence
    of its dev split remains there and the others become training sentences. Further treebanks add their
    training splits or, without one, all of their sentences. XPOS is removed unless every treebank has it.
    Scripts and genres are mixed without conversion.

    Args:
        treebanks: Folders with ``*-ud-train.conllu``, ``*-ud-dev.conllu`` and ``*-ud-test.conllu``.
        limit: Number of sentences per split; :obj:`None` for all. (default: :obj:`None`)

    Raises:
        ValueError: If the first treebank has no dev or no test split or too few sentences to train on, if
            another treebank has no split, or if a file is not UTF-8.
    """
    first, *others = treebanks
    train, dev, test = (_sentences(first, split, limit) for split in ("train", "dev", "test"))
    if not dev or not test:
        raise ValueError(f"no *-ud-{'test' if dev else 'dev'}.conllu in {first}")
    if not train:
        train, dev = [s for i, s in enumerate(dev) if i % 5], dev[::5]
    parts = [train]
    for other in others:
        everything = (_sentences(other, split, limit) for split in ("dev", "test"))
        parts.append(_sentences(other, "train", limit) or [s for split in everything for s in split])
        if not parts[-1]:
            raise ValueError(f"no *-ud-*.conllu in {other}")
    result = {"train": [sentence for part in parts for sentence in part], "dev": dev, "test": test}
    if not result["train"]:
        raise ValueError(f"no *-ud-train.conllu in {first}, and one sentence in *-ud-dev.conllu")
    if not all(any(map(_has_xpos, part)) for part in parts):
        result = {split: list(map(_without_xpos, blocks)) for split, blocks in result.items()}
    return result


def _sentences(treebank: Path, split: str, limit: int | None) -> list[str]:
    """The sentences of all files of a split, since large treebanks have several files."""
    files = sorted(treebank.glob(f"*-ud-{split}*.conllu"))
    blocks: list[str] = []
    for file in files:
        try:
            blocks += re.split(r"\n{2,}", file.read_text(encoding="utf-8").strip())
        except UnicodeDecodeError as error:
            raise ValueError(f"{file} is not UTF-8: {error}") from None
    return [block for block in blocks if block][:limit]


def _rows(sentence: str) -> list[list[str]]:
    return [line.split("\t") for line in sentence.split("\n")]


def _has_xpos(sentence: str) -> bool:
    return any(len(row) == 10 and row[4] != "_" for row in _rows(sentence))


def _without_xpos(sentence: str) -> str:
    return "\n".join(
        "\t".join([*row[:4], "_", *row[5:]] if len(row) == 10 else row) for row in _rows(sentence)
    )
