from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

from evidence import Claim, read_designs
from evidence.ledger import Ledger, RunKey
from evidence.verdicts import HEADER, said
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

EXAMPLES = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(EXAMPLES / "claims.py"))
STALE = SCRIPT["stale"]
PAGES = [*SCRIPT["FIRST_PAGES"], *sorted((EXAMPLES / "results").glob("*.md"))]
TOML = """
title = "agreement"
task = "agreement"
metric = "test_accuracy"
rows = ["transformer", "dt"]
seeds = 2
[[claims]]
name = "one"
text = "Trees help"
source = "ours"
a = "dt"
b = "transformer"
expected = "better"
smallest = 0.1
published = "+.3, +.9"
[[claims]]
name = "two"
text = "They do not"
source = "theirs"
a = "dt"
b = "transformer"
expected = "equal"
smallest = 0.1
needs = "a GPU"
"""
OF = {"text": "", "source": "", "a": "a", "b": "b", "expected": "better"}
OPEN = """
source = "A paper"
[[claims]]
text = "People like it"
source = "Table 2"
published = "+.12"
why = "no annotators"
"""
DECIDED = "one,d,,{},test_accuracy,dt,transformer,better,0.1,2,2,x,seeds,1,0.5,0.5,0.25,0.75,0.1,1,0.4,"
DECIDED += "reproduced"


def test_the_table_of_the_page_is_that_of_the_results(example):
    shown = example("claims.py")
    page = (EXAMPLES / "claims" / "README.md").read_text(encoding="utf-8")
    for name, table in zip(("claims", "open"), shown.stdout.rstrip("\n").split("\n\n")):
        assert f"<!-- {name}:begin -->\n{table}\n<!-- {name}:end -->" in page, "make tables"


def test_what_is_decided_and_what_is_not(example, tmp_path):
    (tmp_path / "d.toml").write_text(TOML)
    (design,) = read_designs(tmp_path)
    decided = DECIDED.format(design.tables[0].digest)
    (tmp_path / "claims.csv").write_text(f"{','.join(HEADER)}\n{decided}\n")
    page = tmp_path / "page.md"
    blocks = (f"<!-- {name}:begin -->\nold\n<!-- {name}:end -->\n" for name in ("claims", "open"))
    page.write_text(f"before\n{''.join(blocks)}after\n")
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "paper.toml").write_text(OPEN)
    places = ("--designs", tmp_path, "--results", tmp_path, "--page", page, "--write")
    example("claims.py", *places)
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("before", "after", 13)
    rows = "`dt` {} `transformer`{} (d, test_accuracy)"
    decided = (
        "2 of 2 | +0.5000 [+0.2500, +0.7500] \\* | 0.4000 | +.3, +.9: 1 of 2 inside | reproduced | falls |"
    )
    assert lines[4] == f"| Trees help | ours | {rows.format('better than', ' by 0.1')} | {decided}"
    undecided = f"| They do not | theirs | {rows.format('equal to', ' within 0.1')} | 0 of 2 |  |  |  | "
    assert lines[5] == f"{undecided}not run (needs a GPU) |  |"
    assert lines[-3] == "| People like it | A paper, Table 2 | +.12 | no annotators |"
    text = (tmp_path / "d.toml").read_text()
    others = {
        "better": "worse",
        "smallest = 0.1": "smallest = 0.2",
        "[[claims]]": "[settings]\nlr = 1.0\n[[claims]]",
    }
    for old, new in others.items():
        (tmp_path / "d.toml").write_text(text.replace(old, new, 1))  # says something else than was decided
        example("claims.py", *places)
        assert "| reproduced |" not in page.read_text()
    # Seeds that were added after a look at the planned ones.
    more = TOML.replace(
        "[[claims]]", '[[tables]]\nname = "planned"\n[[tables]]\nseeds = 3\nname = "more"\n[[claims]]', 1
    )
    (tmp_path / "d.toml").write_text(more)
    example("claims.py", *places)
    assert "| reproduced, on the 2 planned seeds of 3 |" in page.read_text()
    page.write_text("no block")
    assert "has no block" in example("claims.py", *places, returncode=2).stderr


