"""Checkpoints, processed examples, stores and parse caches that were written before the package had rooms.

``tests/files/earlier.zip`` was made by commit 3b997c8: two corpora of ``tests/kit/tiny_corpora.py`` with
the parser ``conllu:trees.conllu``, and a run on each.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from graphdep.parsing import resolve_parser
from graphdep.parsing.sentence_lookup import SentenceLookup
from graphdep.training import TrainConfig, evaluate, load_splits, load_task

FILES = Path(__file__).parents[1] / "files" / "earlier.zip"
CORPORA = {"sick": ("sick-e", "run_sick"), "sel": ("ubuntu", "run_sel")}


@pytest.fixture
def earlier(tmp_path, monkeypatch) -> Path:
    with zipfile.ZipFile(FILES) as archive:
        archive.extractall(tmp_path)

    def parse(*args: object, **kwargs: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(SentenceLookup, "__call__", parse)
    return tmp_path


def settings(folder: Path) -> dict[str, object]:
    return {"root": str(folder), "parser": f"conllu:{folder / 'trees.conllu'}"}


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_checkpoint_scores_what_it_scored(earlier, corpus):
    task, run = CORPORA[corpus]
    metrics = json.loads((earlier / "metrics.json").read_text())[{"sel": "selection"}.get(corpus, corpus)]
    result = evaluate(earlier / run / "best.ckpt", settings=settings(earlier / corpus))
    assert result["task"] == task
    wanted = {name: value for name, value in metrics.items() if name.startswith("test_")}
    # The order in which attention sums has changed since: a loss may differ in its last digits.
    assert result["metrics"] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("corpus", CORPORA)
def test_processed_examples_are_found(earlier, corpus):
    files = sorted((earlier / corpus / "processed").iterdir())
    before = {file: file.read_bytes() for file in files}
    _, state = load_task(earlier / CORPORA[corpus][1] / "best.ckpt")
    splits = load_splits(TrainConfig.from_dict(state.config.to_dict() | settings(earlier / corpus)))
    assert splits.digest() == state.data["digest"]
    assert sorted((earlier / corpus / "processed").iterdir()) == files
    assert {file: file.read_bytes() for file in files} == before


def test_parses_are_found_in_their_cache(earlier):
    from graphdep.parsing.cached_parser import CachedParser

    parser = CachedParser(
        resolve_parser(settings(earlier / "sick")["parser"]), earlier / "sick" / "cache" / "parses.sqlite"
    )
    lines = (earlier / "sick" / "raw" / "SICK_train.txt").read_text().splitlines()[1:]
    texts = [text for line in lines for text in line.split("\t")[1:3]]
    assert texts
    assert all(parser.parse(texts))
