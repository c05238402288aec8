"""Tables of rows: files of rows, their settings, and reports."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from graphdep.cli.common import print_scores
from graphdep.tasks import family_of
from graphdep.training import TrainConfig, ablate, compare_runs, load_splits
from graphdep.training.rows import read_rows_file, row_settings
from graphdep.training.table import csv_rows, latex, markdown, rich_table, table_cells
from graphdep.training.task import few_validation, legend

COUNTING = {"lookup": "by counting"}


FLOOR = {
    "test_accuracy": 0.25,
    "val_accuracy": 0.125,
    "test_accuracy_lookup": 0.5,
    "val_accuracy_lookup": 0.75,
}


def summary(rows: Sequence[dict] = (), **others: object) -> dict:
    return {
        "task": "csv",
        "title": "Own texts",
        "command": "",
        "rows_are": "model",
        "settings": {},
        "rows": [{"floor": {}, "floor_frozen": {}, **row} for row in rows],
        "floor": FLOOR,
        "floor_frozen": {},
        "compared": "test",
        "reference": {},
        "signature": {},
        "papers": [],
        "encoders": [],
        "decoded": "",
        "data": {"examples": {"val": 50}},
        **others,
    }


def paper(rows: dict[str, dict[str, float]], **more: object) -> dict:
    return {"source": "Paper, Table 1", "rows": rows, "others": {}, "note": "", **more}


def test_a_paper_s_figures_stand_behind_their_scores_and_the_others_below():
    spread = {"mean": 0.5, "std": None, "values": [0.5]}
    row = {"n": 1, "about": "it", "capped": 0, "failed": {}, "against": None, "seeds": [0]}
    row |= {"parameters": 1, "epochs": 1, "seconds_per_epoch": 1}
    row |= {"metrics": {"test_accuracy": spread, "val_accuracy": spread}}
    row |= {"data": {"examples": {}, "vocabulary": 1, "parser": "", "chain_trees": {}}}
    row["data"] |= {"unknown_words": {}, "unknown_relations": {}, "cut_words": {}}
    rows = [{"name": name, "label": name, "model": name, **row} for name in ("dt", "lstm", "own")]
    others = {"other system": {"val_accuracy": 0.75}}
    papers = [
        paper({"dt": {"val_accuracy": 0.875}, "lstm": {"val_accuracy": 0.625}}, others=others),
        paper({"dt": {"test_accuracy": 0.25, "server": 0.125}, "rntn": {"test_accuracy": 1.0}}, note="note"),
    ]
    text = markdown(summary(rows=rows, papers=papers))
    header, _, _, *cells = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()[2:8]]
    at = {name: place for place, name in enumerate(header)}
    assert at["paper: test_accuracy"] > at["test_accuracy"]
    assert at["paper: val_accuracy"] == at["val_accuracy"] + 1
    assert [line[at["paper: test_accuracy"]] for line in cells] == ["0.2500", "-", "-"]
    assert [line[at["paper: val_accuracy"]] for line in cells] == ["0.8750", "0.6250", "-"]
    assert "- paper: Paper, Table 1; other system val_accuracy 0.7500\n" in text
    assert "- paper: Paper, Table 1; dt server 0.1250\n- beside the paper: note\n" in text
    lines = [line.split(",") for line in csv_rows(summary(rows=rows, papers=papers)).splitlines()]
    assert {(model, score, figure) for _, model, _, score, _, _, figure, *_ in lines[1:] if figure} == {
        ("dt", "test_accuracy", "0.25"),
        ("dt", "val_accuracy", "0.875"),
        ("lstm", "val_accuracy", "0.625"),
    }


def test_kinds_of_floors():
    counting = dataclasses.replace(family_of("csv"), floors=COUNTING)
    assert counting.split_floors(FLOOR) == {
        "no skill": {"test_accuracy": 0.25, "val_accuracy": 0.125},
        "by counting": {"test_accuracy": 0.5, "val_accuracy": 0.75},
    }
    assert family_of("csv").split_floors(FLOOR) == {"no skill": FLOOR}
    assert counting.split_floors({}) == {}


def test_further_floors_are_rows_of_a_table_and_columns_of_a_score(monkeypatch, capsys):
    monkeypatch.setitem(vars(family_of("csv")), "floors", COUNTING)
    header, rows = table_cells(summary())
    assert [name for name in header if "accuracy" in name] == ["test_accuracy", "val_accuracy"]
    place = header.index("val_accuracy")
    assert [(row[0], row[1], row[place]) for row in rows] == [
        ("(no skill)", "0.2500", "0.1250"),
        ("(by counting)", "0.5000", "0.7500"),
    ]
    assert {len(row) for row in rows} == {len(header)}
    result = {"task": "csv", "model": "dt", "seed": 0, "floor": FLOOR, "reference": {}, "signature": {}}
    result |= {"config": {}, "data": {"notes": ["val is 4 of the 40 sentences [drawn]"]}}
    print_scores({**result, "metrics": {"test_accuracy": 0.7}, "parameters": 1, "checkpoint": "best.ckpt"})
    said = capsys.readouterr().out
    assert [said.index(text) for text in ("score", "no skill", "by counting")] == sorted(
        said.index(text) for text in ("score", "no skill", "by counting")
    )
    assert all(
        text in said for text in ("0.7000", "0.2500", "0.5000", "val is 4 of the 40 sentences [drawn]")
    )


def test_what_a_dataset_says_of_itself_is_under_the_table(corpus, monkeypatch):
    splits = load_splits(TrainConfig.of("dt", **corpus), ("train",))
    assert "notes" not in splits.describe()
    whole = splits["train"].describe()
    monkeypatch.setattr(type(splits["train"]), "describe", lambda self: whole | {"note": "3 words of no use"})
    data = splits.describe()
    assert data["notes"] == ["train: 3 words of no use"]
    row = {"name": "dt", "label": "dt", "model": "dt", "about": "", "n": 0, "metrics": {}, "failed": {}}
    row |= {"against": None, "capped": 0, "data": data}
    assert "\n- train: 3 words of no use\n" in markdown(summary(rows=[row]))


@pytest.mark.parametrize(
    ("task", "settings", "count", "said"),
    [
        ("csv", {}, 10, "more: --val FILE, or --set val_fraction=..."),
        ("labels", {"val": "own.jsonl"}, 49, "more: --val FILE"),
        ("csv", {}, 50, ""),
        ("csv", {"keep": "last"}, 10, ""),
        ("sst", {}, 10, ""),
    ],
)
def test_few_validation_examples(task, settings, count, said):
    found = few_validation(task, settings, {"val": count})
    assert found == (said and f"validation examples that choose the epoch: {count}; {said}")
    notes = markdown(summary(task=task, settings=settings, data={"examples": {"val": count}}))
    assert notes.count("choose the epoch") == bool(said)


def test_floors_of_rows_with_other_trees_are_under_the_table(monkeypatch):
    monkeypatch.setitem(vars(family_of("csv")), "floors", COUNTING)
    data = {"examples": {}, "vocabulary": 1, "parser": "", "chain_trees": {}, "unknown_words": {}}
    data |= {"unknown_relations": {}, "cut_words": {}}
    rows = [
        {"name": name, "label": name, "model": name, "about": "", "n": 0, "metrics": {}, "failed": {}}
        | {"against": None, "capped": 0, "data": data, "floor": floor}
        for name, floor in (("a", FLOOR), ("b", FLOOR | {"test_accuracy_lookup": 0.375}), ("c", {}))
    ]
    text = markdown(summary(rows=rows))
    assert "\n- floors in the table are on the data of a\n" in text
    assert "\n- (by counting) on the data of b: test_accuracy 0.3750, val_accuracy 0.7500\n" in text
    assert "on the data of" not in markdown(summary(rows=[rows[0], rows[2]]))


def test_rows_that_are_no_better_than_counting_are_named(monkeypatch):
    monkeypatch.setitem(vars(family_of("csv")), "floors", COUNTING)
    spread = {"std": None, "values": []}
    data = {"examples": {}, "vocabulary": 1, "parser": "", "chain_trees": {}, "unknown_words": {}}
    data |= {"unknown_relations": {}, "cut_words": {}}
    shared = {"against": None, "n": 1, "model": "dt", "about": "it", "capped": 0, "failed": {}, "data": data}
    shared |= {"parameters": 1, "epochs": 1, "seconds_per_epoch": 1, "floor": FLOOR}
    rows = [
        {"name": name, "label": name, "metrics": {"test_accuracy": {"mean": mean, **spread}}, **shared}
        for name, mean in (("good", 0.75), ("even", 0.5), ("bad", 0.375))
    ]
    lines = markdown(summary(rows=rows)).splitlines()
    assert [line for line in lines if "WARNING" in line] == [
        "- WARNING even: test_accuracy 0.5000 is no better than by counting 0.5000",
        "- WARNING bad: test_accuracy 0.3750 is no better than by counting 0.5000",
    ]


@pytest.mark.parametrize("more", [{}, {"bound": 0.01}])
@pytest.mark.parametrize("score", [None, "test_accuracy", "val_accuracy"])
@pytest.mark.parametrize("width", [50, 60, 80, 160])
def test_a_terminal_breaks_no_name_and_no_number(more, score, width):
    papers = [paper({"dt": {score: 0.9}})] if score else []
    compared = {"difference": -0.4175, "interval": (-0.5219, -0.3131), "smallest_visible": 0.1383}
    compared["identical"] = False
    row = {"name": "dt", "label": "dt-nolevel-nopos@random-labels", "model": "dt", "n": 2, "failed": {}}
    scores = ((0.4188, 0.0265), (0.5199, 0.0377))
    values = [{"mean": mean, "std": std, "values": []} for mean, std in scores]
    row |= {"metrics": dict(zip(("test_accuracy", "val_accuracy"), values))}
    row |= {"parameters": 1, "epochs": 1, "seconds_per_epoch": 1}
    row |= {"against": compared | {"verdict": "no effect larger than 0.01"}}
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(rich_table(summary(rows=[row], papers=papers, **more), width))
    said = console.file.getvalue()
    cells = {"difference": ["-0.4175", "[-0.5219, -0.3131]"], "smallest visible": ["0.1383"]}
    cells |= {f"paper: {score}": ["0.9000"]} if score else {}
    cells |= {"val_accuracy": ["0.5199", "± 0.0377"]} if score == "val_accuracy" else {}
    for name, numbers in cells.items():
        assert name in " ".join(said.partition("not shown")[2].split()) or all(n in said for n in numbers)
    assert all(text in said for text in ("dt-nolevel-nopos@random-labels", "0.4188", "± 0.0265"))
    assert "not shown" not in said or width < 160
    assert "…" not in said


def test_the_rows_as_a_latex_table():
    compared = {"difference": -0.4175, "interval": (-0.5219, 0.3131), "smallest_visible": None}
    row = {"label": r"[a_b] 5% & #1 \x~{y}", "model": "dt", "n": 2, "failed": {}, "parameters": 1234}
    row |= {"metrics": {"test_accuracy": {"mean": 0.4188, "std": 0.0265}}, "epochs": 1}
    row |= {"seconds_per_epoch": 1, "against": {**compared, "identical": False}}
    begin, _, header, _, floor, line, *end = latex(
        summary(rows=[row], floor={"test_accuracy": 0.25})
    ).splitlines()
    assert begin == r"\begin{tabular}{lrrrrrrr}"
    assert header.startswith(r"model & test\_accuracy & difference {[}95\%] & smallest visible & ")
    assert floor.startswith("(no skill) & 0.2500 & ")
    assert line == (
        r"{[}a\_b] 5\% \& \#1 \textbackslash{}x\textasciitilde{}\{y\} & 0.4188 $\pm$ 0.0265 & "
        r"$-$0.4175 {[}$-$0.5219, +0.3131] & -- & 2 & 1,234 & 1.0 & 1.0 \\"
    )
    assert end == [r"\bottomrule", r"\end{tabular}"]


def rows(*models: str, **own: object) -> dict[str, dict[str, object]]:
    return {model: {"model": model, **own} for model in models}


@pytest.mark.parametrize(
    ("task", "words", "pretrained"),
    [
        ("sick-e", "transformer", "bert"),
        ("ubuntu", "smn", "bert-sia"),
        ("propbank-ewt", "bilstm", "bert-dt"),
        # tasks with files, which this check does not need
        ("csv", "dt", "bert"),
        ("labels", "dam", "bert-dt@random"),
        ("spans", "transformer", "bert"),
    ],
)
def test_a_pretrained_encoder_is_of_the_rows_that_stand_on_one(task, words, pretrained):
    found = row_settings(task, rows(words, pretrained), {"encoder": "some/bert", "lr": 0.01})
    assert found[words] == {"model": words, "lr": 0.01}
    assert found[pretrained] == {"model": pretrained, "lr": 0.01, "encoder": "some/bert"}


def test_a_setting_that_fits_no_row_is_refused():
    found = row_settings("sick-e", rows("transformer", "dt"), {"encoder": "some/bert"})
    with pytest.raises(ValueError, match="'encoder' must be one of"):
        TrainConfig.of(**{**found["dt"], "task": "sick-e"})


def test_an_encoder_of_the_family_s_own_is_of_all_rows():
    found = row_settings("sick-e", rows("transformer", "bert"), {"encoder": "bilstm"})
    assert all(row["encoder"] == "bilstm" for row in found.values())


def test_a_row_s_own_settings_come_first():
    (found,) = row_settings("sick-e", rows("bert", encoder="own/bert"), {"encoder": "some/bert"}).values()
    assert found["encoder"] == "own/bert"


ROWS = """
task: sick-e
seeds: 2
bound: 0.1
reference: plain
max_epochs: 1
rows:
  - dt
  - {model: transformer, name: plain}
  - model: dt
    lr: 1e-2
