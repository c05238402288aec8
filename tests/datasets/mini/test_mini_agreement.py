from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from graphdep.datasets import Agreement
from graphdep.datasets.labels.agreement import read_agreement, verb_labels
from graphdep.datasets.mini.mini import write_mini
from graphdep.datasets.mini.mini_agreement import NOUNS, PAST, SIZES, agreement_files

MINI = Path(__file__).parents[3] / "datasets" / "mini" / "agreement"


@pytest.fixture(scope="module")
def rows():
    return {
        split: read_agreement(MINI / "raw" / f"tense_bracket.{split}", "tense", brackets=True)
        for split in SIZES
    }


def test_the_files_are_the_committed_ones(tmp_path):
    files = agreement_files()
    assert {path.name: path.read_bytes() for path in (MINI / "raw").iterdir()} == files
    assert sum(map(len, files.values())) < 400_000
    write_mini(tmp_path)
    assert {path.name for path in (tmp_path / "agreement" / "raw").iterdir()} == set(files)
    assert len(Agreement(tmp_path / "agreement", "test")) == SIZES["gen"]


def is_plural(noun: str) -> bool:
    return noun not in NOUNS


def numbers(row) -> tuple[bool, bool, bool]:
    """Whether the main verb, its subject and the last noun before it are plural."""
    labels, main = verb_labels(row, frozenset())
    before = [word for word in row.words[:main] if word.removesuffix("s") in NOUNS]
    subject = next(
        w for w, h, r in zip(row.words, row.tree.head, row.tree.deprel) if (h, r) == (main + 1, "nsubj")
    )
    return labels[main] == "plural", is_plural(subject), is_plural(before[-1])


def test_training_leaves_the_rule_open_and_the_test_split_does_not(rows):
    for split in SIZES:
        asked = [numbers(row) for row in rows[split] if row.flag == "PRESENT"]
        assert all(verb == subject for verb, subject, _ in asked)
        assert {subject == last for _, subject, last in asked} == {split != "gen"}
        assert 0.4 < sum(verb for verb, *_ in asked) / len(asked) < 0.6


def test_every_verb_of_training_agrees_with_the_last_noun_before_it(rows):
    for row in rows["train"]:
        if row.flag == "PRESENT":
            last = None
            for word, label in zip(row.words, verb_labels(row, frozenset())[0]):
                last = is_plural(word) if word.removesuffix("s") in NOUNS else last
                assert label is None or (label == "plural") == last


def test_sizes_and_no_sentence_twice(rows):
    assert {split: len(some) for split, some in rows.items()} == SIZES
    texts = Counter(" ".join(row.words) for some in rows.values() for row in some)
    assert set(texts.values()) == {1}
    assert {row.flag for row in rows["gen"]} == {"PRESENT"}
    past = sum(row.flag == "PAST" for row in rows["train"])
    assert past / SIZES["train"] == pytest.approx(PAST, abs=0.02)


def test_all_words_are_known():
    for split in ("val", "test"):
        assert Agreement(MINI, split, log=False).describe()["unknown_words"] == 0
