from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.metrics import DISTINCT, resolve_distinct

TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=6)


def score(name, hypotheses):
    return resolve_distinct(name)(hypotheses, [["unused"]] * len(hypotheses))


def bigrams(words):
    return [(words[i], words[i + 1]) for i in range(len(words) - 1)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dist1", 3 / 8),  # i do not
        ("dist2", 4 / 6),  # i-do do-not do-i do-do
        ("dist2_words", 4 / 8),
        ("dist2_crossing", 5 / 7),  # and not-i
        ("dist1_intra", (1 + 2 / 5) / 2),
        ("dist2_intra", (1 + 3 / 4) / 2),
    ],
)
def test_computed_by_hand(name, expected):
    assert score(name, [["I", "do", "not"], ["i", "do", "i", "do", "do"]]) == pytest.approx(expected)


@given(texts=TEXTS)
def test_dist2_equals_counting(texts):
    pairs = [pair for words in texts for pair in bigrams(words)]
    row = bigrams([word for words in texts for word in words])
    words = sum(len(words) for words in texts)
    assert score("dist2", texts) == pytest.approx(len({*pairs}) / max(1, len(pairs)))
    assert score("dist2_words", texts) == pytest.approx(len({*pairs}) / max(1, words))
    assert score("dist2_crossing", texts) == pytest.approx(len({*row}) / max(1, len(row)))
    each = [len({*bigrams(words)}) / max(1, len(words) - 1) for words in texts]
    assert score("dist2_intra", texts) == pytest.approx(sum(each) / len(texts))


@pytest.mark.parametrize("name", DISTINCT)
def test_no_words_at_all_are_zero(name):
    assert score(name, [[], []]) == 0.0


def test_an_output_without_bigrams_counts_as_zero_inside_sentences():
    assert score("dist2_intra", [["a", "b"], ["a"]]) == 0.5


def test_repeating_outputs_lowers_it_but_not_inside_sentences():
    texts = [["a", "b", "c"], ["c", "d"]]
    assert score("dist2", texts * 3) == pytest.approx(score("dist2", texts) / 3)
    assert score("dist2_intra", texts * 3) == pytest.approx(score("dist2_intra", texts))


def test_each_variant_has_a_signature_of_its_own():
    assert len({metric.signature for metric in DISTINCT.values()}) == len(DISTINCT)
    assert resolve_distinct("dist2").signature == "Dist-2|types / bigrams over all outputs|lower-cased words"


def test_an_unknown_name_lists_all():
    with pytest.raises(ValueError, match=r"'distinct' must be one of dist1, dist2, "):
        resolve_distinct("dist3")
