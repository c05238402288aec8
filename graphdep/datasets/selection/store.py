"""Pools of candidates on disk."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import numpy as np

from graphdep.parsing.parser import Item, Parser, parse_joined
from graphdep.sentence.sentence import Sentence, join_sentences

# The parts of an utterance: raw texts that a parser splits into words, or words that are given. Each is
# parsed on its own, and all of them are one tree. No part: an utterance without words.
Utterance = tuple[Item, ...]


@dataclass(frozen=True)
class Pool:
    """One context and the candidates for its response, in the order of the raw file.

    Args:
        context: Its utterances, oldest first.
        candidates: The responses.
        labels: 1 for a right response, else 0.
        counts: What a corpus counts in its pools, by name. (default: nothing)
    """

    context: tuple[Utterance, ...]
    candidates: tuple[Utterance, ...]
    labels: tuple[int, ...]
    counts: dict[str, int] = field(default_factory=dict)


def utterance(*parts: str) -> Utterance:
    """An utterance of raw texts; blank ones are left out."""
    return tuple(part for part in map(str.strip, parts) if part)


def given_words(*parts: str) -> Utterance:
    """An utterance of texts whose words are those that white space separates; blank ones are left out."""
    return tuple(words for part in parts if (words := tuple(part.split())))


def key_of(utterance: Utterance) -> bytes:
    """Sixteen bytes that tell utterances apart."""
    return hashlib.blake2b(json.dumps(utterance).encode("ascii"), digest_size=16).digest()


def parse_utterances(parser: Parser, utterances: Sequence[Utterance]) -> tuple[list[Sentence | None], int]:
    """The words of an utterance with their trees, :obj:`None` for one without words.

    Where an utterance has several sentences, each keeps its root, as in the parse of a whole text: depths, of
    which Eq. 4 of "Syntax-Informed Attention" is made, are those in the sentence.

    Returns:
        The trees, and how many parts have a chain instead of a parse.
    """
    parts = [part for utterance in utterances for part in utterance]
    texts, failures = parse_joined(parser, [part for part in parts if isinstance(part, str)], roots="all")
    before = parser.failures
    words = parser.parse_words([part for part in parts if not isinstance(part, str)])
    trees = {True: iter(texts), False: iter(words)}
    joined = [
        join_sentences([next(trees[isinstance(part, str)]) for part in utterance], roots="all")
        if utterance
        else None
        for utterance in utterances
    ]
    return joined, failures + parser.failures - before


# Little-endian on every machine; a column takes the first that its largest number fits in.
_WIDTHS = tuple(np.dtype(code) for code in ("<u1", "<u2", "<u4"))


def pack_tree(words: np.ndarray, head: np.ndarray, relations: np.ndarray) -> bytes:
    """Three columns of whole numbers, each with 1, 2 or 4 bytes a number; no words are no bytes.

    The first byte has the three widths, two bits each.

    Args:
        words: Number of each word in a lexicon.
        head: ID of each word's governor, from 1; 0 for a root.
        relations: Number of each word's relation.
    """
    if len(words) == 0:
        return b""
    widths = [_width(column) for column in (words, head, relations)]
    code = sum(width << (2 * place) for place, width in enumerate(widths))
    columns = zip((words, head, relations), widths)
    return bytes([code]) + b"".join(column.astype(_WIDTHS[width]).tobytes() for column, width in columns)


def unpack_tree(data: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What :func:`pack_tree` packed: ``words, head, relations``.

    Raises:
        ValueError: If the first byte is none of :func:`pack_tree`, or the number of bytes does not fit to it.
    """
    if not data:
        empty = np.zeros(0, dtype=np.uint8)
        return empty, empty, empty
    codes = [data[0] >> (2 * place) & 3 for place in range(4)]
    if codes[3] or 3 in codes:
        raise ValueError(f"the first byte must have three widths (got {data[0]})")
    widths = [_WIDTHS[code] for code in codes[:3]]
    size, rest = divmod(len(data) - 1, sum(width.itemsize for width in widths))
    if rest or not size:
        raise ValueError(f"{len(data)} bytes are not one and the same number for every word")
    columns, start = [], 1
    for width in widths:
        columns.append(np.frombuffer(data, width, size, start))
        start += size * width.itemsize
    return columns[0], columns[1], columns[2]


