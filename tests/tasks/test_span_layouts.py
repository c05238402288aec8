"""Training and prediction on marked spans in the layouts of other corpora."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphdep.training import train
from tests.kit.runs import evaluate_own
from tests.kit.tiny_corpora import tiny_span_rows


def tacred(row: dict[str, Any], number: int, span_end: str) -> dict[str, Any]:
    """A row in TACRED's layout."""
    back = 1 if span_end == "last" else 0
    (first, stop), (second, end) = row["spans"]
    return {
        "id": f"r{number}",
        "relation": row["label"],
        "token": row["words"],
        "subj_start": first,
        "subj_end": stop - back,
        "obj_start": second,
        "obj_end": end - back,
        "stanford_pos": ["NN", "VBZ", "JJ", "NN"],
        "stanford_head": [str(head) for head in row["head"]],
        "stanford_deprel": row["deprel"],
    }


def aspects(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its spans as two aspects."""
    found = [
        {"term": ["x"], "from": start, "to": stop, "polarity": row["label"]} for start, stop in row["spans"]
    ]
    return {"token": row["words"], "head": row["head"], "deprel": row["deprel"], "aspects": found}


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("span_end", ["last", "behind"])
def test_trained_as_our_own_rows_and_predicted(config_of, run, tmp_path, span_end):
    rows = tiny_span_rows(trees=True)
    theirs = [tacred(row, number, span_end) for number, row in enumerate(rows)]
    file = str(written(tmp_path / "train.json", theirs))
    config = config_of("spans", "dt", train=file, test=file, max_epochs=3)
    result = train(config, tmp_path / "run")
    own = train(config_of("spans", "dt", max_epochs=3), tmp_path / "own")
    assert result["metrics"] == own["metrics"]
    assert "own parses: 15 of 15 examples" in result["data"]["notes"][-1]
    assert result["data"]["span_end"] == dict.fromkeys(("train", "val", "test"), span_end)

    for row in theirs:  # a last word, so that ends do not tell the layout
        del row["relation"]
        row["token"] = [*row["token"], "."]
        row["stanford_head"], row["stanford_deprel"] = (
            [*row["stanford_head"], "2"],
            [*row["stanford_deprel"], "punct"],
        )
        row["stanford_pos"] = [*row["stanford_pos"], "."]
    output = tmp_path / "out.jsonl"
    new = written(tmp_path / "new.json", theirs)
    done = run("predict", "--checkpoint", tmp_path / "run", "--input", new, "--output", output, "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 15
    found = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(row["id"], row["words"], row["spans"]) for row in found] == [
        (f"r{number}", [*row["words"], "."], row["spans"]) for number, row in enumerate(rows)
    ]
    assert {row["prediction"] for row in found} <= {"cause", "effect", "none"}


def test_a_row_an_aspect(config_of, run, tmp_path):
    file = str(written(tmp_path / "train.jsonl", [aspects(row) for row in tiny_span_rows(trees=True)]))
    result = train(config_of("spans", "dt", train=file, test=None, max_epochs=1), tmp_path / "run")
    assert result["data"]["num_spans"]["train"] == 1
    assert "aspects that differ from the words that they mark: 30" in result["data"]["notes"][0]
    done = run("predict", "--checkpoint", tmp_path / "run", "--input", file)
    assert len(done.stdout.splitlines()) == 30
    assert "aspects that differ from the words that they mark: 30" in " ".join(done.stderr.split())


def test_ends_of_spans_are_evaluated_as_they_were_trained(config_of, tmp_path):
    rows = {end: [tacred(row, 0, end) for row in tiny_span_rows(trees=True)] for end in ("last", "behind")}
    files = {end: str(written(tmp_path / f"{end}.json", of)) for end, of in rows.items()}
    train(config_of("spans", "dt", train=files["behind"], test=None, max_epochs=1), tmp_path / "run")
    settings = {"train": files["last"], "test": files["last"]}
    with pytest.raises(ValueError, match=r"last.json:1: span 1 is empty.*\(span_end=behind\)"):
        evaluate_own(tmp_path / "run" / "best.ckpt", settings=settings)
