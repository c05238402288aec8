from __future__ import annotations

import json

import pytest

from graphdep.training.floors import PredictedRow, write_rows

PREDICTED = [PredictedRow("a", {"a": 0.75, "b": 0.25}), PredictedRow(None, None)]


def test_objects():
    rows = [{"text": "ä", "prediction": "old"}, {"text": "y", "n": [1]}]
    text, replaced = write_rows(".jsonl", rows, PREDICTED, ["a", "b"])
    assert replaced == ["prediction"]
    assert [json.loads(line) for line in text.splitlines()] == [
        {"text": "ä", "prediction": "a", "probabilities": {"a": 0.75, "b": 0.25}},
        {"text": "y", "n": [1], "prediction": None, "probabilities": None},
    ]
    assert "ä" in text


@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t")])
def test_cells(suffix, mark):
    rows = [{"probability_b": "1", "text": "x"}, {"probability_b": "0", "text": "y"}]
    text, replaced = write_rows(f".{suffix}", rows, PREDICTED, ["a", "b"])
    assert replaced == ["probability_b"]
    assert [line.split(mark) for line in text.splitlines()] == [
        ["text", "prediction", "probability_a", "probability_b"],
        ["x", "a", "0.75", "0.25"],
        ["y", "", "", ""],
    ]


def test_quotes_and_what_tabs_cannot_hold():
    rows = [{"text": 'a,\n"b"'}, {"text": ""}]
    text, _ = write_rows(".csv", rows, PREDICTED, ["a", "b"])
    assert text.startswith('text,prediction,probability_a,probability_b\n"a,\n""b""",a,0.75,0.25\n')
    with pytest.raises(ValueError, match=r"a .tsv file cannot hold a tab or a line break \(got 'a,"):
        write_rows(".tsv", rows, PREDICTED, ["a", "b"])
