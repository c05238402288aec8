"""The headline: on made-up scores, and the committed page and picture are of the committed ones."""

from __future__ import annotations

from pathlib import Path

import headline
import pytest
from evidence import read_designs
from evidence.ledger import Ledger, RunKey
from evidence.verdicts import HEADER

RESEARCH = Path(__file__).parents[1]
DESIGN = """
title = "roles"
task = "propbank-ewt"
metric = "test_f1"
rows = ["transformer", "bilstm", "dt@parser", "tree@parser"]
seeds = 2
[[tables]]
name = "500"
[[tables]]
name = "5000"
rows = ["transformer", "bilstm", "dt@parser", "tree@parser", "dt"]
settings = { limit_train = 5000 }
[[claims]]
name = "gain"
text = "Trees help"
source = "none"
table = "5000"
a = "dt@parser"
b = "bilstm"
expected = "better"
smallest = 0.01
"""
ASKED = """
[[tasks]]
name = "roles"
claim = "gain"
plain = ["transformer", "bilstm"]
parsed = ["dt@parser", "tree@parser"]
gold = ["dt"]
[[curves]]
name = "BiLSTM"
design = "d"
row = "bilstm"
"""
SCORES = {"transformer": 0.3, "bilstm": 0.5, "dt@parser": 0.6, "tree@parser": 0.55, "dt": 0.7}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    """What is asked, results and designs, with scores of all rows."""
    results, designs = tmp_path / "results", tmp_path / "designs"
    (results / "evidence").mkdir(parents=True)
    designs.mkdir()
    (designs / "d.toml").write_text(DESIGN)
    (tmp_path / "asked.toml").write_text(ASKED)
    (design,) = read_designs(designs)
    ledger = Ledger(results / "evidence" / "d.csv")
    for table in design.tables:
        for row in table.rows:
            for seed in range(2):
                ledger.add(RunKey(table.digest, row, "", seed), {"test_f1": SCORES[row] + 0.02 * seed})
    decided = dict.fromkeys(HEADER, "") | {"claim": "gain", "digest": design.tables[1].digest}
    decided |= {"difference": "0.1", "low": "0.08", "high": "0.12", "over": "seeds", "verdict": "reproduced"}
    lines = [",".join(HEADER), ",".join(decided[name] for name in HEADER)]
    (results / "evidence" / "claims.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "asked.toml", results, designs


def test_a_line_has_the_best_row_of_each_column_in_points(folders):
    (line,) = headline.lines_of(*folders)
    assert line.scores == pytest.approx({"plain": 51, "parsed": 61, "gold": 71})
    assert line.gain == pytest.approx((10, 8, 12))
    assert (line.seeds_alone, line.verdict, line.smallest) == (True, "above 0, planned", 1)
    table = headline.headline(str(folders[0]), *folders[1:])
    assert "| roles | 51.0 | 61.0 | 71.0 | – | – | +10.0 [8.0, 12.0] \\* | above 0, planned |" in table


@pytest.mark.parametrize("best", ["dt@parser", "tree@parser"])
def test_after_the_runs_the_row_with_trees_is_the_best_on_validation(folders, best):
    design = folders[2] / "d.toml"
    design.write_text(design.read_text().replace('name = "gain"', 'name = "gain"\nposthoc = true'))
    ledger, (design,) = Ledger(folders[1] / "evidence" / "d.csv"), read_designs(folders[2])
    for row in ("dt@parser", "tree@parser"):
        for seed in range(2):
            key = RunKey(design.tables[1].digest, row, "", seed)
            ledger.drop(key)
            ledger.add(key, {"test_f1": SCORES[row] + 0.02 * seed, "val_f1": 0.7 if row == best else 0.6})
    if best == "dt@parser":
        assert headline.lines_of(*folders)[0].verdict == "above 0"
    else:
        with pytest.raises(
            ValueError, match=r"roles: tree@parser and bilstm are best, and gain is of dt@parser"
        ):
            headline.lines_of(*folders)


@pytest.mark.parametrize(
    ("decided", "high", "verdict"),
    [
        ("reproduced", 3.0, "above 0"),
        ("undecided", 3.0, "undecided"),
        ("not reproduced", 0.5, "below 1"),
        ("not reproduced", -0.1, "below 0"),
    ],
)
def test_verdicts_in_points(decided, high, verdict):
    assert headline._verdict(decided, high, 1.0) == verdict


def test_a_claim_of_other_rows_than_the_best_is_found(folders):
    asked = folders[0]
    asked.write_text(ASKED.replace('["transformer", "bilstm"]', '["transformer"]'))
    with pytest.raises(
        ValueError, match=r"roles: dt@parser and transformer are best, and gain is of dt@parser"
    ):
        headline.lines_of(*folders)
    asked.write_text(ASKED.replace('"gain"', '"loss"'))
    with pytest.raises(ValueError, match=r"no claim 'loss'"):
        headline.lines_of(*folders)


def test_seeds_that_are_missing_are_not_averaged(folders):
    ledger, (design,) = Ledger(folders[1] / "evidence" / "d.csv"), read_designs(folders[2])
    ledger.drop(RunKey(design.tables[1].digest, "dt", "", 1))
    (line,) = headline.lines_of(*folders)
    assert "gold" not in line.scores


def test_the_picture_knows_what_it_is_of(folders, tmp_path):
    lines, (curve,) = headline.lines_of(*folders), headline.curves_of(*folders)
    assert [*curve.points] == [500, 5000]
    middle, half = curve.points[500]
    assert (middle, half) == (
        pytest.approx(51),
        pytest.approx(12.706, rel=1e-3),
    )  # t of one degree of freedom
    figure = headline.draw(lines, [curve])
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["500", "5,000"]
    assert [tick.get_text() for tick in right.get_yticklabels()] == ["roles"]
    told = headline.digest(lines, [curve])
    figure.savefig(tmp_path / "a.png", metadata={"Description": told})
    assert headline.drawn(tmp_path / "a.png") == told
    assert headline.drawn(tmp_path / "none.png") == ""


def test_the_committed_picture_is_of_the_committed_scores():
    asked = (RESEARCH / "headline.toml", RESEARCH / "results", RESEARCH / "claims")
    told = headline.digest(headline.lines_of(*asked), headline.curves_of(*asked))
    assert headline.drawn(RESEARCH / "figures" / "results.png") == told, "make tables"
