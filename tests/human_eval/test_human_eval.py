"""Sheets and a rating page, and scores of filled sheets."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from graphdep.human_eval import score_sheets, write_sheets
from graphdep.human_eval.sheets import COLUMNS
from graphdep.io.files import long_fields, unguard


def write_replies(path: Path, replies: list[tuple[list[str], str]]) -> Path:
    lines = (json.dumps({"context": context, "response": response}) for context, response in replies)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def write_csv(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def systems(tmp_path: Path) -> dict[str, Path]:
    """Responses of two systems to six contexts, with texts that could break a sheet or a page."""
    hard = ['=1+1, "quoted"', "</script><b>&amp;", "the same", "", " two\nlines\t\x00", "你好 👩‍👧 \u2028é"]
    contexts = [[f"turn {i}", "+ more?", "<i>\nend</i>"] for i in range(6)]
    plain = ["'=no", "@you", "the same", "yes", "-", "'tis fine"]
    return {
        name: write_replies(tmp_path / f"{name}.jsonl", list(zip(contexts, responses)))
        for name, responses in (("hard", hard), ("plain", plain))
    }


# Grades by (system, number) of three raters; hard: 2 1 0, 2 2 2, ...
GRADES = {
    ("hard", 0): (2, 1, 0),
    ("hard", 1): (2, 2, 2),
    ("hard", 2): (1, 1, 2),
    ("plain", 0): (0, 0, 0),
    ("plain", 1): (1, 0, 0),
    ("plain", 2): (2, 2, 0),
}


def test_sheets_are_blind_and_in_different_orders(systems, tmp_path):
    paths = write_sheets(systems, tmp_path / "out", n=4, seed=1, raters=3)
    names = ["key.json", "raters/rate.html", *(f"raters/rater{rater}.csv" for rater in (1, 2, 3))]
    assert [path.relative_to(tmp_path / "out").as_posix() for path in paths] == names
    key, read = json.loads(paths[0].read_text("utf-8")), [read_csv(path) for path in paths[2:]]
    orders = [[row["item"] for row in rows] for rows in read]
    assert all(sorted(order) == sorted(key["items"]) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    for rater, rows in enumerate(read, start=1):
        assert {(*row, row["rater"], row["grade"]) for row in rows} == {(*COLUMNS, str(rater), "")}
    assert len({row["key"] for rows in read for row in rows}) == 1
    assert not re.search("hard|plain", "".join(path.read_text("utf-8") for path in paths[1:]))
    numbers = {s: {e["number"] for e in key["items"].values() if e["system"] == s} for s in systems}
    assert numbers["hard"] == numbers["plain"]
    assert len(numbers["hard"]) == 4


def test_cells_are_guarded_and_read_back_unchanged(systems, tmp_path):
    key_path, _, sheet = write_sheets(systems, tmp_path / "out", n=6, raters=1)
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbf")
    key, rows = json.loads(key_path.read_text("utf-8")), read_csv(sheet)
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+-@" and cell]
    assert {row["response"] for row in rows} >= {'\'=1+1, "quoted"', "''=no", "'@you", "'-", "'tis fine"}
    assert [row["response"] for row in rows].count("the same") == 2
    for row in rows:
        entry = key["items"][row["item"]]
        assert unguard(row["response"]) == entry["response"]
        line = json.loads(systems[entry["system"]].read_text("utf-8").split("\n")[entry["number"]])
        assert entry["response"] == (
            " ".join(line["response"].replace("\0", "").split()) or "(empty response)"
        )
        assert row["context"].split("\n") == [f"1: {line['context'][0]}", "2: + more?", "3: <i> end</i>"]


def test_the_seed_draws_contexts_and_order(tmp_path):
    path = write_replies(tmp_path / "a.jsonl", [([str(i)], str(i)) for i in range(200)])
    keys = [write_sheets({"A": path}, tmp_path / f"{i}", n=50, seed=i % 2)[0] for i in range(3)]
    drawn = [[e["number"] for e in json.loads(key.read_text())["items"].values()] for key in keys]
    assert drawn[0] == drawn[2]
    assert sorted(drawn[0]) != sorted(drawn[1])
    assert drawn[0] != sorted(drawn[0])
    assert max(drawn[0]) > 100


def test_filled_sheets_are_overwritten_only_when_asked(systems, tmp_path):
    write_sheets(systems, tmp_path / "out", n=2, raters=1)
    (tmp_path / "out" / "key.json").unlink()
    with pytest.raises(ValueError, match=r"raters/rate\.html exists and would .*overwrite=True"):
        write_sheets(systems, tmp_path / "out", n=2, raters=1)
    assert not (tmp_path / "out" / "key.json").exists()
    write_sheets(systems, tmp_path / "out", n=2, raters=1, overwrite=True)
    assert (tmp_path / "out" / "key.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 7}, r"'n' must be between 1 and 6 \(got 7\)"),
        ({"n": 2, "seed": -1}, r"'seed' must be at least 0 \(got -1\)"),
        ({"n": 2, "raters": 0}, r"'raters' must be at least 1 \(got 0\)"),
    ],
)
def test_bad_arguments(systems, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        write_sheets(systems, tmp_path / "out", **options)
    with pytest.raises(ValueError, match="'systems' must map names of systems to files"):
        write_sheets({" ": systems["hard"]}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def line(context='["a"]', response='"b"'):
    return f'{{"context": {context}, "response": {response}}}'


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("", "a blank line"),
        (
            '{"context": ["a"], "response": "b", "response": "c"}',
            "no JSON: the key 'response' occurs 2 times",
        ),
        ("[]", r"must be an object with .* a string \(got '\[\]'\)"),
        ('{"context": ["a"]}', "must be an object with"),
        (line(context='["a", 1]'), "must be an object with"),
        (line(response='"\\ud83d"'), "half a character"),
        (line(context='["c"]'), r"another context than in .*first\.jsonl \(got .*'c'"),
        (b"\xff", "not UTF-8 at byte 0"),
        (None, r"another context than in .*first\.jsonl \(got 'no line'\)"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, bad, message):
    (tmp_path / "first.jsonl").write_text(f"\ufeff{line()}\r\n{line()}\n", "utf-8")
    lines = [line().encode(), *([] if bad is None else [bad.encode() if isinstance(bad, str) else bad]), b""]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    files = {"first": tmp_path / "first.jsonl", "A": tmp_path / "a.jsonl"}
    with pytest.raises(ValueError, match=rf"a\.jsonl:2: {message}"):
        write_sheets(files, tmp_path / "out", n=1)


def slow_kappa(table):
    """Fleiss' kappa, from the agreement of every pair of raters on each item."""
    size, raters = len(table), len(table[0])
    pairs = [(a, b) for a in range(raters) for b in range(raters) if a != b]
    observed = sum(row[a] == row[b] for row in table for a, b in pairs) / (size * len(pairs))
    grades = [grade for row in table for grade in row]
    expected = sum((grades.count(grade) / len(grades)) ** 2 for grade in (0, 1, 2))
    return (observed - expected) / (1 - expected)


