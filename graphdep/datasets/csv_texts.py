"""A user's own texts, from CSV, JSON and Hugging Face datasets."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import torch

from graphdep.datasets.base.drawn import DrawnVal
from graphdep.datasets.base.parsed import Example, ParsedDataset, ParsedOptions, TextDataset
from graphdep.datasets.base.raw import OwnFiles, logger, row_error
from graphdep.datasets.base.rows import (
    CLASS,
    DEPREL_NAMES,
    HEAD_NAMES,
    OBJECTS,
    TREE_COLUMNS,
    TREE_KEYS,
    Label,
    TextRow,
    are_texts,
    check_suffix,
    drawn_part,
    learned_names,
    read_text_rows,
    row_raw,
    some_of,
)
from graphdep.datasets.labels.base import OwnLabels
from graphdep.datasets.spans.base import OwnSpans
from graphdep.io.files import atomic_path, each, placed
from graphdep.io.limits import MAX_WORDS, check_choice, check_words, plural
from graphdep.parsing.inputs import has_own_tree
from graphdep.parsing.parser import Input, Parser, WordLimit
from graphdep.sentence.exchange import read_dicts
from graphdep.sentence.intake import Intake
from graphdep.sentence.sentence import Sentence, join_sentences
from graphdep.sentence.tree import Found

GOALS = ("classification", "regression")


class CSVTexts(OwnFiles, TextDataset):
    r"""The user's own texts or pairs of texts, one tree per text, from files with named columns: ``.csv``,
    ``.tsv``, ``.jsonl`` or ``.parquet`` (:func:`~graphdep.datasets.base.rows.read_text_rows`).

    The files are not copied; :obj:`root` has only processed examples and the cache of parses. The classes are
    those of the whole training file, sorted by name. The sentences of a text are joined into one tree.

    In ``.jsonl`` and ``.parquet`` the value of a text may be a list of words, or a parse: an object or list
    of objects for :meth:`graphdep.Sentence.from_dict`, such as
    ``{"words": [...], "head": [...], "deprel": [...]}``. With one column of texts the row itself may have
    these keys; without ``words`` the text is split at white space.

    Args:
        root: Folder for processed files. (default: ``"datasets/csv"``)
        split: ``"train"``, ``"val"`` or, with a file for it, ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        train: File with the training texts.
        val: File with the validation texts; :obj:`None` draws them from the training file.
            (default: :obj:`None`)
        test: File with the test texts; :obj:`None` for no such split. (default: :obj:`None`)
        text_columns: Name of the column with the texts, or names of the two columns with pairs of texts.
        label_column: Name of the column with the labels.
        goal: ``"classification"``, or ``"regression"`` for labels that are numbers.
            (default: ``"classification"``)
        labels: The classes, e.g. of a checkpoint; :obj:`None` learns them. (default: :obj:`None`)
        val_fraction: The share that is drawn for validation. (default: :obj:`0.1`)
        seed: Seed of that draw. (default: :obj:`0`)
        max_words, truncate: The largest number of words of a text, and whether longer texts are truncated
            instead of an error (:class:`~graphdep.parsing.parser.WordLimit`). (default: :obj:`10_000`,
            :obj:`False`)
        tree_scheme, bad_trees: Options ``scheme`` and ``bad_trees`` of :class:`~graphdep.sentence.Intake` for
            the trees in the files. (default: ``"auto"``, ``"error"``)
        options: Further options, see :class:`ParsedOptions`, except :obj:`raw_from`.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the class in :attr:`labels`; for regression :math:`(1)`
          float, the number

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If an option or a row is wrong, for example a column is missing, a text is empty or too
            long, or a label is not in the training file; the message has file, line and value.

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
    """The classes by their numbers; empty for regression."""

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
        tree_scheme: str = "auto",
        bad_trees: str = "error",
        **options: Unpack[ParsedOptions],
    ) -> None:
        self.take_files(train, val, test, options.get("raw_from"), tree_scheme, bad_trees)
        self.text_columns = (text_columns,) if isinstance(text_columns, str) else tuple(text_columns)
        self.label_column, self.goal = label_column, goal
        self.val_fraction, self.seed = val_fraction, seed
        self.word_limit = WordLimit(max_words, truncate)
        self._check_options(labels)
        self.learns_labels = labels is None and goal == "classification"
        self.own_trees: dict[str, int] = {}
        self.labels = tuple(labels or ())
        self.train_is_for = "words and classes are learned from it unless they are given"
        super().__init__(root, split, parser, **options)

    def update_digest(self, sha: hashlib._Hash) -> None:
        super().update_digest(sha)
        sha.update(repr(self.labels).encode())  # the meaning of the class numbers

    @property
    def num_classes(self) -> int:
        """The number of classes, independent of the split; 1 for regression."""
        return len(self.labels) or 1

    def read(self, folder: Path, split: str) -> list[TextRow]:
        columns = [*self.text_columns, self.label_column]
        path = self.file(split)
        rows = read_text_rows(path, columns)
        if "val" in self.files or split == "test":
            return rows
        drawn = drawn_part(len(rows), self.val_fraction, self.seed, rows[0].place, "rows")
        return [row for number, row in enumerate(rows) if (number in drawn) == (split == "val")]

    def take_in(self, path: Path, intake: Intake) -> list[Input | None]:
        rows = read_text_rows(path, self.text_columns)
        cells = [(row, column) for row in rows for column in self.text_columns]
        return read_cells(cells, len(self.text_columns) == 1, intake)

    def texts(self) -> list[tuple[str, ...]]:
        return [self._texts(row) for row in self.read(Path(self.raw_dir), self.split)]

    def _texts(self, row: TextRow) -> tuple[str, ...]:
        single = len(self.text_columns) == 1
        return tuple(_plain(_given(row, column, single)) for column in self.text_columns)

    def check_file(self, split: str) -> None:
        rows = read_text_rows(self.file(split), [*self.text_columns, self.label_column])
        each(lambda check: check(), [partial(super().check_file, split), partial(self._targets, rows)])

    def _targets(self, rows: Sequence[TextRow]) -> list[torch.Tensor]:
        if self.learns_labels and not self.labels:
            training, column = read_text_rows(self.files["train"], [self.label_column]), self.label_column
            valid = {row.label(column) for row in training if CLASS.holds(row.values[column])}
            self.labels = tuple(sorted(valid, key=repr))  # by which other files are checked after an error
            self.labels = _learn(training, column)
        number = {label: torch.tensor([number]) for number, label in enumerate(self.labels)}
        return each(lambda row: self._target(row, number), rows)

    def examples(self, split: str, limit: int | None) -> list[Example]:
        rows = self.read(Path(self.raw_dir), split)
        targets = self._targets(rows)[:limit]
        cells = [(row, column) for row in rows[: len(targets)] for column in self.text_columns]
        marked = [row for row, column in cells if "</e1>" in str(row.values[column])]
        if split == "train" and 2 * len(marked) > len(cells):
            told = "%s: most texts have <e1>...</e1>, read here as words: --task spans reads marked spans"
            logger.warning(told, marked[0].place)
        trees = self._trees(cells, split)
        segment = list(range(len(self.text_columns)))
        whole = [[next(trees) for _ in segment] for _ in targets]
        return [
            Example(
                [tree for tree in own if tree is not None],
                {"y": y},
                segment=segment,
                given=[self._texts(row), self._label(row)],
            )
            for row, own, y in zip(rows, whole, targets)
            if None not in own
        ]

    def _trees(self, cells: Sequence[tuple[TextRow, str]], split: str) -> Iterator[Sentence | None]:
        """The tree of each text, its own or the parser's; :obj:`None` for texts that are left out."""
        places = [f"{row.path}:{row.line}: {column!r}" for row, column in cells]
        intake = self.intake(split)
        inputs = read_cells(cells, len(self.text_columns) == 1, intake)
        self.keep_count(split, intake)
        self.own_trees[split] = int(has_own_tree(inputs).sum())
        limited = (self.word_limit.input(o, place) for o, place in zip(inputs, places) if o is not None)
        trees = iter(self.trees_of_texts([*limited]))
        for one, place in zip(inputs, places):
            yield None if one is None else self.word_limit.tree(next(trees), place)

    def options(self) -> dict[str, Any]:
        drawn = None if "val" in self.files else [self.val_fraction, self.seed]
        labels = None if self.learns_labels else self.labels
        columns = [self.text_columns, self.label_column]
        own = {"columns": columns, "goal": self.goal, "val": drawn, "labels": labels, **self.tree_options()}
        limit = self.word_limit.max_words
        if self.word_limit.truncate:
            return {**super().options(), **own, "max_words": limit}
        # With another limit, the lengths of texts are checked again.
        checked = {} if limit == MAX_WORDS else {"no_text_longer": limit}
        return {**super().options(), **own, **checked}

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        own = {"taken": self.taken[self.split], "own_trees": self.own_trees[self.split]}
        return {"labels": list(self.labels), **own}

    def restore(self, notes: dict[str, Any]) -> None:
        self.labels = tuple(notes["labels"])
        self.taken, self.own_trees = {self.split: notes["taken"]}, {self.split: notes["own_trees"]}

    def describe(self) -> dict[str, Any]:
        """As for every corpus, with the numbers of texts with own trees and of changed trees."""
        own = self.own_trees[self.split]
        notes = [*([f"own trees: {plural(own, 'text')}"] if own else [])]
        notes += [self.taken[self.split]["note"]] if self.taken[self.split]["note"] else []
        counts = {"own_trees": own, "note": "; ".join(notes)} if notes else {}
        return super().describe() | self.describe_trees() | counts

    def _label(self, row: TextRow) -> Any:
        regression = self.goal == "regression"
        return row.number(self.label_column) if regression else row.label(self.label_column)

    def _target(self, row: TextRow, number: dict[Label, torch.Tensor]) -> torch.Tensor:
        label = self._label(row)
        if self.goal == "regression":
            return torch.tensor([label])
        if label in number and type(label) is type(self.labels[0]):  # 1 is equal to true
            return number[label]
        message = f"{self.label_column!r} is not a class of the training file, {some_of(self.labels)}"
        raise row_error(row.path, row.line, message, label)

    def _check_options(self, labels: Sequence[Label] | None) -> None:
        texts = list(self.text_columns)
        if len(set(texts)) != len(texts) or len(texts) not in (1, 2):
            raise ValueError(f"'text_columns' must name one or two columns (got {texts})")
        if self.label_column in texts:
            raise ValueError(f"'label_column' must be no column of texts (got {self.label_column!r})")
        check_choice("goal", self.goal, GOALS)
        DrawnVal(self.val_fraction, self.seed)  # checks them
        if self.goal != "classification" and labels:
            raise ValueError(f"'labels' are for goal='classification' (got {labels and list(labels)})")
        for name, path in self.files.items():
            check_suffix(name, path)


