from __future__ import annotations

import sys

import pytest

from graphdep.datasets import CSVTexts, OwnLabels, OwnSpans
from graphdep.datasets.base import rows as module
from graphdep.datasets.base.rows import check_columns, read_text_rows

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra [parquet]")


def write(path, columns):
    from pyarrow.parquet import write_table

    write_table(pyarrow.table(columns), path)
    return path


def test_rows_are_those_of_json_lines(tmp_path):
    columns = {"text": ["a fine film", "dull"], "label": [1, 0], "more": [[1.5], None]}
    path = write(tmp_path / "x.parquet", columns)
    rows = read_text_rows(path, ["text", "label"])
    assert [(row.line, row.text("text"), row.label("label")) for row in rows] == [
        (1, "a fine film", 1),
        (2, "dull", 0),
    ]
    assert [row.values["more"] for row in rows] == [[1.5], None]


def test_errors_name_the_row(tmp_path):
    for columns, message in [
        ({"text": ["a"]}, "x.parquet:1: no column 'label'; the columns are text"),
        ({"text": [1], "label": ["a"]}, r"x.parquet:1: 'text' must be a text .* \(got 1\)"),
        ({"text": ["a"], "label": [None]}, "x.parquet:1: 'label' must be the name of a class"),
        ({"text": ["a"], "label": [float("nan")]}, "x.parquet:1: 'label' must be the name of a class"),
        ({"text": pyarrow.array([], "string"), "label": pyarrow.array([], "string")}, "no row below"),
    ]:
        path = write(tmp_path / "x.parquet", columns)
        with pytest.raises(ValueError, match=message):
            [(row.text("text"), row.label("label")) for row in read_text_rows(path, ["text", "label"])]


def test_a_column_of_one_label_may_be_small(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_TABLE", 2**18)
    path = write(tmp_path / "x.parquet", {"text": ["a film"] * 10_000, "label": [["O", "O"]] * 10_000})
    assert len(read_text_rows(path, ["text"])) == 10_000


def test_a_damaged_file_is_refused(tmp_path):
    whole = write(tmp_path / "x.parquet", {"text": ["a film"] * 500, "label": ["b"] * 500}).read_bytes()
    for content in (b"", b"text,label", whole[:-20], whole[:4] + b"\0" * 40 + whole[44:]):
        (tmp_path / "y.parquet").write_bytes(content)
        with pytest.raises(ValueError, match=r"y\.parquet: not a readable Parquet file"):
            read_text_rows(tmp_path / "y.parquet", ["text", "label"])
    with pytest.raises(FileNotFoundError):
        check_columns(tmp_path / "none.parquet", ["text"])


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"x.parquet: Parquet needs pyarrow, .* graphdep\[parquet\]"):
        read_text_rows(tmp_path / "x.parquet", ["text"])


def test_all_datasets_of_own_files_read_parquet(tmp_path):
    texts = write(tmp_path / "t.parquet", {"text": ["a film", "dull"] * 10, "label": ["good", "bad"] * 10})
    made = CSVTexts(tmp_path / "c", train=texts, text_columns="text", label_column="label", parser="chain")
    assert made.labels == ("bad", "good")
    rows = {"words": [["Ann", "sings"], ["Bob"]], "labels": [["P", None], ["Q"]]}
    words = write(tmp_path / "w.parquet", rows)
    made = OwnLabels(tmp_path / "l", train=words, val=words, parser="chain", outside=None)
    assert made[0].y.tolist() == [0, -100]
    rows = {
        "words": [["Rain", "makes", "mud"]] * 2,
        "spans": [[[0, 1], [2, 3]]] * 2,
        "label": ["cause", "no"],
    }
    spans = write(tmp_path / "s.parquet", rows)
    made = OwnSpans(tmp_path / "s", train=spans, val=spans, parser="chain")
    assert made[0].mark.tolist() == [0, 1, 0, 2]


def test_wrong_encodings_are_named(tmp_path):
    """In a cell and in a column name, which the format allows."""
    for of in [b"dull", b"text"]:
        path = write(tmp_path / "t.parquet", {"text": ["dull"], "label": ["bad"]})
        path.write_bytes(path.read_bytes().replace(of, b"\xe4" + of[1:]))
        with pytest.raises(ValueError, match=r"t.parquet: .*not UTF-8 .got b'.xe4") as found:
            list(read_text_rows(path, ["text", "label"]))
        assert not isinstance(found.value, UnicodeDecodeError)
