"""The table of docs/choose.md: each call does what it says."""

from __future__ import annotations

import re
import shlex
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from stanza.models.common.doc import Document
from typer.testing import CliRunner

import datasets
import graphdep
from graphdep.cli import app
from graphdep.datasets import from_hf
from graphdep.transforms import resolve
from tests.kit.runs import SIZES

PAGE = (Path(__file__).parents[2] / "docs" / "choose.md").read_text(encoding="utf-8")
TABLE = re.search(r"^\| you have .*?\n\n", PAGE, flags=re.M | re.S)
CALLS = re.findall(r"\| `([^`]*)` \|$", TABLE[0] if TABLE else "", flags=re.M)
TEXTS = ["A fine film.", "So dull.", "What a joy!", "I slept."] * 5
LABELS = ["good", "bad", "good", "bad"] * 5
TINY = {**SIZES, "max_epochs": 1}


@pytest.fixture(scope="module")
def of_reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``reviews.csv`` and the ``best.ckpt`` of a classifier that was trained on it."""
    folder = tmp_path_factory.mktemp("reviews")
    rows = "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS))
    (folder / "reviews.csv").write_text("text,label\n" + rows)
    model = graphdep.SequenceClassifier("transformer", "dt", progress=False, **TINY).fit(TEXTS, LABELS)
    model.save(folder / "best.ckpt")
    return folder


def _given() -> dict[str, Any]:
    """What the table's calls read: names of the library, and what *you have*."""
    names = {name: getattr(graphdep, name) for name in graphdep.__all__}
    rows = [("She", 2, "nsubj"), ("sings", 0, "root")]
    parsed = [{"id": n, "text": a, "head": h, "deprel": r} for n, (a, h, r) in enumerate(rows, 1)]
    doc = Document([parsed], text="She sings")
    verbs = {"makes": "cause", "brings": "cause", "needs": "need", "wants": "need"}
    marked = [f"<e1>Rain</e1> {verb} <e2>{noun}</e2>." for verb in verbs for noun in ("mud", "ice")]
    own = {"doc": doc, "data": graphdep.to_data([graphdep.Sentence.chain(["She", "sings"])])}
    own |= {
        "texts": TEXTS,
        "labels": LABELS,
        "marked": marked,
        "relations": [label for label in verbs.values() for _ in "ab"],
    }
    own |= {"words": [["She", "sings"], ["Ann", "sees"]] * 5, "tags": [["N", "V"]] * 10}
    for name in ("SequenceClassifier", "WordLabeller", "SpanClassifier"):  # the real sizes take minutes
        names[name] = partial(names[name], **TINY, progress=False)
    return names | own | {"graphdep": graphdep, "resolve": resolve, "from_hf": from_hf}


@pytest.mark.parametrize("call", CALLS)
def test_what_the_table_says_to_call(call, of_reviews, tmp_path, monkeypatch):
    for name in ("reviews.csv", "best.ckpt"):
        shutil.copy(of_reviews / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    if not call.startswith("graphdep "):
        given = _given()
        if "from_hf" in call:
            if not hasattr(pytest.importorskip("datasets"), "Dataset"):  # the folder of that name
                pytest.skip("needs the library datasets")
            given["dataset"] = datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS})
        eval(call, given)
        return
    tiny = [f"{name}={value}" for name, value in TINY.items()]
    sets = [part for one in tiny for part in ("--set", one)] if " --train " in call else []
    done = CliRunner().invoke(app, [*shlex.split(call)[1:], *sets])
    assert done.exit_code == 0, done.output


def test_the_table_is_read_and_short():
    assert 10 <= len(CALLS) == TABLE[0].count("\n") - 3 <= 14