def sentence_of(
    tree: tuple[np.ndarray, np.ndarray, np.ndarray],
    words: Mapping[int, str] | Sequence[str],
    relations: Sequence[str],
) -> Sentence | None:
    """The sentence of an unpacked tree; :obj:`None` where there are no words.

    Args:
        tree: What :func:`unpack_tree` gives.
        words: Words by their numbers.
        relations: Relations by their numbers.
    """
    numbers, head, labels = (column.tolist() for column in tree)
    if not numbers:
        return None
    form, deprel = [words[number] for number in numbers], [relations[number] for number in labels]
    return Sentence(form, head, deprel, multiroot=head.count(0) > 1)


def _width(column: np.ndarray) -> int:
    largest = int(column.max())
    return 0 if largest < 1 << 8 else 1 if largest < 1 << 16 else 2


FORMAT = 4  # of the file, and of the rules that make pools of raw files
NUMBERS = np.dtype("<u4")
COUNTS = np.dtype("<i8")
EACH_TREE = "SELECT id, tree, crc FROM utterances ORDER BY id"

Row = tuple[Any, ...]
Tree = tuple[np.ndarray, np.ndarray, np.ndarray]

_APPLICATION_ID = 0x67647365  # "gdse": tells our files from other people's databases
_COLUMNS = {
    "notes": "name TEXT PRIMARY KEY, value BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID",
    "words": "id INTEGER PRIMARY KEY, form TEXT NOT NULL UNIQUE, crc INTEGER NOT NULL)",
    "relations": "id INTEGER PRIMARY KEY, form TEXT NOT NULL UNIQUE, crc INTEGER NOT NULL)",
    "utterances": "id INTEGER PRIMARY KEY, tree BLOB NOT NULL, crc INTEGER NOT NULL)",
    "pools": "id INTEGER PRIMARY KEY, context BLOB NOT NULL, crc INTEGER NOT NULL)",
    "pairs": "id INTEGER PRIMARY KEY, pool INTEGER, response INTEGER, label INTEGER, crc INTEGER NOT NULL)",
    "keys": "key BLOB PRIMARY KEY, utterance INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID",
}
_TABLES = {name: f"CREATE TABLE {name} ({columns}" for name, columns in _COLUMNS.items()}
_BUILDING = "keys"  # the table that only building needs
# What the totals call the number of a table's rows.
TOTALS = {name: name for name in ("relations", "utterances", "pools", "pairs")} | {"words": "forms"}
_LARGEST = 1 << 53
_PAIR = struct.Struct("<3q")
# Rows of two tables with the same number and content have other sums, and so have those of two numbers.
_SALTS = {name: crc32(name.encode()) for name in _TABLES}
_ENCODE: dict[str, Callable[..., bytes]] = {
    "words": str.encode,
    "relations": str.encode,
    "utterances": lambda tree: tree,
    "pools": lambda context: context,
    "pairs": _PAIR.pack,
    "keys": lambda key: key,
}
_CHECKED_TREES = 1 << 12  # checked in one go


class Pair(NamedTuple):
    """A context and one of its candidates: numbers of utterances."""

    pool: int
    context: np.ndarray
    response: int
    label: int


def check_sum(table: str, number: int, *values: Any) -> int:
    """The CRC-32 of a row: of its table, its number and its values."""
    return crc32(_ENCODE[table](*values), number ^ _SALTS[table])


def check(table: str, row: Row) -> None:
    """Sees to it that a row is what was written.

    Args:
        table: Its table.
        row: Its number, its other values, and the sum that is stored with them.

    Raises:
        sqlite3.DatabaseError: If it is not.
    """
    try:
        if crc32(_ENCODE[table](*row[1:-1]), row[0] ^ _SALTS[table]) == row[-1]:
            return
    except (TypeError, struct.error):  # a value of another type
        pass
    raise sqlite3.DatabaseError(f"row {row[0]} of {table} has another check sum")


def create(database: sqlite3.Connection) -> None:
    """Makes the tables, unless there are some."""
    if _is_new(database):
        for statement in _TABLES.values():
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {FORMAT}")
        write_note(database, "totals", b"{}")


def clear(database: sqlite3.Connection) -> None:
    """Drops what was added."""
    for table in _TABLES:
        database.execute(f"DELETE FROM {table}")
    write_note(database, "totals", b"{}")