def test_without_pairs_an_interval_is_that_of_welch(tmp_path):
    (tmp_path / "d.toml").write_text(TOML)
    (design,) = read_designs(tmp_path)
    digest = design.tables[0].digest
    (tmp_path / "claims.csv").write_text(f"{','.join(HEADER)}\n{DECIDED.format(digest)}\n")
    scores = {"dt": [0.9, 1.1], "transformer": [0.2, 0.8]}
    ledger = Ledger(tmp_path / "d.csv")
    for row, of in scores.items():
        for seed, score in enumerate(of):
            ledger.add(RunKey(digest, row, "", seed), {"test_accuracy": score})
    expected = stats.ttest_ind(scores["dt"], scores["transformer"], equal_var=False).confidence_interval()
    one, last = SCRIPT["unpaired"]([], tmp_path, tmp_path).splitlines()
    assert one == f"one +0.5000 [{expected.low:+.4f}, {expected.high:+.4f}]"
    assert last == "mean correlation of the pairs of 1 claims: +1.00"


def test_published_sizes_and_our_interval():
    inside = SCRIPT["inside"]
    assert inside("+.018", 0.01, 0.02) == inside("-.04, -.03", -0.05, 0.0) == ": inside"
    assert inside("+.018", 0.02, 0.03) == ": outside"
    assert inside("+.018, +.025", 0.02, 0.03) == ": 1 of 2 inside"
    assert inside("about 0", -1, 1) == inside("+.04 over USE with its weights", 0, 1) == ""


@given(st.lists(st.floats(1e-6, 50), min_size=1, max_size=12), st.integers(1, 40))
def test_holms_correction(t_values, df):
    claims = [Claim(**OF, name=f"c{n}", smallest=0.1, table="") for n in range(len(t_values))]
    own = SimpleNamespace(name="", digest="x", seeds=3)
    design = SimpleNamespace(name="d", claims=claims, tables=[own])
    numbers = {"standard_error": "1", "df": str(df), "verdict": "reproduced", "digest": "x"}
    found = {c.name: {**numbers, **said(c), "difference": str(t)} for c, t in zip(claims, t_values)}
    held = SCRIPT["holm"]([design], found)
    p = {c.name: 2 * stats.t.sf(t, df) for c, t in zip(claims, t_values)}
    for name in p:  # it holds if each p value up to its own is below its share of 5%
        below = sorted(value for value in p.values() if value <= p[name])
        assert held[name] == all((len(p) - k) * value < 0.05 for k, value in enumerate(below))


def test_conclusions_are_of_the_verdicts_of_today():
    assert STALE(PAGES, EXAMPLES / "claims", EXAMPLES / "results" / "evidence") == []


def test_conclusions_that_are_out_of_date(example, tmp_path):
    (tmp_path / "d.toml").write_text(TOML)
    (design,) = read_designs(tmp_path)
    (tmp_path / "claims.csv").write_text(f"{','.join(HEADER)}\n{DECIDED.format(design.tables[0].digest)}\n")
    page = tmp_path / "page.md"

    def said(*lines, table="<!-- evidence: d test_accuracy -->\n"):
        comment = "".join(f"{line}\n" for line in lines)
        page.write_text(f"It helps.\n\n<!-- concluded from\n{comment}-->\n\n{table}")
        return [line.removeprefix(f"{page}: ") for line in STALE([page], tmp_path, tmp_path)]

    assert said("one: reproduced", "two: not run") == []
    assert said("one: undecided", "two: not run") == ["one is 'reproduced' and was 'undecided'"]
    assert said("one: reproduced") == ["two is 'not run' and was 'not stated'"]
    assert said("one: reproduced", table="<!-- gains: d test_accuracy -->\n") == said("one: reproduced")
    assert said("one: reproduced", table="") == []
    assert said("one: reproduced", "three: not run", table="") == ["no claim 'three'"]
    # Of a claim that says something else by now nothing is known.
    (tmp_path / "d.toml").write_text(TOML.replace("smallest = 0.1", "smallest = 0.2"))
    assert said("one: reproduced", "two: not run") == ["one is 'not run' and was 'reproduced'"]
    (tmp_path / "d.toml").write_text(TOML)
    assert said("one: reproduced", "three: not run", table="") == ["no claim 'three'"]
    places = ("--designs", tmp_path, "--results", tmp_path)
    shown = example("claims.py", "--stale", page, *places, returncode=1)
    assert shown.stdout.splitlines()[1] == f"{page}: no claim 'three'"
