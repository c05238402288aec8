"""BLEU, distinct n-grams, and other metrics of generated responses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from graphdep.io.extras import check_extra, known_version
from graphdep.io.limits import check_choice, check_least
from graphdep.metrics.metric import ComputeText, TextMetric, Texts

# NLTK and sacreBLEU take seconds to import, so only the functions that need them do.
_WEIGHTS = (0.5, 0.5)


def _method0(p_n: list[Any], **_: Any) -> list[Any]:
    # NLTK's method0, without its warning for each hypothesis that shares no bigram with its reference.
    return [p if p.numerator else sys.float_info.min for p in p_n]


def _sentence_mean(method: str) -> ComputeText:
    def compute(hypotheses: Texts, references: Texts) -> float:
        check_extra("BLEU-2", "dialogue", "nltk")
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        smoothing = _method0 if method == "method0" else getattr(SmoothingFunction(), method)
        scores = (
            sentence_bleu([reference], hypothesis, _WEIGHTS, smoothing)
            for hypothesis, reference in zip(hypotheses, references)
        )
        return sum(scores) / len(hypotheses)

    return compute


def _corpus(hypotheses: Texts, references: Texts) -> float:
    check_extra("BLEU-2", "dialogue", "nltk")
    from nltk.translate.bleu_score import corpus_bleu

    return corpus_bleu([[reference] for reference in references], hypotheses, _WEIGHTS, _method0)


def _sacrebleu(hypotheses: Texts, references: Texts) -> float:
    check_extra("sacreBLEU", "dialogue", "sacrebleu")
    import sacrebleu

    # Already lower-cased; the option is for the signature. force: no warning about tokenized text.
    bleu = sacrebleu.BLEU(tokenize="none", lowercase=True, force=True)
    joined = [[" ".join(text) for text in texts] for texts in (hypotheses, references)]
    return bleu.corpus_score(joined[0], [joined[1]]).score / 100


def _bleu2(name: str, compute: ComputeText, over: str, method: str) -> TextMetric:
    signature = (
        f"BLEU-2|{over}|NLTK {known_version('nltk')} {method}|weights .5 .5|lower-cased words|1 reference"
    )
    return TextMetric(name, compute, signature)


_BLEU_METRICS = (
    _bleu2("bleu2_none", _sentence_mean("method0"), "sentence mean", "method0 (no smoothing)"),
    _bleu2("bleu2_method1", _sentence_mean("method1"), "sentence mean", "method1"),
    _bleu2("bleu2_method3", _sentence_mean("method3"), "sentence mean", "method3"),
    _bleu2("bleu2_method4", _sentence_mean("method4"), "sentence mean", "method4"),
    _bleu2(
        "bleu2_method7",
        _sentence_mean("method7"),
        "sentence mean",
        "method7 (copies exceed 1)",
    ),
    _bleu2("bleu2_corpus", _corpus, "corpus", "method0 (no smoothing)"),
    TextMetric(
        "sacrebleu",
        _sacrebleu,
        "BLEU-4|corpus|sacrebleu nrefs:1|case:lc|eff:no|tok:none|smooth:exp|"
        f"version:{known_version('sacrebleu')}|divided by 100",
    ),
)
BLEU: dict[str, TextMetric] = {metric.name: metric for metric in _BLEU_METRICS}


def resolve_bleu(name: str) -> TextMetric:
    r"""A member of the BLEU family, from "BLEU: a Method for Automatic Evaluation of Machine Translation".

    .. math::
        \mathrm{BLEU} = \min(1, e^{1 - r / c}) \cdot \exp \sum_{n} w_n \log p_n

    with the lengths :math:`c` of the hypothesis and :math:`r` of the reference, and the share :math:`p_n` of
    the hypothesis' n-grams that are in the reference. All variants are fractions and use one reference per
    hypothesis. An empty hypothesis scores 0.

    - ``bleu2_none``, ``bleu2_method1``, ``bleu2_method3``, ``bleu2_method4``, ``bleu2_method7``: :math:`w =
      (.5, .5)`, the mean over hypotheses, with NLTK's smoothing methods, from "A Systematic Comparison of
      Smoothing Techniques for Sentence-Level BLEU". Dialogue papers often use ``bleu2_method7``: it averages
      each :math:`p_n` with its neighbours, gives credit for a single matching word, and **exceeds 1 on
      perfect copies**.
    - ``bleu2_corpus``: :math:`p_n, c, r` from sums over all hypotheses, without smoothing. NLTK counts one
      n-gram for a hypothesis without any.
    - ``sacrebleu``: BLEU-4 over the corpus by sacreBLEU, on words joined by spaces.

    Frequent words alone give a score: print the BLEU of shuffled responses next to it
    (:func:`graphdep.metrics.generation_floors`).

    Raises:
        ValueError: If the name is unknown; lists all names.
    """
    return BLEU[check_choice("bleu", name, BLEU)]


NGram = tuple[str, ...]


def _ngrams(words: list[str], n: int) -> Iterator[NGram]:
    return zip(*(words[i:] for i in range(n)))


def _ratio(ngrams: list[NGram], total: int) -> float:
    return len(set(ngrams)) / total if total else 0.0


def _inter(hypotheses: Texts, references: Texts, *, n: int) -> float:
    ngrams = [ngram for words in hypotheses for ngram in _ngrams(words, n)]
    return _ratio(ngrams, len(ngrams))


def _over_words(hypotheses: Texts, references: Texts, *, n: int) -> float:
    ngrams = [ngram for words in hypotheses for ngram in _ngrams(words, n)]
    return _ratio(ngrams, sum(map(len, hypotheses)))


def _crossing(hypotheses: Texts, references: Texts, *, n: int) -> float:
    return _inter([list(chain.from_iterable(hypotheses))], references, n=n)


def _intra(hypotheses: Texts, references: Texts, *, n: int) -> float:
    return sum(_inter([words], references, n=n) for words in hypotheses) / len(hypotheses)


def _distinct(name: str, compute: Callable[..., float], n: int, definition: str) -> TextMetric:
    return TextMetric(name, partial(compute, n=n), f"Dist-{n}|{definition}|lower-cased words")


_INTER = "types / {}s over all outputs"
_INTRA = "types / {}s of each output, 0 where it has none, then the mean over outputs"

_DISTINCT_METRICS = (
    _distinct("dist1", _inter, 1, _INTER.format("word")),
    _distinct("dist2", _inter, 2, _INTER.format("bigram")),
    _distinct("dist2_words", _over_words, 2, "bigram types / words over all outputs"),
    _distinct("dist2_crossing", _crossing, 2, "types / bigrams of all outputs in a row, across their ends"),
    _distinct("dist1_intra", _intra, 1, _INTRA.format("word")),
    _distinct("dist2_intra", _intra, 2, _INTRA.format("bigram")),
)
DISTINCT: dict[str, TextMetric] = {metric.name: metric for metric in _DISTINCT_METRICS}


def resolve_distinct(name: str) -> TextMetric:
    """A variant of Distinct, from "A Diversity-Promoting Objective Function for Neural Conversation Models".

    All variants are fractions and depend only on the hypotheses. Variants over all outputs fall with the
    number of outputs: compare only results over the same examples and with the same kind of words.

    - ``dist1``, ``dist2``: distinct words (bigrams) per word (bigram) of all outputs. The default.
    - ``dist2_words``: distinct bigrams per word, as in the paper.
    - ``dist2_crossing``: ``dist2`` of the concatenated outputs, including bigrams across outputs.
    - ``dist1_intra``, ``dist2_intra``: ``dist1`` or ``dist2`` of each output, then their mean.

    For single words, the paper's definition and the one across outputs equal ``dist1``.

    Raises:
        ValueError: If the name is unknown; lists all names.
    """
    return DISTINCT[check_choice("distinct", name, DISTINCT)]


def _mean_length(hypotheses: Texts, references: Texts) -> float:
    return sum(map(len, hypotheses)) / len(hypotheses)


MEAN_LENGTH = TextMetric("mean_length", _mean_length, "mean length|words an output, without the end symbol")
GENERATION_METRICS: tuple[TextMetric, ...] = (
    *map(resolve_bleu, ("bleu2_method7", "bleu2_method1", "sacrebleu")),
    *map(resolve_distinct, ("dist1", "dist2")),
    MEAN_LENGTH,
)


def generation_metrics(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    metrics: Sequence[TextMetric] = GENERATION_METRICS,
) -> dict[str, float]:
    """All metrics of the same outputs, by name.

    Args:
        hypotheses: Generated responses, as lists of words without special tokens.
        references: The right responses, one for each hypothesis.
        metrics: The metrics. (default: ``bleu2_method7``, ``bleu2_method1``, ``sacrebleu``, ``dist1``,
            ``dist2``, ``mean_length``)

    Raises:
        ValueError: If there are no texts, their numbers differ, or a text is a string, not a list of words.
    """
    return {metric.name: metric(hypotheses, references) for metric in metrics}


def generation_floors(
    references: Sequence[Sequence[str]],
    seed: int = 0,
    metrics: Sequence[TextMetric] = GENERATION_METRICS,
    constant: Sequence[str] | None = None,
) -> dict[str, dict[str, float]]:
    """Baseline scores that belong next to every table of generated responses.

    - ``reference``: the references as outputs: the Distinct of human responses, and the BLEU of perfect
      copies, its maximum.
    - ``shuffled``: each context gets the reference of another context: human responses without skill. A BLEU
      that is not above it means nothing.
    - ``constant``, if given: always the same words. With smoothing, the most frequent words get a higher BLEU
      than human responses to other contexts.

    Args:
        references: The right responses, at least two.
        seed: Seed of the shuffling. (default: :obj:`0`)
        metrics: As in :func:`generation_metrics`.
        constant: The words of a constant response. (default: :obj:`None`)

    Raises:
        ValueError: If there are fewer than two references, or one is a string instead of a list of words.
    """
    check_least("references", len(references), 2)
    # A single cycle through all references, which leaves none in its place.
    cycle = np.random.default_rng(seed).permutation(len(references))
    following = dict(zip(cycle.tolist(), np.roll(cycle, 1).tolist()))
    shuffled = [references[following[i]] for i in range(len(references))]
    found = {
        "reference": generation_metrics(references, references, metrics),
        "shuffled": generation_metrics(shuffled, references, metrics),
    }
    if constant is not None:
        found["constant"] = generation_metrics([constant] * len(references), references, metrics)
    return found