@pytest.fixture
def filled(tmp_path):
    """The key and three filled sheets."""
    contexts = [["hello"], ["how are you ?"], ["bye", "- see you"]]
    systems = {
        name: write_replies(tmp_path / name, [(turns, f"={name} {i}") for i, turns in enumerate(contexts)])
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
def change(filled):
    """Edits the rows of the first sheet, and scores the sheets."""
    key, sheets = filled

    def call(edit, **options):
        rows = read_csv(sheets[0])
        edit(rows)
        write_csv(sheets[0], rows)
        return score_sheets(key, sheets, **options)

    return call


def test_table_and_agreement(filled, change):
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
    after = change(lambda rows: rows.reverse())
    assert (after.systems, after.kappa) == (scores.systems, pytest.approx(scores.kappa))
    assert score_sheets(key, sheets[::-1]).systems == scores.systems


@pytest.mark.parametrize(("delimiter", "end"), [(";", "\r\n"), ("\t", "\r"), (",", "\n")])
def test_files_as_spreadsheets_write_them(filled, delimiter, end):
    key, sheets = filled
    before = score_sheets(key, sheets)
    rows = read_csv(sheets[1])
    with open(sheets[1], "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=end)
        writer.writerows([rows[0], *(row.values() for row in rows), [""] * 6])
    after = score_sheets(key, sheets)
    assert (after.systems, after.kappa) == (before.systems, pytest.approx(before.kappa))


def test_numbers_spaces_and_long_cells(tmp_path):
    responses = ["007", "1.50", "1e5", "so " * 60_000]
    replies = write_replies(tmp_path / "a.jsonl", [([str(i)], text) for i, text in enumerate(responses)])
    key, _, sheet = write_sheets({"a": replies}, tmp_path / "out", n=4, raters=1)
    shown = {"007": "7", "1.50": "1.5", "1e5": "1.00E+05"}
    limit = csv.field_size_limit()
    with long_fields():
        rows = read_csv(sheet)
    for row in rows:
        row |= {"response": shown.get(row["response"], row["response"]), "grade": "2.0", "rater": "1.0"}
        row["item"] += " "
    write_csv(sheet, rows)
    assert score_sheets(key, [sheet]).systems[0].share_2 == 1
    assert csv.field_size_limit() == limit
    for other in ("7 7", "8", "", "seven"):
        write_csv(sheet, [{**row, "response": row["response"].replace("7", other)} for row in rows])
        with pytest.raises(ValueError, match="the response differs from that of item"):
            score_sheets(key, [sheet])


def test_missing_grades_are_an_error_or_counted(filled, change):
    key, sheets = filled

    def edit(rows):
        next(row for row in rows if "plain 1" in row["response"])["grade"] = " "

    with pytest.raises(ValueError, match=r"rater1\.csv:\d+: item r\d has no grade \(--allow-missing"):
        change(edit)
    scores = score_sheets(key, sheets, allow_missing=True)
    assert scores.missing == {str(sheets[0]): 1, str(sheets[1]): 0, str(sheets[2]): 0}
    assert [(system.n, system.mean) for system in scores.systems] == [(9, 13 / 9), (8, 0.5)]
    graded = [grades for item, grades in GRADES.items() if item != ("plain", 1)]
    assert (scores.kappa, scores.kappa_items) == (pytest.approx(slow_kappa(graded)), 5)


@pytest.mark.parametrize(
    ("grade", "kappa"), [(lambda row: "1", None), (lambda row: row["response"][-1], 1.0)], ids=["one", "all"]
)
def test_kappa_of_equal_raters(filled, grade, kappa):
    key, sheets = filled
    assert score_sheets(key, sheets[:1]).kappa is None
    for path in sheets:
        write_csv(path, [{**row, "grade": grade(row)} for row in read_csv(path)])
    scores = score_sheets(key, sheets)
    assert (scores.kappa, scores.kappa_items) == (kappa if kappa is None else pytest.approx(kappa), 6)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda rows: rows[0].update(grade="3"), r"csv:\d: the grade must be 0, 1 or 2 \(got '3'\)"),
        (lambda rows: rows[0].update(item="r9"), r"csv:\d: the item is not in the key \(got 'r9'\)"),
        (lambda rows: rows.append(rows[0]), r"csv:\d+: the item is already in line \d \(got 'r\d'\)"),
        (lambda rows: rows.pop(), r"csv: missing items of the key \(1\): r\d$"),
        (lambda rows: rows[0].update(key="k0"), r"csv:\d: the sheet belongs to another key than k\w{12} "),
        (lambda rows: rows[0].update(response="no"), r"csv:\d: the response differs from that of item r\d"),
        (lambda rows: rows[0].update(rater="4"), r"csv:\d: the rater must be in the key, .* \(got '4'\)"),
        (lambda rows: [row.update(rater="2") for row in rows], r"rater2.*: a second sheet of rater 2, .*r1"),
        (lambda rows: [row.update(grade="") for row in rows], r"csv:\d: item r\d has no grade"),
    ],
)
def test_an_invalid_sheet_is_named_with_its_line(change, edit, message):
    with pytest.raises(ValueError, match=message):
        change(edit)


