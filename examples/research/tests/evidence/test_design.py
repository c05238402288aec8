from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from evidence import Design, read_designs

SMALL = {"title": "agreement", "task": "agreement", "metric": "test_accuracy", "rows": ["transformer", "dt"]}
CLAIM = {"name": "c", "text": "t", "source": "s", "a": "dt", "b": "transformer", "expected": "better"}
CLAIM |= {"smallest": 0.1}
OURS = Path(__file__).parents[2] / "claims"


def test_tables_inherit_from_the_design():
    design = Design.of(
        "d",
        {
            **SMALL,
            "seeds": 3,
            "settings": {"lr": 0.5, "patience": "none"},
            "files": {"raw_from": "corpus"},
            "tables": [
                {"name": "a"},
                {"name": "b", "rows": ["dt"], "seeds": 1, "order": 1, "settings": {"lr": 0.1}},
                {"name": "c", "files": {"raw_from": "other"}},
            ],
        },
    )
    a, b, c = design.tables
    assert [table.files["raw_from"] for table in design.tables] == ["corpus", "corpus", "other"]
    assert c.digest != a.digest
    assert (a.rows, a.seeds, a.order, a.settings) == (
        ("transformer", "dt"),
        3,
        100,
        {"lr": 0.5, "patience": None},
    )
    assert (b.rows, b.seeds, b.order, b.settings["lr"]) == (("dt",), 1, 1, 0.1)
    config = design.config(a, "dt", 2)
    assert (config.model, config.seed, config.lr, config.patience) == ("dt", 2, 0.5, None)


def test_runs_tuned_on_another_table_are_other_runs():
    both = {
        **SMALL,
        "tune": {"lr": [0.1]},
        "tables": [{"name": "a"}, {"name": "b", "settings": {"clip": 1.0}}],
    }
    alone, tuned = Design.of("d", both).tables, Design.of("d", {**both, "tuned_on": "a"}).tables
    assert alone[0].digest == tuned[0].digest
    assert alone[1].digest != tuned[1].digest


def test_what_is_tried_is_each_value_with_each():
    design = Design.of("d", {**SMALL, "tune": {"lr": [0.1, 0.2], "position_embedding": [True, False]}})
    assert design.tries == {
        f"lr={lr},position_embedding={position}": {"lr": lr, "position_embedding": position}
        for lr in (0.1, 0.2)
        for position in (True, False)
    }
    assert Design.of("d", SMALL).tries == {}