"""


def test_rows_settings_and_what_is_of_the_table(tmp_path):
    (tmp_path / "rows.yaml").write_text(ROWS)
    found = read_rows_file(tmp_path / "rows.yaml")
    assert found.rows == {
        "dt": {"model": "dt"},
        "plain": {"model": "transformer"},
        "dt lr=1e-2": {"model": "dt", "lr": 0.01},
    }
    assert found.settings == {"task": "sick-e", "max_epochs": 1}
    assert found.table == {"seeds": 2, "bound": 0.1, "reference": "plain"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rows: dt", "'rows' must be a list"),
        ("rows: [{lr: 1}]", "a row must be a model's name, or settings with 'model'"),
        ("rows: [dt, dt]", "two rows are named 'dt'"),
        ("rows: [{model: dt, learning_rate: 1}]", "did you mean 'lr'"),
        ("seeds: many", "'seeds' must be int"),
        ("sedes: 1", "no setting 'sedes'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    (tmp_path / "rows.yaml").write_text(text)
    with pytest.raises(ValueError, match=rf"rows.yaml: .*{message}"):
        read_rows_file(tmp_path / "rows.yaml")


def test_a_table_of_rows_of_one_s_own(tmp_path, tiny):
    shared = {**tiny, "max_epochs": 1}
    task = shared.pop("task", "sick-e")
    rows = {"slow": {"model": "dt", "lr": 0.001}, "fast": {"model": "dt", "lr": 0.05}, "dt": {"model": "dt"}}
    summary = ablate(task, [], [0], tmp_path / "rows", rows=rows, settings=shared)
    assert [(row["name"], row["model"], row["n"]) for row in summary["rows"]] == [
        *(("slow", "dt", 1), ("fast", "dt", 1), ("dt", "dt", 1))
    ]
    assert [row["against"] and row["against"]["row"] for row in summary["rows"]] == [None, "slow", "slow"]
    summary["rows"][1]["against"]["identical"] = True
    text = markdown(summary)
    assert "- fast: the same predictions as slow: two systems that compute the same" in text
    assert [line.split(" | ")[2] for line in text.splitlines() if line.startswith("| fast ")] == [
        "same predictions"
    ]
    assert summary["rows"][0]["about"].endswith("with lr=0.001")
    assert summary["papers"] == []
    assert len(list((tmp_path / "rows").glob("*/run.yaml"))) >= 2
    assert not [*(tmp_path / "rows").glob("*/last.ckpt")]
    for wrong, message in (
        ({"a": {"lr": 1}}, "row 'a' has no 'model'"),
        ({"a": {"model": "dt"}, "b": {"model": "dt"}}, "row 'b' has the same settings as row 'a'"),
        ({"a": {"model": "dt", "seed": 1}}, "row 'a': 'seed' cannot differ between rows"),
    ):
        with pytest.raises(ValueError, match=message):
            ablate(task, [], [0], tmp_path, rows=wrong, settings=shared)
    with pytest.raises(ValueError, match="'rows' replace 'models' and 'edges'"):
        ablate(task, ["dt"], [0], tmp_path, rows=rows, settings=shared)


@pytest.mark.parametrize("words", ["soup rice fish", "disk screen keys"])
def test_rows_tested_on_other_texts_have_no_difference(tmp_path, words):
    """Even if the labels are in the same order."""
    for name, some in (("train", "soup disk"), ("a", "soup rice fish"), ("b", words)):
        lines = [f"{some.split()[n % 2]} {n},{'neg' if n < 10 else 'pos'}\n" for n in range(20)]
        (tmp_path / f"{name}.csv").write_text("text,label\n" + "".join(lines))
    rows = {
        name: {"model": "word-average", "lr": lr, "test": str(tmp_path / f"{name}.csv")}
        for name, lr in (("a", 0.1), ("b", 0.2))
    }
    shared = {"train": str(tmp_path / "train.csv"), "text_columns": "text", "label_column": "label"}
    shared |= {"root": str(tmp_path / "root"), "parser": "chain", "max_epochs": 1, "hidden_channels": 8}
    summary = ablate("csv", [], [0], tmp_path / "rows", rows=rows, settings=shared)
    assert summary["title"].startswith("train.csv")
    same = words.startswith("soup")
    assert [row["against"] is None for row in summary["rows"]] == [True, not same]
    sides = [Path(row["checkpoints"][0]).parent for row in summary["rows"]]
    if same:
        assert compare_runs(*sides, samples=10)["n"] == 20
    else:
        with pytest.raises(ValueError, match=r"example 0 has the digest .* not the same examples"):
            compare_runs(*sides, samples=10)


def test_a_clause_of_all_metrics_is_told_once():
    assert legend({"a": "a: x; floor: y", "b": "z; floor: y"}) == ["a: x", "b: z", "floor: y"]
    assert legend({"a": "a: x; floor: y"}) == ["a: x; floor: y"]
