from __future__ import annotations

import builtins
import csv
import json

import pytest

from graphdep.human_eval import score_sheets, write_sheets

# Grades by (system, number) of three raters; hard: 2 1 0, 2 2 2, ...
GRADES = {
    ("hard", 0): (2, 1, 0),
    ("hard", 1): (2, 2, 2),
    ("hard", 2): (1, 1, 2),
    ("plain", 0): (0, 0, 0),
    ("plain", 1): (1, 0, 0),
    ("plain", 2): (2, 2, 0),
}


def slow_kappa(table):
    """Of items, each with the grades of its raters: by the agreement of every pair of raters."""
    size, raters = len(table), len(table[0])
    pairs = [(a, b) for a in range(raters) for b in range(raters) if a != b]
    observed = sum(row[a] == row[b] for row in table for a, b in pairs) / (size * len(pairs))
    grades = [grade for row in table for grade in row]
    expected = sum((grades.count(grade) / len(grades)) ** 2 for grade in (0, 1, 2))
    return (observed - expected) / (1 - expected)


@pytest.fixture
def filled(write_replies, read_csv, write_csv, tmp_path):
    """The key and three filled sheets."""
    contexts = [["hello"], ["how are you ?"], ["bye", "- see you"]]
    systems = {
        name: write_replies(
            tmp_path / name, [(context, f"={name} {i}") for i, context in enumerate(contexts)]
        )
        for name in ("hard", "plain")
    }
    key, _, *sheets = write_sheets(systems, tmp_path / "out", n=3, seed=5)
    for rater, path in enumerate(sheets):
        rows = read_csv(path)
        for row in rows:
            name, number = row["response"].removeprefix("'=").split()
            row["grade"] = str(GRADES[name, int(number)][rater])
        write_csv(path, rows)
    return key, sheets


@pytest.fixture
def change(filled, read_csv, write_csv):
    """Changes the first sheet's rows, and scores."""
    key, sheets = filled

    def call(edit, **options):
        rows = read_csv(sheets[0])
        edit(rows)
        write_csv(sheets[0], rows)
        return score_sheets(key, sheets, **options)

    return call


def test_table_and_agreement(filled):
    key, sheets = filled
    scores = score_sheets(key, sheets)
    hard, plain = scores.systems
    assert (hard.system, hard.n, plain.system, plain.n) == ("hard", 9, "plain", 9)
    assert (hard.share_2, hard.share_1, hard.share_0) == pytest.approx((5 / 9, 3 / 9, 1 / 9))
    assert (plain.share_2, plain.share_1, plain.share_0) == pytest.approx((2 / 9, 1 / 9, 6 / 9))
    assert (hard.mean, plain.mean) == pytest.approx((13 / 9, 5 / 9))
    assert scores.kappa == pytest.approx(slow_kappa(list(GRADES.values())))
    assert (scores.kappa_items, scores.raters) == (6, (1, 2, 3))
    assert scores.missing == {str(path): 0 for path in sheets}