def test_more_seeds_and_rows_are_the_same_runs_and_other_settings_are_not():
    digest = Design.of("d", SMALL).tables[0].digest
    for same in ({"seeds": 9}, {"rows": ["dt"]}, {"order": 1}, {"title": "another"}):
        assert Design.of("e", {**SMALL, **same}).tables[0].digest == digest
    for other in ({"settings": {"lr": 0.1}}, {"files": {"raw_from": "x"}}, {"tune": {"lr": [0.1]}}):
        assert Design.of("d", {**SMALL, **other}).tables[0].digest != digest


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rows": ["dt", "dt"]}, "'rows' must name at least one, each once"),
        ({"rows": []}, "'rows' must name at least one"),
        ({"rows": ["dtt"]}, "no model 'dtt' \\(did you mean 'dt'\\?\\)"),
        ({"seeds": 0}, "'seeds' must be a whole number of at least 1 \\(got 0\\)"),
        ({"setting": {}}, "a design has no 'setting'"),
        ({"settings": {"lrr": 1}}, "lrr"),
        ({"settings": {"lr": "fast"}}, "'lr' takes a number \\(got 'fast'\\)"),
        ({"tables": [{"name": "a"}, {"name": "a"}]}, "tables of one name \\(got a, a\\)"),
        ({"tables": [{"rows": ["dt"]}]}, "a table needs 'name'"),
        ({"tune": {"lr": [1.0], "clip": [1.0, -1.0]}}, "'clip' must be at least 0"),
        ({"tune": {"lr": [-1.0]}}, "'lr' must be"),
        ({"tune": {"lr": []}}, "'tune' must have a list of values of 'lr', each once \\(got \\[\\]\\)"),
        ({"tune": {"lr": 0.1}}, "'tune' must have a list of values of 'lr', each once \\(got 0.1\\)"),
        ({"tune": {"edges": "dt"}}, "'tune' must have a list of values of 'edges'"),
        ({"tune": {"lr": [0.1, 0.1]}}, "'tune' must have a list .* each once"),
        ({"tune": {"lr": [0.1]}, "tuned_on": "x"}, "'tuned_on' must name a table.*got 'x'; there are ''"),
        (
            {
                "tune": {"lr": [0.1]},
                "tuned_on": "a",
                "tables": [{"name": "a", "rows": ["dt"]}, {"name": "b"}],
            },
            "table 'b': row 'transformer' is not tuned on 'a'",
        ),
        ({"metric": "test_f1"}, "no metric 'test_f1' of agreement; there are test_accuracy, test_macro_f1"),
        ({"claims": [{**CLAIM, "metric": "accuracy"}]}, "claim c: no metric 'accuracy' of agreement"),
        ({"tables": []}, "'tables' must have one"),
        ({"settings": {"task": "sst"}}, "'settings' cannot have a 'task'"),
        ({"order": "first"}, "'order' must be a number \\(got 'first'\\)"),
        ({"claims": [{**CLAIM, "smallest": float("inf")}]}, "'smallest' must be a number above 0"),
        ({"claims": [{**CLAIM, "a": "tree"}]}, "claim c: no row 'tree'; there are transformer, dt"),
        ({"claims": [{**CLAIM, "table": "x"}]}, "claim c: no table 'x'"),
    ],
)
def test_errors_name_the_file(tmp_path, values, message):
    with pytest.raises(ValueError, match=message):
        Design.of("d", {**SMALL, **values})


def test_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no designs"):
        read_designs(tmp_path)
    text = 'title = "t"\ntask = "agreement"\nmetric = "test_accuracy"\nrows = ["dt", "tree"]\n'
    claim = '[[claims]]\nname="c"\ntext="t"\nsource="s"\na="dt"\nb="tree"\nexpected="equal"\nsmallest=0.1\n'
    (tmp_path / "one.toml").write_text(text + claim)
    (design,) = read_designs(tmp_path)
    assert (design.name, design.claims[0].metric, design.claims[0].table) == ("one", "test_accuracy", "")
    (tmp_path / "two.toml").write_text(text + claim)
    with pytest.raises(ValueError, match="two claims are called 'c'"):
        read_designs(tmp_path)
    (tmp_path / "two.toml").write_text("title = \n")
    with pytest.raises(ValueError, match="two.toml: "):
        read_designs(tmp_path)


def test_ours_can_be_read():
    designs = read_designs(OURS)
    assert {design.name for design in designs} >= {"e1-tense", "e2-roles"}
    for design in designs:
        assert design.title.endswith("?"), design.name
        paths = [path for table in design.tables for path in table.files.values()]
        assert not any(Path(path).is_absolute() for path in paths)


def test_no_design_of_ours_looks_for_more_than_was_published():
    """Else "not reproduced" could be said of an effect that is there."""
    for design in read_designs(OURS):
        for claim in design.claims:
            found = re.fullmatch(r"[+-]?(\d*\.\d+)", claim.published)
            if found and claim.expected != "equal":
                assert claim.smallest <= float(found[1]), claim.name


def test_designs_are_read_without_the_trainer():
    heavy = "(name for name in ('torch', 'lightning', 'sklearn') if name in sys.modules)"
    code = f"import sys\nsys.path.append({str(OURS.parent)!r})\nimport evidence\nprint(*{heavy})"
    assert not subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
