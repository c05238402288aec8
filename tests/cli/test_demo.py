from __future__ import annotations

import json

import pytest

from graphdep import Sentence, datasets
from graphdep.cli import demo
from graphdep.testing.tiny_corpus import write_tiny_dialogues, write_tiny_sick


class Gold:
    """Stands in for the bundled parser, which takes seconds to load."""

    def parse(self, texts):
        return [[Sentence.chain(text.split())] for text in texts]


@pytest.fixture
def quick(monkeypatch, tmp_path):
    settings = write_tiny_sick(tmp_path / "datasets" / "mini")
    small = {
        "hidden_channels": 8,
        "ff_channels": 8,
        "num_layers": 1,
        "heads": 2,
        "parser": settings["parser"],
    }
    monkeypatch.setattr(demo, "SETTINGS", {**demo.SETTINGS, **small})
    talking = {"hidden_channels": 8, "parser": write_tiny_dialogues(tmp_path / "datasets" / "mini")["parser"]}
    monkeypatch.setattr(demo, "DIALOGUE_SETTINGS", {**demo.DIALOGUE_SETTINGS, **talking})
    assert datasets  # imported before, so that the corpus keeps the true resolver
    monkeypatch.setattr("graphdep.parsing.resolve_parser", lambda name: Gold())


def test_parses_draws_trains_and_tells(run, quick, tmp_path):
    done = run("demo", "--seeds", "1", "--max-epochs", "1")
    assert done.exit_code == 0, done.stderr
    for text in ("1. Parsing", "<-root- ROOT", "dt-random", "no skill", "attention.png", "(reference: "):
        assert text in done.stdout
    for name in ("tree.png", "edges_dra.png", "edges_dt.png", "attention.png", "plot.png"):
        assert (tmp_path / "runs" / "demo" / name).read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "runs" / "demo" / "table.md").exists()


def test_json_is_one_object(run, quick):
    done = run("demo", "--seeds", "1", "--max-epochs", "1", "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [row["model"] for row in summary["rows"]] == list(demo.MODELS)
    assert summary["paper"] is None


def test_corpus_is_generated_outside_a_clone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = demo.mini_root(tmp_path / "out")
    assert root == tmp_path / "out" / "mini"
    assert (root / "raw" / "SICK_train.txt").read_text().startswith("pair_ID\t")
