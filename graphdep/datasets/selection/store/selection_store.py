"""One SQLite file of contexts, candidates and the trees of their utterances."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from graphdep.datasets.selection.store.selection_addition import Addition, finish_file, known
from graphdep.datasets.selection.store.selection_file import (
    EACH_TREE,
    TOTALS,
    Pair,
    Row,
    Tree,
    check_whole,
    checked,
    clear,
    create,
    find_note,
    pairs_of,
    read_counts,
    read_note,
    read_totals,
    state,
    trees_of,
)
from graphdep.datasets.selection.store.selection_pool import Pool, Utterance
from graphdep.sentence import Sentence

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