HEADER = ",".join(COLUMNS).encode() + b"\r\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "csv:1: the file is empty"),
        (b"item,grade\r\nr1,2\r\n", "csv:1: the header must be item,context,response,grade,rater,key .got"),
        (HEADER + b"r1,2\r\n", "csv:2: 2 columns instead of 6"),
        (HEADER + b'"r1', "csv:2: invalid CSV"),
        (HEADER + b"r1,\xe9", "csv:2: not UTF-8 at byte 3"),
        (HEADER, r"csv: missing items of the key \(6\): r"),
    ],
)
def test_a_damaged_sheet(filled, content, message):
    key, sheets = filled
    sheets[0].write_bytes(content)
    with pytest.raises(ValueError, match=message):
        score_sheets(key, sheets)


@pytest.mark.parametrize(
    "changes",
    [
        {"raters": 2.5},
        {"raters": 0},
        {"systems": ["hard"]},
        {"items": {}},
        {"items": {"r1": {"system": "a"}}},
        None,
    ],
)
def test_a_damaged_key(filled, changes):
    key, sheets = filled
    kept = json.loads(key.read_text("utf-8"))
    key.write_text("[]" if changes is None else json.dumps(kept | changes), "utf-8")
    with pytest.raises(ValueError, match=r"key\.json: damaged, or not a key of sheets: "):
        score_sheets(key, sheets)
    with pytest.raises(ValueError, match="'sheets' must have at least one file"):
        score_sheets(key, [])


