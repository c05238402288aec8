from __future__ import annotations

import pytest

from graphdep.training import ablate
from graphdep.training.rows import read_rows_file

ROWS = """
task: sick-e
seeds: 2
bound: 0.1
reference: plain
max_epochs: 1
rows:
  - dt
  - {model: transformer, name: plain}
  - model: dt
    lr: 1e-2
"""


def test_rows_settings_and_what_is_of_the_table(tmp_path):
    (tmp_path / "rows.yaml").write_text(ROWS)
    found = read_rows_file(tmp_path / "rows.yaml")
    assert found.rows == {
        "dt": {"model": "dt"},
        "plain": {"model": "transformer"},
        "dt lr=1e-2": {"model": "dt", "lr": 0.01},
    }
    assert found.settings == {"task": "sick-e", "max_epochs": 1}
    assert found.table == {"seeds": 2, "bound": 0.1, "reference": "plain"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rows: dt", "'rows' must be a list"),
        ("rows: [{lr: 1}]", "a row is the name of a model, or settings with a 'model'"),
        ("rows: [dt, dt]", "two rows are called 'dt'"),
        ("rows: [{model: dt, learning_rate: 1}]", "did you mean 'lr'"),
        ("seeds: many", "'seeds' must be int"),
        ("sedes: 1", "unknown setting 'sedes'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    (tmp_path / "rows.yaml").write_text(text)
    with pytest.raises(ValueError, match=rf"rows.yaml: .*{message}"):
        read_rows_file(tmp_path / "rows.yaml")


def test_a_table_of_rows_of_one_s_own(tmp_path, tiny):
    shared = {**tiny, "max_epochs": 1}
    task = shared.pop("task", "sick-e")
    rows = {"slow": {"model": "dt", "lr": 0.001}, "fast": {"model": "dt", "lr": 0.05}, "dt": {"model": "dt"}}
    summary = ablate(task, [], [0], tmp_path / "rows", rows=rows, settings=shared)
    assert [(row["name"], row["model"], row["n"]) for row in summary["rows"]] == [
        *(("slow", "dt", 1), ("fast", "dt", 1), ("dt", "dt", 1))
    ]
    assert [row["against"] and row["against"]["row"] for row in summary["rows"]] == [None, "slow", "slow"]
    assert summary["rows"][0]["about"].endswith("with lr=0.001")
    assert summary["paper"] is None
    assert len(list((tmp_path / "rows").glob("*/run.yaml"))) >= 2
    for wrong, message in (
        ({"a": {"lr": 1}}, "row 'a' has no 'model'"),
        ({"a": {"model": "dt"}, "b": {"model": "dt"}}, "row 'b' is the row 'a' once more"),
        ({"a": {"model": "dt", "seed": 1}}, "row 'a': 'seed' is the same for all rows"),
    ):
        with pytest.raises(ValueError, match=message):
            ablate(task, [], [0], tmp_path, rows=wrong, settings=shared)
    with pytest.raises(ValueError, match="'rows' name their models"):
        ablate(task, ["dt"], [0], tmp_path, rows=rows, settings=shared)
