"""Pools of candidates on disk."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphdep.parsing.parser import Item, Parser, parse_joined
from graphdep.sentence.sentence import Sentence, join_sentences

# The parts of an utterance, raw texts or word lists, which are parsed separately and joined into one tree. An
# utterance without words has no parts.
Utterance = tuple[Item, ...]


@dataclass(frozen=True)
class Pool:
    """A context and its candidate responses, in the order of the raw file.

    Args:
        context: The utterances of the context, oldest first.
        candidates: The responses.
        labels: 1 for a true response, else 0.
        counts: Counts of a corpus, by name. (default: none)
    """

    context: tuple[Utterance, ...]
    candidates: tuple[Utterance, ...]
    labels: tuple[int, ...]
    counts: dict[str, int] = field(default_factory=dict)


def utterance(*parts: str) -> Utterance:
    """An utterance of raw texts; blank texts are left out."""
    return tuple(part for part in map(str.strip, parts) if part)


def given_words(*parts: str) -> Utterance:
    """An utterance of texts whose words are separated by white space; blank texts are left out."""
    return tuple(words for part in parts if (words := tuple(part.split())))


def key_of(utterance: Utterance) -> bytes:
    """A digest of an utterance, sixteen bytes."""
    return hashlib.blake2b(json.dumps(utterance).encode("ascii"), digest_size=16).digest()


def parse_utterances(parser: Parser, utterances: Sequence[Utterance]) -> tuple[list[Sentence | None], int]:
    """The tree of each utterance; :obj:`None` for one without words.

    Each sentence of an utterance keeps its root, so that depths, as in Eq. 4 of "Syntax-Informed Attention",
    are those in the sentence.

    Returns:
        The trees, and the number of parts with a chain tree instead of a parse.
    """
    parts = [part for utterance in utterances for part in utterance]
    trees, failures = parse_joined(parser, parts, roots="all")
    found = iter(trees)
    joined = [
        join_sentences([next(found) for _ in utterance], roots="all") if utterance else None
        for utterance in utterances
    ]
    return joined, failures


FORMAT = 7  # version of the file, and of the rules by which pools are made
# Little-endian on every machine; a column of a tree has the first type that is large enough.
_TYPES = tuple(np.dtype(code) for code in ("<u1", "<u2", "<u4"))
NUMBERS = _TYPES[2]
COUNTS = np.dtype("<i8")
TABLES = {
    "notes": "name TEXT PRIMARY KEY, value BLOB NOT NULL",
    "words": "id INTEGER PRIMARY KEY, form TEXT NOT NULL",
    "relations": "id INTEGER PRIMARY KEY, form TEXT NOT NULL",
    "utterances": "id INTEGER PRIMARY KEY, tree BLOB NOT NULL",
    "graphs": "id INTEGER PRIMARY KEY, graph TEXT NOT NULL",
    "pools": "id INTEGER PRIMARY KEY, context BLOB NOT NULL",
    "pairs": "id INTEGER PRIMARY KEY, pool INTEGER, response INTEGER, label INTEGER",
}
# Names of the numbers of rows in the totals.
TOTALS = {name: name for name in ("relations", "utterances", "pools", "pairs")} | {"words": "forms"}
# Fields of a sentence that are optionally stored beside its tree.
_GRAPH = ("deps", "empty", "constituents")
_EACH_PAIR = "SELECT pairs.id, pool, context, response, label FROM pairs JOIN pools ON pools.id = pool"
_NUMBERED = "IN (SELECT value FROM json_each(?))"

Tree = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Numbers of the words, their governors (from 1; 0 for a root), and numbers of the relations."""


def create_table(name: str) -> str:
    """The statement that makes a table."""
    return f"CREATE TABLE {name} ({TABLES[name]})"


def pack_tree(*columns: np.ndarray) -> bytes:
    """Packs the columns of a :data:`Tree` with 1, 2 or 4 bytes per number, after a byte with these sizes in
    two bits per column; a tree without words is empty.
    """
    if len(columns[0]) == 0:
        return b""
    codes = [int(column.max() > 0xFF) + int(column.max() > 0xFFFF) for column in columns]
    code = sum(code << (2 * place) for place, code in enumerate(codes))
    return bytes([code]) + b"".join(
        column.astype(_TYPES[code]).tobytes() for column, code in zip(columns, codes)
    )


