"""A cache of parses in one SQLite file."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from graphdep.io.files import home_path
from graphdep.parsing.parser import Chunk, Item, Parsed, Parser, ParserWrapper
from graphdep.sentence.sentence import Sentence

logger = logging.getLogger("graphdep.parsing")

_APPLICATION_ID = 0x67646570  # "gdep", to recognise our files
_VERSION = 1
_TABLE = """CREATE TABLE parses (
    fingerprint TEXT NOT NULL, mode TEXT NOT NULL, digest TEXT NOT NULL,
    failure TEXT, sentences BLOB NOT NULL,
    PRIMARY KEY (fingerprint, mode, digest))"""
# Seconds to wait for another process's lock: the first time, and after such a wait was in vain.
_BUSY_SECONDS, _AFTERWARDS = 60.0, 0.1
_QUERY_ITEMS = 500
# Bytes of the parses of one text, far more than those of a book.
_LARGEST = 2**28


class ParseCache:
    """Parses by parser fingerprint, mode (raw or words) and SHA-256 of the text, in one SQLite file.

    Each operation opens the file and runs in one transaction, so a process may be killed at any time, fork,
    or share the file with others. An unreadable row counts as absent. If the file cannot be used (read-only
    folder, full disk, a lock that remains), a warning is logged and parses are returned without being stored.

    Args:
        path: The file, created if missing.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = home_path(path)
        if self.path.is_dir():
            raise ValueError(f"'cache' must be a file (got the folder {str(self.path)!r})")
        self._warned, self._patience = False, _BUSY_SECONDS
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._warn(error)
        if self._transaction(_is_new):
            self._transaction(_create, write=True)

    def load(self, fingerprint: str, items: Sequence[Item]) -> dict[Item, Parsed]:
        """The stored parses among those of the inputs."""
        found: dict[Item, Parsed] = {}
        for start in range(0, len(items), _QUERY_ITEMS):
            keys = {_key(item): item for item in items[start : start + _QUERY_ITEMS]}
            rows = self._transaction(partial(_select, fingerprint=fingerprint, keys=list(keys)))
            for mode, digest, failure, data in rows or []:
                item = keys.get((mode, digest))  # a damaged index may find other rows
                sentences = None if item is None else _decode(data, item)
                if item is None or sentences is None:
                    logger.warning("%s has an unreadable row: its text is parsed again", self.path)
                else:
                    found[item] = Parsed(sentences, failure)
        return found

    def store(self, fingerprint: str, parses: dict[Item, Parsed]) -> None:
        """Stores all parses that are final, or after an error none."""
        rows = [
            (fingerprint, *_key(item), parsed.failure, _encode(parsed.sentences))
            for item, parsed in parses.items()
            if parsed.final
        ]
        insert = "INSERT OR REPLACE INTO parses VALUES (?, ?, ?, ?, ?)"
        self._transaction(lambda database: database.executemany(insert, rows), write=True)

    def _transaction(self, action: Callable[[sqlite3.Connection], Any], *, write: bool = False) -> Any:
        """Runs ``action`` in a transaction; returns :obj:`None` if the file cannot be used."""
        try:
            with closing(
                sqlite3.connect(self.path, timeout=self._patience, isolation_level=None)
            ) as database:
                database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                result = action(database)
                database.execute("COMMIT")
                return result
        except sqlite3.OperationalError as error:
            self._warn(error)
            if _is_busy(error):
                self._patience = _AFTERWARDS
            return None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a message may have damaged bytes
            raise ValueError(f"'cache': {self.path} is damaged or not a parse cache ({error})") from error

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            held = f": another process has held it for {self._patience:g} seconds" if _is_busy(error) else ""
            logger.warning(
                "the parse cache %s cannot be used (%s%s); parses may not be stored", self.path, error, held
            )


