"""What rich would take for markup or an emoji stands in messages as it was given, and ends no command."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

import graphdep

# A folder "a[" with files "b]...": together what rich takes for a closing tag that nothing opens.
ODD = "a[/b] [red]:dog:"
COLUMNS = ("--text-columns", "text", "--label-column", "label")
RUN = ("--task", "csv", "--train", f"{ODD}.csv", *COLUMNS, "--parser", "chain", "--root", "r")
SETS = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "accelerator": "cpu"}


@pytest.fixture
def odd(run):
    """Runs a command in a folder with a table and texts of odd names; fails unless it ends well."""
    Path("a[").mkdir()
    rows = [("a fine film", "[/b]"), ("dull", "[red]x:dog:")] * 12
    with open(f"{ODD}.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    Path(f"{ODD}.txt").write_text("it rains\n", encoding="utf-8")

    def call(*arguments):
        done = run(*arguments)
        assert done.exit_code == 0, done.stderr
        return done.stdout + done.stderr

    return call


@pytest.fixture
def sets():
    return [part for name, value in SETS.items() for part in ("--set", f"{name}={value}")]


def test_what_is_parsed_and_drawn(odd):
    for command, suffix in (("parse", "conllu"), ("draw", "svg"), ("draw", "html")):
        output = f"{ODD} out.{suffix}"
        assert f"-> {output}" in odd(command, f"{ODD}.txt", "--parser", "chain", "--output", output)
        assert Path(output).is_file()


def test_a_run_and_what_is_done_with_it(odd, sets):
    folder = f"{ODD} run"
    said = odd("train", *RUN, *sets, "--epochs", 1, "--output", folder)
    found = re.search(r"checkpoint: (.*)", said)[1]
    assert found.startswith(folder)
    model = ("--checkpoint", found, "--parser", "chain")
    for command, suffix in (("predict", "csv"), ("embed", "npy")):
        output, columns = f"{ODD} out.{suffix}", ("--text-columns", "text")
        assert f"-> {output}" in odd(command, *model, "--input", f"{ODD}.csv", *columns, "--output", output)
    text = "[/b] likes :dog:"
    for command, suffix, given in (("attention", "svg", [text]), ("explore", "html", ["--text", text])):
        output = f"{ODD} {command}.{suffix}"
        assert f"-> {output}" in odd(command, *model, *given, "--output", output)
    assert f"checkpoint: {found}" in odd(
        "evaluate", *model, "--split", "val", "--root", "r", "--set", f"train={ODD}.csv"
    )


def test_names_of_rows_and_of_failures(odd, sets):
    rows = [{"name": "x[/b]:dog:", "model": "transformer"}, {"name": "[red]y", "model": "dt"}]
    Path("rows.yaml").write_text(json.dumps({"task": "csv", "rows": rows}), encoding="utf-8")
    given = [*RUN[2:], *sets, "--config", "rows.yaml", "--seeds", 1, "--epochs", 1]
    said = odd("ablate", *given, "--output", f"{ODD} table")
    assert "x[/b]:dog:" in said
    assert "[red]y" in said
    assert f"{ODD} table/table.md" in said


def test_systems_of_a_human_evaluation(odd):
    Path("a.jsonl").write_text(json.dumps({"context": ["hi"], "response": "ho"}) + "\n", encoding="utf-8")
    odd("human-eval", "sheet", "--system", "[/b]=a.jsonl", "--n", 1, "--raters", 1, "--output", ODD)
    sheet = Path(ODD, "raters", "rater1.csv")
    text = sheet.read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(text.splitlines()))
    with open(sheet, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "grade": "2"} for row in rows)
    assert "[/b]" in odd("human-eval", "score", sheet, "--key", Path(ODD, "key.json"))


def test_no_other_console_is_made():
    """Each would have to say again that nothing in it is markup."""
    package = Path(graphdep.__file__).parent
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"(?<!\w)(Plain)?Console\(|from rich import print", path.read_text("utf-8"))
    ]
    assert found == ["io/console.py"]
