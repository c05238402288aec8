"""The tables of the pages are what the committed CSVs say, and a wrong figure or comment is found."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import design_tables
import pytest
import table_text
import tables
from evidence.verdicts import HEADER, scores_digest
from scipy import stats

ROOT = Path(__file__).parents[3]
RESULTS, DESIGNS = ROOT / "examples" / "research" / "results", ROOT / "examples" / "research" / "claims"
PAGES = [*tables.FIRST_PAGES, *sorted(RESULTS.glob("*.md"))]

CSV = """task,model,head_lr,seed,metric,value,floor,against,difference,low,high,smallest_visible
t,dt,1,0,test_f1,0.5,0.25,transformer,0.1,-0.05,0.25,0.2
t,dt,1,1,test_f1,0.7,0.25,transformer,0.1,-0.05,0.25,0.2
t,dt,1,0,val_f1,0.4,,,,,,
t,dt,1,1,val_f1,0.4,,,,,,
t,dt,2,0,val_f1,0.9,,,,,,
t,transformer,1,0,test_f1,0.5,0.25,,,,,
"""
TABLE = """| model | test F1 | dev F1 | difference [95%] | smallest visible | runs | paper |
|---|---|---|---|---|---|---|
| no skill: nothing | 0.2500 | | | | | |
| **not trained**: untouched | 0.9 | | | | | |
| transformer | 0.5000 | - |  |  | 1 | .3 |
| `dt` (trees) | **0.6000 ± 0.1414** | 0.40 ± 0.00 | +0.1000 [-0.0500, +0.2500] | 0.2000 | 2 | .4 |
"""
MARKER = """<!-- table: a.csv
dev F1 = val_f1 .2
transformer / dev F1 = -
`dt` (trees) / dev F1 = head_lr=1
-->
"""
DESIGN = """
title = "roles"
task = "propbank-ewt"
metric = "test_f1"
rows = ["transformer", "dt", "dt@parser", "dra"]
seeds = 3
[[tables]]
name = "10"
[[tables]]
name = "20"
settings = { limit_train = 20 }
"""
SCORES = {"transformer": [0.1, 0.2, 0.3], "dt": [0.5, 0.7, 0.6], "dt@parser": [0.4, 0.5]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "d.toml").write_text(DESIGN)
    return tmp_path


def refreshed(folder: Path, text: str) -> str:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return tables.refreshed(page, folder, folder)


def write_scores(folder: Path, scores_of: dict[str, list[float]] = SCORES) -> None:
    """Of the first table of the design, with floors."""
    digest = design_tables.read_designs(folder)[0].tables[0].digest
    lines = ["digest,row,tune,seed,metric,value"]
    for row, values in scores_of.items():
        for seed, value in enumerate(values):
            look_up = 0.25 if row == "dt@parser" else 0.35
            scores = {
                "test_f1": value,
                "floor_test_f1": 0.05,
                "floor_test_f1_lookup": look_up,
                "parameters": 71298,
            }
            lines += [f"{digest},{row},,{seed},{metric},{score}" for metric, score in scores.items()]
    (folder / "evidence").mkdir(exist_ok=True)
    (folder / "evidence" / "d.csv").write_text("\n".join(lines) + "\n")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_pages_are_what_the_csvs_say(page: Path) -> None:
    assert tables.refreshed(page, RESULTS, DESIGNS) == page.read_text(encoding="utf-8"), "make tables"


def test_a_right_table_stays_as_it_is(folder: Path) -> None:
    text = f"before\n\n{MARKER}{TABLE}\nafter\n"
    assert refreshed(folder, text) == text


@pytest.mark.parametrize(
    "figure", ["0.2500", "0.5000", "0.1414", "0.40 ", "+0.1000", "-0.0500", "0.2000", "| 2 "]
)
def test_a_wrong_figure_is_found(folder: Path, figure: str) -> None:
    wrong = TABLE.replace(figure, figure.replace("0", "7").replace("2", "3"), 1)
    assert wrong != TABLE
    assert refreshed(folder, MARKER + wrong) == MARKER + TABLE


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("a.csv\n", "none.csv\n", "none.csv"),
        ("`dt` (trees) |", "`dra` |", "no column or row '`dt` (trees) / dev F1'"),
        ("| transformer |", "| lstm |", "no column or row 'transformer / dev F1'"),
        ("val_f1", "val_mse", "no metric 'val_mse'; there are test_f1, val_f1"),
        ("head_lr=1", "head_lr=3", "no head_lr '3'; there are 1, 2"),
        ("`dt` (trees) / dev F1 = head_lr=1\n", "", "several runs of a seed of 'dt'"),
        ("dev F1 = val_f1", "test F2 = val_f1", "no column or row 'test F2'"),
    ],
)
def test_what_is_not_there_is_an_error(folder: Path, before: str, after: str, message: str) -> None:
    text = f"\n{MARKER}{TABLE}".replace(before, after)
    with pytest.raises(ValueError) as error:
        refreshed(folder, text)
    line = text[: text.index("| model |")].count("\n") + 1
    assert str(error.value).startswith(f"{folder / 'page.md'}:{line}: ")
    assert message in str(error.value)


def test_a_row_that_is_no_model(folder: Path) -> None:
    with pytest.raises(
        ValueError, match=r"page.md:2: 'lstm', 'test F1': no model 'lstm'; there are dt, transf"
    ):
        refreshed(folder, "<!-- table: a.csv -->\n| model | test F1 |\n|---|---|\n| lstm | 0.1 |\n")


def test_no_table_after_the_comment(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"page.md:2: no table"):
        refreshed(folder, "<!-- table: a.csv -->\n\nA paragraph.\n")


def test_columns_may_be_models_and_a_file_that_of_a_design(folder: Path) -> None:
    write_scores(folder)
    digest = design_tables.read_designs(folder)[0].tables[0].digest
    said = f"evidence/d.csv digest={digest}; roles = test_f1 .2; no skill = floor; trees = model:dt"
    marker = f"<!-- table: {said} -->\n"
    table = "| what | no skill | trees | seeds |\n|---|---|---|---|\n| roles | {} | {} | {} |\n"
    with pytest.raises(ValueError, match="no model 'roles'"):
        refreshed(folder, marker + table.format("", "", ""))
    marker = marker.replace(" -->", "; seeds = model:dt -->")
    text = refreshed(folder, marker + table.format("", "", ""))
    assert text == marker + table.format("0.05", "0.60 ± 0.10", "3")


def test_a_cell_may_be_the_difference_that_decides_a_claim(folder: Path) -> None:
    write_scores(folder)
    digest = design_tables.read_designs(folder)[0].tables[0].digest
    row = dict.fromkeys(HEADER, "") | {"claim": "c", "digest": digest, "over": "seeds"}
    row |= {"difference": "0.4", "low": "0.1", "high": "0.7"}
    text = "".join(f"{','.join(line)}\n" for line in (row, row.values()))
    (folder / "evidence" / "claims.csv").write_text(text)
    marker = f"<!-- table: evidence/d.csv digest={digest} test_f1 .2; best = -; gain = claim:c -->\n"
    table = "| model | best | gain |\n|---|---|---|\n| dt | LSTM |{}|\n"
    made = refreshed(folder, marker + table.format(" "))
    assert made == marker + table.format(r" +0.40 [+0.10, +0.70] \* ")
    with pytest.raises(ValueError, match=f"no decided claim 'b' with digest '{digest}'"):
        refreshed(folder, marker.replace("claim:c", "claim:b") + table.format(" "))


def test_a_table_of_a_design(folder: Path) -> None:
    write_scores(folder)
    text = refreshed(folder, "<!-- evidence: d 10 test_f1 parameters -->\nold\n<!-- evidence:end -->\n")
    rows = {line[0]: line for line in map(cells, text.splitlines()[1:]) if line}
    assert rows["row"] == "row,test f1,difference [95%],smallest visible,parameters,seeds".split(",")
    assert rows["(no skill)"][1] == "0.0500"
    assert (rows["(look-up)"][1], rows["(look-up @parser)"][1]) == ("0.3500", "0.2500")
    assert rows["transformer"] == ["transformer", "0.2000 ± 0.1000", "", "", "71 k", "3"]
    assert rows["dra"] == ["dra", "not run", "", "", "", "0 of 3"]
    assert rows["dt@parser"][-1] == "2 of 3"
    # The paired difference, from scipy.
    differences = [a - b for a, b in zip(SCORES["dt"], SCORES["transformer"])]
    error = statistics.stdev(differences) / math.sqrt(3)
    low, high = stats.t.interval(0.95, 2, statistics.fmean(differences), error)
    assert rows["dt"][2] == rf"+0.4000 [{low:+.4f}, {high:+.4f}] \*"
    assert "over the seeds alone" in text
    assert text.endswith("at once.\n<!-- evidence:end -->\n")


def test_gains_over_several_tables(folder: Path) -> None:
    write_scores(folder)
    said = "d test_f1 10 20 rows=dt against=transformer,dt@parser digits=2"
    marker = f"<!-- gains: {said} -->\n{{}}<!-- gains:end -->\n"
    text = refreshed(folder, marker.format("old\n"))
    header, _, first, second = map(cells, text.splitlines()[1:5])
    assert header == ["dt over", "10", "20"]
    table = refreshed(folder, "<!-- evidence: d 10 test_f1 digits=2 -->\n<!-- evidence:end -->\n")
    [of_table] = [line[2] for line in map(cells, table.splitlines()) if line[:1] == ["dt"]]
    assert first == ["transformer", of_table, "not run"]
    assert second[1].endswith("(2 of 3)")
    assert "over the seeds alone" in text
    write_scores(folder, {**SCORES, "dt@parser": SCORES["dt@parser"][:1]})
    assert "| dt@parser | 1 of 3 | not run |" in refreshed(folder, marker.format(""))
    with pytest.raises(ValueError, match="'rows' \\(one\\) and 'against' are needed"):
        refreshed(folder, marker.format("").replace(" against=transformer,dt@parser", ""))


def test_rows_beside_what_the_paper_reports(folder: Path) -> None:
    design = DESIGN.replace("propbank-ewt", "sick-e").replace("test_f1", "test_accuracy")
    (folder / "s.toml").write_text(
        design.replace('"dt@parser", "dra"', '"use"').replace("limit_train = 20", "lr = 0.1")
    )
    other = (folder / "s.toml").read_text().replace("lr = 0.1", "lr = 0.2")
    (folder / "more.toml").write_text(other.replace('"use"', '"lstm"'))
    (folder / "evidence").mkdir()
    digests = {design.name: design.tables[0].digest for design in design_tables.read_designs(folder)}
    for name, row in {"s": "dt", "more": "lstm"}.items():
        lines = [f"{digests[name]},{row},,{n},test_accuracy,{value}\n" for n, value in enumerate((0.5, 0.7))]
        path = folder / "evidence" / f"{name}.csv"
        path.write_text("".join(["digest,row,tune,seed,metric,value\n", *lines]))
    said = 's rows=dt,use,lstm digits=2 "others=use:USE, its weights"'
    marker = f"<!-- published: {said} -->\n{{}}<!-- published:end -->\n"
    text = refreshed(folder, marker.format("old\n"))
    assert [cells(line) for line in text.splitlines()[1:-1]] == [
        ["row", "sick-e accuracy", "paper"],
        ["---", "---", "---"],
        ["`dt`", "0.60 ± 0.14 (2 of 3)", "0.85"],
        ["`use`", "not run", "0.81"],
        ["`lstm`", "not planned", "0.77"],
    ]
    # A row that another design of the task has.
    both = refreshed(folder, marker.format("").replace("s rows", "s+more rows"))
    rows = [cells(line)[1] for line in both.splitlines()[3:6]]
    assert rows == ["0.60 ± 0.14 (2 of 3)", "not run", "0.60 ± 0.14 (2 of 3)"]
    for before, after, message in [
        ("rows=dt,use,lstm", "", "'rows' are needed"),
        ("digits", "digit", "no option 'digit'"),
        ("s rows", "none rows", "no design 'none'"),
        ("use:USE", "use:USA", "no row 'use' or no system 'USA, its weights'"),
        ("s rows", "s+d rows", "designs of several tasks or metrics in one column: 's\\+d'"),
        ("s rows", "d rows", "no paper reports test_f1 of task 'propbank-ewt'"),
    ]:
        with pytest.raises(ValueError, match=message):
            refreshed(folder, marker.format("").replace(before, after))


def test_a_difference_over_examples_goes_before_that_over_seeds(folder: Path) -> None:
    write_scores(folder)
    lines = ["model,seed,metric,value,against,difference,low,high,smallest_visible"]
    for row, (against, *numbers) in {
        "dt": ("transformer", 0.4, 0.1, 0.7, 0.3),
        "transformer": ("", "", "", "", ""),
    }.items():
        for seed, value in enumerate(SCORES[row]):
            lines.append(",".join(map(str, [row, seed, "test_f1", value, against, *numbers])))
    (folder / "b.csv").write_text("\n".join(lines) + "\n")
    marker = (
        "<!-- evidence: d 10 test_f1 rows=transformer,dt differences=b.csv -->\n{}<!-- evidence:end -->\n"
    )
    text = refreshed(folder, marker.format(""))
    assert "| +0.4000 [+0.1000, +0.7000] | 0.3000 |" in text
    assert "over the seeds alone" not in text
    # Not if these are other runs.
    (folder / "b.csv").write_text("\n".join(lines).replace("dt,2,test_f1,0.6", "dt,2,test_f1,0.61") + "\n")
    table_text.read.cache_clear()
    assert "[+0.1000, +0.7000]" not in refreshed(folder, marker.format(""))


def test_differences_are_of_the_seeds_that_are_planned(folder: Path) -> None:
    """As means are: a ledger may have more, of a design that has been made smaller."""
    marker = "<!-- evidence: d 10 test_f1 rows=transformer,dt -->\n{}<!-- evidence:end -->\n"
    write_scores(folder)
    before = refreshed(folder, marker.format(""))
    write_scores(folder, {row: [*SCORES[row], 0.9 * n] for n, row in enumerate(("transformer", "dt"))})
    assert refreshed(folder, marker.format("")) == before


def test_a_claim_of_other_scores_or_of_fewer_seeds_is_not_taken(folder: Path) -> None:
    write_scores(folder)
    marker = "<!-- evidence: d 10 test_f1 rows=transformer,dt -->\n{}<!-- evidence:end -->\n"
    path = folder / "evidence" / "claims.csv"
    design = design_tables.read_designs(folder)[0]
    a, b = (dict(enumerate(SCORES[row])) for row in ("dt", "transformer"))
    row = dict.fromkeys(HEADER, "") | {"claim": "c", "design": "d", "table": "10", "metric": "test_f1"}
    row |= {"digest": design.tables[0].digest, "a": "dt", "b": "transformer"}
    row |= {"over": "seeds and examples", "difference": "0.4", "low": "0.1", "high": "0.7"}
    row |= {"smallest_visible": "0.3"}
    of_two = scores_digest(*({seed: one[seed] for seed in (0, 1)} for one in (a, b)))
    for planned, scores, taken in ((3, "other", False), (2, of_two, False), (3, scores_digest(a, b), True)):
        lines = [HEADER, [{**row, "planned": str(planned), "scores": scores}[name] for name in HEADER]]
        path.write_text("".join(",".join(line) + "\n" for line in lines))
        assert ("[+0.1000, +0.7000]" in refreshed(folder, marker.format(""))) == taken


def test_a_metric_over_several_tables(folder: Path) -> None:
    write_scores(folder)
    text = refreshed(
        folder, "<!-- curve: d test_f1 10 20 rows=transformer,dt@parser -->\n<!-- curve:end -->\n"
    )
    assert [cells(line) for line in text.splitlines()[1:-1]] == [
        ["row", "10", "20"],
        ["---", "---", "---"],
        ["transformer", "0.2000 ± 0.1000 (3)", "not run"],
        ["dt@parser", "0.4500 ± 0.0707 (2 of 3)", "not run"],
    ]


def test_a_metric_over_the_parts_of_the_test_split(folder: Path) -> None:
    write_scores(folder)
    ledger, digest = folder / "evidence" / "d.csv", design_tables.read_designs(folder)[0].tables[0].digest
    parts = [
        ("dt", 0, "11-20", 0.5),
        ("dt", 1, "11-20", 0.7),
        ("dt", 0, "2", 0.25),
        ("transformer", 0, "31+", 1),
    ]
    with ledger.open("a") as file:
        file.writelines(f"{digest},{row},,{seed},test_f1/length/{part},{v}\n" for row, seed, part, v in parts)
    text = refreshed(folder, "<!-- parts: d 10 test_f1/length rows=transformer,dt -->\n<!-- parts:end -->\n")
    assert [cells(line) for line in text.splitlines()[1:-1]] == [
        ["length", "transformer", "dt"],
        ["---", "---", "---"],
        ["2", "", "0.250"],
        ["11-20", "", "0.600 ± 0.141"],
        ["31+", "1.000", ""],
    ]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("e test_f1", "no design 'e'; there are d"),
        ("d 10 test_mse", "no metric 'test_mse'"),
        ("d 10 test_f1 rows=lstm", "no row 'lstm'"),
        ("d 10 test_f1 row=dt", "no option 'row'"),
    ],
)
def test_what_a_design_has_not_is_an_error(folder: Path, said: str, message: str) -> None:
    write_scores(folder)
    with pytest.raises(ValueError, match=r"page.md:2: ") as error:
        refreshed(folder, f"<!-- evidence: {said} -->\n<!-- evidence:end -->\n")
    assert message in str(error.value)


def test_a_block_that_does_not_end_keeps_what_follows(folder: Path) -> None:
    write_scores(folder)
    first, second = (f"<!-- evidence: d 10 {metric} -->\n" for metric in ("test_f1", "test_macro_f1"))
    with pytest.raises(ValueError, match=r"page.md:2: no <!-- evidence:end --> after it"):
        refreshed(folder, f"{first}words\n{second}<!-- evidence:end -->\n")
    with pytest.raises(ValueError, match=r"page.md:2: no such comment 'evidense'"):
        refreshed(folder, "words\n<!-- evidense: d 10 test_f1 -->\n")


def test_the_command(folder: Path, example) -> None:
    page = folder / "page.md"
    page.write_text(MARKER + TABLE.replace("0.6000", "0.5000"), encoding="utf-8")
    places = ("--results", folder, "--designs", folder, "--pages", page)
    out = example("tables.py", *places, returncode=1).stdout
    assert "+| `dt` (trees) | **0.6000 ± 0.1414**" in out
    example("tables.py", *places, "--write")
    assert page.read_text(encoding="utf-8") == MARKER + TABLE


def test_the_table_of_the_probes_is_its_csv(folder: Path) -> None:
    rows = ("edges,layers,function,measured", "dt,1,depth,0.5001", "dt,1,next,1.0", "tree,2,depth,0.25")
    text = "".join(f"{row}{{}}\n" for row in (*rows, "tree,2,next,0.2"))
    (folder / "a.csv").write_text(text.format(",step_by_step", ",0.54", ",1", ",0.3", ",0.26"))
    (folder / "b.csv").write_text(text.format("", "", "", "", ""))
    made = refreshed(folder, "<!-- probes: a.csv -->\nold\n<!-- probes:end -->\n")
    assert "| edges | layers | depth | next |" in made
    assert "| dt | 1 | 0.50 | 1.00 |\n| tree | 2 | 0.25 | 0.20* |\n<!-- probes:end -->" in made
    made = refreshed(folder, "<!-- probes: b.csv -->\n<!-- probes:end -->\n")
    assert "| tree | 2 | 0.25 | 0.20 |\n<!-- probes:end -->" in made


def test_the_table_of_make_bench_is_its_csv(folder: Path) -> None:
    text = "part,what,value,target,verdict,before,machine\na,one,1.20,at least 1.5,missed,1,here\n"
    (folder / "bench.csv").write_text(text, encoding="utf-8")
    made = refreshed(folder, "<!-- bench: bench.csv -->\nold\n<!-- bench:end -->\n")
    assert "| a | one | 1.20 | at least 1.5 | **missed** | 1 |\n\nhere.\n<!-- bench:end -->" in made
    assert "old" not in made