def test_order_of_rows_and_of_files_does_not_matter(filled, change):
    key, sheets = filled
    before = score_sheets(key, sheets)
    after = change(lambda rows: rows.reverse())
    assert (after.systems, after.kappa) == (before.systems, before.kappa)
    assert score_sheets(key, sheets[::-1]).systems == before.systems


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_what_spreadsheets_make_of_a_file(filled, read_csv, delimiter):
    key, sheets = filled
    before = score_sheets(key, sheets)
    rows = read_csv(sheets[1])
    with open(sheets[1], "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerow(rows[0])
        writer.writerows(row.values() for row in rows)
        writer.writerow([""] * 6)
    assert score_sheets(key, sheets) == before


@pytest.mark.parametrize("end", ["\r", "\n"])
def test_other_line_ends(filled, end):
    key, sheets = filled
    before = score_sheets(key, sheets)
    # Those of the rows; a context of two turns keeps its own.
    sheets[1].write_bytes(sheets[1].read_bytes().replace(b"\r\n", end.encode()))
    assert score_sheets(key, sheets) == before
    sheets[1].write_bytes(sheets[1].read_bytes() + b"\xff")
    line = len(sheets[1].read_bytes().decode("utf-8", "replace").replace("\r", "\n").split("\n"))
    with pytest.raises(ValueError, match=rf"rater2\.csv:{line}: not UTF-8"):
        score_sheets(key, sheets)


def test_numbers_and_spaces_of_spreadsheets(write_replies, read_csv, write_csv, tmp_path):
    responses = ["007", "1.50", "1e5", "42"]
    replies = write_replies(tmp_path / "a.jsonl", [([str(i)], text) for i, text in enumerate(responses)])
    key, _, sheet = write_sheets({"a": replies}, tmp_path / "out", n=4, raters=1)
    shown = {"007": "7", "1.50": "1.5", "1e5": "1.00E+05", "42": "42"}
    rows = [
        {**row, "response": shown[row["response"]], "grade": "2.0", "rater": "1.0", "item": row["item"] + " "}
        for row in read_csv(sheet)
    ]
    write_csv(sheet, rows)
    assert score_sheets(key, [sheet]).systems[0].share_2 == 1
    for other in ("7 7", "8", "", "seven", "７"):
        write_csv(sheet, [{**row, "response": row["response"].replace("7", other)} for row in rows])
        with pytest.raises(ValueError, match="this is not the response of item"):
            score_sheets(key, [sheet])


def test_a_long_cell_is_read(write_replies, tmp_path):
    replies = write_replies(tmp_path / "a.jsonl", [(["hi"], "so " * 60_000)])
    key, _, sheet = write_sheets({"a": replies}, tmp_path / "out", n=1, raters=1)
    limit = csv.field_size_limit()
    sheet.write_text(sheet.read_text("utf-8").replace(",,1,k", ",2,1,k"), "utf-8")
    assert score_sheets(key, [sheet]).systems[0].mean == 2
    assert csv.field_size_limit() == limit


def test_missing_grades_are_an_error_or_counted(filled, change, read_csv):
    key, sheets = filled
    empty = []

    def edit(rows):
        row = next(row for row in rows if "plain 1" in row["response"])
        row["grade"] = " "
        empty.append(row["item"])

    with pytest.raises(ValueError, match=r"rater1\.csv:\d+: item r\d has no grade \(--allow-missing"):
        change(edit)
    scores = score_sheets(key, sheets, allow_missing=True)
    assert scores.missing == {str(sheets[0]): 1, str(sheets[1]): 0, str(sheets[2]): 0}
    assert [system.n for system in scores.systems] == [9, 8]
    assert scores.systems[1].mean == pytest.approx(4 / 8)
    graded = [grades for item, grades in GRADES.items() if item != ("plain", 1)]
    assert scores.kappa == pytest.approx(slow_kappa(graded))
    assert scores.kappa_items == 5


def test_one_rater_or_one_grade_have_no_kappa(filled, read_csv, write_csv):
    key, sheets = filled
    assert score_sheets(key, sheets[:1]).kappa is None
    for path in sheets:
        write_csv(path, [{**row, "grade": "1"} for row in read_csv(path)])
    scores = score_sheets(key, sheets)
    assert (scores.kappa, scores.kappa_items) == (None, 6)
    assert [system.mean for system in scores.systems] == [1, 1]


def test_perfect_agreement(filled, read_csv, write_csv):
    key, sheets = filled
    for path in sheets:
        write_csv(path, [{**row, "grade": row["response"][-1]} for row in read_csv(path)])
    assert score_sheets(key, sheets).kappa == pytest.approx(1)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda rows: rows[0].update(grade="3"), r"csv:2: the grade must be 0, 1 or 2 \(got '3'\)"),
        (lambda rows: rows[0].update(grade="1.5"), r"csv:2: the grade must be 0, 1 or 2"),
        (lambda rows: rows[0].update(grade="²"), r"csv:2: the grade must be 0, 1 or 2"),
        (lambda rows: rows[0].update(item="r9"), r"csv:2: the key has no such item \(got 'r9'\)"),
        (lambda rows: rows.append(rows[0]), r"csv:\d+: the item is in line 2 already \(got 'r\d'\)"),
        (lambda rows: rows.pop(), r"csv: 1 of the key's items are not there: r\d$"),
        (
            lambda rows: rows[0].update(key="k0"),
            r"csv:2: the sheet is not of this key, which is k[0-9a-f]{12} ",
        ),
        (
            lambda rows: rows[0].update(response="no"),
            r"csv:2: this is not the response of item r\d \(got 'no'\)",
        ),
        (lambda rows: rows[0].update(rater="4"), r"csv:2: the rater must be one of 1, 2, 3 \(got '4'\)"),
        (
            lambda rows: [row.update(rater="2") for row in rows],
            r"rater2.*: the sheet of rater 2, as .*rater1",
        ),
    ],
)
def test_a_wrong_sheet_is_named_with_its_line(change, edit, message):
    with pytest.raises(ValueError, match=message):
        change(edit)


