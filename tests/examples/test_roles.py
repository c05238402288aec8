"""The example of roles: every corpus, with a marked word and without, over any edges and controls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphdep.datasets.mini.mini_agreement import agreement_files
from tests.kit.tiny_corpora import write_tiny_propbank, write_tiny_up

ROOT = Path(__file__).parents[2]
SIZES = ("--hidden-channels", 8, "--epochs", 1)
COGS_ROWS = (
    ("A cook saw Mila .", "see ( agent = cook , theme = Mila )"),
    ("Mila saw the cook in a room .", "see ( agent = Mila , theme = * cook ( nmod . in = room ) )"),
    ("The cook saw a shark .", "see ( agent = * cook , theme = shark )"),
)


def write_tiny_agreement(root: Path) -> None:
    (root / "raw").mkdir()
    for name, content in agreement_files().items():
        (root / "raw" / name).write_bytes(b"".join(content.splitlines(keepends=True)[:24]))


def write_tiny_cogs(root: Path) -> None:
    (root / "raw").mkdir()
    rows = "".join(f"{words}\t{form}\tin_distribution\n" for words, form in COGS_ROWS)
    for name in ("varfree-train", "varfree-gen"):
        (root / "raw" / f"{name}.tsv").write_text(rows * 4, encoding="utf-8")


@pytest.fixture
def run(example, tmp_path):
    """Trains, for an epoch if no others are asked for, and returns accuracy and F1."""

    def run(corpus: str, *arguments: object) -> list[float]:
        out = example("roles.py", "--corpus", corpus, "--root", tmp_path, *SIZES, *arguments).stdout
        found = re.findall(r"Epoch: \d+, Loss: [\d.]+, Test accuracy: ([\d.]+), F1: ([\d.]+)\n", out)
        scores = found[-1]
        assert all(0 <= float(score) <= 1 for score in scores)
        return [float(score) for score in scores]

    return run


@pytest.mark.parametrize("more", [(), ("--edges", "transformer", "--position"), ("--trees", "chain")])
def test_agreement(run, tmp_path, more):
    write_tiny_agreement(tmp_path)
    accuracy, f1 = run("agreement", *more)
    assert accuracy == pytest.approx(f1)  # each scored verb has a label


@pytest.mark.parametrize("edges", ["dt", "tree", "dra", "sia"])
def test_propbank(run, tmp_path, edges):
    write_tiny_propbank(tmp_path)
    run("propbank-ewt", "--edges", edges, "--limit", 20)


def test_propbank_spans_on_random_trees(run, tmp_path):
    write_tiny_propbank(tmp_path)
    run("propbank-ewt", "--option", "form=spans", "--trees", "random", "--position")


def test_universal_propbank(run, tmp_path):
    write_tiny_up(tmp_path)
    run("up")


def test_cogs_with_a_parser(run, tmp_path):
    write_tiny_cogs(tmp_path)
    run("cogs", "--parser", "chain")


def test_tags_of_a_treebank(run, tmp_path):
    """No word is marked."""
    run("ud-tags", "--raw-from", ROOT / "datasets" / "mini" / "ud" / "raw", "--option", "key=upos")


def test_roles_are_learned(run, tmp_path):
    write_tiny_propbank(tmp_path)
    accuracy, f1 = run("propbank-ewt", "--epochs", 40, "--hidden-channels", 32)
    assert min(accuracy, f1) > 0.7


def test_it_stays_short():
    assert len((ROOT / "examples" / "roles.py").read_text().splitlines()) <= 110