def test_a_system_without_grades(filled):
    key, sheets = filled
    for path in sheets:
        rows = read_csv(path)
        write_csv(path, [{**row, "grade": "" if "hard" in row["response"] else "1"} for row in rows])
    with pytest.raises(ValueError, match="the system 'hard' has no grades"):
        score_sheets(key, sheets, allow_missing=True)


# As much of a browser as the page's script asks for.
BROWSER = r"""
const nodes = {}, listeners = {};
class Node {
  constructor(tag) { this.tag = tag; this.children = []; this.dataset = {}; }
  set id(value) { this._id = value; nodes[value] = this; }
  get id() { return this._id; }
  appendChild(node) { this.children.push(node); return node; }
  addEventListener(name, f) { this["on" + name] = f; }
  set innerHTML(_) { throw new Error("innerHTML"); }
  click() { console.log(JSON.stringify({ name: this.download, text: blobs[this.href] })); }
}
const blobs = {}, stored = {};
globalThis.document = {
  getElementById: (id) => nodes[id],
  createElement: (tag) => new Node(tag),
  createTextNode: (text) => text,
};
globalThis.localStorage = {
  getItem: (name) => stored[name] ?? null, setItem: (name, value) => { stored[name] = value; },
};
globalThis.Blob = class { constructor(parts) { this.text = parts.join(""); } };
URL.createObjectURL = (blob) => { blobs["blob:1"] = blob.text; return "blob:1"; };
globalThis.confirm = () => true;
for (const id of ["rater", "count", "next", "save", "note", "items", "data"]) new Node("x").id = id;
"""
RATE = r"""
const choose = (number) => {
  nodes.rater.value = String(number);
  nodes.items.children = [];
  nodes.rater.onchange();
};
const find = (node, tag) => node.children.flatMap((child) => child.tag ? [
  ...(child.tag === tag ? [child] : []), ...find(child, tag)] : []);
if (!nodes.save.disabled || nodes.items.children.length) throw new Error("items before a number is chosen");
choose(2);
const boxes = nodes.items.children;
boxes.slice(1).forEach((box, i) => find(box, "input").filter((x) => x.value === String(i % 3))[0].onchange());
choose(1);
if (nodes.count.textContent !== "0 of 12 graded") throw new Error(nodes.count.textContent);
choose(2);
if (nodes.count.textContent !== "11 of 12 graded") throw new Error(nodes.count.textContent);
nodes.save.onclick();
"""


@pytest.fixture
def page(systems, tmp_path):
    paths = write_sheets(systems, tmp_path / "out", n=6, seed=1, raters=2)
    return paths[1].read_text("utf-8")


def parts(page):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    return data, re.search(r"<script>(.*?)</script>", page, re.S)[1]


def test_the_page_needs_no_network(page):
    assert "://" not in page
    assert "default-src 'none'" in page
    assert not re.search(r"\b(src|href)=", page)


def test_texts_are_no_markup(page):
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(page)
    assert tags.count("script") == 2
    assert "i" not in tags  # the contexts have it
    data, script = parts(page)
    assert not set(data) & set("<>&\u2028")
    assert "</script><b>&amp;" in {item["response"] for item in json.loads(data)["items"]}
    assert "innerHTML =" not in script
    assert "document.write" not in script


def test_the_page_has_all_orders_and_no_system(page, tmp_path):
    data = json.loads(parts(page)[0])
    for rater, order in enumerate(data["orders"], start=1):
        rows = read_csv(tmp_path / "out" / "raters" / f"rater{rater}.csv")
        cells = [data["items"][i]["cells"] for i in order]
        assert cells == [[row["item"], row["context"], row["response"]] for row in rows]
        assert {row["key"] for row in rows} == {data["key"]}
    assert {name for item in data["items"] for name in item} == {"cells", "context", "response"}


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript")
def test_the_page_saves_the_sheet_with_grades(page, tmp_path):
    data, script = parts(page)
    (tmp_path / "page.js").write_text(
        f"{BROWSER}\nnodes.data.textContent = {json.dumps(data)};\n{script}\n{RATE}", encoding="utf-8"
    )
    done = subprocess.run(
        ["node", tmp_path / "page.js"], capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    saved = json.loads(done.stdout)
    assert saved["name"] == "rater2.csv"
    path = tmp_path / "filled.csv"
    path.write_bytes(saved["text"].encode("utf-8"))
    given = read_csv(tmp_path / "out" / "raters" / "rater2.csv")
    grades = ["", *(str(i % 3) for i in range(11))]
    assert read_csv(path) == [{**row, "grade": grade} for row, grade in zip(given, grades)]
    scores = score_sheets(tmp_path / "out" / "key.json", [path], allow_missing=True)
    assert sum(system.n for system in scores.systems) == 11
