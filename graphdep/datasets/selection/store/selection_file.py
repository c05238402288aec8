"""The SQLite file of pairs: its tables, the check sum of every row, and what tells that it is damaged.

No damage is known from use, only that of tests: of 1,000 single bits flipped in a file of 1,000 pairs, 116
gave other words, trees or labels without an error where the sums were not looked at, and of these
``PRAGMA quick_check`` finds 5, ``integrity_check`` 43, and the sums all 116. A pass of either pragma also
reads the whole file, while a sum is looked at where its row is read; so the sums stay.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from graphdep.datasets.selection.store.tree_bytes import unpack_tree

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
_TREES = 1 << 12  # checked in one go


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
    while some := list(islice(rest, _TREES)):
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
