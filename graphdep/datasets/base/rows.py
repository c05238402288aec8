"""Rows of tables, and the options that corpora share."""

from __future__ import annotations

import dataclasses
import inspect
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from graphdep.datasets.base.raw import (
    Form,
    check_forms,
    check_there,
    expect,
    read_cells,
    read_lines,
    read_table,
    row_error,
)
from graphdep.io.extras import check_extra
from graphdep.io.files import json_value, log_once, place_error, placed
from graphdep.io.limits import MAX_EXPANDED, MAX_ROWS, MAX_TABLE, check_name, check_whole, near_key, shown
from graphdep.parsing.parser import Input
from graphdep.sentence.exchange import COLUMN_NAMES, key_of, read_dicts
from graphdep.sentence.intake import Intake, needs_tree
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Raw


def check_header(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    """Raises :class:`ValueError` if a table has a column twice or lacks a required one."""
    twice = [name for name, count in Counter(header).items() if count > 1]
    expect(not twice, path, 1, "a column occurs twice", "".join(twice[:1]))
    check_there(path, 1, header, columns)


def read_parquet(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file with their numbers, from 1; one batch at a time is in memory.

    Args:
        path: The file.
        columns: Required columns.
    """
    check_extra(f"{path}: Parquet", "parquet")
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            check_header(path, file.schema_arrow.names, columns)
            about = file.metadata
            # The metadata of a damaged column may end the process: cells are counted as they are read.
            groups = (about.row_group(number).total_byte_size for number in range(about.num_row_groups))
            _check_unpacked(path, about.num_rows, about.num_rows * about.num_columns, sum(groups))
            number, cells, size = 0, 0, 0
            for batch in file.iter_batches(_BATCH):
                cells += sum(map(_num_values, batch.columns))
                size += sum(map(_unpacked_size, batch.columns))
                _check_unpacked(path, about.num_rows, cells, size)
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except UnicodeDecodeError as error:  # pyarrow does not check texts when it reads them
        raise ValueError(f"{path}: a text or a name that is not UTF-8 (got {error.object[:100]!r})") from None
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path}: not a readable Parquet file: {error}") from None


_BATCH = 1_024
_OBJECT = 50  # bytes of a short text in Python
_EXPANSION = 20


def _unpacked_size(values: Any) -> int:
    """Approximate bytes of a column in memory; a text that is stored once may be in a million rows."""
    if hasattr(values, "dictionary_decode"):
        values = values.dictionary_decode()
    inner = values.flatten() if hasattr(values, "value_lengths") else None  # of lists
    return _OBJECT * len(values) + (values.nbytes if inner is None else _unpacked_size(inner))


def _num_values(values: Any) -> int:
    """Number of values of a column, in lists too."""
    return _num_values(values.flatten()) if hasattr(values, "value_lengths") else len(values)


def _check_unpacked(path: Path, rows: int, cells: int, size: int) -> None:
    """Raises :class:`ValueError` if a small file would fill the memory."""
    advice = "split the file, or write it as .jsonl"
    if rows > MAX_ROWS:
        raise place_error(str(path), f"{rows} rows, but a Parquet file may have at most {MAX_ROWS}: {advice}")
    # A large file may need much memory, and so may many cells, each perhaps in a list: a column of one label
    # is small in the file.
    most = max(MAX_TABLE, _EXPANSION * path.stat().st_size) + min(2 * _OBJECT * cells, MAX_EXPANDED)
    if size > most:
        raise place_error(str(path), f"more than {most >> 20} MiB when unpacked: {advice}")


SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
OBJECTS = (".jsonl", ".json", ".parquet")
"""Files with typed values: texts, numbers, lists."""
Label = str | int | float | bool
# The largest 32-bit float.
_MAX_NUMBER = (2 - 2**-23) * 2.0**127


class TextRow(NamedTuple):
    """A row, and the line on which it starts; in a Parquet file or a JSON list its number, from 1."""

    path: Path
    line: int
    values: dict[str, Any]

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.path}:{self.line}"

    def error(self, message: str, value: object = None) -> ValueError:
        """An error that begins with the place."""
        return place_error(self.place, message, value)

    def value(self, column: str, form: Form) -> Any:
        """The value in a column; raises :class:`ValueError` unless it has the form."""
        check_forms(self.place, self.values, {column: form})
        return self.values[column]

    def text(self, column: str) -> str:
        """The text in a column, which must have a word."""
        return self.value(column, _WORDS).strip()

    def label(self, column: str) -> Label:
        """The class in a column: a text, stripped in tables; in objects also a number or a Boolean."""
        value = self.value(column, CLASS)
        return value.strip() if isinstance(value, str) and self.path.suffix.lower() not in OBJECTS else value

    def number(self, column: str) -> float:
        """The number in a column, finite as a 32-bit float."""
        return float(self.value(column, _NUMBER))


def _is_number(value: Any) -> bool:
    try:  # an integer of JSON may have any size
        return not isinstance(value, bool) and "_" not in str(value) and abs(float(value)) <= _MAX_NUMBER
    except (TypeError, ValueError, OverflowError):
        return False


_WORDS = Form("a text with at least one word", lambda value: isinstance(value, str) and value.strip() != "")
CLASS = Form(
    "the name of a class",  # NaN is not a class
    lambda value: isinstance(value, (str, int, float)) and value == value and str(value).strip() != "",
)
_NUMBER = Form("a number that is finite in 32 bits", _is_number)


def check_suffix(name: str, path: Path, known: Sequence[str] = SUFFIXES) -> None:
    """Raises :class:`ValueError` if the suffix of a file is unknown."""
    if path.suffix.lower() not in known:
        raise ValueError(f"{name!r} must end in {', '.join(known)} (got {str(path)!r})")


def read_text_rows(path: Path, columns: Sequence[str]) -> list[TextRow]:
    """The rows of a file, whose suffix decides the format; text files are UTF-8.

    ============  ========================================================================================
    ``.csv``      a header and rows, separated by commas, or by semicolons if the header has no comma;
                  fields may be quoted
    ``.tsv``      a header and rows, separated by tabs, without quoting: a quotation mark is part of a text
    ``.jsonl``    one object per line, with at least the given columns, or a list of objects
    ``.json``     as ``.jsonl``
    ``.parquet``  a table of texts, numbers, Booleans and lists; needs the extra ``[parquet]``
    ============  ========================================================================================

    A control character is read as a blank; a log line has their number.

    Args:
        path: The file.
        columns: Required columns.
    """
    check_suffix("path", path)
    rows = list(iter_text_rows(path, columns))
    expect(rows, path, 1, "no row below the header")
    return rows


def column_names(path: Path) -> list[str]:
    """The columns of a file: the header of a table, or the keys of the first object."""
    if path.suffix.lower() in OBJECTS:
        return [*next(iter_text_rows(path, ())).values]
    _, names = next(read_cells(path, **_style(path)))
    return names


def rows_of_lines(source: Path, lines: Sequence[str], columns: Sequence[str]) -> list[TextRow]:
    """Lines of text as rows, whose columns are separated by tabs."""
    rows = []
    for number, line in enumerate(lines, start=1):
        cells = line.split("\t") if len(columns) > 1 else [line]
        if len(cells) != len(columns):
            raise row_error(source, number, f"not {len(columns)} texts separated by a tab", line)
        rows.append(TextRow(source, number, dict(zip(columns, cells))))
    return rows


def check_columns(path: Path, columns: Sequence[str]) -> TextRow | None:
    """Raises as :func:`read_text_rows` does for the first row, and returns that row."""
    return next(iter_text_rows(path, columns), None)


def iter_text_rows(path: Path, columns: Sequence[str]) -> Iterator[TextRow]:
    """As :func:`read_text_rows`, row by row; a file may have no rows."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return (TextRow(path, number, row) for number, row in read_parquet(path, columns))
    return _objects(path, columns) if suffix in OBJECTS else _table(path, columns)


def _objects(path: Path, columns: Sequence[str]) -> Iterator[TextRow]:
    for line, value in _values(path):
        if not isinstance(value, dict):
            raise row_error(path, line, "not an object", value)
        check_there(path, line, value, columns)
        yield TextRow(path, line, value)


def _values(path: Path) -> Iterator[tuple[int, Any]]:
    """The value of each line, or the entries of a list."""
    lines = read_lines(path, control=True)
    first = next(lines)
    if first[1].lstrip().startswith("["):
        content = "\n".join(text for _, text in chain([first], lines))
        yield from enumerate(json_value(content, str(path)), start=1)
        return
    for line, text in chain([first], lines):
        yield line, json_value(text, f"{path}:{line}")


def _style(path: Path) -> dict[str, Any]:
    """The options for reading a table."""
    if path.suffix.lower() != ".csv":
        return {"control": True}  # published texts have control characters, too
    _, header = next(read_lines(path, control=True))
    unquoted = re.sub('"[^"]*"', "", header)
    if semicolons := ";" in unquoted and "," not in unquoted:
        log_once(str(path), "the separator is ';', as in the header")
    return {"separator": ";" if semicolons else ",", "quoted": True, "control": True}


def _table(path: Path, columns: Sequence[str]) -> Iterator[TextRow]:
    names = column_names(path)
    check_header(path, names, columns)
    for line, cells in read_table(path, names, **_style(path)):
        yield TextRow(path, line, dict(zip(names, cells)))


TREE = ("head", "deprel")
"""Keys of a tree: the governor of each word (from 1, 0 for the root), and the relation to it."""


def row_words(row: TextRow, max_words: int | None = None) -> list[str]:
    """The words of an object, none of them blank.

    Args:
        row: The object.
        max_words: The largest number of words; :obj:`None` for no limit. (default: :obj:`None`)
    """
    what = "a list of at least one word" if max_words is None else f"a list of 1 to {max_words} words"
    most = math.inf if max_words is None else max_words
    form = Form(f"{what}, none of them blank", lambda words: are_texts(words) and len(words) <= most)
    return row.value("words", form)


def are_texts(values: Any) -> bool:
    """Whether a value is a list of at least one text, none of them blank."""
    return isinstance(values, list) and values != [] and all(map(_WORDS.holds, values))


_MORE = ("edges", "upos", "xpos", "pos", "lemma", "feats", "misc", "deps", "empty", "multiword")
TREE_COLUMNS = (*TREE, *_MORE, "constituents", "multiroot")
"""Keys of a tree, and optional keys beside it."""
HEAD_NAMES, DEPREL_NAMES = COLUMN_NAMES["head"], COLUMN_NAMES["deprel"]
TREE_KEYS = (*HEAD_NAMES, *DEPREL_NAMES, "edges")
"""Keys that mark a row with a tree or arcs."""


def row_raw(row: TextRow, words: list[str]) -> Raw | None:
    """The tree (``head``, ``deprel``) or arcs (``edges``) of a row; :obj:`None` without these keys."""
    if all(row.values.get(name) is None for name in TREE_KEYS):
        return None
    columns = {name: row.values[name] for name in TREE_COLUMNS if row.values.get(name) is not None}
    with placed(row.place, "no tree: "):
        keys = {name: key_of(row.values, name) for name in TREE}
    columns |= {name: row.values[key] for name, key in keys.items() if key is not None}
    missing = [name for name in TREE if name not in columns]
    if len(missing) == 1:
        raise row.error(f"no tree: no {missing[0]!r}")
    with placed(row.place, "no tree: "):
        [raw] = read_dicts({"form": words, **columns}).raws
    return raw._replace(place=row.place)


def as_value(one: Input) -> Any:
    """An input as a JSON value, for :func:`~graphdep.parsing.inputs.read_inputs`."""
    if not isinstance(one, Sentence):
        return one if isinstance(one, str) else list(one)
    columns = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    del columns["tree_from"]
    if needs_tree(one):  # only its arcs are written
        arcs = [
            [int(head), word, label]
            for word, own in enumerate(one.deps or [], start=1)
            for head, label in own
        ]
        columns |= {"head": None, "deprel": None, "deps": None, "edges": arcs}
    return {name: value for name, value in columns.items() if value not in (None, [], False)}


def tree_values(tree: Sentence) -> dict[str, Any]:
    """The keys of a tree in a row, for :func:`row_raw`."""
    return {name: value for name, value in as_value(tree).items() if name in TREE_COLUMNS}


def taken(
    raws: Sequence[Raw | None], intake: Intake, multiroot: bool = False
) -> tuple[list[Any], list[bool]]:
    """The tree of each row, or :obj:`None`; and whether ``bad_trees`` keeps the row."""
    made = iter(intake.sentences([raw for raw in raws if raw is not None], multiroot=multiroot))
    trees = [None if raw is None else next(made) for raw in raws]
    return trees, [raw is None or tree is not None for raw, tree in zip(raws, trees)]


def check_label(place: str, label: Any) -> None:
    """Raises :class:`ValueError`, with the place, if a label is not a text or cannot stand in a table."""
    if label is not None and not (isinstance(label, str) and label.strip()):
        raise place_error(place, f"a label must be a text (got {shown(label)})")
    if label is not None:
        with placed(place):
            check_name("label", label)


def check_tree_words(place: str, words: Sequence[str], tree: Sentence | None) -> None:
    """Raises :class:`ValueError`, with the place, if a tree has other words."""
    if tree is not None and list(tree.form) != list(words):
        raise place_error(place or "words", "the tree has other words", " ".join(tree.form))


def check_keys(row: TextRow, read: Sequence[str], others: Sequence[str] = ()) -> None:
    """Raises :class:`ValueError`, with file and line, if a key looks like a misspelled one, which would be
    ignored silently. All other keys are allowed.

    Args:
        row: The object.
        read: The keys that are read.
        others: Known keys that are not read here. (default: none)

    Example:
        >>> from pathlib import Path
        >>> from graphdep.datasets.base.rows import check_keys
        >>> from graphdep.datasets.base.rows import TextRow
        >>> path, words = Path("a.jsonl"), ["It", "rains"]
        >>> check_keys(TextRow(path, 1, {"words": words, "id": 7}), ["words", "mark"])
        >>> check_keys(TextRow(path, 1, {"words": words, "marks": 1}), ["words", "mark"])
        Traceback (most recent call last):
            ...
        ValueError: a.jsonl:1: unknown key 'marks' (did you mean 'mark'?)
    """
    if message := near_key(row.values, read, others):
        raise row.error(message)


UNKNOWN = -1
"""A label that does not occur in training: it is scored, and every prediction is wrong."""
CONTINUED = -1000
"""Minus the number of ``B-X`` or ``I-X``, this is a label ``B-C-X`` or ``I-C-X`` (a further part of an X)
that does not occur in training: as :data:`UNKNOWN`, unless the parts of an X are scored as one span.
"""
UNSCORED = -100
"""A word without a label, which is not scored; PyTorch's losses ignore this number."""


T = TypeVar("T")
L = TypeVar("L", bound=Any)
_SEED = 20180420


class Draw:
    """Draws with ``random()`` only, which is the same in every version of Python."""

    def __init__(self, source: random.Random) -> None:
        self.source = source

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.source.random() * len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return [items[i] for _, i in sorted((self.source.random(), i) for i in range(len(items)))]


class Grammar(Draw):
    """Draws texts, each once."""

    def __init__(self, source: random.Random) -> None:
        super().__init__(source)
        self._seen: set[Any] = set()

    def take(self, *texts: Any) -> bool:
        """Takes the texts unless one of them was taken before; returns whether they were taken."""
        if new := self._seen.isdisjoint(texts):
            self._seen.update(texts)
        return new


def spread_rows(rows: Sequence[T], limit: int) -> list[T]:
    """Some rows in their order, one drawn from each of ``limit`` parts of about equal size.

    The seed is fixed. Rows at even distances would all have the same label if labels alternate.

    Args:
        rows: All rows.
        limit: The largest number of rows.
    """
    count, draw = min(limit, len(rows)), Draw(random.Random(_SEED))
    bounds = [part * len(rows) // count for part in range(count + 1)] if rows else []
    return [rows[draw.pick(range(start, end))] for start, end in pairwise(bounds)]


def check_seed(seed: int) -> int:
    """Checks and returns a seed; :obj:`None` would give each split another draw."""
    check_whole("seed", seed, -math.inf)
    return seed


def drawn_part(
    size: int, share: float, seed: int, place: str, what: str, then: str = ", give a file for it (--val)"
) -> set[int]:
    """Numbers below ``size`` that are drawn for validation: at least one, and not all of them.

    Args:
        size: The number of rows or sentences.
        share: The share to draw, more than 0 and less than 1.
        seed: Seed of the draw.
        place, what, then: The file, what is drawn, and advice, for messages.
    """
    if size < 2:
        raise place_error(place, f"fewer than two different {what}: 'val' cannot be drawn{then}")
    count = min(max(1, round(size * share)), size - 1)
    return set(Draw(random.Random(seed)).shuffled(range(size))[:count])


def learned_names(labels: Iterable[L], place: str) -> list[L]:
    """The classes of labels, sorted."""
    names = sorted({*labels})
    if len(names) <= 1:
        raise place_error(
            place, f"all labels of the training split are {names[0]!r}" if names else "nothing has a label"
        )
    return names


def some_of(labels: Sequence[Any]) -> str:
    """Up to ten labels, and the number of further ones."""
    return ", ".join(map(repr, labels[:10])) + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")


class KnownOptions:
    """Mixin of datasets that refuses unknown options before anything is read or written.

    A constructor names its own options and passes ``**options`` to the base class; :attr:`shared_options`
    declares these.
    """

    shared_options: ClassVar[type]
    """A :class:`~typing.TypedDict` of the options of a base class for all of its subclasses."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        names = option_names(cls)
        for name in options:
            if name not in names:
                got = f"{cls.__name__}.__init__() got an unexpected keyword argument {name!r}"
                raise TypeError(f"{got}: it takes {', '.join(names)}")
        return super().__new__(cls)


def option_names(make: Callable[..., Any]) -> tuple[str, ...]:
    """The options of a dataset, its own ones first; the arguments of any other callable."""
    if not (isinstance(make, type) and issubclass(make, KnownOptions)):
        return tuple(inspect.signature(make).parameters)
    names: dict[str, None] = {}
    for base in make.__mro__:
        if "__init__" not in vars(base):
            continue
        _, *parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
        names |= {p.name: None for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break  # nothing is passed on
        if "shared_options" in vars(base):
            names |= dict.fromkeys(vars(base)["shared_options"].__annotations__)
            break
    return tuple(names)