def read_cells(cells: Sequence[tuple[TextRow, str]], single: bool, intake: Intake) -> list[Input | None]:
    """The text, words or tree of each cell; :obj:`None` for one that is left out because of its tree.

    Args:
        cells: Rows and names of columns.
        single: Whether a row has one text, and may have the keys of its tree.
        intake: Converts and repairs all trees.
    """
    given = each(lambda cell: _given(cell[0], cell[1], single), cells)
    own = iter(intake.sentences([raw for one in given if isinstance(one, Found) for raw in one.raws]))
    inputs: list[Input | None] = []
    for one in given:
        if isinstance(one, Found):
            read = [next(own) for _ in one.raws]
            whole = [sentence for sentence in read if sentence is not None]
            inputs.append(join_sentences(whole) if len(whole) == len(read) else None)
        else:
            inputs.append(one if isinstance(one, str) else tuple(one))
    return inputs


def _given(row: TextRow, column: str, single: bool) -> str | list[str] | Found:
    """The text, words or parse of a cell; in a row of a single text, the row itself may be the parse."""
    value = row.values[column]
    if row.path.suffix.lower() not in OBJECTS:
        if single and row.values.keys() & {*HEAD_NAMES} and row.values.keys() & {*DEPREL_NAMES}:
            raise row.error(f"a table has no trees: write its rows to {', '.join(OBJECTS)}")
        return row.text(column)
    if single and any(row.values.get(name) is not None for name in TREE_KEYS):
        words: Any = next(row.values[key] for key in ("words", "tokens", column) if key in row.values)
        raw = row_raw(row, words.split() if isinstance(words, str) else words)
        return Found([raw] if raw else [], True)
    if single and isinstance(value, str):
        value = _words_beside(row, column)
    if are_texts(value):
        with placed(row.place):
            check_words(column, value)
        return [*value]
    if isinstance(value, (dict, list)):
        with placed(row.place, f"{column!r}: "):
            found = read_dicts(value)
        return Found([raw._replace(place=row.place) for raw in found.raws], found.single)
    return row.text(column)


