"""Every campaign with a few cases; `make campaigns` runs the long ones."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("campaigns fork, and read what Linux says of processes", allow_module_level=True)

import bad_input
import faults
import hostile_files
import kill_anywhere
import mutants
import same_numbers
import two_at_once
from harness import COLUMNS, Bounds, Tally, leftovers, read_table
from table import PAGE, markdown, write_table

pytest.importorskip("transformers")


@pytest.fixture(autouse=True)
def _quiet():
    """Children are forked from a process with threads of its own, which none of them uses."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
        yield


def found(given: Iterable[Tally]) -> list[str]:
    tallies = [*given]
    return [line for tally in tallies for line in tally.found] + [t.kind for t in tallies if not t.cases]


def test_bad_input(tmp_path):
    tallies = [*bad_input.run(Bounds(count=6), tmp_path)]
    assert not found(tallies)
    assert sum(tally.cases for tally in tallies) > 1000
    assert all(tally.documented + tally.valid == tally.cases for tally in tallies)
    texts = [
        t for t in tallies if "bytes" not in t.kind and "values" not in t.kind and "forged" not in t.kind
    ]
    assert all(tally.documented for tally in texts), "no case was wrong"


def test_kills(tmp_path):
    works = [work for work in kill_anywhere.works(tmp_path) if work.name in SHORT]
    assert not found([kill_anywhere._work(work, Bounds(count=2), tmp_path) for work in works])


SHORT = ("dataset processing", "pairs on disk", "train, sentences", "save_pretrained")


def test_faults(tmp_path, monkeypatch):
    monkeypatch.setattr(faults, "_CHOSEN", SHORT)
    assert not found(faults.run(Bounds(count=4), tmp_path))


def test_two_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(two_at_once, "_CHOSEN", SHORT)
    assert not found(two_at_once.run(Bounds(count=2), tmp_path))


def test_hostile_files(tmp_path):
    assert not found(hostile_files.run(Bounds(count=100), tmp_path))


def test_numbers(tmp_path):
    bounds = Bounds(count=60)
    parts = (same_numbers._backends, same_numbers._convs, same_numbers._odd)
    assert not found([part(bounds, tmp_path) for part in parts])


SOURCE = """def first(x: int = 3) -> int:
    \"\"\"Doc 1.\"\"\"
    if x < 2 and x:
        raise ValueError(f"{x + 1}")
    y = x * 2
    return y
"""


def test_mutants_change_one_place_of_what_is_run():
    found = [*mutants.mutants("a.py", SOURCE)]
    assert sorted((m.line, m.kind, m.after) for m in found) == [
        (1, "constant", "(4)"),
        (3, "boundary", "(x <= 2)"),
        (3, "comparison", "(x < 2 or x)"),
        (3, "comparison", "(x >= 2)"),
        (3, "condition", "(not (x < 2 and x))"),
        (3, "constant", "(3)"),
        (5, "arithmetic", "(x / 2)"),
        (5, "constant", "(3)"),
        (5, "removed", "pass"),
    ]
    for mutant in found:
        changed = SOURCE[: mutant.start] + mutant.after + SOURCE[mutant.end :]
        compile(changed, "a.py", "exec")
        assert changed.splitlines()[mutant.line - 1] != mutant.before


def test_mutants_that_no_test_notices_are_judged(tmp_path, monkeypatch):
    """A row stays as it was judged, and says which test notices it since; what was tried is not again."""
    table, work = tmp_path / "mutants.csv", tmp_path / "work"
    table.write_text(",".join(mutants.COLUMNS) + "\n")
    chosen = [*mutants.mutants("a.py", SOURCE)][:3]
    answers = iter(["", "tests/test_a.py::test_it", "", "", "tests/test_a.py::test_new[1]"])
    monkeypatch.setattr(mutants, "copied", lambda work: work.mkdir(exist_ok=True))
    monkeypatch.setattr(mutants, "notices", lambda mutant, copy: next(answers))
    monkeypatch.setattr(mutants, "failing", lambda tests, copy: "")
    assert mutants.run(chosen, work, 1, table) == ["", "tests/test_a.py::test_it", ""]
    assert mutants.run(chosen, work, 1, table) == []
    table.write_text(table.read_text().replace("open,", "equivalent,why not", 1))
    opened = [key for key, row in mutants.read_rows(table).items() if row["judgement"] == "open"]
    assert len(opened) == 1
    mutants.run(
        [m for m in chosen if m[:4] not in opened], work, 1, table, again=[chosen[0][:4], chosen[2][:4]]
    )
    mutants.run([m for m in chosen if m[:4] in opened], work, 1, table, again=opened)
    judged = sorted(row["judgement"] for row in mutants.read_rows(table).values())
    assert judged == ["equivalent", "killed by tests/test_a.py::test_new[1]"]


