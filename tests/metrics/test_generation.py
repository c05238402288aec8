from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import nltk
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

import graphdep.metrics
from graphdep.metrics import (
    BLEU,
    DISTINCT,
    GENERATION_METRICS,
    TextMetric,
    generation_floors,
    generation_metrics,
    resolve_bleu,
    resolve_distinct,
)

REFERENCES = [["yes", ",", "i", "do"], ["no"], ["where", "is", "it", "?"], ["it", "is", "here", "."]]
OUTPUTS = [["yes", "."], [], ["where", "is", "he", "?"], ["it", "is", "."]]


def test_every_metric_by_its_name():
    found = generation_metrics(OUTPUTS, REFERENCES)
    assert list(found) == ["bleu2_method7", "bleu2_method1", "sacrebleu", "dist1", "dist2", "mean_length"]
    assert found["bleu2_method7"] == resolve_bleu("bleu2_method7")(OUTPUTS, REFERENCES)
    assert found["dist2"] == resolve_distinct("dist2")(OUTPUTS, REFERENCES)
    assert found["mean_length"] == 9 / 4


def test_other_metrics_can_be_asked_for():
    metric = resolve_distinct("dist2_intra")
    assert generation_metrics(OUTPUTS, REFERENCES, [metric]) == {"dist2_intra": metric(OUTPUTS, REFERENCES)}


def test_references_and_shuffled_replies():
    floors = generation_floors(REFERENCES, seed=1)
    assert floors["reference"] == generation_metrics(REFERENCES, REFERENCES)
    assert floors["reference"]["sacrebleu"] == pytest.approx(1)
    # The same replies in another order: as diverse and as long, but no longer answers.
    for name in ("dist1", "dist2", "mean_length"):
        assert floors["shuffled"][name] == floors["reference"][name]
    assert floors["shuffled"]["bleu2_method1"] < 0.5


def test_a_constant_reply():
    constant = ["it", "is", "."]
    floors = generation_floors(REFERENCES, constant=constant)
    assert list(floors) == ["reference", "shuffled", "constant"]
    assert floors["constant"] == generation_metrics([constant] * 4, REFERENCES)
    assert floors["constant"]["mean_length"] == 3
    assert floors["constant"]["dist1"] == 3 / 12
    assert floors["constant"]["bleu2_method1"] > 0
    assert "constant" not in generation_floors(REFERENCES)


@given(size=st.integers(2, 30), seed=st.integers(0, 1000))
def test_no_reply_stays_in_its_place(size, seed):
    seen = []
    stays = TextMetric("stays", lambda a, b: seen.append(a) or sum(x == y for x, y in zip(a, b)), "")
    references = [[str(i)] for i in range(size)]
    assert generation_floors(references, seed, [stays])["shuffled"]["stays"] == 0
    assert sorted(seen[1]) == sorted(references)


def test_the_seed_decides():
    references = [[str(i % 7), str(i % 5)] for i in range(40)]
    floors = [generation_floors(references, seed)["shuffled"] for seed in (0, 0, 1)]
    assert floors[0] == floors[1]
    assert floors[0]["bleu2_method1"] != floors[2]["bleu2_method1"]


def test_one_reference_cannot_be_shuffled():
    with pytest.raises(ValueError, match=r"'references' must be at least 2 \(got 1\)"):
        generation_floors([["a"]])


def test_names_are_unique():
    assert len({metric.name for metric in GENERATION_METRICS}) == len(GENERATION_METRICS)


SENTENCE = ["bleu2_none", "bleu2_method1", "bleu2_method3", "bleu2_method4", "bleu2_method7"]
TEXTS = st.lists(st.lists(st.sampled_from("abcd"), max_size=7), min_size=1, max_size=5)