def _words_beside(row: TextRow, column: str) -> str | list[str]:
    """The text of a cell, or its words if the row has them."""
    text = row.text(column)
    sentences = row.values.get("sentences")
    if isinstance(sentences, list) and sentences and all(map(are_texts, sentences)):
        raise row.error(f"'sentences' beside {column!r} are not read: give all their words as 'words'")
    for name in ("words", "tokens"):
        if are_texts(row.values.get(name)):
            words: list[str] = row.values[name]
            if "".join(words) != "".join(text.split()):
                message = f"{name!r} are not the words of {column!r}: leave one out, or rename {name!r}"
                raise row.error(message, " ".join(words))
            return words
    return text


def _plain(given: str | list[str] | Found) -> str:
    """The text of a cell, for display."""
    if isinstance(given, Found):
        given = [word for raw in given.raws for word in raw.columns["form"]]
    return given if isinstance(given, str) else " ".join(given)


def _learn(rows: list[TextRow], column: str) -> tuple[Label, ...]:
    """The classes of a file, sorted."""
    labels = each(lambda row: row.label(column), rows)
    for row, label in zip(rows, labels):
        if type(label) is not type(labels[0]):
            kinds = f"{type(label).__name__} here and {type(labels[0]).__name__} in line {rows[0].line}"
            raise row.error(f"{column!r} is {kinds}", label)
    return tuple(learned_names(labels, f"{rows[0].place}: {column!r}"))


