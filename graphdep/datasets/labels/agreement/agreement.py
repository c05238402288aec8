"""Agreement: the number of verbs, and the auxiliary that goes in front, in structures that training lacks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.labels.agreement.agreement_rows import (
    FLAGS,
    AgreementRow,
    auxiliary_labels,
    changing_words,
    read_agreement,
    verb_labels,
)
from graphdep.datasets.labels.label_dataset import LabelDataset
from graphdep.datasets.labels.labelled_words import LabelledWords
from graphdep.parsing import Parser

ENDINGS = {"train": "train", "val": "dev", "test": "gen", "test-indist": "test"}
VERBS = ("all", "main")
TRAIN_FROM = ("train", "test")


class Agreement(LabelDataset):
    r"""The sentences of `"Does Syntax Need to Grow on Trees?" <https://aclanthology.org/2020.tacl-1.9/>`_
    as labels of words: in training, counting words from the left and reading the tree give the same labels;
    in the test split, which the paper calls *gen*, only the tree gives the right ones.

    ``"tense"``: the input is a sentence in the past tense, which does not show number. The label of a verb is
    ``"singular"`` or ``"plural"``, the number of its form in the output, the same sentence in the present
    tense. In validation and test splits the main verb alone is scored, so that accuracy is the paper's
    measure, *main verb's number right*. ``"question"``: the input is a declarative sentence, and the label of
    an auxiliary is ``"front"`` if the question begins with it, else ``"stays"``. All auxiliaries are scored;
    a sentence is right as a whole where the question begins with the right word and has no other one moved.

    Rows whose flag asks for a copy (``PAST``, ``decl``) have no label and are left out;
    :meth:`describe` counts them.

    =============== ========================= ======================================
    split           file                      what
    =============== ========================= ======================================
    ``train``       ``<name>_bracket.train``  either rule is right
    ``val``         ``<name>_bracket.dev``    likewise
    ``test``        ``<name>_bracket.gen``    only the rule that reads trees is right
    ``test-indist`` ``<name>_bracket.test``   as train
    =============== ========================= ======================================

    The brackets are constituents, which head rules make trees of
    (:func:`~graphdep.datasets.labels.agreement.bracket_trees.bracket_tree`). Where there is a parser, the
    files without brackets, ``<name>.train`` and so on, will do as well; those with brackets are read first.

    Args:
        root: Folder of the corpus; ``datasets/mini/agreement`` has self-written sentences.
            (default: ``"datasets/agreement"``)
        split: See above. (default: ``"train"``)
        parser: ``"gold"`` for the trees of the brackets; else a parser, or its name for
            :func:`graphdep.parsing.resolve_parser`, which parses the words. (default: ``"gold"``)
        name: ``"tense"`` or ``"question"``. (default: ``"tense"``)
        verbs: Which verbs of the training split have a label: ``"all"`` or ``"main"``; of questions
            ``"all"``. (default: ``"all"``)
        train_from: ``"train"``, or ``"test"`` to train on the test file of the same distribution where there
            is no training file; there is no split ``test-indist`` then. (default: ``"train"``)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.label_dataset.LabelDataset`

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, a row is damaged, its brackets do not close, or its output is no
            other form of its input: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import Agreement
        >>> dataset = Agreement("datasets/mini/agreement", split="test", limit=10)
        >>> dataset.labels, int((dataset[0].y >= 0).sum())
        (('plural', 'singular'), 1)
    """

    corpus = "Agreement"
    published = "https://github.com/tommccoy1/rnn-hierarchical-biases, folder data"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/agreement",
        split: str = "train",
        parser: str | Parser = "gold",
        *,
        name: str = "tense",
        verbs: str = "all",
        train_from: str = "train",
        **options: Unpack[WordOptions],
    ) -> None:
        _check("name", name, tuple(FLAGS))
        _check("verbs", verbs, VERBS)
        _check("train_from", train_from, TRAIN_FROM)
        if name == "question" and verbs != "all":
            raise ValueError(f"'verbs' must be 'all' where 'name' is 'question' (got {verbs!r})")
        self.name, self.verbs, self.train_from = name, verbs, train_from
        self.splits = tuple(ENDINGS) if train_from == "train" else tuple(ENDINGS)[:-1]
        self.scored_by = " by their number" if name == "tense" else " by whether they go in front"
        self._copies: dict[str, int] = {}
        super().__init__(root, split, parser, **options)

    def options(self) -> dict[str, Any]:
        own = {"name": self.name, "verbs": self.verbs, "train_from": self.train_from}
        return super().options() | own

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        found = [folder / name for name in self._names(split) if (folder / name).is_file()]
        return found[:1]

    def raw_file_pattern(self, split: str) -> str:
        return " or ".join(self._names(split))

    def raw_file_name(self, split: str) -> str:
        names = self.raw_file_pattern(split)
        if split != "train" or self.train_from == "test":
            return names
        return f"{names} (with train_from='test', the test file of the same distribution is trained on)"

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        (path,) = self.raw_files(folder, split)
        rows = read_agreement(path, self.name, brackets="_bracket." in path.name)
        asked = [row for row in rows if row.flag == FLAGS[self.name][0]]
        self._copies[split] = len(rows) - len(asked)
        verbs = changing_words(asked)
        return [self._labelled(row, verbs, split) for row in asked]

    def _labelled(self, row: AgreementRow, verbs: frozenset[str], split: str) -> LabelledWords:
        if self.name == "question":
            labels = auxiliary_labels(row)
        else:
            labels, main = verb_labels(row, verbs)
            if split != "train" or self.verbs == "main":
                labels = [label if place == main else None for place, label in enumerate(labels)]
        return LabelledWords(row.words, labels, tree=row.tree, place=f"{row.path}:{row.line}")

    def notes(self, examples: list[Any]) -> dict[str, Any]:
        return super().notes(examples) | {"copies": self._copies[self.split]}

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self._copies[self.split] = notes["copies"]

    def describe(self) -> dict[str, Any]:
        """As of every corpus of labelled words, with the number of rows that ask for a copy."""
        described, copies = super().describe(), self._copies[self.split]
        flag = FLAGS[self.name][1]
        note = f"{described['note']}; {copies} rows of its file are flagged {flag} and left out"
        return described | {"left_out_rows": copies, "note": note}

    def _names(self, split: str) -> list[str]:
        ending = "test" if (split, self.train_from) == ("train", "test") else ENDINGS[split]
        brackets = f"{self.name}_bracket.{ending}"
        return [brackets] if self._parser is None else [brackets, f"{self.name}.{ending}"]


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"'{name}' must be one of {', '.join(known)} (got {value!r})")
