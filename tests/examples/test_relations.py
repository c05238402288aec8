"""The example of relations: every corpus and one's own file, over any edges, controls and readouts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.kit.tiny_corpora import write_tiny_aspects, write_tiny_conll04, write_tiny_semeval2010

ROOT = Path(__file__).parents[2]
SIZES = ("--hidden-channels", 8, "--epochs", 1)
WRITERS = {
    "semeval2010": write_tiny_semeval2010,
    "conll04": write_tiny_conll04,
    "aspects": write_tiny_aspects,
}
OWN = [
    {"words": [noun, verb, "mud", "."], "spans": [[0, 1], [2, 3]], "label": label}
    for noun in ("Rain", "Snow", "Wind", "Hail")
    for verb, label in (("makes", "cause"), ("likes", "other"))
]


@pytest.fixture
def run(example, tmp_path):
    """Trains for an epoch, and returns accuracy and macro F1."""

    def run(*arguments: object) -> list[float]:
        out = example("relations.py", "--root", tmp_path, "--parser", "chain", *arguments, *SIZES).stdout
        found = re.findall(r"Epoch: 01, Loss: [\d.]+, Test accuracy: ([\d.]+), macro F1: ([\d.]+)\n", out)
        (scores,) = found
        assert all(0 <= float(score) <= 1 for score in scores)
        return [float(score) for score in scores]

    return run


@pytest.mark.parametrize("corpus", [*WRITERS])
def test_corpora(run, tmp_path, corpus):
    WRITERS[corpus](tmp_path)
    run("--corpus", corpus)


@pytest.mark.parametrize(
    "more",
    [
        ("--edges", "transformer", "--position"),
        ("--trees", "random", "--readout", "top"),
        ("--trees", "chain", "--path"),
        ("--edges", "tree", "--path", "--limit", 12),
    ],
    ids=lambda more: "".join(map(str, more)),
)
def test_edges_controls_and_readouts(run, tmp_path, more):
    write_tiny_semeval2010(tmp_path)
    run("--corpus", "semeval2010", *more)


def test_own_file(run, tmp_path):
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in OWN), encoding="utf-8")
    run("--train", file, "--test", file)


@pytest.mark.parametrize("arguments", [(), ("--train", "a.jsonl"), ("--corpus", "aspects", "--train", "a")])
def test_either_a_corpus_or_files(example, arguments):
    done = example("relations.py", *arguments, returncode=2)
    assert "either --corpus or --train and --test" in done.stderr


def test_it_stays_short():
    assert len((ROOT / "examples" / "relations.py").read_text().splitlines()) <= 110