def test_the_rater_must_be_one(change):
    with pytest.raises(ValueError, match=r"csv:\d+: the rater must be one of 1 \(got '2'\)"):
        change(lambda rows: rows[3].update(rater="2"))


def test_lines_are_those_of_the_file(change, filled):
    _, sheets = filled
    with pytest.raises(ValueError, match="the grade must be") as caught:
        change(lambda rows: rows[-1].update(grade="x"))
    line = int(str(caught.value).split(":")[1])
    # The last row; a context of two turns takes two lines.
    lines = sheets[0].read_bytes().decode().split("\n")
    start = max(i for i, text in enumerate(lines, start=1) if text.startswith("r"))
    assert line == start > 7


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"csv:1: the header must be item,context,response,grade,rater,key \(got ''\)"),
        (b"item,grade\r\nr1,2\r\n", "csv:1: the header must be"),
        (b"item,context,response,grade,rater,key\r\nr1,2\r\n", "csv:2: 2 columns instead of 6"),
        (b'item,context,response,grade,rater,key\r\n"r1', "csv:2: no CSV"),
        (b"item,context,response,grade,rater,key\r\nr1,\xe9", "csv:2: not UTF-8: save it as 'CSV UTF-8'"),
        (b"item,context,response,grade,rater,key\r\n", "csv: 6 of the key's items are not there: r"),
    ],
)
def test_a_damaged_sheet(filled, content, message):
    key, sheets = filled
    sheets[0].write_bytes(content)
    with pytest.raises(ValueError, match=message):
        score_sheets(key, sheets)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"items": {}, "systems": [], "raters": 1}',
        '{"items": {"r1": {}}, "raters": 1}',
        "\udcff",
    ],
)
def test_a_damaged_key(filled, content):
    key, sheets = filled
    key.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"key\.json: damaged, or no key of sheets"):
        score_sheets(key, sheets)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("raters", 2.5, r"'raters' must be a whole number \(got 2\.5\)"),
        ("raters", True, r"'raters' must be a whole number \(got True\)"),
        ("raters", 0, r"'raters' must be at least 1 \(got 0\)"),
        ("seed", "x", r"'seed' must be a whole number \(got 'x'\)"),
        ("systems", "hard", r"'systems' must be a list \(got 'hard'\)"),
        ("systems", ["hard"], r"'systems' must be those of the items \(got \['hard'\]\)"),
        ("systems", [["hard"], "plain"], r"'systems' must be those of the items"),
        ("items", [], r"'items' must be an object \(got \[\]\)"),
        ("items", {}, r"'items' must have at least one item \(got none\)"),
        ("items", {"r1": 3}, r"'items\.r1' must have a string 'system' \(got 3\)"),
        ("items", {"r1": {"system": "a", "response": 1}}, r"'items\.r1' must have a string 'response'"),
    ],
)
def test_a_wrong_value_of_the_key_is_named(filled, name, value, message):
    key, sheets = filled
    key.write_text(json.dumps(json.loads(key.read_text("utf-8")) | {name: value}), "utf-8")
    with pytest.raises(ValueError, match=rf"key\.json: damaged, or no key of sheets: {message}"):
        score_sheets(key, sheets)


def test_a_system_without_any_grade(filled, read_csv, write_csv):
    key, sheets = filled
    for path in sheets:
        rows = read_csv(path)
        write_csv(path, [{**row, "grade": "" if "hard" in row["response"] else "1"} for row in rows])
    with pytest.raises(ValueError, match="the system 'hard' has no grade at all"):
        score_sheets(key, sheets, allow_missing=True)


def test_no_sheets(filled):
    with pytest.raises(ValueError, match="'sheets' must have at least one file"):
        score_sheets(filled[0], [])


def test_without_statsmodels_there_is_a_table_without_kappa(filled, monkeypatch, caplog):
    imported = builtins.__import__

    def without(name, *more):
        if name.startswith("statsmodels"):
            raise ImportError(name)
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    scores = score_sheets(*filled)
    assert scores.kappa is None
    assert scores.systems
    assert "needs statsmodels: pip install 'graphdep[agreement]'" in caplog.text
