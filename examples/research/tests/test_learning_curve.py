"""The learning curve: on made-up numbers, and the committed picture is of the committed scores."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

EXAMPLES = Path(__file__).parents[1]
DESIGN = """
title = "roles"
task = "propbank-ewt"
metric = "test_f1"
rows = ["transformer", "dt@parser", "dt@random", "bilstm-deep"]
seeds = 2
[[tables]]
name = "5000"
settings = {{ limit_train = 5000 }}
[[tables]]
name = "500"
settings = {{ limit_train = {} }}
"""


@pytest.fixture
def curve(monkeypatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield SimpleNamespace(**runpy.run_path(str(EXAMPLES / "learning_curve.py")))
    for name in ("design_tables", "table_text"):
        sys.modules.pop(name, None)


def write(folder: Path, curve: SimpleNamespace, sizes: tuple[str, ...]) -> dict:
    """Designs with scores of some tables of ``e2-roles``: a gain of .2 at 500 and of .1 at 5,000."""
    for place, (name, *rows) in enumerate(curve.LINES.values()):
        text = DESIGN.format(500 + place)
        if rows[1] == "bert":
            text = text.replace(
                '"transformer", "dt@parser", "dt@random", "bilstm-deep"', '"bert", "bert-dt@parser"'
            )
        if not (folder / f"{name}.toml").exists():
            (folder / f"{name}.toml").write_text(text)
    design = next(design for design in curve.read_designs(folder) if design.name == "e2-curve")
    ledger = curve.Ledger(folder / "e2-curve.csv")
    for table in design.tables:
        for seed in range(2) if table.name in sizes else ():
            gain = 0.2 if table.name == "500" else 0.1
            scores = {
                "transformer": 0.3,
                "bilstm-deep": 0.2,
                "dt@parser": 0.3 + gain + 0.01 * seed,
                "dt@random": 0.3 + 0.01 * seed,
            }
            for row, score in scores.items():
                key = SimpleNamespace(digest=table.digest, row=row, tune="", seed=seed)
                ledger.add(runs_key(key), {"test_f1": score})
    return curve.points_of_lines(folder, folder)


def runs_key(key: SimpleNamespace):
    from evidence.ledger import RunKey

    return RunKey(key.digest, key.row, key.tune, key.seed)


def test_the_points(tmp_path, curve):
    lines = write(tmp_path, curve, ("500", "5000"))
    gains = lines["from scratch"]
    assert [*gains] == [500, 5000]
    assert [gains[size]["difference"] for size in gains] == pytest.approx([0.205, 0.105])
    assert lines[curve.BAND][500]["difference"] == pytest.approx(0.005)
    assert lines["MiniLM"] == {500: None, 5000: None}
    assert curve.has_picture(lines)
    text = curve.said(lines)
    assert text.startswith("![Gain of test F1")
    assert "Still missing: with word vectors 500, 5,000; with word vectors, over a BiLSTM 500" in text


def test_one_size_is_no_curve(tmp_path, curve):
    lines = write(tmp_path, curve, ("5000",))
    assert not curve.has_picture(lines)
    assert "there is no picture. Missing: from scratch 500; from scratch, over" in curve.said(lines)


def test_the_picture_knows_what_it_is_of(tmp_path, curve):
    lines = write(tmp_path, curve, ("500", "5000"))
    figure = curve.draw(lines)
    (axes,), (legend,) = figure.axes, figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        curve.BAND,
        "from scratch",
        "from scratch, over a BiLSTM",
    ]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["500", "5,000"]
    figure.savefig(tmp_path / "a.png", metadata={"Description": curve.digest(lines)})
    assert curve.drawn(tmp_path / "a.png") == curve.digest(lines)
    assert curve.drawn(tmp_path / "none.png") == ""


def test_the_committed_page_and_picture_are_of_the_committed_scores(curve):
    lines = curve.points_of_lines(EXAMPLES / "claims", EXAMPLES / "results" / "evidence")
    page = (EXAMPLES / "results" / "roles-more.md").read_text(encoding="utf-8")
    assert f"<!-- picture:begin -->\n{curve.said(lines)}<!-- picture:end -->" in page, "make tables"
    picture = EXAMPLES / "figures" / "learning_curve.png"
    assert picture.exists() == curve.has_picture(lines)
    assert curve.drawn(picture) == (curve.digest(lines) if picture.exists() else "")
