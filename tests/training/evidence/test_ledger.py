from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.training.evidence.ledger import Ledger, RunKey

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
    ],
)
def test_errors(tmp_path, text, message):
    (tmp_path / "one.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        Ledger(tmp_path / "one.csv")


def test_two_processes_keep_each_other_s_runs(tmp_path):
    one, other = Ledger(tmp_path / "d.csv"), Ledger(tmp_path / "d.csv")
    for seed in range(3):
        one.add(RunKey("d", "dt", "", seed), {"f1": 0.5})
        other.add(RunKey("d", "tree", "", seed), {"f1": 0.25})
    kept = Ledger(tmp_path / "d.csv")
    assert kept.scores("d", "dt", "f1") == {0: 0.5, 1: 0.5, 2: 0.5}
    assert kept.scores("d", "tree", "f1") == {0: 0.25, 1: 0.25, 2: 0.25}