def _is_busy(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _is_new(database: sqlite3.Connection) -> bool:
    if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        return True
    path = database.execute("PRAGMA database_list").fetchone()[2]
    version = database.execute("PRAGMA user_version").fetchone()[0]
    code = "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view')"
    if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        wrong = "is another database, not a parse cache"
    elif version != _VERSION:
        wrong = f"has version {version}, not {_VERSION}"
    elif names := [name for (name,) in database.execute(code)]:
        wrong = f"has a trigger or view ({names[0]!r}), which could delete rows"
    else:
        return False
    raise ValueError(f"'cache': {path} {wrong}; give another file")


def _create(database: sqlite3.Connection) -> None:
    # Another process may have created it since.
    if _is_new(database):
        database.execute(_TABLE)
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {_VERSION}")


def _select(database: sqlite3.Connection, fingerprint: str, keys: list[tuple[str, str]]) -> list[Any]:
    # All inputs of a call have the same mode.
    places = ",".join("?" * len(keys))
    query = f"""SELECT mode, digest, failure, sentences FROM parses
        WHERE fingerprint = ? AND mode = ? AND digest IN ({places})"""
    return database.execute(query, [fingerprint, keys[0][0], *(digest for _, digest in keys)]).fetchall()


def _key(item: Item) -> tuple[str, str]:
    mode = "raw" if isinstance(item, str) else "words"
    # JSON escapes lone surrogates, which UTF-8 cannot encode.
    return mode, hashlib.sha256(json.dumps(item).encode("ascii")).hexdigest()


def _encode(sentences: list[Sentence]) -> bytes:
    values = [{k: v for k, v in vars(s).items() if v is not None} for s in sentences]
    return zlib.compress(json.dumps(values, separators=(",", ":")).encode("ascii"))


def _decode(data: bytes, item: Item) -> list[Sentence] | None:
    """The stored sentences, or :obj:`None` if they cannot be read or have other words than the input."""
    try:
        unpacked = zlib.decompressobj()
        text = unpacked.decompress(data, _LARGEST)
        if not unpacked.eof:  # truncated, or a small file that would fill the memory
            return None
        sentences = [_sentence(values) for values in json.loads(text)]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, zlib.error):
        return None
    if not all(isinstance(word, str) for s in sentences for word in (*s.form, *s.deprel)):
        return None
    if isinstance(item, str) and item.strip() and not sentences:
        return None
    wrong = not isinstance(item, str) and [tuple(sentence.form) for sentence in sentences] != [item]
    return None if wrong else sentences


def _sentence(values: dict[str, Any]) -> Sentence:
    known = {field.name for field in fields(Sentence)}
    columns = {name: value for name, value in values.items() if name in known}
    for name in ("multiword", "empty"):
        columns[name] = [tuple(row) for row in columns.get(name, [])]
    if "deps" in columns:
        columns["deps"] = [[(governor, label) for governor, label in word] for word in columns["deps"]]
    if "constituents" in columns:
        columns["constituents"] = [(label, start, end) for label, start, end in columns["constituents"]]
    return Sentence(**columns)


class CachedParser(ParserWrapper):
    """Stores the parses of another parser in one SQLite file.

    Parses are stored chunk by chunk, so an interrupted call continues where it stopped. Chain trees that the
    parser would return again, such as those of too long sentences, are stored and counted as failures in
    every call. Those due to an error are not stored, so the text is tried again.

    Args:
        parser: The parser. Its models are not loaded while all parses are in the file.
        path: The SQLite file; see :class:`~graphdep.parsing.cached.ParseCache`. Several parsers and
            processes may share it.

    Raises:
        ValueError: If the file is not a parse cache, has another version, or is damaged.

    Example:
        >>> from graphdep.parsing import CachedParser, resolve_parser
        >>> parser = CachedParser(resolve_parser("chain"), "parses.sqlite")
        >>> [[sentence]] = parser.parse(["She sings ."])
        >>> sentence.head
        [0, 1, 2]
    """

    def __init__(self, parser: Parser, path: str | Path) -> None:
        super().__init__(parser)
        self.cache = ParseCache(path)

    def known(self, items: Sequence[Item]) -> dict[Item, Parsed]:
        """The stored parses."""
        return self.cache.load(self.fingerprint, items)

    def parse_chunks(self, parts: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Parsed]]]:
        """Parses and stores chunk by chunk."""
        for chunk, results in self.parser.parse_chunks(parts):
            if chunk:
                self.cache.store(self.fingerprint, self.parser._paired(chunk, results))
            yield chunk, results

    def parse_items(self, items: Sequence[Item]) -> list[Parsed]:
        """Parses a chunk and stores it."""
        results = self.parser.parse_items(items)
        self.cache.store(self.fingerprint, self.parser._paired(items, results))
        return results
