from __future__ import annotations

import errno
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.human_eval import draw_items, write_sheets
from graphdep.human_eval.sheet import COLUMNS, guard, key_digest, one_line, unguard


def test_every_item_is_there_once_and_its_response_is_that_of_its_system(systems):
    items = draw_items(systems, n=4, seed=3)
    assert len({item.id for item in items}) == len(items) == 8
    assert Counter(item.system for item in items) == {"hard": 4, "plain": 4}
    for item in items:
        line = json.loads(systems[item.system].read_text("utf-8").split("\n")[item.number])
        assert item.context == tuple(map(one_line, line["context"]))
        assert item.response == (one_line(line["response"]) or "(empty response)")
    numbers = {system: {i.number for i in items if i.system == system} for system in systems}
    assert numbers["hard"] == numbers["plain"]


def test_equal_responses_are_two_items(systems):
    assert [item.response for item in draw_items(systems, n=6)].count("the same") == 2


def test_the_seed_draws_contexts_and_order(write_replies, tmp_path):
    path = write_replies(tmp_path / "a.jsonl", [([str(i)], str(i)) for i in range(200)])
    drawn = [draw_items({"A": path}, n=50, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1]
    numbers = [[item.number for item in items] for items in drawn]
    assert sorted(numbers[0]) != sorted(numbers[2])
    assert numbers[0] != sorted(numbers[0])
    assert max(numbers[0]) > 100


def test_sheets_are_blind_and_each_has_an_order_of_its_own(systems, tmp_path, read_csv):
    key_path, page, *sheets = write_sheets(systems, tmp_path / "out", n=6, seed=1, raters=3)
    assert [path.relative_to(tmp_path / "out").as_posix() for path in (key_path, page, *sheets)] == [
        "key.json",
        "raters/rate.html",
        *(f"raters/rater{rater}.csv" for rater in (1, 2, 3)),
    ]
    key = json.loads(key_path.read_text("utf-8"))
    read = [read_csv(path) for path in sheets]
    orders = [[row["item"] for row in rows] for rows in read]
    assert all(sorted(order) == sorted(key["items"]) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    for rater, rows in enumerate(read, start=1):
        assert all(tuple(row) == COLUMNS for row in rows)
        assert {row["key"] for row in rows} == {key_digest(key)}
        assert {row["rater"] for row in rows} == {str(rater)}
        assert {row["grade"] for row in rows} == {""}
    assert not re.search(
        "hard|plain", page.read_text("utf-8") + "".join(p.read_text("utf-8") for p in sheets)
    )


def test_cells_are_safe_and_read_back_as_they_were(systems, tmp_path, read_csv):
    key_path, _, sheet = write_sheets(systems, tmp_path / "out", n=6, raters=1)
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbf")
    key = json.loads(key_path.read_text("utf-8"))
    rows = read_csv(sheet)
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+-@" and cell]
    assert {row["response"] for row in rows} >= {'\'=1+1, "quoted"', "''=no", "'@you", "'-", "'tis fine"}
    for row in rows:
        assert unguard(row["response"]) == key["items"][row["item"]]["response"]
    assert rows[0]["context"].split("\n")[1:] == ["2: + more?", "3: <i> end</i>"]


@given(cell=st.text(st.sampled_from("=+-@＝＋－＠'a \"\n;\t,\u200b\ufeff\u2066"), max_size=8))
def test_guarding_loses_nothing(cell):
    assert unguard(guard(cell)) == cell
    assert not re.search(r"(^|[;\t])[\s\u200b\ufeff\u2066]*[=+\-@＝＋－＠]", guard(cell))


@pytest.mark.parametrize(
    ("cell", "guarded"),
    [
        (" =1", "' =1"),
        ("\u200b=1", "'\u200b=1"),
        ("\u202e\ufeff @a", "'\u202e\ufeff @a"),
        ("＝1", "'＝1"),
        ("a;=1", "a;'=1"),
        ("a\t+1;＠b", "a\t'+1;'＠b"),
        ("'=1", "''=1"),
        ("'tis", "'tis"),
        ("a = b; c - d", "a = b; c - d"),
        ("", ""),
    ],
)
def test_what_is_guarded(cell, guarded):
    assert guard(cell) == guarded
    assert unguard(guarded) == cell


@given(text=st.text(max_size=10))
def test_one_line_is_one_line(text):
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert one_line(line) == line


def test_the_digest_knows_every_response(systems, tmp_path, write_replies):
    digests = []
    for last in ("x", "y"):
        write_replies(systems["plain"], [(["a"], "b"), (["c"], last)])
        path, *_ = write_sheets({"plain": systems["plain"]}, tmp_path / last, n=2)
        digests.append(key_digest(json.loads(path.read_text("utf-8"))))
    assert digests[0] != digests[1]
    assert all(re.fullmatch("k[0-9a-f]{12}", digest) for digest in digests)


def test_filled_sheets_are_never_overwritten(systems, tmp_path):
    write_sheets(systems, tmp_path / "out", n=2, raters=1)
    (tmp_path / "out" / "key.json").unlink()
    with pytest.raises(ValueError, match=r"'output' has .*raters/rate\.html already, maybe filled in"):
        write_sheets(systems, tmp_path / "out", n=2, raters=1)
    assert not (tmp_path / "out" / "key.json").exists()


@pytest.mark.parametrize("broken", ["rate.html", "rater2.csv"])
def test_a_failure_leaves_nothing(systems, tmp_path, monkeypatch, broken):
    replace = os.replace

    def full(source, target):
        if Path(target).name == broken:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space left"):
            write_sheets(systems, tmp_path / "out", n=2, raters=2)
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(write_sheets(systems, tmp_path / "out", n=2, raters=2)) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, r"'n' must be at least 1 and 'seed' at least 0 \(got 0 and 0\)"),
        ({"n": 7}, r"'n' must be at most 6, the contexts that there are \(got 7\)"),
        ({"n": 2, "seed": -1}, r"\(got 2 and -1\)"),
        ({"n": 2, "raters": 0}, r"'raters' must be at least 1 \(got 0\)"),
    ],
)
def test_bad_arguments(systems, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        write_sheets(systems, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
