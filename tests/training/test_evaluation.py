"""Evaluation of checkpoints, and files of predictions."""

from __future__ import annotations

import csv
import shlex
import signal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep.tasks import SentenceTask
from graphdep.training import TrainConfig, evaluate, load_task, train
from graphdep.training.evaluation import (
    Predictions,
    check_same_examples,
    read_predictions,
    shared_groups,
    write_predictions,
)

COLUMNS = {"text_columns": "text", "label_column": "label"}
SIZES = {"hidden_channels": 4, "max_epochs": 1, "accelerator": "cpu"}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A function that writes the checkpoint of a run with other settings, and the files of the run."""
    folder = tmp_path_factory.mktemp("theirs")
    path = folder / "texts.csv"
    path.write_text("text,label\n" + "".join(f"a film {i},{'ab'[i % 2]}\n" for i in range(20)))
    places = {"train": str(path), "root": str(folder / "root"), "parser": "chain"}
    result = train(TrainConfig.of("word-average", task="csv", **places, **COLUMNS, **SIZES), folder / "run")
    checkpoint = torch.load(result["checkpoint"], weights_only=True)

    def altered(target, **settings):
        config = {**checkpoint["graphdep"]["config"], **settings}
        state = {**checkpoint, "graphdep": {**checkpoint["graphdep"], "config": config}}
        torch.save(state, target)
        return target

    return altered, places


def test_a_checkpoint_names_no_place_of_its_own(theirs, tmp_path):
    """Paths in a checkpoint are neither read nor written, and the error lists them."""
    altered, _ = theirs
    secret = tmp_path / "secret file.csv"
    secret.write_text("text,label\nnothing,TOP-SECRET\n")
    victim = tmp_path / "victim"
    names = {"root": str(victim), "train": str(secret), "test": str(secret), "parser": "bundled:/evil"}
    path = altered(tmp_path / "theirs.ckpt", **names)
    for named in ({}, {"root": str(victim)}, {"root": "a", "parser": "chain"}):
        with pytest.raises(ValueError, match="theirs.ckpt: also needs ") as caught:
            evaluate(path, settings=named)
        message = str(caught.value)
        options = shlex.split(message.partition(": also needs ")[2].rpartition(": files, folders")[0])
        expected = [
            *(["--parser", "bundled:/evil"] if "parser" not in named else []),
            *(["--root", str(victim)] if "root" not in named else []),
            *("--test", str(secret)),
        ]
        assert options == expected
        assert "SECRET" not in message
    assert not victim.exists()


def test_names_that_are_given_are_used(theirs, tmp_path):
    altered, places = theirs
    path = altered(tmp_path / "theirs.ckpt", root="/else", train="/where", parser="stanza:de")
    metrics = evaluate(path, "val", settings=places)["metrics"]
    assert metrics == evaluate(altered(tmp_path / "same.ckpt"), "val", settings=places)["metrics"]


def test_what_is_dangerous_to_paste_or_to_print_is_quoted(theirs, tmp_path):
    altered, _ = theirs
    path = altered(tmp_path / "theirs.ckpt", root="$(rm -r x)'`", parser="bundled:\x1b[2J")
    with pytest.raises(ValueError, match="also needs") as caught:
        evaluate(path, "val")
    assert "\x1b" not in str(caught.value)
    assert "--root '$(rm -r x)'\"'\"'`'" in str(caught.value)


def test_processes_and_raw_files_of_a_checkpoint_are_not_taken(theirs, tmp_path, monkeypatch):
    altered, places = theirs
    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", lambda process: pytest.fail("started"))
    path = altered(tmp_path / "theirs.ckpt", num_workers=2)
    assert evaluate(path, "val", settings=places)["metrics"]
    config = load_task(path)[1].config.replace(num_workers=2)
    assert config.for_evaluation({}).num_workers is None
    assert config.for_evaluation({"num_workers": 1}).num_workers == 1
    sick = TrainConfig.of("dt", raw_from="/somewhere")
    assert sick.for_evaluation({}).raw_from is None
    assert sick.for_evaluation({"raw_from": "here"}).raw_from == "here"


def test_the_default_parser_of_a_task_needs_no_repeating():
    assert TrainConfig.of("bert-fp", task="post-train").named() == {}
    assert TrainConfig.of("bert-fp", task="post-train", parser="bundled").named() == {}
    assert TrainConfig.of("dt", parser="chain").named() == {"parser": "chain"}


def test_a_checkpoint_loads_no_encoder_by_its_name(theirs, tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", lambda *a, **k: pytest.fail("loaded"))
    altered, _ = theirs
    config = TrainConfig.of("bert", task="csv", train="x", **COLUMNS, encoder="somebody/evil").to_dict()
    with pytest.raises(ValueError, match="'pretrained' must be given if"):
        load_task(altered(tmp_path / "theirs.ckpt", **config))


def test_ctrl_c_while_a_split_is_scored(theirs, tmp_path, monkeypatch):
    """Lightning would exit silently, and later ignore Ctrl-C."""
    altered, places = theirs
    path, handler = altered(tmp_path / "theirs.ckpt"), signal.default_int_handler
    before = signal.signal(signal.SIGINT, handler)  # an earlier test may ignore it
    monkeypatch.setattr(SentenceTask, "predict_step", lambda *args: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        evaluate(path, "val", settings=places)
    assert signal.signal(signal.SIGINT, before) is handler


finite = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(whole, finite), min_size=1, max_size=5))
def test_the_bytes(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("predictions") / "predictions.csv"
    write_predictions(path, *(np.array(column) for column in zip(*rows)))
    lines = [f"{number},{target!r},{guess!r}\n" for number, (target, guess) in enumerate(rows)]
    assert path.read_bytes() == "".join(["example,target,prediction\n", *lines]).encode()


def test_the_file_and_classes(tmp_path):
    path = tmp_path / "run" / "predictions.csv"
    write_predictions(path, np.array([2, 0]), np.array([1.0, 0.1], dtype=np.float32))
    assert path.read_bytes() == b"example,target,prediction\n0,2,1.0\n1,0,0.10000000149011612\n"
    target, prediction, group, digest = read_predictions(path)
    assert group is None
    assert digest is None
    assert (target.dtype, prediction.dtype) == (np.int64, np.float64)


def test_a_file_saved_by_a_spreadsheet(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"\xef\xbb\xbfexample,target,prediction\r\n0,1,1\r\n")
    assert [column.tolist() for column in read_predictions(path)[:2]] == [[1], [1]]


@given(st.lists(st.tuples(finite, finite, whole), min_size=1, max_size=5))
def test_groups_come_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("predictions") / "predictions.csv"
    columns = [np.array(column) for column in zip(*rows)]
    write_predictions(path, *columns)
    assert path.read_bytes().startswith(b"example,target,prediction,group\n0,")
    found = read_predictions(path)
    assert found.group is not None
    assert found.group.dtype == np.int64
    assert [column.tolist() for column in found[:3]] == [column.tolist() for column in columns]


def test_groups_of_several_runs_are_one():
    target = np.arange(3)
    old, new = Predictions(target, target), Predictions(target, target, np.array([0, 0, 1]))
    assert shared_groups([old, old]) is None
    assert shared_groups([old, new, new]) is new.group
    other = Predictions(target, target, np.array([0, 1, 1]))
    with pytest.raises(ValueError, match="example 1 is in group 0 in one run and in 1 in another"):
        shared_groups([new, other])


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6), st.data())
def test_the_same_examples_are_equal_row_by_row(rows, data):
    """The error names the first row with another target or digest."""
    others = [(data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in rows]
    one, two = (
        Predictions(
            np.array([y for y, _ in found]), np.zeros(len(found)), None, tuple(f"d{d}" for _, d in found)
        )
        for found in (rows, others)
    )
    check_same_examples(["a.csv", "b.csv"], [one, one])
    wrong = [number for number, row in enumerate(rows) if row != others[number]]
    if wrong:
        what = "target" if rows[wrong[0]][0] != others[wrong[0]][0] else "digest"
        with pytest.raises(ValueError, match=rf"^b.csv: example {wrong[0]} has the {what} .*in a.csv it is"):
            check_same_examples(["a.csv", "b.csv"], [one, two])
    with pytest.raises(ValueError, match="b.csv: no column 'digest'.* repeat this run"):
        check_same_examples(["a.csv", "b.csv"], [one, two._replace(digest=None)])


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.float64]
)
def test_the_ends_of_each_type_come_back(tmp_path, dtype):
    limits = np.finfo(dtype) if np.issubdtype(dtype, np.floating) else np.iinfo(dtype)
    largest = 2**63 - 1 if dtype is np.uint64 else limits.max
    written = np.array([limits.min, largest], dtype=dtype)
    write_predictions(tmp_path / "p.csv", written, written[::-1])
    target, prediction, *_ = read_predictions(tmp_path / "p.csv")
    assert target.tolist() == written.tolist()
    assert prediction.tolist() == written[::-1].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "p.csv:1: the header must begin with 'example,target,prediction'"),
        (b"example,target,prediction\n", "p.csv:1: no example after the header"),
        (b"example,target,prediction\n0,1,1\n2,1,1\n", r"p.csv:3: expected example 1 \(got '2'\)"),
        (b"example,target,prediction\n0,1\n", r"p.csv:2: 2 columns instead of 3 \(got '0,1'\)"),
        (
            b'example,target,prediction\n0,"1",1\n',
            r"p.csv:2: the target is not a finite number \(got '\"1\"'\)",
        ),
        (b"example,target,prediction\n0,1,nan\n", r"p.csv:2: the prediction is not a finite number"),
        (b"example,target,prediction\n0,1,\xff\n", r"p.csv:2: the prediction is not a finite number"),
        (b"example,target,prediction\n0,1,1_0\n", r"p.csv:2: the prediction is not a .*got '1_0'"),
        ("example,target,prediction\n0,1,\u0663\n".encode(), r"p.csv:2: the prediction is not a finite"),
        (b"example,target,prediction\n0,1,9223372036854775808\n", r"p.csv:2: the prediction is not a"),
        (b"example,target,prediction\n0,1,1\n1,1,1", r"p.csv:3: the file is cut: .* \(got '1,1,1'\)"),
        (
            b"example,target,prediction,group\n0,1,1,2.0\n",
            r"p.csv:2: the group is not a whole number \(got '2.0'\)",
        ),
        (
            b"example,target,prediction,digest\n0,1,1,12AB\n",
            r"p.csv:2: the digest is not hexadecimal \(got '12AB'\)",
        ),
        (b"example,target,prediction", "p.csv:1: the file is cut: its last line has no line break"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, message):
    (tmp_path / "p.csv").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_predictions(tmp_path / "p.csv")


def test_wrong_predictions_are_not_written(tmp_path):
    for target, prediction, group, name in (
        (np.ones(2), np.ones(1), None, "prediction"),
        (np.ones((2, 2)), np.ones((2, 2)), None, "target"),
        (np.ones(0), np.ones(0), None, "target"),
        (np.ones(2), np.ones(2), np.ones(3, dtype=int), "group"),
        (np.ones(2), np.ones(2), np.array([0.5, 1]), "group"),
    ):
        with pytest.raises(ValueError, match=f"'{name}' (must be|is empty)"):
            write_predictions(tmp_path / "p.csv", target, prediction, group)
    for digest, message in ((["a"], "must have 2 rows"), (["a", "g,"], "must be hex digits .*'g,'")):
        with pytest.raises(ValueError, match=f"'digest' {message}"):
            write_predictions(tmp_path / "p.csv", np.ones(2), np.ones(2), None, digest)
    with pytest.raises(ValueError, match="'prediction' must be finite numbers"):
        write_predictions(tmp_path / "p.csv", np.ones(1), np.array([np.nan]))
    for wrong in (np.ones(1, dtype=np.longdouble), np.array([2**63], dtype=np.uint64), np.array([True])):
        with pytest.raises(ValueError, match=f"'target' must be finite numbers .*got {wrong.dtype}"):
            write_predictions(tmp_path / "p.csv", wrong, np.ones(1))
    assert not list(tmp_path.iterdir())


def test_texts_stand_behind_the_numbers_and_are_not_read_back(tmp_path):
    path = tmp_path / "p.csv"
    target, prediction = np.array([1, 0]), np.array([0, 0])
    told = {"target_label": ["good", "bad, I say"], "text": ['a "fine"\nfilm', "dull"]}
    write_predictions(path, target, prediction, np.array([3, 4]), ["0a", "1b"], told)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {
        "example": "0",
        "target": "1",
        "prediction": "0",
        "group": "3",
        "digest": "0a",
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
    assert found.digest == ("0a", "1b")
    write_predictions(path, target, prediction, None, None, {"text": ["a", "b"]})
    assert read_predictions(path).group is None
    path.write_text("example,target,prediction,text\n0,1,0\n")
    with pytest.raises(ValueError, match="p.csv:2: 3 columns instead of 4"):
        read_predictions(path)