SPLITS = {"train": ("train",), "val": ("validation", "val", "valid", "dev"), "test": ("test",)}
"""Names of our splits in Hugging Face datasets."""


def from_hf(
    data: Any,
    *,
    text: str | Sequence[str] | None = None,
    words: str | None = None,
    spans: str | None = None,
    label: str = "label",
    splits: Mapping[str, str] | None = None,
    root: str | os.PathLike[str] = "datasets/hf",
    **options: Any,
) -> dict[str, ParsedDataset]:
    """Makes parsed examples of a ``Dataset`` or ``DatasetDict`` of Hugging Face's library *datasets*.

    ====================================  ====================================================================
    ``text="sentence"``                   a label or number for each text
                                          (:class:`~graphdep.datasets.CSVTexts`)
    ``text=("premise", "hypothesis")``    a label or number for each pair of texts
    ``words="tokens", label="ner_tags"``  a label for each word (:class:`~graphdep.datasets.OwnLabels`)
    ``text=`` or ``words=``, ``spans=``   a label for one or two spans
                                          (:class:`~graphdep.datasets.OwnSpans`)
    ====================================  ====================================================================

    Columns ``head`` and ``deprel`` are the trees of the rows, which are then not parsed, with optional
    ``upos``, ``xpos``, ``lemma``, ``feats``, ``deps`` and ``constituents``; ``mark`` is the marked word.

    The rows are written to files of JSON lines in :obj:`root`, with a digest in their names, and read from
    there; numbers of a ``ClassLabel`` become the names of the classes.

    Args:
        data: The dataset; without splits, it is the training split.
        text: Name of the column with the texts, or of the two columns with pairs of texts.
        words: Name of the column with lists of words.
        spans: Name of the column with one or two ``[start, end]``.
        label: Name of the column with the labels. (default: ``"label"``)
        splits: The names of its splits for ``"train"``, ``"val"`` and ``"test"``; others are not read.
            (default: the usual names; any other split is an error)
        root: Folder for the files, processed examples and the cache of parses. (default: ``"datasets/hf"``)
        options: Further options of the class, such as :obj:`parser` and :obj:`transform`.

    Returns:
        The datasets by split. Without a validation split, a part of the training split is drawn.

    Raises:
        ValueError: If :obj:`data` is another object, a split or column is missing, a label is not in its
            ``ClassLabel`` (test splits without labels have -1), or a row is wrong, with split, row and value.

    .. code-block:: python

        cola = load_dataset("glue", "cola")  # its test split has no labels
        parts = from_hf(cola, text="sentence", splits={"train": "train", "val": "validation"})
        loader = DataLoader(parts["train"], batch_size=32, shuffle=True)

    Example:
        >>> from graphdep.datasets import from_hf
        >>> from_hf({"text": ["A fine film."], "label": ["good"]}, text="text")
        Traceback (most recent call last):
            ...
        ValueError: 'data' must be a Dataset or DatasetDict (got dict)
    """
    columns, make = _family(text, words, spans, label)
    found = _splits(data, splits)
    known = [*TREE_COLUMNS, *(["words", "tokens"] if isinstance(text, str) and spans is None else ["mark"])]
    folder = Path(root)
    files = {
        name: _write(folder, name, rows, columns | {key: key for key in known if key in rows.column_names})
        for name, rows in found.items()
    }
    wanted = [*files, *(["val"] if "val" not in files else [])]
    return {name: make(folder, name, **files, **options) for name in wanted}


