"""Writing pools into a file of pairs, and finishing it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import numpy as np

from graphdep.datasets.selection.store.selection_file import (
    COUNTS,
    EACH_TREE,
    NUMBERS,
    TOTALS,
    check,
    check_sum,
    finish,
    read_totals,
    state,
    trees_of,
    write_note,
)
from graphdep.datasets.selection.store.selection_pool import Pool, Utterance
from graphdep.datasets.selection.store.tree_bytes import pack_tree
from graphdep.sentence import Sentence

_TREES = 1 << 14  # counted in one go


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
        """See :meth:`graphdep.datasets.selection.store.selection_store.SelectionStore.add`."""
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
    while some := list(islice(trees, _TREES)):
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