def test_a_mutant_is_asked_of_the_nearest_tests_and_undone(tmp_path):
    path, name = tmp_path / "copy" / "graphdep" / "data" / "a.py", "tests/data/test_a.py"
    for file, text in (
        (path, "TWO = 1 + 1\n"),
        (tmp_path / "copy" / name, "def test_two(): from graphdep.data.a import TWO; assert TWO == 2\n"),
    ):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    assert mutants.tests_of("graphdep/data/a.py", tmp_path / "copy") == [name, "tests/data"]
    asked = []

    def failing(tests, copy):
        asked.append((tests, path.read_text()))
        return name if "-" in path.read_text() else ""

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mutants, "failing", failing)
        found = {
            m.after: mutants.notices(m, tmp_path / "copy")
            for m in mutants.mutants("graphdep/data/a.py", "TWO = 1 + 1\n")
        }
    assert found == {"pass": "", "(1 - 1)": name, "(2)": ""}
    assert ([name], "TWO = (1 - 1)\n") in asked
    assert path.read_text() == "TWO = 1 + 1\n"


def test_the_committed_mutants_are_judged():
    rows = mutants.read_rows(mutants.MUTANTS).values()
    assert all(
        row["judgement"] in ("equivalent", "open") or row["judgement"].startswith("killed by ")
        for row in rows
    )
    assert all(row["why"] for row in rows if row["judgement"] == "equivalent")


def test_cases_are_those_of_the_seed(tmp_path):
    first, again, other = (Bounds(seed).random("a", 1).random() for seed in (0, 0, 1))
    assert first == again != other


def test_leftovers_are_found(tmp_path):
    for name in (".a.csv.abcdefgh.csv", ".lock", "a.csv", ".saving.abcdefgh", ".hidden"):
        (tmp_path / name).write_text("")
    assert leftovers(tmp_path) == [".a.csv.abcdefgh.csv", ".saving.abcdefgh"]


def test_the_table_keeps_the_rows_of_other_campaigns(tmp_path):
    table, page = tmp_path / "campaigns.csv", tmp_path / "campaigns.md"
    page.write_text("before\n<!-- counts -->\nold\n<!-- end of counts -->\nafter\n")
    one, other = Tally("a", "x", 0, cases=3, valid=2, documented=1), Tally("b", "y", 1, cases=1, losses=1)
    write_table([one, other], table, page)
    write_table([Tally("a", "x", 2, cases=5, valid=5)], table, page)
    assert [(row["campaign"], row["cases"]) for row in read_table(table)] == [("a", "5"), ("b", "1")]
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| b | y | 1 | 0 | 0 | 0 | 0 | 1 |" in text


def test_the_committed_table_has_what_is_tried(tmp_path):
    """A kind that is new or renamed has to be run; one that is gone leaves the table."""
    tried = {
        "bad input": {reader.name for reader in bad_input.readers(tmp_path)},
        "kill anywhere": {work.name for work in kill_anywhere.works(tmp_path)},
        "two at once": {*two_at_once._CHOSEN, *two_at_once.THREADS},
        "faults": {*faults.FAULTS, *faults.SIGNALS},
        "numbers": {*same_numbers.KINDS},
        "hostile files": {"crafted"},
    }
    found: dict[str, set[str]] = {}
    for row in read_table():
        found.setdefault(row["campaign"], set()).add(row["kind"])
    assert found == tried


def test_the_committed_table_is_that_of_the_page_and_nothing_failed():
    rows = read_table()
    assert rows
    assert [*rows[0]] == COLUMNS
    assert markdown(rows).strip() in PAGE.read_text(encoding="utf-8")
    assert not [row for row in rows if any(int(row[name]) for name in ("crashes", "hangs", "losses"))]
    for row in rows:
        assert int(row["documented"]) + int(row["valid"]) == int(row["cases"])