def counts(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def matched(hypothesis, reference, n):
    theirs = counts(reference, n)
    return sum(min(count, theirs[ngram]) for ngram, count in counts(hypothesis, n).items())


def penalty(hypothesis, reference):
    return 1.0 if hypothesis > reference else math.exp(1 - reference / hypothesis)


def slow_bleu2(name, hypothesis, reference):
    """One sentence, from the formulas; the smoothing methods as "A Systematic Comparison" numbers them."""
    m = [matched(hypothesis, reference, n) for n in (1, 2)]
    total = [max(1, len(hypothesis)), max(1, len(hypothesis) - 1)]
    if m[0] == 0:
        return 0.0
    p = [m[0] / total[0], m[1] / total[1]]
    length = len(hypothesis)
    if m[1] == 0:
        if name == "bleu2_none":
            return 0.0
        if name == "bleu2_method1":
            p[1] = 0.1 / total[1]
        if name == "bleu2_method3":
            p[1] = 0.5 / total[1]
        if name in ("bleu2_method4", "bleu2_method7") and length > 1:
            p[1] = math.log(length) / (2 * 5) / total[1]
    if name == "bleu2_method7":
        five = matched(hypothesis, reference, 5) / max(1, length - 4)
        first = (p[0] + 1 + p[0] + p[1]) / 3
        p = [first, (first + p[1] + five) / 3]
    return penalty(length, len(reference)) * math.exp(sum(0.5 * math.log(value) for value in p if value))


def test_computed_by_hand():
    # Two of three words, one of two bigrams, no brevity penalty.
    hypothesis, reference = ["the", "red", "cat"], ["The", "red", "dog"]
    for name in SENTENCE[:4]:
        assert resolve_bleu(name)([hypothesis], [reference]) == pytest.approx(math.sqrt(2 / 3 * 1 / 2))
    # m_1 = (p_1 + 1 + p_1 + p_2) / 3, m_2 = (m_1 + p_2 + p_5) / 3
    m_1 = (2 / 3 + 1 + 2 / 3 + 1 / 2) / 3
    expected = math.sqrt(m_1 * (m_1 + 1 / 2 + 0) / 3)
    assert resolve_bleu("bleu2_method7")([hypothesis], [reference]) == pytest.approx(expected)


@given(hypotheses=TEXTS, references=TEXTS)
def test_sentence_means_equal_the_formulas(hypotheses, references):
    size = min(len(hypotheses), len(references))
    for name in SENTENCE:
        expected = [slow_bleu2(name, *pair) for pair in zip(hypotheses, references)]
        found = resolve_bleu(name)(hypotheses[:size], references[:size])
        assert found == pytest.approx(sum(expected) / size, abs=1e-12), name


@given(hypotheses=TEXTS, references=TEXTS)
def test_corpus_bleu2_equals_the_formula(hypotheses, references):
    pairs = list(zip(hypotheses, references))
    precision = []
    for n in (1, 2):
        of_all = sum(max(1, len(hypothesis) - n + 1) for hypothesis, _ in pairs)
        precision.append(sum(matched(*pair, n) for pair in pairs) / of_all)
    expected = 0.0
    if all(precision):
        lengths = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
        expected = penalty(*lengths) * math.sqrt(precision[0] * precision[1])
    found = resolve_bleu("bleu2_corpus")(*map(list, zip(*pairs)))
    assert found == pytest.approx(expected, abs=1e-12)


def test_sacrebleu_computed_by_hand():
    hypotheses, references = [["a", "b", "c", "d", "e"], ["f"]], [["A", "b", "c", "d", "x"], ["f", "g", "h"]]
    # 5 of 6 words, 3 of 4 bigrams, 2 of 3 trigrams, 1 of 2 4-grams; 6 words for 8
    expected = math.exp(1 - 8 / 6) * (5 / 6 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert resolve_bleu("sacrebleu")(hypotheses, references) == pytest.approx(expected)


def test_sacrebleu_keeps_the_words_as_they_are(caplog):
    text = [["don't", "wait", "for", "u.s.", "."]] * 101  # its own tokeniser would split these
    assert resolve_bleu("sacrebleu")(text, text) == pytest.approx(1)
    assert not caplog.records


def test_an_empty_hypothesis_scores_zero_and_nothing_warns():
    for name in BLEU:
        assert resolve_bleu(name)([[]], [["a", "b"]]) == 0.0
        assert resolve_bleu(name)([["a", "b"]], [[]]) == 0.0
        assert resolve_bleu(name)([[]], [[]]) == 0.0
        assert resolve_bleu(name)([["a", "b"]], [["c", "d"]]) == 0.0
        assert resolve_bleu(name)([["a"], ["b", "a"]], [["a", "b"], ["a", "b"]]) < 1


def test_perfect_copies_score_one_except_with_method7():
    copies = [["how", "are", "you", "today", "?"]]
    for name in BLEU:
        exceeds = name == "bleu2_method7"
        expected = math.sqrt(4 / 3 * (4 / 3 + 2) / 3) if exceeds else 1
        assert resolve_bleu(name)(copies, copies) == pytest.approx(expected)
        assert ("copies exceed 1" in resolve_bleu(name).signature) == exceeds


def test_each_variant_has_a_signature_of_its_own():
    assert len({metric.signature for metric in BLEU.values()}) == len(BLEU)
    assert all(name == metric.name for name, metric in BLEU.items())
    signature = resolve_bleu("bleu2_method1").signature
    assert signature.startswith(f"BLEU-2|sentence mean|NLTK {nltk.__version__} ")
    bleu = sacrebleu.BLEU(tokenize="none", lowercase=True)
    bleu.corpus_score(["a"], [["a"]])
    assert str(bleu.get_signature()) in resolve_bleu("sacrebleu").signature
    assert signature.endswith("method1|weights .5 .5|lower-cased words|1 reference")


def test_importing_the_metrics_imports_no_package_for_bleu():
    for path in Path(graphdep.metrics.__file__).parent.glob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if line.startswith(("import nltk", "from nltk", "import sacre"))]


def test_an_unknown_name_lists_all():
    with pytest.raises(ValueError, match=r"no bleu 'bleu2' .did you mean 'bleu2_none'"):
        resolve_bleu("bleu2")


DISTINCT_TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=6)


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
def test_distinct_computed_by_hand(name, expected):
    assert score(name, [["I", "do", "not"], ["i", "do", "i", "do", "do"]]) == pytest.approx(expected)


