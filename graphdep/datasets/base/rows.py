"""Rows of tables, and the options that corpora share."""

from __future__ import annotations

import dataclasses
import inspect
import math
import random
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
from graphdep.io.files import json_value, place_error, placed
from graphdep.io.limits import MAX_EXPANDED, MAX_ROWS, check_name, check_whole, near_key, shown
from graphdep.parsing.parser import Input
from graphdep.sentence.exchange import COLUMN_NAMES, key_of, read_dicts
from graphdep.sentence.intake import Intake, needs_tree
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Raw


def check_header(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    """Raises :class:`ValueError` if a table has a column twice, or not one that it must have."""
    twice = [name for name, count in Counter(header).items() if count > 1]
    expect(not twice, path, 1, "a column is there twice", "".join(twice[:1]))
    check_there(path, 1, header, columns)


def read_parquet(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file with their numbers, from 1; no more than a batch of them is in memory.

    Args:
        path: The file.
        columns: Columns that it must have, among others.
    """
    check_extra(f"{path}: Parquet", "parquet")
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            check_header(path, file.schema_arrow.names, columns)
            about = file.metadata
            groups = (about.row_group(number) for number in range(about.num_row_groups))
            _check_unpacked(path, about.num_rows, sum(group.total_byte_size for group in groups))
            number, size = 0, 0
            for batch in file.iter_batches(_BATCH):
                size += sum(map(_unpacked_size, batch.columns))
                _check_unpacked(path, about.num_rows, size)
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except UnicodeDecodeError as error:  # nothing checks that what is called text in such a file is some
        raise ValueError(f"{path}: a text or a name that is not UTF-8 (got {error.object[:100]!r})") from None
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path}: no Parquet file that can be read: {error}") from None


_BATCH = 1_024
_OBJECT = 50  # bytes of a short text in Python
_EXPANSION = 20


def _unpacked_size(values: Any) -> int:
    """Bytes of a column, about: a text that is there once in the file may be in a million rows."""
    if hasattr(values, "dictionary_decode"):
        values = values.dictionary_decode()
    inner = values.flatten() if hasattr(values, "value_lengths") else None  # of lists
    return _OBJECT * len(values) + (values.nbytes if inner is None else _unpacked_size(inner))


def _check_unpacked(path: Path, rows: int, size: int) -> None:
    """Raises :class:`ValueError` if a small file would fill the memory."""
    advice = "split the file, or write it as .jsonl"
    if rows > MAX_ROWS:
        raise place_error(
            str(path), f"{rows} rows, and at most {MAX_ROWS} of a Parquet file are read: {advice}"
        )
    # What is large on the disk may be large in memory.
    most = max(MAX_EXPANDED, _EXPANSION * path.stat().st_size)
    if size > most:
        raise place_error(str(path), f"more than {most >> 20} MiB when it is unpacked: {advice}")


SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
OBJECTS = (".jsonl", ".json", ".parquet")
"""Files whose values have kinds: texts, numbers, lists."""
Label = str | int | float | bool
# Numbers become 32-bit floats, whose largest this is.
_MAX_NUMBER = (2 - 2**-23) * 2.0**127


class TextRow(NamedTuple):
    """A row, and the line on which it starts; of a Parquet file or a list of JSON its number, from 1."""

    path: Path
    line: int
    values: dict[str, Any]

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.path}:{self.line}"

    def error(self, message: str, value: object = None) -> ValueError:
        """An error that begins with the place."""
        return place_error(self.place, message, value)

    def value(self, column: str, form: Form) -> Any:
        """What is in a column, which must be of a form, else :class:`ValueError`."""
        check_forms(self.place, self.values, {column: form})
        return self.values[column]

    def text(self, column: str) -> str:
        """The text in a column, which has a word."""
        return self.value(column, _WORDS).strip()

    def label(self, column: str) -> Label:
        """The name of a class: a text, of a table without white space around it, or of an object a number or
        truth value.
        """
        value = self.value(column, _CLASS)
        return value.strip() if isinstance(value, str) and self.path.suffix.lower() not in OBJECTS else value

    def number(self, column: str) -> float:
        """The number in a column, finite as a 32-bit float."""
        return float(self.value(column, _NUMBER))


def _is_number(value: Any) -> bool:
    try:  # a whole number of JSON may have any size
        return not isinstance(value, bool) and "_" not in str(value) and abs(float(value)) <= _MAX_NUMBER
    except (TypeError, ValueError, OverflowError):
        return False


_WORDS = Form("a text with at least one word", lambda value: isinstance(value, str) and value.strip() != "")
_CLASS = Form(
    "the name of a class",  # NaN is none
    lambda value: isinstance(value, (str, int, float)) and value == value and str(value).strip() != "",
)
_NUMBER = Form("a number that is finite in 32 bits", _is_number)


def check_suffix(name: str, path: Path, known: Sequence[str] = SUFFIXES) -> None:
    """Raises :class:`ValueError` if the name of a file says none of the known formats."""
    if path.suffix.lower() not in known:
        raise ValueError(f"{name!r} must end in {', '.join(known)} (got {str(path)!r})")


def read_text_rows(path: Path, columns: Sequence[str]) -> list[TextRow]:
    """The rows of a file, in UTF-8 where it is a text; its suffix says what it is.

    ============  ========================================================================================
    ``.csv``      a header and rows, separated by commas; fields may be quoted
    ``.tsv``      a header and rows, separated by tabs, without quoting: a quotation mark is part of a text
    ``.jsonl``    an object a line, with at least the columns that are asked for, or a list of objects
    ``.json``     the same
    ``.parquet``  a table of texts, numbers, truth values and lists; needs the extra ``[parquet]``
    ============  ========================================================================================

    A control character is read as a blank; a log line counts them.

    Args:
        path: The file.
        columns: The columns that every row must have, among others.
    """
    check_suffix("path", path)
    rows = list(iter_text_rows(path, columns))
    expect(rows, path, 1, "no row below the header")
    return rows


def column_names(path: Path) -> list[str]:
    """The names of a file's columns: of a table its header, of objects the keys of the first one."""
    if path.suffix.lower() in OBJECTS:
        return [*next(iter_text_rows(path, ())).values]
    _, names = next(read_cells(path, **_STYLE[path.suffix.lower()]))
    return names


def rows_of_lines(source: Path, lines: Sequence[str], columns: Sequence[str]) -> list[TextRow]:
    """Lines of text as rows, of several columns with tabs between them."""
    rows = []
    for number, line in enumerate(lines, start=1):
        cells = line.split("\t") if len(columns) > 1 else [line]
        if len(cells) != len(columns):
            raise row_error(source, number, f"not {len(columns)} texts with a tab between them", line)
        rows.append(TextRow(source, number, dict(zip(columns, cells))))
    return rows


def check_columns(path: Path, columns: Sequence[str]) -> TextRow | None:
    """Raises what :func:`read_text_rows` does, as far as the first row tells it, and returns that row."""
    return next(iter_text_rows(path, columns), None)


def iter_text_rows(path: Path, columns: Sequence[str]) -> Iterator[TextRow]:
    """As :func:`read_text_rows`, row by row; a file may have none."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return (TextRow(path, number, row) for number, row in read_parquet(path, columns))
    return _objects(path, columns) if suffix in OBJECTS else _table(path, columns)


def _objects(path: Path, columns: Sequence[str]) -> Iterator[TextRow]:
    for line, value in _values(path):
        if not isinstance(value, dict):
            raise row_error(path, line, "no object", value)
        check_there(path, line, value, columns)
        yield TextRow(path, line, value)


def _values(path: Path) -> Iterator[tuple[int, Any]]:
    """The value of each line, or those of a list."""
    lines = read_lines(path, control=True)
    first = next(lines)
    if first[1].lstrip().startswith("["):
        content = "\n".join(text for _, text in chain([first], lines))
        yield from enumerate(json_value(content, str(path)), start=1)
        return
    for line, text in chain([first], lines):
        yield line, json_value(text, f"{path}:{line}")


# A control character in a published text is no reason to refuse the file.
_STYLE: dict[str, dict[str, Any]] = {
    ".csv": {"separator": ",", "quoted": True, "control": True},
    ".tsv": {"control": True},
}


def _table(path: Path, columns: Sequence[str]) -> Iterator[TextRow]:
    names = column_names(path)
    check_header(path, names, columns)
    for line, cells in read_table(path, names, **_STYLE[path.suffix.lower()]):
        yield TextRow(path, line, dict(zip(names, cells)))


TREE = ("head", "deprel")
"""Keys of a tree: the governor of each word, from 1, 0 for the root, and its relation to it."""


def row_words(row: TextRow, max_words: int | None = None) -> list[str]:
    """The words of ``words``, none of them blank.

    Args:
        row: The object.
        max_words: More words are an error; :obj:`None` for no limit. (default: :obj:`None`)
    """
    what = "a list of at least one word" if max_words is None else f"a list of 1 to {max_words} words"
    most = math.inf if max_words is None else max_words
    form = Form(f"{what}, none of them blank", lambda words: are_texts(words) and len(words) <= most)
    return row.value("words", form)


def are_texts(values: Any) -> bool:
    """Whether something is a list of at least one text, none of them blank."""
    listed = isinstance(values, list) and values != []
    return listed and all(isinstance(value, str) and value.strip() for value in values)


_MORE = ("edges", "upos", "xpos", "pos", "lemma", "feats", "misc", "deps", "empty", "multiword")
TREE_COLUMNS = (*TREE, *_MORE, "constituents", "multiroot")
"""Keys of a tree, with those that it may have besides."""


HEAD_NAMES, DEPREL_NAMES = COLUMN_NAMES["head"], COLUMN_NAMES["deprel"]
TREE_KEYS = (*HEAD_NAMES, *DEPREL_NAMES, "edges")
"""Keys of which one says that a row has a tree or arcs of its own."""


def row_raw(row: TextRow, words: list[str]) -> Raw | None:
    """The tree of ``head`` and ``deprel`` as it was read, with the arcs of ``edges``, or these alone;
    :obj:`None` where there are none of these keys.
    """
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
    """An input as JSON holds it, for :func:`~graphdep.parsing.inputs.read_inputs`."""
    if not isinstance(one, Sentence):
        return one if isinstance(one, str) else list(one)
    columns = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    del columns["tree_from"]
    if needs_tree(one):  # its arcs alone are written
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
    """The tree of each row that has its own, else :obj:`None`; and whether the row stays (``bad_trees``)."""
    made = iter(intake.sentences([raw for raw in raws if raw is not None], multiroot=multiroot))
    trees = [None if raw is None else next(made) for raw in raws]
    return trees, [raw is None or tree is not None for raw, tree in zip(raws, trees)]


def check_label(place: str, label: Any) -> None:
    """Raises :class:`ValueError`, with the place, if a label is no text, or one that tables may lose."""
    if label is not None and not (isinstance(label, str) and label.strip()):
        raise place_error(place, f"a label must be a text (got {shown(label)})")
    if label is not None:
        with placed(place):
            check_name("label", label)


def check_tree_words(place: str, words: Sequence[str], tree: Sentence | None) -> None:
    """Raises :class:`ValueError`, with the place, if a tree is of other words."""
    if tree is not None and list(tree.form) != list(words):
        raise place_error(place or "words", "the tree has other words", " ".join(tree.form))


def check_keys(row: TextRow, read: Sequence[str], others: Sequence[str] = ()) -> None:
    """Raises :class:`ValueError`, with file and line, if an object has a key that is nearly one of those that
    are read, and not that one: it would be left out, and nothing would say so. Any other key is the user's.

    Args:
        row: The object.
        read: The keys that are read.
        others: Keys that are known, and not read here. (default: none)

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
"""A label that training does not have: it is scored, and whatever is predicted is wrong."""
CONTINUED = -1000
"""Less the number of ``B-X`` or ``I-X``: ``B-C-X`` or ``I-C-X``, a further part of an X, which training does
not have: as :data:`UNKNOWN`, but where the parts of an X are one finding.
"""
UNSCORED = -100
"""A word without a label: nobody asks for one. It is the number that PyTorch's losses ignore."""


T = TypeVar("T")
L = TypeVar("L", bound=Any)
_SEED = 20180420


class Draw:
    """Draws with ``random()`` alone: only that is the same in every version of Python."""

    def __init__(self, source: random.Random) -> None:
        self.source = source

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.source.random() * len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return [items[i] for _, i in sorted((self.source.random(), i) for i in range(len(items)))]


def spread_rows(rows: Sequence[T], limit: int) -> list[T]:
    """Some rows in their order, one drawn from each of ``limit`` parts of like size.

    The draw has one fixed seed; rows at even distances would all have the same label where labels alternate.

    Args:
        rows: All rows.
        limit: The number of rows; all where there are no more.
    """
    count, draw = min(limit, len(rows)), Draw(random.Random(_SEED))
    bounds = [part * len(rows) // count for part in range(count + 1)] if rows else []
    return [rows[draw.pick(range(start, end))] for start, end in pairwise(bounds)]


def check_seed(seed: int) -> int:
    """Returns the seed of a draw that several splits make; :obj:`None` would be another draw for each."""
    check_whole("seed", seed, -math.inf)
    return seed


def drawn_part(
    size: int, share: float, seed: int, place: str, what: str, then: str = ", give a file for it (--val)"
) -> set[int]:
    """Which of ``size`` things, by number, are drawn for validation: at least one, and not all of them.

    Args:
        size: How many there are.
        share: The share that is drawn, more than 0 and less than 1.
        seed: Of the draw.
        place, what, then: Where they stand, what they are, and what to do, for messages.
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


class KnownOptions:
    """The part of a dataset that refuses options which it does not have, before anything is read or written.

    A constructor spells the dataset's own options and passes ``**options`` on to the base. What may be in
    them is said by :attr:`shared_options`, for people, for type checkers, and here.
    """

    shared_options: ClassVar[type]
    """A :class:`~typing.TypedDict` of the options that a base takes for all the datasets below it."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        names = option_names(cls)
        for name in options:
            if name not in names:
                got = f"{cls.__name__}.__init__() got an unexpected keyword argument {name!r}"
                raise TypeError(f"{got}: it takes {', '.join(names)}")
        return super().__new__(cls)


def option_names(make: Callable[..., Any]) -> tuple[str, ...]:
    """All that a dataset takes by name, its own options first; of any other callable, its arguments."""
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
