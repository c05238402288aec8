from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from graphdep.datasets import MRPC, SICK, SST, Agreement, DailyDialog
from graphdep.datasets.dialogues import DAILY_DIALOG_NAMES, read_daily_dialog
from graphdep.datasets.labels.agreement import read_agreement, verb_labels
from graphdep.datasets.mini import mini_dialogues, mini_selection, mini_sst
from graphdep.datasets.mini.mini import AGENTS, PATIENTS, VERBS, write_mini
from graphdep.datasets.mini.mini_agreement import NOUNS, PAST, SIZES
from graphdep.datasets.selection.dataset import TEXT_FILES, read_rows
from graphdep.datasets.sentences import (
    SICK_FILES,
    SST_FILES,
    TEST,
    TRAIN,
    Pair,
    read_dev_ids,
    read_mrpc,
    read_sick,
    read_sst,
)

MINI = Path(__file__).parents[2] / "datasets" / "mini"


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Pair]]:
    return {split: read_sick(MINI / "raw" / name) for split, name in SICK_FILES.items()}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("mini")
    write_mini(root)
    return root


def test_written_files_equal_the_committed_ones(written):
    for root in (written, written / "agreement"):
        for path in [path for path in (root / "raw").rglob("*") if path.is_file()]:
            assert path.read_bytes() == (MINI / path.relative_to(written)).read_bytes(), path.name
    assert sum(path.stat().st_size for path in (written / "agreement" / "raw").iterdir()) < 400_000
    before = (written / "raw" / SICK_FILES["val"]).stat().st_ino
    write_mini(written)
    assert (written / "raw" / SICK_FILES["val"]).stat().st_ino == before


@pytest.mark.parametrize(("corpus", "size"), [(SICK, 402), (SST, 120), (MRPC, 120), (DailyDialog, 218)])
def test_all_words_are_known(written, corpus, size):
    test = corpus(written, "test", parser="chain", log=False)
    assert (len(test), test.describe()["unknown_words"]) == (size, 0)


def test_all_words_of_agreement_are_known(written):
    about = Agreement(written / "agreement", "test", log=False).describe()
    assert (about["examples"], about["unknown_words"]) == (SIZES["gen"], 0)


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


def test_mini_test_has_other_events(splits):
    def events(pairs):
        told = [pair.sentences[1].lower().split() for pair in pairs]
        return [
            tuple(next(word for word in words if word in kind) for kind in (VERBS, AGENTS, PATIENTS))
            for words in told
        ]

    seen = set(events([*splits["train"], *splits["val"]]))
    unseen = sum(event not in seen for event in events(splits["test"])) / len(splits["test"])
    assert 0.3 < unseen < 0.7


@pytest.fixture(scope="module")
def reviews() -> dict[str, list[tuple[str, int]]]:
    read = {
        split: read_sst(MINI / "raw" / "sst-sentence" / name, "sentence") for split, name in SST_FILES.items()
    }
    return {split: [(" ".join(words), label) for words, label in rows] for split, rows in read.items()}


@pytest.fixture(scope="module")
def paraphrases() -> dict[str, list[tuple[str, int]]]:
    """Both sentences as one string, with a prefix at the words of the second."""
    both, test = read_mrpc(MINI / "raw" / TRAIN), read_mrpc(MINI / "raw" / TEST)
    dev = read_dev_ids(MINI / "raw" / "mrpc_dev_ids.tsv", both)
    splits = {
        "train": [p for p in both if p.ids not in dev],
        "val": [p for p in both if p.ids in dev],
        "test": test,
    }

    def words(pair):
        first, second = (re.sub(r'[".,]', "", text).split() for text in pair.sentences)
        return " ".join([*first, *(f"b_{word}" for word in second)])

    return {split: [(words(pair), pair.label) for pair in pairs] for split, pairs in splits.items()}


@pytest.mark.parametrize("corpus", ["reviews", "paraphrases"])
def test_mini_of_two_labels_defeats_a_bag_of_words(request, corpus):
    splits = request.getfixturevalue(corpus)
    texts = [text for rows in splits.values() for text, _ in rows]
    assert len(set(texts)) == len(texts)
    for rows in splits.values():
        labels: dict[tuple, Counter] = {}
        for text, label in rows:
            labels.setdefault(tuple(sorted(text.lower().split())), Counter())[label] += 1
        assert all(counts[0] == counts[1] for counts in labels.values())


def test_labels_of_mini_sentences_depend_on_the_film(reviews):
    """The label follows from the words, by rules for the function words of the frames."""
    for text, label in (row for rows in reviews.values() for row in rows):
        words = text.split()
        adjectives = [i for i, word in enumerate(words) if word in mini_sst.GOOD + mini_sst.BAD]
        film_is_first = words[1] in mini_sst.FILMS  # the first adjective is then that of the film
        place = adjectives[0 if film_is_first else 1]
        assert ((words[place] in mini_sst.GOOD) != (words[place - 1] == "not")) == label


def test_mini_dialogues_answer_from_the_event():
    """The answers follow from the event, by rules for the function words of the frames."""
    events = []
    for name in DAILY_DIALOG_NAMES.values():
        for turns, _ in read_daily_dialog(MINI / "raw" / f"dialogues_{name}.txt"):
            event = turns[1][turns[1].lower().index("the ") :].split()
            events.append(" ".join(event))
            people = [word for word in event if word in mini_dialogues.PEOPLE]
            # The patient comes first in a passive clause and in a cleft.
            turned = "by" in event or "It was" in turns[1]
            agent, patient = people[::-1] if turned else people
            for question, answer in zip(turns[2::2], turns[3::2]):
                if question.startswith(("Who ", "And who ", "Whom ")):
                    is_of_patient = "was" in question or question == "Whom ?"
                    assert (patient if is_of_patient else agent) in answer.split()
    assert len(set(events)) == len(events) == sum(mini_dialogues.SIZES.values())


def test_mini_pools_have_one_right_response():
    people = {*mini_dialogues.PEOPLE}
    contexts = []
    for split, (pools, candidates) in mini_selection.SIZES.items():
        rows = list(read_rows(MINI / "raw" / "ubuntu-v1" / TEXT_FILES[split][0]))
        assert len(rows) == pools * candidates
        for start in range(0, len(rows), candidates):
            right, *wrong = rows[start : start + candidates]
            contexts.append(tuple(right.context))
            assert [row.label for row in (right, *wrong)] == [1, *[0] * (candidates - 1)]
            assert {tuple(row.context) for row in wrong} == {tuple(right.context)}
            assert len({row.response for row in (right, *wrong)}) == candidates
            (who,) = people & {*right.response.split()}
            assert not any(who in row.response.split() for row in wrong)
    assert len(set(contexts)) == 16


AGREEMENT = Path(__file__).parents[2] / "datasets" / "mini" / "agreement"


@pytest.fixture(scope="module")
def rows():
    return {
        split: read_agreement(AGREEMENT / "raw" / f"tense_bracket.{split}", "tense", brackets=True)
        for split in SIZES
    }


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


def test_only_the_test_split_separates_subject_and_last_noun(rows):
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