@given(texts=DISTINCT_TEXTS)
def test_dist2_equals_counting(texts):
    pairs = [pair for words in texts for pair in bigrams(words)]
    row = bigrams([word for words in texts for word in words])
    words = sum(len(words) for words in texts)
    assert score("dist2", texts) == pytest.approx(len({*pairs}) / max(1, len(pairs)))
    assert score("dist2_words", texts) == pytest.approx(len({*pairs}) / max(1, words))
    assert score("dist2_crossing", texts) == pytest.approx(len({*row}) / max(1, len(row)))
    each = [len({*bigrams(words)}) / max(1, len(words) - 1) for words in texts]
    assert score("dist2_intra", texts) == pytest.approx(sum(each) / len(texts))


def test_no_words_at_all_are_zero():
    assert {score(name, [[], []]) for name in DISTINCT} == {0.0}


def test_distinct_each_variant_has_a_signature_of_its_own():
    assert len({metric.signature for metric in DISTINCT.values()}) == len(DISTINCT)
    assert resolve_distinct("dist2").signature == "Dist-2|types / bigrams over all outputs|lower-cased words"


def test_distinct_an_unknown_name_lists_all():
    with pytest.raises(ValueError, match=r"no distinct 'dist3' .did you mean 'dist2'"):
        resolve_distinct("dist3")


SAME = TextMetric("same", lambda a, b: sum(x == y for x, y in zip(a, b)) / len(a), "equal texts")


def test_words_are_lower_cased_first():
    given = [["Yes", "I", "DO"], []]
    assert SAME(given, [["yes", "i", "do"], []]) == 1.0
    assert given == [["Yes", "I", "DO"], []]


def test_tuples_are_lists_of_words():
    assert SAME([("a", "b")], [["a", "b"]]) == 1.0


@pytest.mark.parametrize(("hypotheses", "references"), [([], []), ([["a"]], []), ([["a"]], [["a"], ["b"]])])
def test_numbers_must_agree(hypotheses, references):
    got = rf"got {len(hypotheses)} and {len(references)}\)"
    with pytest.raises(ValueError, match=rf"same: 'hypotheses' and 'references' must be lists of .*{got}"):
        SAME(hypotheses, references)


def test_a_string_is_no_list_of_words():
    with pytest.raises(ValueError, match=r"same: 'hypotheses\[1\]' must be a list of words \(got 'no'\)"):
        SAME([["a"], "no"], [["a"], ["b"]])
    with pytest.raises(ValueError, match=r"same: 'references\[0\]' must be"):
        SAME([["a"]], ["a"])
