from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from graphdep.datasets import SICK
from graphdep.datasets.mini import AGENTS, PATIENTS, SETS, VERBS, mini_files, write_mini
from graphdep.datasets.sick import FILES, Pair, read_sick

MINI = Path(__file__).parents[2] / "datasets" / "mini"


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Pair]]:
    return {split: read_sick(MINI / "raw" / name) for split, name in FILES.items()}


def test_mini_files_are_the_committed_ones():
    for split, content in mini_files().items():
        assert (MINI / "raw" / FILES[split]).read_bytes() == content


def test_write_mini(tmp_path, parser):
    write_mini(tmp_path)
    before = (tmp_path / "raw" / FILES["val"]).stat().st_ino
    write_mini(tmp_path)
    assert (tmp_path / "raw" / FILES["val"]).stat().st_ino == before
    dataset = SICK(tmp_path, "val", "entailment", parser=parser)
    assert len(dataset) == 198
    assert dataset.describe()["unknown_words"] == 0


def test_mini_is_balanced(splits):
    for split, sets in SETS.items():
        assert Counter(pair.label for pair in splits[split]) == dict.fromkeys(SICK.labels, sets)


def test_mini_words_say_nothing_about_the_label(splits):
    for pairs in splits.values():
        labels: dict[tuple, Counter] = {}
        for pair in pairs:
            words = tuple(" ".join(sorted(text.lower().split())) for text in pair.sentences)
            labels.setdefault(words, Counter())[pair.label] += 1
        assert all(len(set(counts.values())) == 1 and len(counts) == 3 for counts in labels.values())


def test_mini_defeats_a_bag_of_words(splits):
    def features(pairs):
        marked = (zip("ab", pair.sentences) for pair in pairs)
        return [" ".join(f"{side}_{word}" for side, text in two for word in text.split()) for two in marked]

    model = make_pipeline(CountVectorizer(lowercase=True), LogisticRegression(max_iter=200))
    model.fit(features(splits["train"]), [pair.label for pair in splits["train"]])
    for pairs in splits.values():
        assert model.score(features(pairs), [pair.label for pair in pairs]) == pytest.approx(1 / 3, abs=0.02)


def test_mini_splits_share_no_pair(splits):
    pairs = [pair.sentences for split in splits.values() for pair in split]
    assert len(set(pairs)) == len(pairs)


def test_mini_test_has_events_of_its_own(splits):
    def events(pairs):
        told = [pair.sentences[1].lower().split() for pair in pairs]
        return [
            tuple(next(word for word in words if word in kind) for kind in (VERBS, AGENTS, PATIENTS))
            for words in told
        ]

    seen = set(events([*splits["train"], *splits["val"]]))
    unseen = sum(event not in seen for event in events(splits["test"])) / len(splits["test"])
    assert 0.3 < unseen < 0.7
