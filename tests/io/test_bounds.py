"""Small in, small out: what a small file may become is bounded, as a table of the architecture says."""

from __future__ import annotations

import json
import os
import re
import threading
import tracemalloc
import zlib
from pathlib import Path

import pytest
import torch

import graphdep
from graphdep import Sentence, draw
from graphdep.datasets.base import rows
from graphdep.datasets.labels import own
from graphdep.datasets.labels.words import Column
from graphdep.io import read_conllu, read_ptb, read_trees
from graphdep.io.files import LineError, brief, check_folder, home_path, open_to_read, place_error
from graphdep.sentence import Intake
from graphdep.training.config import read_mapping
from graphdep.visualization import plot_attention

DEEP = "(S " * 1_001 + "(N a)" + ")" * 1_001
ALIASES = "a: &a [x, x]\nb: [*a, *a]\n"
SPANS = {"form": ["a"], "head": [0], "deprel": ["root"], "constituents": [["S", 0, 1]] * 1_001}
WORDS = "".join(f"{number}\ta\t_\t_\t_\t_\t0\troot\t_\t_\n" for number in range(1, 10_002))


def spacy_file(path: Path) -> object:
    pytest.importorskip("spacy")
    return own.read_doc_bin(path, Column("upos"), Intake())


def parquet(columns: dict) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    file = pyarrow.BufferOutputStream()
    write_table(pyarrow.table(columns), file)
    return file.getvalue().to_pybytes()


def repeated(count: int, text: str) -> object:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * count, "int8"), pyarrow.array([text]))


def text_rows(path: Path) -> object:
    return rows.read_text_rows(path, ["text"])


FILES = {
    "CoNLL-U": (lambda: WORDS.encode(), read_conllu, "10001"),
    "brackets": (lambda: DEEP.encode(), read_ptb, ":1: more than 1000 brackets inside one another"),
    "constituents": (lambda: json.dumps(SPANS).encode(), read_trees, "is inside of more than 999 others"),
    "YAML": (ALIASES.encode, read_mapping, r"line 2 has the alias '\*a': write its value instead"),
    "YAML, depth": (lambda: b"a: " + b"[" * 10_000, read_mapping, "maximum recursion depth"),
    "JSON": (lambda: b"[" * 10_000, text_rows, "no JSON: maximum recursion depth"),
    "XML": (lambda: b"<?xml version='1.0'?><!DOCTYPE a><root/>", read_trees, "XML with a DOCTYPE"),
    ".spacy": (lambda: zlib.compress(bytes(2**20)), spacy_file, "more than 0 MiB when unpacked"),
    "Parquet, rows": (
        lambda: parquet({"text": repeated(101, "a")}), text_rows, "101 rows, but .* at most 100"
    ),
    "Parquet, size": (
        lambda: parquet({"text": repeated(100, "a" * 9_000)}), text_rows, "more than 0 MiB when unpacked"
    ),
}  # fmt: skip
PICTURES = {
    "page of trees": (lambda: draw(Sentence.chain(["a"] * 10_001)), "10000"),
    "page of edges": (lambda: draw(Sentence.chain(["a"] * 1_001), "dra"), "1000"),
    "heat map": (lambda: plot_attention(torch.zeros(151, 151), ["a"] * 151), "150"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_small_file_stays_small(name, tmp_path, monkeypatch):
    make, read, message = FILES[name]
    monkeypatch.setattr(own, "MAX_EXPANDED", 2**19)
    monkeypatch.setattr(rows, "MAX_TABLE", 2**19)
    monkeypatch.setattr(rows, "MAX_ROWS", 100)
    suffix = {".spacy": ".spacy", "Parque": ".parquet", "JSON": ".jsonl"}.get(name[:6], ".txt")
    path = tmp_path / f"x{suffix}"
    path.write_bytes(make())
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message) as caught:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 200 + len(str(path))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_as_many_words_as_can_be_seen(name):
    make, most = PICTURES[name]
    with pytest.raises(
        ValueError, match=rf"'words' must be at most {most} to be shown together .got {most[:-1]}1"
    ):
        make()


def test_the_page_has_every_bound():
    page = Path(graphdep.__file__).parents[1] / "docs" / "architecture.md"
    if not page.exists():
        pytest.skip("an installed package has no pages")
    table = page.read_text(encoding="utf-8").partition("## Bounds of what is read")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `?([^|`]+?)`? \|", table, re.M)
    assert {*FILES, *PICTURES} == {*listed} - {"what", "---"}


def test_a_damaged_file_of_spacy_names_itself(tmp_path):
    spacy = pytest.importorskip("spacy")
    srsly = pytest.importorskip("srsly")
    from spacy.tokens import Doc, DocBin

    made = DocBin(docs=[Doc(spacy.blank("xx").vocab, words=["a", "b"], pos=["X", "X"])]).to_bytes()
    values = srsly.msgpack_loads(zlib.decompress(made))
    path = tmp_path / "x.spacy"
    for place in range(0, len(values["tokens"]), 8):
        tokens = bytearray(values["tokens"])
        tokens[place : place + 8] = (2**40 + 1).to_bytes(8, "little")  # the number of no text
        path.write_bytes(zlib.compress(srsly.msgpack_dumps({**values, "tokens": bytes(tokens)})))
        for column in (None, Column("upos"), Column("deprel")):
            try:
                own.read_doc_bin(path, column, Intake())
            except ValueError as error:
                assert str(error).startswith(f"{path}: ")


def test_values_in_messages_are_cut_in_one_way():
    nested: list = ["x"] * 10
    for _ in range(8):  # of 10 ** 9 texts
        nested = [nested] * 10
    for value in (nested, "x" * 10**6, {"a": nested}, {number: number for number in range(10**5)}):
        assert brief(value).rstrip("'").endswith("...")
        assert len(brief(value)) <= 82
    for error in (LineError("x" * 10**6, "a", 1, "x" * 10**6), place_error("a", "x" * 10**6)):
        assert len(str(error)) < 1_200
    for value in ("a", 1, 0.5, None, [1, "a"], {"a": (1, 2)}):
        assert brief(value) == repr(value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_and_devices(tmp_path, monkeypatch):
    pipe = tmp_path / "p"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="/dev/zero: a device instead of a file or a pipe"):
        read_conllu("/dev/zero")
    monkeypatch.setattr("graphdep.io.files._SECONDS_TO_WARN", 0.05)
    said = threading.Event()
    monkeypatch.setattr("graphdep.io.files.logger.warning", lambda text, name: said.set())

    def write() -> None:
        said.wait(30)
        pipe.write_bytes(b"late")

    writer = threading.Thread(target=write)
    writer.start()
    with open_to_read(pipe) as file:
        assert file.read() == b"late"
    writer.join()
    assert said.is_set()


def test_folders_that_cannot_be(tmp_path):
    (tmp_path / "f").write_text("", encoding="utf-8")
    check_folder("output", tmp_path / "new" / "one")
    for path in (tmp_path / "f", tmp_path / "f" / "x"):
        with pytest.raises(ValueError, match="'output' must be a folder: .*f' is a file"):
            check_folder("output", path)
    with pytest.raises(ValueError, match="no user has the home folder of '~nosuchuser/x'"):
        home_path("~nosuchuser/x")