def finish(database: sqlite3.Connection) -> None:
    """Marks the file as whole, and drops what only building needs."""
    write_note(database, "done", b"1")
    database.execute(f"DROP TABLE {_BUILDING}")


def state(database: sqlite3.Connection) -> str:
    """``"new"``, ``"begun"`` or ``"done"``.

    Raises:
        sqlite3.DatabaseError: If it is no such file, or its tables are other ones.
    """
    if _is_new(database):
        return "new"
    names = ("application_id", "user_version")
    found = tuple(database.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    if found != (_APPLICATION_ID, FORMAT):
        raise sqlite3.DatabaseError(f"application and version are {found}, not {(_APPLICATION_ID, FORMAT)}")
    tables = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type != 'index'"))
    if tables == _TABLES:
        return "begun"
    if tables != {name: text for name, text in _TABLES.items() if name != _BUILDING}:
        raise sqlite3.DatabaseError("the tables are not those of such a file")
    if read_note(database, "done") != b"1":
        raise sqlite3.DatabaseError("the note 'done' is not 1")
    return "done"


def check_whole(database: sqlite3.Connection) -> str:
    """As :func:`state`, after a look at all that can be seen at once: a file is as large as it says."""
    found = state(database)
    if found == "new":
        return found
    totals = read_totals(database)
    for table, name in TOTALS.items():
        largest = database.execute(f"SELECT max(id) FROM {table}").fetchone()[0]
        rows = 0 if largest is None else largest + 1
        if rows != totals[name]:
            raise sqlite3.DatabaseError(f"there are {rows} {name}, not {totals[name]}")
    if found == "done":
        read_note(database, "content")
        for name in ("words", "relations"):
            read_counts(database, name)
    return found


def read_totals(database: sqlite3.Connection) -> Counter[str]:
    """Counts of what was added."""
    text = read_note(database, "totals")
    try:
        totals = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"the note 'totals' is no JSON ({error})") from error
    if not isinstance(totals, dict) or not all(
        type(value) is int and 0 <= value < _LARGEST for value in totals.values()
    ):
        raise sqlite3.DatabaseError("the note 'totals' has something that is no number")
    return Counter(totals)


def read_counts(database: sqlite3.Connection, name: str) -> np.ndarray:
    """How often each of the ``"words"`` or ``"relations"`` is there, each utterance counted once."""
    data, totals = read_note(database, f"counts of {name}"), read_totals(database)
    if len(data) != totals[TOTALS[name]] * COUNTS.itemsize:
        raise sqlite3.DatabaseError(f"the note 'counts of {name}' has {len(data)} bytes")
    counts = np.frombuffer(data, COUNTS)
    if counts.sum() != totals["words"] or (counts < 0).any():
        raise sqlite3.DatabaseError(f"the note 'counts of {name}' does not add up to {totals['words']}")
    return counts


def read_note(database: sqlite3.Connection, name: str) -> bytes:
    """A note."""
    value = find_note(database, name)
    if value is None:
        raise sqlite3.DatabaseError(f"there is no note {name!r}")
    return value


def find_note(database: sqlite3.Connection, name: str) -> bytes | None:
    """A note, if it is there."""
    row = database.execute("SELECT value, crc FROM notes WHERE name = ?", (name,)).fetchone()
    if row is None:
        return None
    if not isinstance(row[0], bytes) or _sum_of_note(name, row[0]) != row[1]:
        raise sqlite3.DatabaseError(f"the note {name!r} has another check sum")
    return row[0]


def write_note(database: sqlite3.Connection, name: str, value: bytes) -> None:
    """Writes a note, in place of the one of that name."""
    database.execute(
        "INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (name, value, _sum_of_note(name, value))
    )


def checked(table: str, rows: Iterable[Row]) -> Iterator[tuple[int, Row]]:
    """Numbers of rows, and their other values without the sum."""
    for row in rows:
        check(table, row)
        yield row[0], row[1:-1]