def unpack_tree(data: bytes) -> Tree:
    """The inverse of :func:`pack_tree`."""
    types = [_TYPES[data[0] >> (2 * place) & 3] for place in range(3)] if data else [_TYPES[0]] * 3
    size = len(data) // sum(kind.itemsize for kind in types)  # the first byte is less than a word
    ends = np.cumsum([1, *(size * kind.itemsize for kind in types)]).tolist()
    words, head, relations = (np.frombuffer(data[end:], kind, size) for end, kind in zip(ends, types))
    return words, head, relations


def pack_graph(tree: Sentence) -> str:
    """The enhanced graph and the constituents of a sentence, as JSON."""
    return json.dumps({name: getattr(tree, name) for name in _GRAPH})


def sentence_of(
    tree: Tree, words: Mapping[int, str] | Sequence[str], relations: Sequence[str], graph: str | None = None
) -> Sentence | None:
    """The sentence of a tree, given all words and relations, and the output of :func:`pack_graph`;
    :obj:`None` without words.
    """
    numbers, head, labels = (column.tolist() for column in tree)
    if not numbers:
        return None
    form, deprel = [words[number] for number in numbers], [relations[number] for number in labels]
    found: dict[str, Any] = {} if graph is None else json.loads(graph)
    found = {name: None if rows is None else _tuples(name, rows) for name, rows in found.items()}
    return Sentence(form, head, deprel, multiroot=head.count(0) > 1, **found)


def _tuples(name: str, rows: list[Any]) -> list[Any]:
    """Converts the lists of JSON to the tuples of a sentence."""
    if name == "deps":
        return [[(head, label) for head, label in deps] for deps in rows]
    return [tuple(row) for row in rows]


_APPLICATION = 68  # place of the application id, four bytes of the header that SQLite leaves to others


def write_checksum(path: Path) -> None:
    """Writes the CRC-32 of a file of SQLite into its application id."""
    with open(path, "r+b") as file:
        file.seek(_APPLICATION)
        file.write(_checksum(path)[1])


def _checksum(path: Path) -> tuple[bytes, bytes]:
    """The application id of a file, and the CRC-32 of all other bytes."""
    with open(path, "rb") as file:
        found, written = zlib.crc32(file.read(_APPLICATION)), file.read(4)
        while part := file.read(2**20):
            found = zlib.crc32(part, found)
    return written, found.to_bytes(4)


class Pair(NamedTuple):
    """A context and one of its candidates, as numbers of utterances."""

    pool: int
    context: np.ndarray
    response: int
    label: int


