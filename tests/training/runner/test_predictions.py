from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.training.evaluation import Predictions, read_predictions, shared_groups, write_predictions

finite = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(whole, finite), min_size=1, max_size=5))
def test_the_bytes(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("predictions") / "predictions.csv"
    write_predictions(path, *(np.array(column) for column in zip(*rows)))
    lines = [f"{number},{target!r},{guess!r}\n" for number, (target, guess) in enumerate(rows)]
    assert path.read_bytes() == "".join(["example,target,prediction\n", *lines]).encode()


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=5))
def test_floats_come_back_exactly(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("predictions") / "predictions.csv"
    columns = tuple(np.array(column) for column in zip(*rows))
    write_predictions(path, *columns)
    for read, written in zip(read_predictions(path)[:2], columns):
        assert read.dtype == np.float64
        assert (read == written).all()


def test_the_file_and_classes(tmp_path):
    path = tmp_path / "run" / "predictions.csv"
    write_predictions(path, np.array([2, 0]), np.array([1.0, 0.1], dtype=np.float32))
    assert path.read_bytes() == b"example,target,prediction\n0,2,1.0\n1,0,0.10000000149011612\n"
    target, prediction, group = read_predictions(path)
    assert group is None
    assert (target.dtype, prediction.dtype) == (np.int64, np.float64)


def test_a_file_saved_by_a_spreadsheet(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"\xef\xbb\xbfexample,target,prediction\r\n0,1,1\r\n")
    assert [column.tolist() for column in read_predictions(path)[:2]] == [[1], [1]]


@given(st.lists(st.tuples(whole, finite, whole), min_size=1, max_size=5))
def test_groups_come_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("predictions") / "predictions.csv"
    columns = [np.array(column) for column in zip(*rows)]
    write_predictions(path, *columns)
    assert path.read_bytes().startswith(b"example,target,prediction,group\n0,")
    found = read_predictions(path)
    assert found.group is not None
    assert found.group.dtype == np.int64
    assert [column.tolist() for column in found] == [column.tolist() for column in columns]


def test_groups_of_several_runs_are_one():
    target = np.arange(3)
    old, new = Predictions(target, target), Predictions(target, target, np.array([0, 0, 1]))
    assert shared_groups([old, old]) is None
    assert shared_groups([old, new, new]) is new.group
    other = Predictions(target, target, np.array([0, 1, 1]))
    with pytest.raises(ValueError, match="example 1 is of group 0 in one run and of 1 in another"):
        shared_groups([new, other])


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.float64]
)
def test_the_ends_of_each_type_come_back(tmp_path, dtype):
    limits = np.finfo(dtype) if np.issubdtype(dtype, np.floating) else np.iinfo(dtype)
    largest = 2**63 - 1 if dtype is np.uint64 else limits.max
    written = np.array([limits.min, largest], dtype=dtype)
    write_predictions(tmp_path / "p.csv", written, written[::-1])
    target, prediction, _ = read_predictions(tmp_path / "p.csv")
    assert target.tolist() == written.tolist()
    assert prediction.tolist() == written[::-1].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", r"p.csv:1: the header must be 'example,target,prediction' or '.*,group' \(got ''\)"),
        (b"example,prediction\n0,1\n", r"p.csv:1: the header must be .*got 'example,prediction'"),
        (b"example,target,prediction\n", "p.csv:1: no example after the header"),
        (b"example,target,prediction\n0,1,1\n2,1,1\n", r"p.csv:3: expected example 1 \(got '2'\)"),
        (b"example,target,prediction\n1,1,1\n", r"p.csv:2: expected example 0 \(got '1'\)"),
        (b"example,target,prediction\n0,1\n", r"p.csv:2: 2 columns instead of 3 \(got '0,1'\)"),
        (b"example,target,prediction\n0,1,1\n\n1,1,1\n", "p.csv:3: 1 columns instead of 3"),
        (
            b'example,target,prediction\n0,"1",1\n',
            r"p.csv:2: the target is not a finite number \(got '\"1\"'\)",
        ),
        (b"example,target,prediction\n0,1,\x001\n", r"p.csv:2: the prediction is not a finite .*got '.x001'"),
        (b"example,target,prediction\n0,1," + b"x" * 2**18 + b"\n", r"p.csv:2: .*got 'x{80}'\)"),
        (
            b"example,target,prediction\n0,one,1\n",
            r"p.csv:2: the target is not a finite number \(got 'one'\)",
        ),
        (b"example,target,prediction\n0,1,nan\n", r"p.csv:2: the prediction is not a finite number"),
        (b"example,target,prediction\n0,1,1e999\n", r"p.csv:2: the prediction is not a finite number"),
        (b"example,target,prediction\n0,1,\xff\n", r"p.csv:2: the prediction is not a finite number"),
        (b"example,target,prediction\n0,1,1_0\n", r"p.csv:2: the prediction is not a .*got '1_0'"),
        (b"example,target,prediction\n0, 1,1\n", r"p.csv:2: the target is not a .*got ' 1'"),
        ("example,target,prediction\n0,1,\u0663\n".encode(), r"p.csv:2: the prediction is not a finite"),
        ("example,target,prediction\n0,1,\u0663.5\n".encode(), r"p.csv:2: the prediction is not a finite"),
        (b"example,target,prediction\n0,1,9223372036854775808\n", r"p.csv:2: the prediction is not a"),
        (b"example,target,prediction\n0,1,1\n1,1,1", r"p.csv:3: the file is cut: .* \(got '1,1,1'\)"),
        (b"example,target,prediction,group\n0,1,1\n", r"p.csv:2: 3 columns instead of 4 \(got '0,1,1'\)"),
        (
            b"example,target,prediction,group\n0,1,1,2.0\n",
            r"p.csv:2: the group is not a whole number \(got '2.0'\)",
        ),
        (b"example,target,prediction", "p.csv:1: the file is cut: its last line has no line break"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, message):
    (tmp_path / "p.csv").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_predictions(tmp_path / "p.csv")


