"""The example of what edges can read: every row runs, what is done is not done again, and dt reads."""

from __future__ import annotations

import json
from functools import partial

import probe_theory
import pytest
from probe_sights import PHRASE_SIGHTS, PROBE_SIGHTS

TINY = ("--sentences", 10, "--epochs", 1, "--walks", 0, "--layers", 1)


@pytest.fixture
def run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: example("probes.py", *arguments).stdout.splitlines()


@pytest.mark.parametrize("function", ["relation", "distance"])
def test_every_row_runs(run, function):
    table = run(*TINY, "--functions", function)
    assert table[0] == f"| edges | layers | {function} |"
    assert [line.split(" | ")[0].removeprefix("| ") for line in table[2:]] == [*PROBE_SIGHTS]
    assert all(0 <= float(line.split(" | ")[2].removesuffix(" |")) <= 1 for line in table[2:])


def test_phrases_are_read_where_words_stand_together(run, example):
    rows = ("--edges", *PHRASE_SIGHTS, "dt", "--functions", "relation")
    table = run(*rows, "--projective", "--sentences", 400, "--epochs", 8, "--layers", 2)
    scores = [float(line.split(" | ")[2].removesuffix(" |")) for line in table[2:]]
    assert len(scores) == 3
    assert scores[0] > 0.6  # the label of the smallest phrase around a word
    assert scores[1] < 0.35  # which phrases there are, not their labels
    assert "need --projective" in example("probes.py", *rows, returncode=2).stderr


def test_what_is_done_is_not_done_again(run, tmp_path):
    rows = ("--edges", "dra", "dt", "--functions", "subtree")
    first = run(*TINY, *rows)
    file = tmp_path / "runs" / "probes.jsonl"
    before = file.read_text()
    assert run(*TINY, *rows) == first
    assert file.read_text() == before
    run(*TINY, *rows, "--seeds", 2)
    cells = [key for line in file.read_text().splitlines() for key in json.loads(line)]
    assert cells == [f"measured {name} 1 subtree {seed} 10 1" for seed in (0, 1) for name in ("dra", "dt")]


def test_a_line_that_was_cut_off_is_run_again(run, tmp_path):
    rows = ("--edges", "dra", "dt", "--functions", "subtree")
    first, file = run(*TINY, *rows), tmp_path / "runs" / "probes.jsonl"
    whole = file.read_text()
    for end in (-1, -9, 1 - len(whole.splitlines()[1])):
        file.write_text(whole[:end])
        assert run(*TINY, *rows) == first
        assert file.read_text() == whole


@pytest.mark.parametrize("wrong", [("--epochs", -1), ("--layers", 0), ("--layers", 1, -2)])
def test_wrong_numbers(example, wrong):
    error = example("probes.py", *wrong, returncode=2).stderr
    assert "--layers must be at least 1" in error
    assert f"{wrong[-1]}" in error


def test_theory_alone(run, monkeypatch):
    monkeypatch.setattr(probe_theory, "ceilings", partial(probe_theory.ceilings, steps=20))
    table = run("--epochs", 0, "--walks", 24, "--layers", 1, "--functions", "governor", "--edges", "lisa")
    assert table[-1] == "| lisa | 1 | 1.00 / 1.00 |"


def test_the_governor_is_read_where_it_can_be(run):
    table = run(
        *("--sentences", 400, "--epochs", 8, "--walks", 0, "--layers", 1),
        *("--functions", "governor", "--edges", "transformer", "lisa"),
    )
    transformer, lisa = (float(line.split(" | ")[2].removesuffix(" |")) for line in table[2:])
    assert transformer < 0.35
    assert lisa > 0.6


def test_it_stays_short(scripts):
    assert len((scripts / "probes.py").read_text().splitlines()) <= 115
