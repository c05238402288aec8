"""Distinct: how many different n-grams generated texts have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from graphdep.metrics.text_metric import TextMetric, Texts

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

_METRICS = (
    _distinct("dist1", _inter, 1, _INTER.format("word")),
    _distinct("dist2", _inter, 2, _INTER.format("bigram")),
    _distinct("dist2_words", _over_words, 2, "bigram types / words over all outputs"),
    _distinct("dist2_crossing", _crossing, 2, "types / bigrams of all outputs in a row, across their ends"),
    _distinct("dist1_intra", _intra, 1, _INTRA.format("word")),
    _distinct("dist2_intra", _intra, 2, _INTRA.format("bigram")),
)
DISTINCT: dict[str, TextMetric] = {metric.name: metric for metric in _METRICS}


def resolve_distinct(name: str) -> TextMetric:
    """A variant of Distinct, from "A Diversity-Promoting Objective Function for Neural Conversation Models".

    All are fractions and look at the hypotheses alone. Those over all outputs fall as outputs get more:
    compare only what was computed over the same examples and with the same kind of words.

    - ``dist1``, ``dist2``: different words (bigrams) by all words (bigrams) of all outputs. The default.
    - ``dist2_words``: different bigrams by all words, as the paper has it.
    - ``dist2_crossing``: ``dist2`` of all outputs in a row, with bigrams from one output to the next.
    - ``dist1_intra``, ``dist2_intra``: ``dist1`` or ``dist2`` of each output alone, then their mean.

    With single words, the paper's definition and the one across ends are ``dist1``.

    Raises:
        ValueError: If there is no such variant; lists all.
    """
    if name not in DISTINCT:
        raise ValueError(f"no Distinct {name!r}; choose one of {', '.join(DISTINCT)}")
    return DISTINCT[name]