class SelectionStore:
    """Reads pairs of a context and a candidate from one SQLite file, which is written under another name
    (:func:`~graphdep.datasets.selection.builder.build_store`) and renamed when it is complete.

    - A pool stores its context once, and a pair is four numbers.
    - A distinct utterance is stored once, as its :data:`Tree`; words and relations are numbered in two
      tables, in the order of their first occurrence. Its enhanced graph and constituents are optional.
    - Nothing is pickled.

    Each operation opens the file, so a process may fork, and several processes may read it.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: str | None = None

    def check(self) -> None:
        """Raises unless the file has the right tables, the recorded numbers of rows and its checksum."""
        with self._open() as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version != FORMAT:
                raise sqlite3.DatabaseError(f"format {version}, not {FORMAT}")
            tables = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type != 'index'"))
            if tables != {name: create_table(name) for name in TABLES}:
                raise sqlite3.DatabaseError("the tables are not those of such a file")
            totals = json.loads(_note(database, "totals"))
            for table, name in TOTALS.items():
                (last,) = database.execute(f"SELECT max(id) FROM {table}").fetchone()
                if last != (totals[name] - 1 if totals[name] else None):
                    raise sqlite3.DatabaseError(f"the last of {totals[name]} {name} is {last}")
            written, found = _checksum(self.path)
            if written != found:
                raise sqlite3.DatabaseError("its checksum is wrong")

    def hold(self) -> None:
        """Remembers the content of the file, so that reading raises if another file replaces it."""
        self._held = self.content()

    def totals(self) -> Counter[str]:
        """The numbers of ``pools``, ``pairs``, ``utterances``, their ``words``, ``forms``, ..."""
        with self._open() as database:
            return Counter(json.loads(_note(database, "totals")))

    def counts(self, name: str) -> np.ndarray:
        """The frequencies of ``"words"`` or ``"relations"``, with each distinct utterance counted once."""
        with self._open() as database:
            return np.frombuffer(_note(database, f"counts of {name}"), COUNTS)

    def content(self) -> str:
        """A digest of the stored content, independent of its order in the file."""
        with self._open() as database:
            return _note(database, "content").decode()

    def pairs(self, numbers: Iterable[int]) -> dict[int, Pair]:
        """Pairs by their numbers."""
        return {number: _pair(*row) for number, *row in self._some(f"{_EACH_PAIR} WHERE pairs.id", numbers)}

    def trees(self, numbers: Iterable[int]) -> dict[int, Tree]:
        """Utterances by their numbers."""
        rows = self._some("SELECT id, tree FROM utterances WHERE id", numbers)
        return {number: unpack_tree(data) for number, data in rows}

    def graphs(self, numbers: Iterable[int]) -> dict[int, str]:
        """The graphs and constituents of utterances by their numbers."""
        return dict(self._some("SELECT id, graph FROM graphs WHERE id", numbers))

    def words_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """Words by their numbers."""
        return dict(self._some("SELECT id, form FROM words WHERE id", numbers))

    def words(self) -> Iterator[str]:
        """All words by their numbers."""
        return (form for (form,) in self._each("SELECT form FROM words ORDER BY id"))

    def relations(self) -> list[str]:
        """The relations by their numbers."""
        return [form for (form,) in self._each("SELECT form FROM relations ORDER BY id")]

    def column(self, name: str) -> np.ndarray:
        """The ``"pool"`` or the ``"label"`` of every pair."""
        return np.fromiter(
            (value for (value,) in self._each(f"SELECT {name} FROM pairs ORDER BY id")), np.int64
        )

    def each_tree(self) -> Iterator[Tree]:
        """As :meth:`trees`, of all utterances by their numbers."""
        return (unpack_tree(data) for (data,) in self._each("SELECT tree FROM utterances ORDER BY id"))

    def each_pair(self) -> Iterator[tuple[int, Pair]]:
        """As :meth:`pairs`, of all pairs by their numbers."""
        return ((number, _pair(*row)) for number, *row in self._each(f"{_EACH_PAIR} ORDER BY pairs.id"))

    def _some(self, query: str, numbers: Iterable[int]) -> list[tuple[Any, ...]]:
        """The rows with the given numbers, which are in the first column of a query."""
        wanted = [*numbers]
        with self._open() as database:
            rows = database.execute(f"{query} {_NUMBERED}", [json.dumps(wanted)]).fetchall()
            lost = {*wanted} - {row[0] for row in rows}
            if lost:
                raise sqlite3.DatabaseError(f"no row {min(lost)}")
            return rows

    def _each(self, query: str) -> Iterator[tuple[Any, ...]]:
        with self._open() as database:
            yield from database.execute(query)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as database:
                if self._held is not None and self._held != _note(database, "content").decode():
                    raise OSError(f"{self.path} was replaced by another process: load the dataset again")
                yield database
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter of a damaged message
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise OSError(f"{self.path} cannot be read ({error})") from error
            raise ValueError(
                f"{self.path} is damaged or not a file of pairs ({error}); delete it, and it is made again"
            ) from error


def _note(database: sqlite3.Connection, name: str) -> bytes:
    row = database.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise sqlite3.DatabaseError(f"there is no note {name!r}")
    return row[0]


def _pair(pool: int, context: bytes, response: int, label: int) -> Pair:
    return Pair(pool, np.frombuffer(context, NUMBERS), response, label)