def pairs_of(rows: Iterable[Row], totals: Counter[str]) -> Iterator[tuple[int, Pair]]:
    """Pairs and their numbers.

    Args:
        rows: Number, pool, response, label and sum of each; context and sum of its pool.
        totals: How many utterances there are.
    """
    for row in rows:
        check("pairs", row[:5])
        number, pool, response, label, _, context, _ = row
        check("pools", (pool, *row[5:]))
        if len(context) % NUMBERS.itemsize:
            raise sqlite3.DatabaseError(f"the context of pool {pool} has {len(context)} bytes")
        turns = np.frombuffer(context, NUMBERS)
        largest = max([response, *turns.tolist()])
        if label not in (0, 1) or response < 0 or largest >= totals["utterances"]:
            text = f"pair {number} has the label {label} and utterances up to {largest}"
            raise sqlite3.DatabaseError(text)
        yield number, Pair(pool, turns, response, label)


def trees_of(rows: Iterable[Row], totals: Counter[str]) -> Iterator[tuple[int, Tree]]:
    """Trees and their numbers.

    Args:
        rows: Number, bytes and sum of each.
        totals: How many words and relations there are.
    """
    rest = iter(rows)
    while some := list(islice(rest, _CHECKED_TREES)):
        trees = [_tree_of(row) for row in some]
        _check_trees(trees, totals)
        yield from zip((row[0] for row in some), trees)


def _tree_of(row: Row) -> Tree:
    check("utterances", row)
    try:
        return unpack_tree(row[1])
    except ValueError as error:
        raise sqlite3.DatabaseError(f"utterance {row[0]}: {error}") from error


def _check_trees(trees: list[Tree], totals: Counter[str]) -> None:
    """Numbers of words and relations are known ones, and governors lead to a root."""
    words, head, relations = (np.concatenate(columns).astype(np.int64) for columns in zip(*trees))
    if len(words) == 0:
        return
    sizes = np.array([len(tree[0]) for tree in trees])
    first = (sizes.cumsum() - sizes).repeat(sizes)
    known = words.max() < totals["forms"] and relations.max() < totals["relations"]
    if not known or (head > sizes.repeat(sizes)).any():
        raise sqlite3.DatabaseError("a tree has a number that is too large")
    up = np.where(head == 0, np.arange(len(head)), first + head - 1)
    for _ in range(int(sizes.max()).bit_length()):  # twice as far each time
        up = up[up]
    if head[up].any():
        raise sqlite3.DatabaseError("a tree has a cycle")


def _sum_of_note(name: str, value: bytes) -> int:
    return crc32(value, crc32(name.encode()))


def _is_new(database: sqlite3.Connection) -> bool:
    return database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0


_COUNTED_TREES = 1 << 14  # counted in one go


class Addition:
    """Pools on their way into the file.

    Args:
        database: The file, in a transaction.
        totals: What it has.
    """

    def __init__(self, database: sqlite3.Connection, totals: Counter[str]) -> None:
        self.database, self.totals = database, totals

    def add(
        self,
        pools: Sequence[Pool],
        keys: Mapping[Utterance, bytes],
        trees: Mapping[bytes, Sentence | None],
        failures: int,
    ) -> None:
        """See :meth:`graphdep.datasets.selection.store.SelectionStore.add`."""
        self._add_trees(trees)
        numbers = known(self.database, keys.values())
        number_of = {utterance: numbers[key] for utterance, key in keys.items()}
        self._add_pools(pools, number_of)
        self.totals["parser_failures"] += failures
        write_note(self.database, "totals", json.dumps(self.totals).encode())

    def _add_trees(self, trees: Mapping[bytes, Sentence | None]) -> None:
        sentences = [tree for tree in trees.values() if tree is not None]
        words = self._numbers("words", (form for tree in sentences for form in tree.form))
        relations = self._numbers("relations", (label for tree in sentences for label in tree.deprel))
        first = self.totals["utterances"]
        packed = [_pack(tree, words, relations) for tree in trees.values()]
        self._insert("utterances", ((number, data) for number, data in enumerate(packed, first)))
        self.database.executemany(
            "INSERT INTO keys VALUES (?, ?, ?)",
            ((key, number, check_sum("keys", number, key)) for number, key in enumerate(trees, first)),
        )
        self.totals["utterances"] += len(trees)
        self.totals["words"] += sum(map(len, sentences))
        self.totals["tree_bytes"] += sum(map(len, packed))

    def _numbers(self, table: str, forms: Iterable[str]) -> dict[str, int]:
        """The numbers of words or relations; new ones get the next."""
        distinct = list(dict.fromkeys(forms))
        query = f"SELECT id, form, crc FROM {table} WHERE form IN (SELECT value FROM json_each(?))"
        numbers = {}
        for row in self.database.execute(query, [json.dumps(distinct)]):
            check(table, row)
            numbers[row[1]] = row[0]
        new = [form for form in distinct if form not in numbers]
        added = dict(zip(new, range(self.totals[TOTALS[table]], 1 << 32)))
        self._insert(table, ((number, form) for form, number in added.items()))
        self.totals[TOTALS[table]] += len(new)
        return numbers | added

    def _add_pools(self, pools: Sequence[Pool], number_of: Mapping[Utterance, int]) -> None:
        contexts, pairs = [], []
        for number, pool in enumerate(pools, self.totals["pools"]):
            context = np.array([number_of[turn] for turn in pool.context], NUMBERS)
            contexts.append((number, context.tobytes()))
            pairs += [
                (number, number_of[candidate], label)
                for candidate, label in zip(pool.candidates, pool.labels, strict=True)
            ]
            self.totals.update(_counts(pool))
        self._insert("pools", contexts)
        self._insert("pairs", ((number, *pair) for number, pair in enumerate(pairs, self.totals["pairs"])))
        self.totals["pools"] += len(pools)
        self.totals["pairs"] += len(pairs)

    def _insert(self, table: str, rows: Iterable[tuple]) -> None:
        """Inserts rows, number first, each with its sum."""
        marks = ", ".join("?" * (4 if table == "pairs" else 2))
        self.database.executemany(
            f"INSERT INTO {table} VALUES ({marks}, ?)", ((*row, check_sum(table, *row)) for row in rows)
        )


