from __future__ import annotations

import random
import resource
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.datasets import Ubuntu
from graphdep.datasets.selection import builder
from graphdep.datasets.selection.builder import WordPieces
from graphdep.datasets.selection.store import pack_tree, unpack_tree
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed

ROWS = [f"{i % 2}\tis it p{i // 2}\tyes it is\tword{i} of mine" for i in range(30)]
LARGEST = st.sampled_from([0, 1, 255, 256, 65_535, 65_536, (1 << 32) - 1])


class Chains(Parser):
    """Returns chains, after calling ``first``; stops at call number ``stop``."""

    fingerprint = "chains"

    def __init__(self, stop: int | None = None, relation: str = "dep", first=lambda: None) -> None:
        super().__init__(progress=False)
        self.stop, self.relation, self.first, self.calls = stop, relation, first, 0

    def parse_texts(self, texts):
        raise AssertionError("words are given")

    def parse_sentences(self, sentences):
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt
        self.first()
        heads = [[*range(len(words))] for words in sentences]
        labels = [["root", *[self.relation] * (len(words) - 1)] for words in sentences]
        return [Parsed([Sentence(*tree)]) for tree in zip(map(list, sentences), heads, labels)]


def load(root: Path, parser: Parser | None = None, **options) -> Ubuntu:
    path = root / "raw" / "ubuntu-v1" / "train.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in ROWS))
    return Ubuntu(root, "train", parser or Chains(), layout="v1", keep_parses=False, log=False, **options)


def stored(dataset: Ubuntu) -> list[object]:
    store = dataset._store
    return [
        [(number, *map(np.ndarray.tolist, map(np.asarray, pair))) for number, pair in store.each_pair()],
        [[column.tolist() for column in tree] for tree in store.each_tree()],
        [*store.words(), *store.relations()],
        store.content(),
    ]


@settings(max_examples=40)
@given(st.data())
def test_packed_trees_are_unpacked(data):
    size = data.draw(st.integers(0, 40))
    columns = []
    for _ in range(3):
        numbers = st.integers(0, data.draw(LARGEST))
        columns.append(np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)), dtype=np.int64))
    packed = pack_tree(*columns)
    bytes_a_word = sum(1 if c.max() < 1 << 8 else 2 if c.max() < 1 << 16 else 4 for c in columns if size)
    assert len(packed) == (1 + size * bytes_a_word if size else 0)
    assert [column.tolist() for column in unpack_tree(packed)] == [column.tolist() for column in columns]


class Letters:
    """Pieces are letters."""

    cls_id, sep_id, eou_id, fingerprint = 0, 1, 2, "letters"

    def encode(self, words):
        return [[ord(letter) for letter in word] for word in words]


@given(st.lists(st.text("abcä", min_size=1, max_size=4), max_size=12), st.integers(1, 4), st.data())
def test_pieces_are_those_of_word_by_word(words, size, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "_WORDS", size)
        pieces = WordPieces(iter(words), Letters())
    numbers = data.draw(st.lists(st.integers(0, len(words) - 1), max_size=10)) if words else []
    ids, counts = pieces.of(np.array(numbers, dtype=np.int64))
    expected = [Letters().encode([words[number]])[0] for number in numbers]
    assert ids.tolist() == list(chain.from_iterable(expected))
    assert counts.tolist() == [len(piece) for piece in expected]
    assert ids.dtype == counts.dtype == np.int64
    assert pieces.holds(ord("b")).tolist() == ["b" in word for word in words]


