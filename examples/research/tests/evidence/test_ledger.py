from __future__ import annotations

import pytest
from evidence.ledger import Ledger, RunKey
from hypothesis import given
from hypothesis import strategies as st

words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=6)
keys = st.builds(RunKey, words, words, words, st.integers(0, 99))
values = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: float(f"{value:.6g}"))
scores = st.dictionaries(words.filter(bool), values, min_size=1)


@given(st.dictionaries(keys, scores, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, runs):
    path = tmp_path_factory.mktemp("ledger") / "results" / "one.csv"
    ledger = Ledger(path)
    for key, found in runs.items():
        ledger.add(key, found)
    assert Ledger(path).runs == runs


def test_scores_by_seed(tmp_path):
    ledger = Ledger(tmp_path / "one.csv")
    for seed in (1, 0):
        ledger.add(RunKey("d", "dt", "", seed), {"test_f1": seed / 4, "epochs": 3})
    ledger.add(RunKey("d", "dt", "lr=1", 0), {"test_f1": 9.0})
    ledger.add(RunKey("other", "dt", "", 2), {"test_f1": 9.0})
    assert ledger.scores("d", "dt", "test_f1") == {0: 0.0, 1: 0.25}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "one.csv:1: the header must be digest,row"),
        ("digest,row,tune,seed,metric,value\nd,dt,,0,f1\n", "one.csv:2: not enough values"),
        ("digest,row,tune,seed,metric,value\nd,dt,,x,f1,1\n", "one.csv:2: .*'x'"),
        ("digest,row,tune,seed,metric,value\nd,dt,,0,f1,nan\n", "one.csv:2: a score must be a number"),
        ("digest,row,tune,seed,metric,value\nd,dt,,0,f1,0.2", "one.csv: the file is cut"),
        ("digest,row,tune,seed,metric,value\nd,dt,,0,f1,1\nd,dt,,0,f1,1\n", "one.csv:3: .* there twice"),
    ],
)
def test_errors(tmp_path, text, message):
    (tmp_path / "one.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        Ledger(tmp_path / "one.csv")


def test_what_is_kept_is_what_is_read_again(tmp_path):
    ledger, key = Ledger(tmp_path / "a.csv"), RunKey("d", "dt", "", 0)
    ledger.add(key, {"test_f1": 1 / 3})
    assert ledger.runs == Ledger(tmp_path / "a.csv").runs == {key: {"test_f1": 0.333333}}


def test_a_run_that_was_taken_out_does_not_come_back(tmp_path):
    one, other = Ledger(tmp_path / "a.csv"), Ledger(tmp_path / "a.csv")
    keys = [RunKey("d", "dt", "", seed) for seed in range(3)]
    one.add(keys[0], {"test_f1": 0.5, "old": 9.0})
    other.refresh()
    one.drop(keys[0])
    other.add(keys[1], {"test_f1": 0.6})
    assert Ledger(tmp_path / "a.csv").runs.keys() == {keys[1]}
    one.add(keys[0], {"test_f1": 0.7})
    other.add(keys[2], {"test_f1": 0.8})
    assert Ledger(tmp_path / "a.csv").runs[keys[0]] == {"test_f1": 0.7}


def test_two_processes_keep_each_other_s_runs(tmp_path):
    one, other = Ledger(tmp_path / "d.csv"), Ledger(tmp_path / "d.csv")
    for seed in range(3):
        one.add(RunKey("d", "dt", "", seed), {"f1": 0.5})
        other.add(RunKey("d", "tree", "", seed), {"f1": 0.25})
    kept = Ledger(tmp_path / "d.csv")
    assert kept.scores("d", "dt", "f1") == {0: 0.5, 1: 0.5, 2: 0.5}
    assert kept.scores("d", "tree", "f1") == {0: 0.25, 1: 0.25, 2: 0.25}
