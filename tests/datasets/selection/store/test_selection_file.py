"""What is damaged in a finished file of pairs is never read as something else."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from graphdep import Sentence
from graphdep.datasets import Ubuntu
from graphdep.datasets.selection import store as selection_store
from graphdep.datasets.selection.store import SelectionStore, check_sum, pack_tree, trees_of, write_note
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed

ROWS = [f"{i % 2}\tis it p{i // 2}\tyes it is\tword{i} of mine" for i in range(30)]


class Chains(Parser):
    fingerprint = "chains"

    def parse_texts(self, texts):
        raise AssertionError("words are given")

    def parse_sentences(self, sentences):
        return [Parsed([Sentence.chain(words)]) for words in sentences]


def load(root: Path) -> Ubuntu:
    path = root / "raw" / "ubuntu-v1" / "train.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in ROWS))
    return Ubuntu(root, "train", Chains(progress=False), layout="v1", keep_parses=False, log=False)


def file_of(dataset: Ubuntu) -> Path:
    return dataset._store.path


def change(dataset: Ubuntu, query: str, *values: object) -> None:
    with closing(sqlite3.connect(file_of(dataset))) as database, database:
        assert database.execute(query, values).rowcount != 0


def note(dataset: Ubuntu, name: str, value: bytes) -> None:
    with closing(sqlite3.connect(file_of(dataset))) as database, database:
        write_note(database, name, value)


def everything(dataset: Ubuntu) -> list[object]:
    return [
        [[*map(list, dataset.context(i)), dataset.response(i)] for i in range(len(dataset))],
        [dataset.sentences(i)[1] for i in range(len(dataset))],
        [
            {key: value.tolist() for key, value in data.to_dict().items() if key != "num_nodes"}
            for data in dataset
        ],
        dataset.labels().tolist(),
        dataset.groups().tolist(),
        dataset.count_cut(),
        dataset.vocab.words,
        dataset._store.counts("words").tolist(),
        dataset._store.content(),
    ]


def stored(dataset: Ubuntu) -> list[object]:
    store = dataset._store
    return [
        [
            (number, pair.pool, pair.context.tolist(), pair.response, pair.label)
            for number, pair in store.each_pair()
        ],
        [[column.tolist() for column in tree] for tree in store.each_tree()],
        [*store.words(), *store.relations()],
        store.counts("words").tolist(),
        store.content(),
    ]


READS: dict[str, Callable[[Ubuntu], object]] = {
    "example": lambda dataset: dataset[0],
    "labels": lambda dataset: dataset.labels(),
    "groups": lambda dataset: dataset.groups(),
    "count_cut": lambda dataset: dataset.count_cut(),
    "context": lambda dataset: dataset.context(0),
    "again": lambda dataset: load(Path(dataset.root)),
    "counts": lambda dataset: dataset._store.counts("words"),
    "totals": lambda dataset: dataset._store.totals(),
    "content": lambda dataset: dataset._store.content(),
}


@pytest.mark.parametrize("seed", range(2))
def test_flipped_bits_are_found(tmp_path, seed):
    dataset = load(tmp_path)
    path, expected = file_of(dataset), stored(dataset)
    content, rng, found = path.read_bytes(), random.Random(seed), 0
    for _ in range(25):
        damaged = bytearray(content)
        damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        for read in (stored, lambda _: stored(load(tmp_path))):
            try:
                assert read(dataset) == expected
            except (OSError, ValueError) as error:
                found += 1
                assert str(path) in str(error)
    assert found


@pytest.mark.parametrize("pragma", ["quick_check", "integrity_check"])
def test_damage_that_sqlite_does_not_see_is_found(tmp_path, pragma):
    dataset = load(tmp_path)
    path = file_of(dataset)
    with closing(sqlite3.connect(path)) as database:
        tree = database.execute("SELECT max(tree) FROM utterances").fetchone()[0]
    content = path.read_bytes()
    assert tree in content
    place = content.index(tree) + 1
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(f"PRAGMA {pragma}").fetchall() == [("ok",)]
    with pytest.raises(ValueError, match=r"row \d+ of utterances has another check sum"):
        stored(dataset)


@pytest.mark.parametrize(
    ("query", "reads"),
    [
        ("UPDATE utterances SET tree = zeroblob(length(tree))", "example"),
        ("UPDATE utterances SET tree = zeroblob(length(tree))", "count_cut"),
        ("UPDATE utterances SET tree = 5", "example"),
        ("UPDATE pools SET context = x'0100000001000000'", "example"),
        ("UPDATE pools SET context = x'01'", "count_cut"),
        ("UPDATE pairs SET response = 3", "example"),
        ("UPDATE pairs SET label = 7", "labels"),
        ("UPDATE pairs SET label = NULL", "labels"),
        ("UPDATE pairs SET label = 'x'", "example"),
        ("UPDATE pairs SET pool = 3", "groups"),
        ("UPDATE words SET form = 'x' || form", "context"),
        ("UPDATE words SET form = 'x' || form", "again"),
        ("UPDATE words SET form = CAST(form AS BLOB)", "context"),
        ("UPDATE words SET form = CAST(x'ff' || id AS TEXT)", "context"),
        ("UPDATE relations SET form = 'x' || form", "again"),
        ("UPDATE notes SET value = zeroblob(length(value)) WHERE name LIKE 'counts%'", "counts"),
        ("UPDATE notes SET value = x'7b7d' WHERE name = 'totals'", "totals"),
        ("UPDATE notes SET value = x'ff' WHERE name = 'content'", "content"),
        ("DELETE FROM notes WHERE name = 'totals'", "example"),
        ("DROP TABLE pairs", "labels"),
    ],
)
def test_changed_rows_name_the_file(tmp_path, query, reads):
    dataset = load(tmp_path)
    change(dataset, query)
    with pytest.raises(ValueError, match=r"train-.*\.sqlite is damaged .*delete it: it is made again"):
        READS[reads](dataset)


def packed(head: list[int], words: int = 0, relations: int = 0) -> bytes:
    size = len(head)
    return pack_tree(np.full(size, words), np.array(head), np.full(size, relations))


@pytest.mark.parametrize(
    ("query", "table", "values", "message"),
    [
        ("pool = ?, response = ?, label = ?", "pairs", (0, 2, 7), "has the label 7"),
        ("pool = ?, response = ?, label = ?", "pairs", (0, 10**12, 1), "utterances up to 1000000000000"),
        ("pool = ?, response = ?, label = ?", "pairs", (0, -1, 1), "pair 0 has"),
        ("context = ?", "pools", (b"\xff\xff\xff\xff",), "utterances up to 4294967295"),
        ("context = ?", "pools", (b"abc",), "the context of pool 0 has 3 bytes"),
        ("tree = ?", "utterances", (packed([0, 3]),), "too large"),
        ("tree = ?", "utterances", (packed([0], words=9999),), "too large"),
        ("tree = ?", "utterances", (packed([0], relations=9999),), "too large"),
        ("tree = ?", "utterances", (packed([0, 3, 2]),), "a cycle"),
        ("tree = ?", "utterances", (b"\xff12345",), "the first byte"),
        ("tree = ?", "utterances", (b"\x001234",), "5 bytes"),
    ],
)
def test_crafted_rows_are_damage(tmp_path, query, table, values, message):
    dataset = load(tmp_path)
    change(
        dataset, f"UPDATE {table} SET {query}, crc = ? WHERE id = 0", *values, check_sum(table, 0, *values)
    )
    for read in ("example", "count_cut"):
        with pytest.raises(ValueError, match=rf"train-.*\.sqlite is damaged .*{message}.*delete it"):
            READS[read](dataset)


TOTALS = {"pools": 15, "pairs": 30, "utterances": 46, "words": 3, "forms": 4, "relations": 2}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("totals", json.dumps(TOTALS | {"pairs": 10**12}).encode()),
        ("totals", json.dumps(TOTALS | {"pairs": -1}).encode()),
        ("totals", b'{"pairs": "many"}'),
        ("totals", b'{"pairs": 1e300}'),
        ("totals", b'{"pairs": ' + b"9" * 5000 + b"}"),
        ("totals", b"[30]"),
        ("totals", b"{"),
        ("totals", b"\xff"),
        ("counts of words", b"abc"),
        ("counts of words", bytes(8)),
        ("counts of relations", bytes(16)),
        ("done", b"0"),
    ],
)
def test_a_file_with_wrong_notes_is_made_again(tmp_path, name, value, caplog):
    dataset = load(tmp_path)
    expected = everything(dataset)
    note(dataset, name, value)
    assert everything(load(tmp_path)) == expected
    assert f"{file_of(dataset)} is damaged or no file of pairs (" in caplog.text
    assert "): it is made again" in caplog.text


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM pairs WHERE id = 29",
        "DELETE FROM utterances WHERE id > 3",
        "DELETE FROM notes WHERE name = 'totals'",
        "UPDATE notes SET value = x'ff' WHERE name = 'content'",
        "UPDATE notes SET crc = 'x' WHERE name = 'totals'",
        "ALTER TABLE pairs RENAME COLUMN label TO pool2",
        "DROP TABLE relations",
    ],
)
def test_damage_that_shows_on_opening_is_mended(tmp_path, query, caplog):
    dataset = load(tmp_path)
    expected = everything(dataset)
    change(dataset, query)
    Path(f"{file_of(dataset)}-journal").write_bytes(b"of a killed builder")
    assert everything(load(tmp_path)) == expected
    assert f"{file_of(dataset)} is damaged or no file of pairs (" in caplog.text


def test_rows_in_another_order_are_damage(tmp_path):
    dataset = load(tmp_path)
    change(dataset, "UPDATE pairs SET id = 77 WHERE id = 5")
    with pytest.raises(OSError, match=r"\.sqlite lacks number 5 of 30 pairs; delete it: it is made again"):
        dataset.labels()
    change(dataset, "UPDATE pairs SET id = 5 WHERE id = 77")
    change(dataset, "INSERT INTO pairs SELECT 30, pool, response, label, crc FROM pairs WHERE id = 29")
    with pytest.raises(OSError, match=r"\.sqlite lacks number 30 of 30 pairs"):
        dataset.labels()


def test_a_file_in_use_is_no_damage(tmp_path, monkeypatch):
    monkeypatch.setattr(selection_store, "_BUSY_SECONDS", 0.0)
    path = file_of(load(tmp_path))
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match=r"\.sqlite cannot be used just now \(database is locked\)"):
            SelectionStore(path).is_done()
    assert SelectionStore(path).is_done()


def test_trees_of_several_sentences_and_of_none_are_whole():
    trees = [packed([0, 1, 0, 3]), b"", packed([2, 3, 4, 0]), packed([0])]
    rows = [(i, tree, check_sum("utterances", i, tree)) for i, tree in enumerate(trees)]
    found = dict(trees_of(rows, {"forms": 1, "relations": 1}))
    assert [found[i][1].tolist() for i in range(4)] == [[0, 1, 0, 3], [], [2, 3, 4, 0], [0]]