def test_nothing_wrong_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"vectors of one size > 0 \(got \(2,\) and \(1,\)\)"):
        write_predictions(tmp_path / "p.csv", np.ones(2), np.ones(1))
    with pytest.raises(ValueError, match="'prediction' must be finite numbers"):
        write_predictions(tmp_path / "p.csv", np.ones(1), np.array([np.nan]))
    for wrong in (np.ones(1, dtype=np.longdouble), np.array([2**63], dtype=np.uint64), np.array([True])):
        with pytest.raises(ValueError, match=f"'target' must be finite numbers .*got {wrong.dtype}"):
            write_predictions(tmp_path / "p.csv", wrong, np.ones(1))
    for wrong in (np.ones(1), np.ones(2, dtype=np.int64)):
        with pytest.raises(ValueError, match=rf"'group' must be 1 whole numbers .*got {wrong.dtype}"):
            write_predictions(tmp_path / "p.csv", np.ones(1), np.ones(1), wrong)
    assert not list(tmp_path.iterdir())


def test_texts_stand_behind_the_numbers_and_are_not_read_back(tmp_path):
    path = tmp_path / "p.csv"
    target, prediction = np.array([1, 0]), np.array([0, 0])
    told = {"target_label": ["good", "bad, I say"], "text": ['a "fine"\nfilm', "dull"]}
    write_predictions(path, target, prediction, np.array([3, 4]), told)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {
        "example": "0",
        "target": "1",
        "prediction": "0",
        "group": "3",
        "target_label": "good",
        "text": 'a "fine" film',
    }
    assert rows[1]["target_label"] == "bad, I say"
    found = read_predictions(path)
    assert (found.target.tolist(), found.prediction.tolist(), found.group.tolist()) == (
        [1, 0],
        [0, 0],
        [3, 4],
    )
    write_predictions(path, target, prediction, None, {"text": ["a", "b"]})
    assert read_predictions(path).group is None
    path.write_text("example,target,prediction,text\n0,1,0\n")
    with pytest.raises(ValueError, match="p.csv:2: 3 columns instead of 4"):
        read_predictions(path)
