"""Builds the SQLite file of a corpus of response selection."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path

import numpy as np
from torch_geometric.data import Data

from graphdep.datasets.selection.store import (
    COUNTS,
    FORMAT,
    NUMBERS,
    TABLES,
    TOTALS,
    Pool,
    SelectionStore,
    Utterance,
    create_table,
    key_of,
    pack_graph,
    pack_tree,
    parse_utterances,
    write_checksum,
)
from graphdep.io.files import atomic_path
from graphdep.io.progress import Progress
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence
from graphdep.vocab.relations import label_counts
from graphdep.vocab.vocab import SPECIALS, Tokens, Vocab

# Pools that are parsed and written together.
POOLS = 512


def build_store(
    path: Path,
    pools: Iterable[Pool],
    parser: Parser,
    *,
    log: str | None = None,
    graphs: Callable[[list[Sentence]], list[Sentence]] | None = None,
    arcs: str = "basic",
) -> None:
    """Reads, parses and writes pools, and replaces the file when it is complete.

    Only a few pools and the lexicon are in memory. Equal utterances are parsed once.

    Args:
        path: The file.
        pools: The pools.
        parser: The parser.
        log: Name in progress messages on stderr; :obj:`None` for no messages. (default: :obj:`None`)
        graphs: Adds enhanced graphs to sentences, which are stored with constituents; :obj:`None` stores
            trees only. (default: :obj:`None`)
        arcs: Arcs whose labels are counted (:func:`~graphdep.vocab.relations.label_counts`). (default:
            ``"basic"``)

    Raises:
        OSError: If the file cannot be written, as on a full disk.
    """
    with atomic_path(path) as temporary:
        with _new_database(path, temporary) as database:
            addition, rest = Addition(database, graphs, arcs), iter(pools)
            with Progress(f"{log}, contexts", shown=log is not None) as progress:
                while some := list(islice(rest, POOLS)):
                    addition.add(some, parser)
                    progress.advance(len(some))
            addition.finish()
        write_checksum(temporary)


@contextmanager
def _new_database(path: Path, temporary: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(temporary)) as database:
            # The file is renamed when it is complete, and after a crash it is made again.
            database.execute("PRAGMA journal_mode = OFF")
            yield database
    except sqlite3.OperationalError as error:
        raise OSError(f"{path} cannot be written ({error})") from error


class Addition:
    """Adds pools to a new file."""

    def __init__(
        self,
        database: sqlite3.Connection,
        graphs: Callable[[list[Sentence]], list[Sentence]] | None = None,
        arcs: str = "basic",
    ) -> None:
        self.database, self.graphs, self.arcs = database, graphs, arcs
        self.totals = Counter[str](dict.fromkeys(TOTALS.values(), 0))
        self.forms: dict[str, dict[str, int]] = {"words": {}, "relations": {}}
        self.counts: dict[str, Counter[int]] = {"words": Counter(), "relations": Counter()}
        for table in TABLES:
            database.execute(create_table(table))
        database.execute("CREATE TEMP TABLE keys (key BLOB PRIMARY KEY, utterance INTEGER) WITHOUT ROWID")
        database.execute("PRAGMA temp.cache_size = -65536")
        database.execute(f"PRAGMA user_version = {FORMAT}")

    def add(self, pools: Sequence[Pool], parser: Parser) -> None:
        """Adds pools and their new utterances."""
        keys = {turn: key_of(turn) for pool in pools for turn in (*pool.context, *pool.candidates)}
        number_of = self._known(keys)
        new = {key: turn for turn, key in keys.items() if turn not in number_of}
        trees, failures = parse_utterances(parser, list(new.values()))
        first = self.totals["utterances"]
        if self.graphs is not None:
            found = iter(self.graphs([tree for tree in trees if tree is not None]))
            trees = [None if tree is None else next(found) for tree in trees]
            rows = [(n, "" if tree is None else pack_graph(tree)) for n, tree in enumerate(trees, first)]
            self.database.executemany("INSERT INTO graphs VALUES (?, ?)", rows)
        packed = [self._pack(tree) for tree in trees]
        self._insert("utterances", ((data,) for data in packed))
        self.database.executemany("INSERT INTO keys VALUES (?, ?)", zip(new, range(first, first + len(new))))
        self.totals["tree_bytes"] += sum(map(len, packed))
        self.totals["parser_failures"] += failures
        self._add_pools(pools, self._known(keys))

    def finish(self) -> None:
        """Writes the totals and counts."""
        for name, forms in self.forms.items():
            self._insert(name, ((form,) for form in forms))
        self.totals["words"] = self.counts["words"].total()
        self._note("totals", json.dumps(self.totals).encode())
        for name, counts in self.counts.items():
            each = np.array([counts[number] for number in range(len(self.forms[name]))], COUNTS)
            self._note(f"counts of {name}", each.tobytes())
        sha = hashlib.sha256()
        for table in ("words", "relations", "utterances", "graphs", "pools", "pairs"):
            for row in self.database.execute(f"SELECT * FROM {table} ORDER BY id"):
                sha.update(repr(row).encode())
        self._note("content", sha.hexdigest().encode())
        self.database.commit()

    def _known(self, keys: dict[Utterance, bytes]) -> dict[Utterance, int]:
        """The numbers of stored utterances."""
        query = "SELECT utterance FROM keys WHERE key = ?"
        found = {turn: self.database.execute(query, (key,)).fetchone() for turn, key in keys.items()}
        return {turn: row[0] for turn, row in found.items() if row is not None}

    def _pack(self, tree: Sentence | None) -> bytes:
        if tree is None:
            return b""
        words, relations = self._numbers("words", tree.form), self._numbers("relations", tree.deprel)
        self.counts["words"].update(words)
        labels = label_counts([tree], self.arcs)
        self.counts["relations"].update(dict(zip(self._numbers("relations", labels), labels.values())))
        return pack_tree(np.array(words), np.array(tree.head), np.array(relations))

    def _numbers(self, name: str, forms: Iterable[str]) -> list[int]:
        """The numbers of words or relations; a new one gets the next number."""
        known = self.forms[name]
        return [known.setdefault(form, len(known)) for form in forms]

    def _add_pools(self, pools: Sequence[Pool], number_of: dict[Utterance, int]) -> None:
        contexts = (np.array([number_of[turn] for turn in pool.context], NUMBERS) for pool in pools)
        pairs = [
            (number, number_of[candidate], label)
            for number, pool in enumerate(pools, self.totals["pools"])
            for candidate, label in zip(pool.candidates, pool.labels, strict=True)
        ]
        self._insert("pools", ((context.tobytes(),) for context in contexts))
        self._insert("pairs", pairs)
        for pool in pools:
            self.totals.update(_counts(pool))

    def _insert(self, table: str, rows: Iterable[tuple]) -> None:
        """Inserts rows with the next numbers."""
        numbered = [(number, *row) for number, row in enumerate(rows, self.totals[TOTALS[table]])]
        marks = ", ".join("?" * (TABLES[table].count(",") + 1))
        self.database.executemany(f"INSERT INTO {table} VALUES ({marks})", numbered)
        self.totals[TOTALS[table]] += len(numbered)

    def _note(self, name: str, value: bytes) -> None:
        self.database.execute("INSERT INTO notes VALUES (?, ?)", (name, value))


def _counts(pool: Pool) -> dict[str, int]:
    return {
        "empty_utterances": sum(not turn for turn in (*pool.context, *pool.candidates)),
        "duplicate_candidates": len(pool.candidates) - len(set(pool.candidates)),
        "pools_without_positive": int(not any(pool.labels)),
        "pools_all_positive": int(all(pool.labels)),
        **pool.counts,
    }


def build_vocab(train: SelectionStore, min_freq: int, lower: bool) -> Vocab:
    """As :meth:`graphdep.Vocab.build` for the words of all utterances, from their counts."""
    counts: Counter[str] = Counter()
    for word, count in zip(train.words(), train.counts("words").tolist()):
        counts[word.lower() if lower else word] += count
    kept = [word for word, count in counts.items() if count >= min_freq and word not in SPECIALS]
    return Vocab(sorted(kept, key=lambda word: (-counts[word], word)), lower=lower)


_WORDS = 10_000


class WordPieces:
    r"""Encodes each word of a lexicon once, so that utterances are encoded without a loop over words.

    Args:
        words: The words by their numbers.
        tokens: Ids of their pieces.

    Shapes:
        - ``ids``: :math:`(\text{pieces})`, int32, the concatenated pieces of all words
        - ``counts``: :math:`(\text{words})`, int32, the number of pieces of each word
    """

    def __init__(self, words: Iterable[str], tokens: Tokens) -> None:
        ids, counts = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        rest = iter(words)
        while some := list(islice(rest, _WORDS)):
            pieces = tokens.encode(some)
            ids.append(np.fromiter(chain.from_iterable(pieces), np.int32))
            counts.append(np.fromiter(map(len, pieces), np.int32))
        self.ids, self.counts = np.concatenate(ids), np.concatenate(counts)
        self._first = self.counts.cumsum(dtype=np.int64) - self.counts

    def of(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of words by their numbers, and the number of pieces of each word, both int64."""
        counts = self.counts[words].astype(np.int64)
        ends = counts.cumsum()
        size = int(ends[-1]) if len(ends) else 0
        place = np.arange(size) + (self._first[words] - ends + counts).repeat(counts)
        return self.ids[place].astype(np.int64), counts

    def holds(self, piece: int) -> np.ndarray:
        """Whether each word has a given piece."""
        found = np.zeros(len(self.counts), dtype=bool)
        word = np.arange(len(self.counts)).repeat(self.counts)
        found[word[self.ids == piece]] = True
        return found


