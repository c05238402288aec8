from __future__ import annotations

import json


def test_names_defaults_and_meanings(run):
    done = run("settings", "--model", "bert-dt", "--task", "cola")
    assert done.exit_code == 0, done.stderr
    assert "Learning rate, the highest where it changes." in done.stdout
    assert "3e-5" in done.stdout
    rows = {row["name"]: row for row in json.loads(run("settings", "--json").stdout)["settings"]}
    assert rows["lr"]["default"] == 0.001
    rows = json.loads(run("settings", "epochs", "--json").stdout)["settings"]
    assert [row["name"] for row in rows] == ["max_epochs"]


def test_what_is_unknown_is_refused(run):
    assert "did you mean 'lr'?" in run("settings", "learning_rate").stderr
    assert "no model 'berd'" in run("settings", "--model", "berd").stderr
    assert "task 'cats' is unknown" in run("settings", "--task", "cats").stderr
