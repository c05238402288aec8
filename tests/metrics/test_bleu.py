from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections import Counter

import nltk
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from graphdep.metrics import BLEU, resolve_bleu

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


def test_a_short_hypothesis_is_punished():
    hypothesis, reference = ["a", "b"], ["a", "b", "c", "d"]
    assert resolve_bleu("bleu2_none")([hypothesis], [reference]) == pytest.approx(math.exp(1 - 4 / 2))


@pytest.mark.parametrize("name", SENTENCE)
@given(hypotheses=TEXTS, references=TEXTS)
def test_sentence_means_equal_the_formulas(name, hypotheses, references):
    size = min(len(hypotheses), len(references))
    expected = [slow_bleu2(name, *pair) for pair in zip(hypotheses, references)]
    found = resolve_bleu(name)(hypotheses[:size], references[:size])
    assert found == pytest.approx(sum(expected) / size, abs=1e-12)


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


@pytest.mark.parametrize("name", BLEU)
def test_an_empty_hypothesis_scores_zero_and_nothing_warns(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert resolve_bleu(name)([[]], [["a", "b"]]) == 0.0
        assert resolve_bleu(name)([["a", "b"]], [[]]) == 0.0
        assert resolve_bleu(name)([[]], [[]]) == 0.0
        assert resolve_bleu(name)([["a", "b"]], [["c", "d"]]) == 0.0
        assert resolve_bleu(name)([["a"], ["b", "a"]], [["a", "b"], ["a", "b"]]) < 1


@pytest.mark.parametrize("name", BLEU)
def test_perfect_copies_score_one_except_with_method7(name):
    copies = [["how", "are", "you", "today", "?"]]
    score = resolve_bleu(name)(copies, copies)
    if name == "bleu2_method7":
        assert score == pytest.approx(math.sqrt(4 / 3 * (4 / 3 + 2) / 3))
        assert "copies exceed 1" in resolve_bleu(name).signature
    else:
        assert score == pytest.approx(1)


def test_each_variant_has_a_signature_of_its_own():
    assert len({metric.signature for metric in BLEU.values()}) == len(BLEU)
    assert all(name == metric.name for name, metric in BLEU.items())
    signature = resolve_bleu("bleu2_method1").signature
    assert signature.startswith("BLEU-2|sentence mean|NLTK 3.")
    assert signature.endswith("method1|weights .5 .5|lower-cased words|1 reference")


def test_the_signature_of_sacrebleu_is_its_own():
    bleu = sacrebleu.BLEU(tokenize="none", lowercase=True)
    bleu.corpus_score(["a"], [["a"]])
    assert str(bleu.get_signature()) in resolve_bleu("sacrebleu").signature


def test_versions_are_those_of_the_packages():
    assert f"NLTK {nltk.__version__} " in resolve_bleu("bleu2_corpus").signature
    assert f"version:{sacrebleu.__version__}|" in resolve_bleu("sacrebleu").signature


def test_importing_the_metrics_imports_no_package_for_bleu():
    code = "import sys, graphdep.metrics; print({'nltk', 'sacrebleu'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_an_unknown_name_lists_all():
    with pytest.raises(ValueError, match=r"'bleu' must be one of bleu2_none, .*, sacrebleu"):
        resolve_bleu("bleu2")