_PAIRS = 1024  # looked at in one go


def count_cut(
    store: SelectionStore, sizes: np.ndarray, max_length: int, load: Callable[[list[int]], list[Data]]
) -> dict[str, int]:
    """See :meth:`graphdep.datasets.selection.dataset.SelectionDataset.count_cut`.

    Args:
        store: The pairs.
        sizes: The number of pieces of each utterance.
        max_length: The largest number of nodes of an example.
        load: Returns the examples of some pairs.
    """
    found: Counter[str] = Counter(cut_pairs=0, cut_context_words=0, cut_responses=0, cut_response_words=0)
    for some in _long_pairs(store, sizes, max_length):
        for data in load(some):
            context, response = data.cut_words[0].tolist()
            found["cut_pairs"] += 1
            found["cut_context_words"] += context
            found["cut_responses"] += response > 0
            found["cut_response_words"] += response
    return dict(found)


def _long_pairs(store: SelectionStore, sizes: np.ndarray, max_length: int) -> Iterator[list[int]]:
    """Batches of numbers of pairs that are longer than allowed.

    Nodes are the pieces, [CLS], two [SEP], and one [EOU] per utterance of the context.
    """
    some: list[int] = []
    for number, pair in store.each_pair():
        nodes = sizes[pair.context].sum() + len(pair.context) + sizes[pair.response] + 3
        if nodes > max_length:
            some.append(number)
        if len(some) == _PAIRS:
            yield some
            some = []
    yield some
