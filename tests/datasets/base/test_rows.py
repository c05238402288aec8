from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep.datasets.base.rows import _MAX_NUMBER, TextRow, as_value, read_text_rows, row_raw
from graphdep.sentence.intake import Intake, needs_tree

COLUMNS = ["text", "label"]


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_three_formats_have_the_same_rows(tmp_path):
    rows = [("a fine film", "1"), ("dull", "0")]
    for name, content in {
        "x.csv": 'text,label,"more, even"\na fine film,1,\ndull,0,x\n',
        "x.TSV": "\ufefftext\tlabel\r\na fine film\t1\r\ndull\t0",
        "x.jsonl": '{"text": "a fine film", "label": "1"}\n{"label": "0", "text": "dull", "id": [3]}\n',
    }.items():
        read = read_text_rows(write(tmp_path, name, content), COLUMNS)
        assert [(row.text("text"), row.label("label")) for row in read] == rows


def test_only_csv_has_quotes_and_rows_of_several_lines(tmp_path):
    path = write(tmp_path, "x.csv", 'text,label\n"one\ntwo ""so""",a\nthree,b\n')
    assert [(row.line, row.values["text"]) for row in read_text_rows(path, COLUMNS)] == [
        (2, 'one\ntwo "so"'),
        (4, "three"),
    ]
    path = write(tmp_path, "x.tsv", 'text\tlabel\n"one" he said\ta\n')
    assert read_text_rows(path, COLUMNS)[0].text("text") == '"one" he said'


def test_labels_keep_their_kind(tmp_path):
    path = write(tmp_path, "x.jsonl", '{"y": 1}\n{"y": " a "}\n{"y": true}\n{"y": 0.5}\n')
    assert [row.label("y") for row in read_text_rows(path, ["y"])] == [1, " a ", True, 0.5]
    path = write(tmp_path, "x.csv", "y\n a \n1\n")
    assert [row.label("y") for row in read_text_rows(path, ["y"])] == ["a", "1"]


def test_a_missing_value_is_refused_with_its_place(tmp_path):
    for value, kind, message in [
        ("  ", "text", r"'x' must be a text with at least one word \(it is blank\)"),
        (None, "text", r"'x' must be a text with at least one word \(got 'nothing'\)"),
        (3, "text", r"'x' must be a text with at least one word \(got 3\)"),
        (" ", "label", r"'x' must be the name of a class \(it is blank\)"),
        (None, "label", r"'x' must be the name of a class \(got 'nothing'\)"),
        ([1], "label", "'x' must be the name of a class"),
        ("1_0", "number", r"'x' must be a number that is finite in 32 bits \(got '1_0'\)"),
        ("nan", "number", r"'x' must be a number that is finite in 32 bits \(got 'nan'\)"),
        ("1e999", "number", "'x' must be a number"),
        ("", "number", r"'x' must be a number that is finite in 32 bits \(got ''\)"),
        (True, "number", r"'x' must be a number that is finite in 32 bits \(got True\)"),
        (None, "number", "'x' must be a number"),
        ("1e300", "number", r"'x' must be a number that is finite in 32 bits \(got '1e300'\)"),
        (-1e39, "number", r"'x' must be a number that is finite in 32 bits \(got -1e\+39\)"),
        (10**400, "number", r"'x' must be a number that is finite in 32 bits \(got 1000"),
    ]:
        path = write(tmp_path, "x.jsonl", json.dumps({"x": "fine"}) + "\n" + json.dumps({"x": value}) + "\n")
        row = read_text_rows(path, ["x"])[1]
        with pytest.raises(ValueError, match=re.escape(f"{path}:2: ") + message):
            getattr(row, kind)("x")


def test_numbers(tmp_path):
    path = write(
        tmp_path, "x.jsonl", "".join(json.dumps({"x": x}) + "\n" for x in ["1.5", " 2 ", 3, -4e-1, "-3.4e38"])
    )
    assert [row.number("x") for row in read_text_rows(path, ["x"])] == [1.5, 2.0, 3.0, -0.4, -3.4e38]


cells = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1)


@settings(max_examples=30)
@given(st.lists(st.tuples(cells, cells), min_size=1), st.sampled_from(["csv", "jsonl"]))
def test_written_files_are_read(tmp_path_factory, rows, suffix):
    path = tmp_path_factory.getbasetemp() / f"written.{suffix}"
    with path.open("w", encoding="utf-8", newline="") as file:
        if suffix == "csv":
            csv.writer(file).writerows([COLUMNS, *rows])
        else:
            file.writelines(json.dumps(dict(zip(COLUMNS, row))) + "\n" for row in rows)
    assert [tuple(row.values.values()) for row in read_text_rows(path, COLUMNS)] == rows


def test_the_largest_number_is_that_of_32_bits():
    assert torch.finfo(torch.float32).max == _MAX_NUMBER


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".tsv", "text\tlabel\nTreasury\x12s\x07 plan\tb\nfine\tb\n"),
        (".csv", "text,label\nTreasury\x12s\x07 plan,b\nfine,b\n"),
        (".jsonl", '{"text": "Treasury\x12s\x07 plan", "label": "b"}\n{"text": "fine", "label": "b"}\n'),
    ],
)
def test_control_characters_are_blanks_and_counted(tmp_path, caplog, suffix, text):
    path = tmp_path / f"x{suffix}"
    path.write_text(text, encoding="utf-8")
    assert [row.text("text") for row in read_text_rows(path, ["text", "label"])] == [
        "Treasury s  plan",
        "fine",
    ]
    line = 1 if suffix == ".jsonl" else 2
    assert f"x{suffix}: 2 control characters read as a blank, the first on line {line}" in caplog.text


def test_arcs_without_trees_are_written_as_read():
    values = {"edges": [[1, 2, "agent"], [0, 2, "top"]]}
    raw = row_raw(TextRow(Path("a.jsonl"), 1, values), ["She", "sings"])
    [tree] = Intake().sentences([raw])
    assert needs_tree(tree)
    assert as_value(tree) == {"form": ["She", "sings"], **values}