def known(database: sqlite3.Connection, keys: Iterable[bytes]) -> dict[bytes, int]:
    """Numbers of those utterances that have been added, by their keys."""
    query = "SELECT utterance, crc FROM keys WHERE key = ?"
    found = {}
    for key in keys:
        row = database.execute(query, (key,)).fetchone()
        if row is not None:
            check("keys", (row[0], key, row[1]))
            found[key] = row[0]
    return found


def finish_file(database: sqlite3.Connection, pools: int) -> bool:
    """Counts what is in the file and marks it as whole, if it has that many pools.

    Returns:
        Whether this call has done it.
    """
    totals = read_totals(database)
    if totals["pools"] != pools or state(database) == "done":
        return False
    words, relations = (np.zeros(totals[name], COUNTS) for name in ("forms", "relations"))
    trees = (tree for _, tree in trees_of(database.execute(EACH_TREE), totals))
    while some := list(islice(trees, _COUNTED_TREES)):
        words += np.bincount(np.concatenate([tree[0] for tree in some]), minlength=len(words))
        relations += np.bincount(np.concatenate([tree[2] for tree in some]), minlength=len(relations))
    write_note(database, "counts of words", words.tobytes())
    write_note(database, "counts of relations", relations.tobytes())
    write_note(database, "content", _content(database).encode())
    finish(database)
    return True


def _content(database: sqlite3.Connection) -> str:
    """A digest of all rows, without their sums."""
    sha = hashlib.sha256()
    for table in ("words", "relations", "utterances", "pools", "pairs"):
        for row in database.execute(f"SELECT * FROM {table} ORDER BY id"):
            check(table, row)
            sha.update(repr(row[:-1]).encode())
    return sha.hexdigest()


def _counts(pool: Pool) -> dict[str, int]:
    return {
        "empty_utterances": sum(not turn for turn in (*pool.context, *pool.candidates)),
        "duplicate_candidates": len(pool.candidates) - len(set(pool.candidates)),
        "pools_without_positive": int(not any(pool.labels)),
        "pools_all_positive": int(all(pool.labels)),
        **pool.counts,
    }


def _pack(tree: Sentence | None, words: Mapping[str, int], relations: Mapping[str, int]) -> bytes:
    if tree is None:
        return b""
    return pack_tree(
        np.array([words[form] for form in tree.form]),
        np.array(tree.head),
        np.array([relations[label] for label in tree.deprel]),
    )


T = TypeVar("T")
Decode = Callable[[Iterable[Row], Counter[str]], Iterable[tuple[int, T]]]

_EACH_PAIR = """SELECT pairs.id, pool, response, label, pairs.crc, context, pools.crc
    FROM pairs JOIN pools ON pools.id = pool"""
