"""Texts of one's own, with a label or a number each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import torch

from graphdep.datasets.base.draw import check_seed, drawn_part
from graphdep.datasets.base.own_files import OwnFiles
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.base.raw import row_error
from graphdep.datasets.base.text_dataset import TextDataset
from graphdep.datasets.base.text_rows import Label, TextRow, check_suffix, read_text_rows
from graphdep.io.limits import MAX_WORDS
from graphdep.parsing import Parser
from graphdep.parsing.parser import WordLimit

GOALS = ("classification", "regression")


class CSVTexts(OwnFiles, TextDataset):
    r"""The user's own texts or pairs of texts, a tree a text, from files with named columns: ``.csv``,
    ``.tsv``, ``.jsonl`` or ``.parquet``, as :func:`~graphdep.datasets.base.text_rows.read_text_rows` reads
    them.

    The files are read where they are; below :obj:`root` are only processed examples and the cache of parses.
    What the classes are is learned from the training file, whole as it is, and from it alone; they are sorted
    by name. A text in which the parser sees several sentences is one tree all the same.

    Args:
        root: Folder of what is made of the files. (default: ``"datasets/csv"``)
        split: ``"train"``, ``"val"`` or, with a file for it, ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        train: File with the training texts.
        val: File with the texts for validation; :obj:`None` draws them from the training file.
            (default: :obj:`None`)
        test: File with the texts for testing; :obj:`None` for no such split. (default: :obj:`None`)
        text_columns: Name of the column with the texts, or names of the two columns with pairs of texts.
        label_column: Name of the column with the labels.
        goal: ``"classification"``, or ``"regression"`` for labels that are numbers.
            (default: ``"classification"``)
        labels: The classes, e.g. a checkpoint's; :obj:`None` learns them. (default: :obj:`None`)
        val_fraction: The share that is drawn for validation. (default: :obj:`0.1`)
        seed: Of that draw. (default: :obj:`0`)
        max_words, truncate: Words of a text at most (:class:`~graphdep.parsing.parser.WordLimit`), and
            whether the first ones of a longer text are read, which else is an error before anything is
            parsed. (default: :obj:`10_000`, :obj:`False`)
        options: Further ones, see :class:`ParsedOptions`, but :obj:`raw_from`: the files are read where they
            are.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the class in :attr:`labels`; of a regression :math:`(1)`
          float, the number

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If an option is wrong, or a row is: a missing column, an empty text or one of too many
            words, a label that the training file does not have, and others; the message has file, line and
            value.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.datasets import CSVTexts
        >>> _ = Path("reviews.csv").write_text("text,label\n" + "A fine film.,good\nSo dull.,bad\n" * 10)
        >>> columns = {"text_columns": "text", "label_column": "label"}
        >>> dataset = CSVTexts("datasets/csv", train="reviews.csv", parser="chain", **columns)
        >>> len(dataset), dataset.labels
        (18, ('bad', 'good'))
    """

    labels: tuple[Label, ...]
    """The classes by their numbers; none for a regression."""

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/csv",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        train: str | os.PathLike[str],
        val: str | os.PathLike[str] | None = None,
        test: str | os.PathLike[str] | None = None,
        text_columns: str | Sequence[str],
        label_column: str,
        goal: str = "classification",
        labels: Sequence[Label] | None = None,
        val_fraction: float = 0.1,
        seed: int = 0,
        max_words: int = MAX_WORDS,
        truncate: bool = False,
        **options: Unpack[ParsedOptions],
    ) -> None:
        self.take_files(train, val, test, options.get("raw_from"))
        self.text_columns = (text_columns,) if isinstance(text_columns, str) else tuple(text_columns)
        self.label_column, self.goal = label_column, goal
        self.val_fraction, self.seed = val_fraction, check_seed(seed)
        self.word_limit = WordLimit(max_words, truncate)
        self._check_options(labels)
        self.learns_labels = labels is None and goal == "classification"
        self.labels = tuple(labels or ())
        self.train_is_for = "words and classes are learned from it unless they are given"
        super().__init__(root, split, parser, **options)

    def update_digest(self, sha: hashlib._Hash) -> None:
        super().update_digest(sha)
        sha.update(repr(self.labels).encode())  # what the numbers of learned classes stand for

    @property
    def num_classes(self) -> int:
        """The number of classes, whatever the split holds; 1 for a regression."""
        return len(self.labels) or 1

    def read(self, folder: Path, split: str) -> list[TextRow]:
        columns = [*self.text_columns, self.label_column]
        path = self.file(split)
        rows = read_text_rows(path, columns)
        if "val" in self.files or split == "test":
            return rows
        if len(rows) < 2:
            raise row_error(path, rows[0].line, "the only row: 'val' cannot be drawn from it, give a file")
        drawn = drawn_part(len(rows), self.val_fraction, self.seed)
        return [row for number, row in enumerate(rows) if (number in drawn) == (split == "val")]

    def texts(self) -> list[tuple[str, ...]]:
        return [
            tuple(row.text(column) for column in self.text_columns)
            for row in self.read(Path(self.raw_dir), self.split)
        ]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        if self.learns_labels and not self.labels:
            self.labels = _learn(read_text_rows(self.files["train"], [self.label_column]), self.label_column)
        rows = self.read(Path(self.raw_dir), split)
        number = {label: torch.tensor([number]) for number, label in enumerate(self.labels)}
        targets = [self._target(row, number) for row in rows][:limit]
        cells = [(row, column) for row in rows for column in self.text_columns]
        texts = [row.text(column) for row, column in cells][: len(targets) * len(self.text_columns)]
        places = [f"{row.path}:{row.line}: {column!r}" for row, column in cells]
        parsed = self.trees_of_texts(list(map(self.word_limit.text, texts, places)))
        trees = iter(map(self.word_limit.tree, parsed, places))
        segment = list(range(len(self.text_columns)))
        return [Example([next(trees) for _ in segment], {"y": y}, segment=segment) for y in targets]

    def options(self) -> dict[str, Any]:
        drawn = None if "val" in self.files else [self.val_fraction, self.seed]
        labels = None if self.learns_labels else self.labels
        columns = [self.text_columns, self.label_column]
        own = {"columns": columns, "goal": self.goal, "val": drawn, "labels": labels}
        limit = self.word_limit.max_words
        if self.word_limit.truncate:
            return {**super().options(), **own, "max_words": limit}
        # A lower one is checked again, whatever was processed under another.
        checked = {} if limit == MAX_WORDS else {"no_text_longer": limit}
        return {**super().options(), **own, **checked}

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return {"labels": list(self.labels)}

    def restore(self, notes: dict[str, Any]) -> None:
        self.labels = tuple(notes["labels"])

    def _target(self, row: TextRow, number: dict[Label, torch.Tensor]) -> torch.Tensor:
        if self.goal == "regression":
            return torch.tensor([row.number(self.label_column)])
        label = row.label(self.label_column)
        if label in number and type(label) is type(self.labels[0]):  # 1 is equal to true
            return number[label]
        message = f"{self.label_column!r} is none of the classes of the training file, {_some(self.labels)}"
        raise row_error(row.path, row.line, message, label if isinstance(label, str) else repr(label))

    def _check_options(self, labels: Sequence[Label] | None) -> None:
        if len(set(self.text_columns)) != len(self.text_columns) or len(self.text_columns) not in (1, 2):
            raise ValueError(f"'text_columns' must name one or two columns (got {list(self.text_columns)})")
        if self.label_column in self.text_columns:
            raise ValueError(f"'label_column' must be no column of texts (got {self.label_column!r})")
        if self.goal not in GOALS:
            raise ValueError(f"'goal' must be one of {', '.join(GOALS)} (got {self.goal!r})")
        if not 0 < self.val_fraction < 1:
            raise ValueError(f"'val_fraction' must be between 0 and 1 (got {self.val_fraction})")
        if self.goal == "regression" and labels:
            raise ValueError(f"'labels' are for goal='classification' (got {list(labels)})")
        for name, path in self.files.items():
            check_suffix(name, path)


def _learn(rows: list[TextRow], column: str) -> tuple[Label, ...]:
    """The classes of a file, sorted.

    Raises:
        ValueError: If there is one class alone, or some are texts and others numbers.
    """
    labels = [row.label(column) for row in rows]
    for row, label in zip(rows, labels):
        if type(label) is not type(labels[0]):
            kinds = f"{type(label).__name__} here and {type(labels[0]).__name__} in line {rows[0].line}"
            raise row_error(row.path, row.line, f"{column!r} is {kinds}", repr(label))
    classes = sorted(set(labels))
    if len(classes) < 2:
        raise row_error(rows[0].path, rows[0].line, f"all rows have the same {column!r}", repr(classes[0]))
    return tuple(classes)


def _some(labels: Sequence[Label]) -> str:
    return ", ".join(map(repr, labels[:10])) + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")
