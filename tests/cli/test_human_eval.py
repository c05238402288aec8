from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest


@pytest.fixture
def sheets(run):
    """Writes the sheets of two systems; returns the result of the command."""
    for name in ("a", "b"):
        lines = [json.dumps({"context": [f"turn {i}"], "response": f"{name} {i}"}) for i in range(4)]
        Path(f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def call(*options):
        systems = ("--system", "A=a.jsonl", "--system", "B=b.jsonl")
        return run("human-eval", "sheet", *systems, "--n", 3, "--raters", 2, "--output", "out", *options)

    return call


def fill(rater, grade_of):
    path = Path("out", "raters", f"rater{rater}.csv")
    rows = list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "grade": grade_of(row["response"])} for row in rows)
    return path


def test_sheets_are_listed(sheets):
    done = sheets()
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "3 contexts, 2 systems: 6 items for each of 2 raters"
    assert lines[-1].startswith("Grades: 2 is fluent and relevant")
    assert lines[1:-1] == [
        "out/key.json",
        "out/raters/rate.html",
        "out/raters/rater1.csv",
        "out/raters/rater2.csv",
    ]
    assert all(Path(line).is_file() for line in lines[1:-1])


def test_from_sheets_to_the_table(run, sheets):
    made = json.loads(sheets("--seed", 4, "--json").stdout)
    assert {key: made[key] for key in ("contexts", "items", "raters", "seed")} == {
        "contexts": 3,
        "items": 6,
        "raters": 2,
        "seed": 4,
    }
    assert made["systems"] == {"A": "a.jsonl", "B": "b.jsonl"}
    filled = [fill(rater, lambda response: "2" if response.startswith("a") else "0") for rater in (1, 2)]
    arguments = ["human-eval", "score", "--key", "out/key.json", *filled]
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.split("A ")[1].split()[:5] == ["100.0", "0.0", "0.0", "2.00", "6"]
    assert "Fleiss' kappa 1.000, over the 6 items that all 2 raters graded." in done.stdout
    done = run(*arguments, "--json")
    assert done.stdout.count("\n") == 1
    summary = json.loads(done.stdout)
    assert summary["systems"] == {
        "A": {"n": 6, "share_2": 1.0, "share_1": 0.0, "share_0": 0.0, "mean": 2.0},
        "B": {"n": 6, "share_2": 0.0, "share_1": 0.0, "share_0": 1.0, "mean": 0.0},
    }
    assert (summary["kappa"], summary["kappa_items"], summary["raters"]) == (1.0, 6, [1, 2])


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        (["a.jsonl"], "'--system' must be NAME=FILE (got 'a.jsonl')"),
        (["=a.jsonl"], "'--system' must be NAME=FILE (got '=a.jsonl')"),
        (["A=a.jsonl", "A=b.jsonl"], "'--system' has 'A' twice"),
        (["A=missing.jsonl"], "no file missing.jsonl"),
    ],
)
def test_invalid_systems(run, systems, message):
    Path("a.jsonl").write_text('{"context": ["x"], "response": "y"}\n', encoding="utf-8")
    options = [part for system in systems for part in ("--system", system)]
    done = run("human-eval", "sheet", *options, "--output", "out")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not Path("out").exists()
