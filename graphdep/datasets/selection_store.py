"""One SQLite file of contexts, candidates and the trees of their utterances."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from graphdep.datasets.selection_pool import Pool, Utterance
from graphdep.datasets.tree_bytes import pack_tree, unpack_tree
from graphdep.sentence import Sentence

T = TypeVar("T")
Row = tuple[Any, ...]

FORMAT = 3  # of the file, and of the rules that make pools of raw files
_APPLICATION_ID = 0x67647365  # "gdse": tells our files from other people's databases
_TABLES = """
CREATE TABLE notes (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE words (id INTEGER PRIMARY KEY, form TEXT NOT NULL UNIQUE);
CREATE TABLE relations (id INTEGER PRIMARY KEY, form TEXT NOT NULL UNIQUE);
CREATE TABLE utterances (id INTEGER PRIMARY KEY, tree BLOB NOT NULL);
CREATE TABLE pools (id INTEGER PRIMARY KEY, context BLOB NOT NULL);
CREATE TABLE pairs (id INTEGER PRIMARY KEY, pool INTEGER, response INTEGER, label INTEGER);
CREATE TABLE keys (key BLOB PRIMARY KEY, utterance INTEGER NOT NULL) WITHOUT ROWID;
"""
_NUMBERS = np.dtype("<u4")
_COUNTS = np.dtype("<i8")
_EACH_TREE = "SELECT tree FROM utterances ORDER BY id"
_BUSY_SECONDS = 120.0
_TREES = 1 << 14  # counted in one go
_CACHE_KIB = 1 << 16


class Pair(NamedTuple):
    """A context and one of its candidates: numbers of utterances."""

    pool: int
    context: np.ndarray
    response: int
    label: int


class SelectionStore:
    """Pairs of a context and a candidate in one SQLite file, which is built step by step and then only read.

    - A pool has its context once, however many candidates there are, and a pair is four numbers.
    - An utterance is stored once, wherever it occurs, with 1, 2 or 4 bytes for each number of a word, a
      governor and a relation (:func:`~graphdep.datasets.tree_bytes.pack_tree`): the numbers of words and of
      relations are those of two tables of the file, in the order in which they were first seen.
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
        self._held: str | None = None

    def create(self) -> None:
        """Makes the file, unless it is there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._transaction(_create, write=True, mode="rwc")

    def is_done(self) -> bool:
        """Whether the file is whole.

        Raises:
            ValueError: If there is something that is no such file, or a damaged one.
        """
        if not self.path.exists():
            return False
        return self._transaction(_state) == "done"

    def hold(self) -> None:
        """From now on, reads what the file has now only: it may be replaced, with other numbers of words."""
        self._held = self.content()

    def totals(self) -> Counter[str]:
        """Counts of what was added: ``pools``, ``pairs``, ``utterances``, their ``words``, ``forms``, ..."""
        return self._transaction(_totals)

    def known(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Numbers of those utterances that have been added, by their keys."""

        def action(database: sqlite3.Connection) -> dict[bytes, int]:
            # The keys of a file that another process has just finished are gone, and nobody needs them.
            return {} if _state(database) == "done" else _known(database, keys)

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
            totals = _totals(database)
            if totals["pools"] == first:
                _Addition(database, totals).add(pools, keys, trees, failures)

        self._transaction(action, write=True)

    def finish(self, pools: int) -> None:
        """Marks the file as whole if it has that many pools, and drops what only building needs."""
        if self._transaction(lambda database: _finish(database, pools), write=True):
            # Where somebody reads it, or the disk is full, it stays larger than it must be.
            with suppress(OSError), self._open() as database:
                database.execute("VACUUM")

    def pairs(self, numbers: Iterable[int]) -> dict[int, Pair]:
        """Pairs by their numbers."""
        query = """SELECT pairs.id, pool, context, response, label FROM pairs JOIN pools ON pools.id = pool
            WHERE pairs.id IN (SELECT value FROM json_each(?))"""
        rows = self._some(query, numbers, "pair")
        return {row[0]: Pair(row[1], np.frombuffer(row[2], _NUMBERS), row[3], row[4]) for row in rows}

    def trees(self, numbers: Iterable[int]) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Utterances by their numbers, see :func:`~graphdep.datasets.tree_bytes.unpack_tree`."""
        query = "SELECT id, tree FROM utterances WHERE id IN (SELECT value FROM json_each(?))"
        return {row[0]: unpack_tree(row[1]) for row in self._some(query, numbers, "utterance")}

    def words(self) -> Iterator[str]:
        """The words by their numbers."""
        for row in self._all("SELECT form FROM words ORDER BY id", "forms"):
            yield row[0]

    def words_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """Words by their numbers."""
        query = "SELECT id, form FROM words WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self._some(query, numbers, "word"))

    def relations(self) -> list[str]:
        """The relations by their numbers."""
        return [row[0] for row in self._all("SELECT form FROM relations ORDER BY id", "relations")]

    def counts(self, name: str) -> np.ndarray:
        """How often each of the ``"words"`` or ``"relations"`` is there, each utterance counted once."""
        rows = self._select("SELECT value FROM notes WHERE name = ?", f"counts of {name}")
        return np.frombuffer(rows[0][0], _COUNTS)

    def content(self) -> str:
        """A digest of all that is stored, whatever the order in which it lies in the file."""
        return self._select("SELECT value FROM notes WHERE name = 'content'")[0][0]

    def column(self, name: str) -> np.ndarray:
        """The ``"pool"`` or the ``"label"`` of every pair."""
        if name not in ("pool", "label"):
            raise ValueError(f"'name' must be 'pool' or 'label' (got {name!r})")
        rows = self._all(f"SELECT {name} FROM pairs ORDER BY id", "pairs")
        return np.fromiter((row[0] for row in rows), np.int64)

    def each_tree(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """As :meth:`trees`, of all utterances by their numbers."""
        for row in self._all(_EACH_TREE, "utterances"):
            yield unpack_tree(row[0])

    def each_pair(self) -> Iterator[tuple[int, Pair]]:
        """As :meth:`pairs`, of all pairs by their numbers."""
        query = """SELECT pairs.id, pool, context, response, label FROM pairs JOIN pools ON pools.id = pool
            ORDER BY pairs.id"""
        for row in self._all(query, "pairs"):
            yield row[0], Pair(row[1], np.frombuffer(row[2], _NUMBERS), row[3], row[4])

    def _some(self, query: str, numbers: Iterable[int], name: str) -> list[Row]:
        """The rows of some numbers, which a query gives first; all of them are there."""
        numbers = list(numbers)
        rows = self._select(query, json.dumps(numbers))
        missing = {*numbers} - {row[0] for row in rows}
        if missing:
            raise self._incomplete(f"{name} {min(missing)}")
        return rows

    def _all(self, query: str, name: str) -> Iterator[Row]:
        """The rows of a table, one by one, as many as were added."""
        with self._open() as database:
            count = 0
            for row in database.execute(query):
                count += 1
                yield row
            total = _totals(database)[name]
            if count != total:
                raise self._incomplete(f"{total - count} of {total} {name}")

    def _incomplete(self, what: str) -> OSError:
        return OSError(f"{self.path} lacks {what}; force_reload=True makes it again")

    def _select(self, query: str, *values: object) -> list[Row]:
        return self._transaction(lambda database: database.execute(query, values).fetchall())

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
                if self._held is not None and self._held != _held(database):
                    raise OSError(f"{self.path} was made again and has other numbers: load the dataset again")
                yield database
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path} cannot be used just now ({error})") from error
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{self.path} is damaged or no file of pairs ({error}); force_reload=True makes it again"
            ) from error


class _Addition:
    """Pools on their way into the file."""

    def __init__(self, database: sqlite3.Connection, totals: Counter[str]) -> None:
        self.database, self.totals = database, totals

    def add(
        self,
        pools: Sequence[Pool],
        keys: Mapping[Utterance, bytes],
        trees: Mapping[bytes, Sentence | None],
        failures: int,
    ) -> None:
        self._add_trees(trees)
        numbers = _known(self.database, keys.values())
        number_of = {utterance: numbers[key] for utterance, key in keys.items()}
        self._add_pools(pools, number_of)
        self.totals["parser_failures"] += failures
        _note(self.database, "totals", json.dumps(self.totals))

    def _add_trees(self, trees: Mapping[bytes, Sentence | None]) -> None:
        sentences = [tree for tree in trees.values() if tree is not None]
        words = self._numbers("words", (form for tree in sentences for form in tree.form))
        relations = self._numbers("relations", (label for tree in sentences for label in tree.deprel))
        first = self.totals["utterances"]
        packed = [_pack(tree, words, relations) for tree in trees.values()]
        rows = enumerate(packed, first)
        self.database.executemany("INSERT INTO utterances VALUES (?, ?)", rows)
        self.database.executemany(
            "INSERT INTO keys VALUES (?, ?)", zip(trees, range(first, first + len(trees)))
        )
        self.totals["utterances"] += len(trees)
        self.totals["words"] += sum(map(len, sentences))
        self.totals["tree_bytes"] += sum(map(len, packed))

    def _numbers(self, table: str, forms: Iterable[str]) -> dict[str, int]:
        """The numbers of words or relations; new ones get the next."""
        distinct = list(dict.fromkeys(forms))
        query = f"SELECT form, id FROM {table} WHERE form IN (SELECT value FROM json_each(?))"
        numbers = dict(self.database.execute(query, [json.dumps(distinct)]))
        total = "forms" if table == "words" else table
        new = dict(
            zip((form for form in distinct if form not in numbers), range(self.totals[total], 1 << 32))
        )
        self.database.executemany(f"INSERT INTO {table} (form, id) VALUES (?, ?)", new.items())
        self.totals[total] += len(new)
        return numbers | new

    def _add_pools(self, pools: Sequence[Pool], number_of: Mapping[Utterance, int]) -> None:
        contexts, pairs = [], []
        for number, pool in enumerate(pools, self.totals["pools"]):
            context = np.array([number_of[turn] for turn in pool.context], _NUMBERS)
            contexts.append((number, context.tobytes()))
            pairs += [
                (number, number_of[candidate], label)
                for candidate, label in zip(pool.candidates, pool.labels, strict=True)
            ]
            self.totals.update(_counts(pool))
        self.database.executemany("INSERT INTO pools VALUES (?, ?)", contexts)
        rows = ((number, *pair) for number, pair in enumerate(pairs, self.totals["pairs"]))
        self.database.executemany("INSERT INTO pairs VALUES (?, ?, ?, ?)", rows)
        self.totals["pools"] += len(pools)
        self.totals["pairs"] += len(pairs)


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


def _create(database: sqlite3.Connection) -> None:
    if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        for statement in _TABLES.strip().split("\n"):
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {FORMAT}")
        _note(database, "totals", "{}")


def _state(database: sqlite3.Connection) -> str:
    """``"new"``, ``"begun"`` or ``"done"``."""
    if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        return "new"
    found = tuple(
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if found != (_APPLICATION_ID, FORMAT):
        raise sqlite3.DatabaseError(f"application and version are {found}, not {(_APPLICATION_ID, FORMAT)}")
    done = database.execute("SELECT count(*) FROM notes WHERE name = 'done'").fetchone()[0]
    return "done" if done else "begun"


def _totals(database: sqlite3.Connection) -> Counter[str]:
    return Counter(
        json.loads(database.execute("SELECT value FROM notes WHERE name = 'totals'").fetchone()[0])
    )


def _note(database: sqlite3.Connection, name: str, value: str | bytes) -> None:
    database.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))


def _known(database: sqlite3.Connection, keys: Iterable[bytes]) -> dict[bytes, int]:
    query = "SELECT utterance FROM keys WHERE key = ?"
    found = ((key, database.execute(query, (key,)).fetchone()) for key in keys)
    return {key: row[0] for key, row in found if row is not None}


def _held(database: sqlite3.Connection) -> str | None:
    row = database.execute("SELECT value FROM notes WHERE name = 'content'").fetchone()
    return row[0] if row else None


def _finish(database: sqlite3.Connection, pools: int) -> bool:
    """Whether this call has done it."""
    totals = _totals(database)
    if totals["pools"] != pools or _state(database) == "done":
        return False
    words, relations = (np.zeros(totals[name], _COUNTS) for name in ("forms", "relations"))
    trees = (unpack_tree(row[0]) for row in database.execute(_EACH_TREE))
    while some := list(islice(trees, _TREES)):
        words += np.bincount(np.concatenate([tree[0] for tree in some]), minlength=len(words))
        relations += np.bincount(np.concatenate([tree[2] for tree in some]), minlength=len(relations))
    _note(database, "counts of words", words.tobytes())
    _note(database, "counts of relations", relations.tobytes())
    _note(database, "content", _content(database))
    _note(database, "done", "1")
    database.execute("DROP TABLE keys")
    return True


def _content(database: sqlite3.Connection) -> str:
    sha = hashlib.sha256()
    for table in ("words", "relations", "utterances", "pools", "pairs"):
        for row in database.execute(f"SELECT * FROM {table} ORDER BY id"):
            sha.update(repr(row).encode())
    return sha.hexdigest()