def _family(
    text: str | Sequence[str] | None, words: str | None, spans: str | None, label: str
) -> tuple[dict[str, str], Callable[..., ParsedDataset]]:
    """The columns to read, by their names in our files, and the class of the dataset."""
    if (text is None) == (words is None) or (spans is not None and not isinstance(text or "", str)):
        one = "either 'text' or 'words' must be given, and name one column if 'spans' is given"
        raise ValueError(f"{one} (got {text!r} and {words!r})")
    if spans is not None:
        ours, theirs = ("text", text) if words is None else ("words", words)
        return {ours: str(theirs), "spans": spans, "label": label}, OwnSpans
    if words is not None:
        return {"words": words, "labels": label}, OwnLabels
    names = [text] if isinstance(text, str) else list(text or ())
    columns = ["text"] if len(names) == 1 else [f"text{number}" for number in range(1, len(names) + 1)]

    def make(*args: Any, **options: Any) -> CSVTexts:
        return CSVTexts(*args, text_columns=columns, label_column="label", **options)

    return {**dict(zip(columns, names)), "label": label}, make


def _splits(data: Any, splits: Mapping[str, str] | None) -> dict[str, Any]:
    """The splits of a dataset by our names."""
    if hasattr(data, "column_names") and hasattr(data, "features") and not isinstance(data, Mapping):
        data = {"train": data}
    if not isinstance(data, Mapping) or not all(hasattr(part, "features") for part in data.values()):
        raise ValueError(f"'data' must be a Dataset or DatasetDict (got {type(data).__name__})")
    there = ", ".join(data)
    if splits is None:
        ours = {theirs: name for name, usual in SPLITS.items() for theirs in usual}
        if strange := [name for name in data if name not in ours]:
            raise ValueError(
                f"unknown split {strange[0]!r} among {there}: name the splits to read, such as "
                f"splits={{'train': 'train', 'val': {strange[0]!r}}}"
            )
        splits = {ours[name]: name for name in data}
    for name, theirs in {**splits, "train": splits.get("train")}.items():
        check_choice("splits", name, SPLITS)
        if theirs not in data:
            raise ValueError(f"no split {theirs or 'to train on'!r} for {name!r}; there are {there}")
    return {name: data[theirs] for name, theirs in splits.items()}


def _write(folder: Path, split: str, rows: Any, columns: Mapping[str, str]) -> Path:
    """Writes the columns of a split to a file with a digest in its name, and returns the file."""
    for column in columns.values():
        if column not in rows.column_names:
            raise ValueError(f"{split}: no column {column!r}; the columns are {', '.join(rows.column_names)}")
    text = "".join(_lines(split, rows, columns))
    path = folder / f"{split}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsonl"
    if not path.exists():
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")
    return path


def _lines(split: str, rows: Any, columns: Mapping[str, str]) -> Iterator[str]:
    names = {column: _class_names(rows.features[column]) for column in columns.values()}
    cells = zip(*(rows[theirs] for theirs in columns.values()))
    for number, row in enumerate(cells):
        place = f"{split}, row {number}"
        values = {
            ours: _named(value, names[theirs], f"{place}: {theirs!r}")
            for (ours, theirs), value in zip(columns.items(), row)
        }
        with placed(place, value=values):
            try:
                line = json.dumps(values, ensure_ascii=False, allow_nan=False)
            except TypeError as error:  # of a value that JSON cannot hold
                raise ValueError(error) from None
        yield f"{line}\n"


def _class_names(feature: Any) -> list[str] | None:
    """The names of a ``ClassLabel``, or of a sequence of them."""
    feature = getattr(feature, "feature", feature)
    return getattr(feature, "names", None)


def _named(value: Any, names: list[str] | None, place: str) -> Any:
    if names is None or value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_named(one, names, place) for one in value]
    if not 0 <= value < len(names):
        raise ValueError(f"{place} is not among the classes {', '.join(names)} (got {value})")
    return names[value]