_NUMBERED = "IN (SELECT value FROM json_each(?))"
_BUSY_SECONDS = 120.0
_CACHE_KIB = 1 << 16
# What has nothing to do with what is in the file; any other error of SQLite is damage.
_JUST_NOW = ("locked", "is full", "readonly", "unable to open", "disk I/O error")


class SelectionStore:
    """Pairs of a context and a candidate in one SQLite file, which is built step by step and then only read.

    - A pool has its context once, however many candidates there are, and a pair is four numbers.
    - An utterance is stored once, wherever it occurs, with 1, 2 or 4 bytes for each number of a word, a
      governor and a relation (``pack_tree``): the numbers of words and of
      relations are those of two tables of the file, in the order in which they were first seen.
    - Every row has a CRC-32, which is checked when the row is read. Damage is an error that names the file.
    - Nothing is pickled.

    Each operation opens the file anew and writes in one transaction, so that a process may be killed at any
    moment, fork, or share the file with others. Until :meth:`finish`, :meth:`is_done` is false.

    Args:
        path: The file; made by :meth:`create`.

    Raises:
        OSError: If the file cannot be read, lacks rows, or is not the one that :meth:`hold` has seen.
        ValueError: If it is damaged, or no such file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: bytes | None = None

    def create(self) -> None:
        """Makes the file, unless it is there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._transaction(create, write=True, mode="rwc")

    def is_done(self) -> bool:
        """Whether the file is whole.

        Raises:
            ValueError: If there is something that is no such file, or one whose damage shows at once.
        """
        if not self.path.exists():
            return False
        return self._transaction(check_whole) == "done"

    def hold(self) -> None:
        """From now on, reads what the file has now only: it may be replaced, with other numbers of words."""
        self._held = self.content().encode()

    def totals(self) -> Counter[str]:
        """Counts of what was added: ``pools``, ``pairs``, ``utterances``, their ``words``, ``forms``, ..."""
        return self._transaction(read_totals)

    def known(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Numbers of those utterances that have been added, by their keys."""

        def action(database: sqlite3.Connection) -> dict[bytes, int]:
            # The keys of a file that another process has just finished are gone, and nobody needs them.
            return {} if state(database) == "done" else known(database, keys)

        return self._transaction(action)

    def add(
        self,
        first: int,
        pools: Sequence[Pool],
        keys: Mapping[Utterance, bytes],
        trees: Mapping[bytes, Sentence | None],
        failures: int,
    ) -> None:
        """Adds pools, all of them or none: none if the next one to add is not number ``first`` any more.

        Args:
            first: Number of the first of the pools.
            pools: The pools.
            keys: The key of each of their utterances.
            trees: The trees of those that are new.
            failures: How many of the new ones the parser failed on.
        """

        def action(database: sqlite3.Connection) -> None:
            totals = read_totals(database)
            if totals["pools"] == first:
                Addition(database, totals).add(pools, keys, trees, failures)

        self._transaction(action, write=True)

    def clear(self, pools: int) -> None:
        """Drops what was added, if it is that many pools and the file is not whole."""

        def action(database: sqlite3.Connection) -> None:
            if state(database) == "begun" and read_totals(database)["pools"] == pools:
                clear(database)

        self._transaction(action, write=True)

    def finish(self, pools: int) -> None:
        """Marks the file as whole if it has that many pools, and drops what only building needs."""
        if self._transaction(lambda database: finish_file(database, pools), write=True):
            # Where somebody reads it, or the disk is full, it stays larger than it must be.
            with suppress(OSError), self._open() as database:
                database.execute("VACUUM")

    def pairs(self, numbers: Iterable[int]) -> dict[int, Pair]:
        """Pairs by their numbers."""
        return self._some(f"{_EACH_PAIR} WHERE pairs.id {_NUMBERED}", numbers, "pair", pairs_of)

    def trees(self, numbers: Iterable[int]) -> dict[int, Tree]:
        """Utterances by their numbers, see ``unpack_tree``."""
        query = f"SELECT id, tree, crc FROM utterances WHERE id {_NUMBERED}"
        return self._some(query, numbers, "utterance", trees_of)

    def words(self) -> Iterator[str]:
        """The words by their numbers."""
        return self._forms("words")

    def words_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """Words by their numbers."""
        query = f"SELECT id, form, crc FROM words WHERE id {_NUMBERED}"
        found = self._some(query, numbers, "word", lambda rows, _: checked("words", rows))
        return {number: form for number, (form,) in found.items()}

    def relations(self) -> list[str]:
        """The relations by their numbers."""
        return list(self._forms("relations"))

    def counts(self, name: str) -> np.ndarray:
        """How often each of the ``"words"`` or ``"relations"`` is there, each utterance counted once."""
        return self._transaction(lambda database: read_counts(database, name))

    def content(self) -> str:
        """A digest of all that is stored, whatever the order in which it lies in the file."""
        return self._transaction(lambda database: read_note(database, "content")).decode("ascii", "replace")

    def column(self, name: str) -> np.ndarray:
        """The ``"pool"`` or the ``"label"`` of every pair."""
        if name not in ("pool", "label"):
            raise ValueError(f"'name' must be 'pool' or 'label' (got {name!r})")
        place = 0 if name == "pool" else 2
        query = "SELECT id, pool, response, label, crc FROM pairs ORDER BY id"
        rows = self._all(query, "pairs", lambda rows, _: checked("pairs", rows))
        return np.fromiter((values[place] for _, values in rows), np.int64)

    def each_tree(self) -> Iterator[Tree]:
        """As :meth:`trees`, of all utterances by their numbers."""
        return (tree for _, tree in self._all(EACH_TREE, "utterances", trees_of))

    def each_pair(self) -> Iterator[tuple[int, Pair]]:
        """As :meth:`pairs`, of all pairs by their numbers."""
        return self._all(f"{_EACH_PAIR} ORDER BY pairs.id", "pairs", pairs_of)

    def _forms(self, table: str) -> Iterator[str]:
        query = f"SELECT id, form, crc FROM {table} ORDER BY id"
        rows = self._all(query, TOTALS[table], lambda rows, _: checked(table, rows))
        return (form for _, (form,) in rows)

    def _some(self, query: str, numbers: Iterable[int], name: str, decode: Decode[T]) -> dict[int, T]:
        """What the rows of some numbers are, which a query gives first; all of them are there."""
        numbers = list(numbers)

        def action(database: sqlite3.Connection) -> dict[int, T]:
            rows = database.execute(query, [json.dumps(numbers)])
            return dict(decode(rows, read_totals(database)))

        found = self._transaction(action)
        missing = {*numbers} - found.keys()
        if missing:
            raise self._incomplete(f"{name} {min(missing)}")
        return found

    def _all(self, query: str, name: str, decode: Decode[T]) -> Iterator[tuple[int, T]]:
        """What the rows of a table are, one by one, as many as were added."""
        with self._open() as database:
            totals = read_totals(database)
            rows = self._in_order(database.execute(query), totals[name], name)
            yield from decode(rows, totals)

    def _in_order(self, rows: Iterable[Row], total: int, name: str) -> Iterator[Row]:
        count = 0
        for row in rows:
            if row[0] != count or count == total:
                raise self._incomplete(f"number {count} of {total} {name}")
            yield row
            count += 1
        if count != total:
            raise self._incomplete(f"{total - count} of {total} {name}")

    def _incomplete(self, what: str) -> OSError:
        return OSError(f"{self.path} lacks {what}; delete it: it is made again")

    def _transaction(
        self, action: Callable[[sqlite3.Connection], T], *, write: bool = False, mode: str = "rw"
    ) -> T:
        """Runs ``action``, whole or not at all."""
        with self._open(mode) as database:
            database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            result = action(database)
            database.execute("COMMIT")
            return result

    @contextmanager
    def _open(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        name = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            with closing(
                sqlite3.connect(name, timeout=_BUSY_SECONDS, isolation_level=None, uri=True)
            ) as database:
                database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
                if self._held is not None and self._held != find_note(database, "content"):
                    raise OSError(f"{self.path} was made again and has other numbers: load the dataset again")
                yield database
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter of a damaged message
            if isinstance(error, sqlite3.OperationalError) and any(text in str(error) for text in _JUST_NOW):
                raise OSError(f"{self.path} cannot be used just now ({error})") from error
            raise ValueError(
                f"{self.path} is damaged or no file of pairs ({error}); delete it: it is made again"
            ) from error