def test_counts_and_columns(tmp_path):
    store = load(tmp_path)._store
    different = {turn for row in ROWS for turn in row.split("\t")[1:]}
    counts = dict(zip(store.words(), store.counts("words").tolist()))
    assert counts == Counter(word for turn in different for word in turn.split())
    assert dict(zip(store.relations(), store.counts("relations").tolist()))["root"] == len(different)
    assert store.column("pool").tolist() == [i // 2 for i in range(30)]
    assert store.column("label").tolist() == [i % 2 for i in range(30)]
    assert store.totals() > Counter(pools=15, pairs=30, utterances=46, words=sum(counts.values()))


def test_the_file_is_the_same_however_much_is_parsed_at_once(tmp_path, monkeypatch):
    expected = stored(load(tmp_path / "all"))
    for pools in [1, 4]:
        monkeypatch.setattr(builder, "POOLS", pools)
        parser = Chains()
        assert stored(load(tmp_path / str(pools), parser)) == expected
        assert parser.calls == -(-15 // pools)


def test_an_interrupted_build_leaves_no_valid_file(tmp_path, monkeypatch):
    monkeypatch.setattr(builder, "POOLS", 3)
    for stop in [1, 3, 5]:
        root = tmp_path / str(stop)
        with pytest.raises(KeyboardInterrupt):
            load(root, Chains(stop))
        assert not list((root / "processed").iterdir())
        expected = stored(load(root))
        with pytest.raises(KeyboardInterrupt):
            load(root, Chains(stop), force_reload=True)
        assert stored(load(root, Chains(stop=1))) == expected
        assert len(list((root / "processed").iterdir())) == 1


def test_a_full_disk_names_the_file(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        full = Chains(first=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1])))
        with pytest.raises(OSError, match=r"train-.*\.sqlite cannot be written \("):
            load(tmp_path, full)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list((tmp_path / "processed").iterdir())
    assert len(load(tmp_path))


def test_two_builders_at_once(tmp_path):
    others: list[Ubuntu] = []
    dataset = load(tmp_path, Chains(first=lambda: others or others.append(load(tmp_path))))
    assert stored(dataset) == stored(others[0])
    assert len(list((tmp_path / "processed").iterdir())) == 1


def test_reading_while_the_file_is_replaced(tmp_path):
    reader = load(tmp_path)
    before = stored(reader)
    parser = Chains(first=lambda: before == stored(reader) or pytest.fail("another file"))
    assert stored(load(tmp_path, parser, force_reload=True)) == before == stored(reader)
    assert parser.calls == 1
    load(tmp_path, Chains(relation="nsubj"), force_reload=True)
    reads = (lambda: reader[0], reader.labels, reader.count_cut, lambda: reader.sentences(0))
    for read in reads:
        with pytest.raises(OSError, match=r"train-.*\.sqlite was replaced by another process"):
            read()


def change(path: Path, query: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(query)


DAMAGE = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "garbage": lambda path: path.write_bytes(b"no database" * 100),
    "empty": lambda path: path.write_bytes(b""),
    "another format": lambda path: change(path, "PRAGMA user_version = 1"),
    "no table": lambda path: change(path, "DROP TABLE relations"),
    "no note": lambda path: change(path, "DELETE FROM notes WHERE name = 'totals'"),
    "lost pairs": lambda path: change(path, "DELETE FROM pairs WHERE id = 29"),
    "a trigger": lambda path: change(path, "CREATE TRIGGER t AFTER INSERT ON notes BEGIN SELECT 1; END"),
    "a view": lambda path: change(path, "CREATE VIEW more AS SELECT * FROM pairs"),
    "another label": lambda path: change(path, "UPDATE pairs SET label = 1 - label WHERE id = 3"),
    "another word": lambda path: change(path, "UPDATE words SET form = 'x' WHERE id = 2"),
    "lost utterances": lambda path: change(path, "DELETE FROM utterances WHERE id > 3"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_again(tmp_path, damage, caplog):
    dataset = load(tmp_path)
    expected, path = stored(dataset), dataset._store.path
    DAMAGE[damage](path)
    assert stored(load(tmp_path)) == expected
    assert f"{path} is damaged or not a file of pairs (" in caplog.text


def test_damage_that_shows_later_names_the_file(tmp_path):
    dataset = load(tmp_path)
    path = dataset._store.path
    change(path, "DELETE FROM pairs WHERE id = 7")
    with pytest.raises(ValueError, match=r"train-.*\.sqlite is damaged .*no row 7.*delete it"):
        dataset[7]
    content = path.read_bytes()
    path.write_bytes(content[:4096] + random.Random(0).randbytes(len(content) - 4096))
    with pytest.raises(ValueError, match=r"train-.*\.sqlite is damaged"):
        dataset[0]
    path.unlink()
    with pytest.raises(OSError, match=r"train-.*\.sqlite cannot be read"):
        dataset[0]
