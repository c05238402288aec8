"""BLEU, which is a family: each member by its name, with its signature.

On the same shuffled replies the members differ by a factor of ten, so a score without its name says nothing.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

from graphdep.metrics.text_metric import ComputeText, TextMetric, Texts

# NLTK and sacreBLEU take seconds to import: that is left to the functions that need them.
_WEIGHTS = (0.5, 0.5)


def _method0(p_n: list[Any], **_: Any) -> list[Any]:
    # NLTK's method0, without its warning for every hypothesis that shares no bigram with its reference.
    return [p if p.numerator else sys.float_info.min for p in p_n]


def _sentence_mean(method: str) -> ComputeText:
    def compute(hypotheses: Texts, references: Texts) -> float:
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        smoothing = _method0 if method == "method0" else getattr(SmoothingFunction(), method)
        scores = (
            sentence_bleu([reference], hypothesis, _WEIGHTS, smoothing)
            for hypothesis, reference in zip(hypotheses, references)
        )
        return sum(scores) / len(hypotheses)

    return compute


def _corpus(hypotheses: Texts, references: Texts) -> float:
    from nltk.translate.bleu_score import corpus_bleu

    return corpus_bleu([[reference] for reference in references], hypotheses, _WEIGHTS, _method0)


def _sacrebleu(hypotheses: Texts, references: Texts) -> float:
    import sacrebleu

    # Lower-cased already; told so for its signature. force: it may not complain of tokenised text.
    bleu = sacrebleu.BLEU(tokenize="none", lowercase=True, force=True)
    joined = [[" ".join(text) for text in texts] for texts in (hypotheses, references)]
    return bleu.corpus_score(joined[0], [joined[1]]).score / 100


def _bleu2(name: str, compute: ComputeText, over: str, method: str) -> TextMetric:
    signature = f"BLEU-2|{over}|NLTK {version('nltk')} {method}|weights .5 .5|lower-cased words|1 reference"
    return TextMetric(name, compute, signature)


_METRICS = (
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
        f"BLEU-4|corpus|sacrebleu nrefs:1|case:lc|eff:no|tok:none|smooth:exp|version:{version('sacrebleu')}|"
        "divided by 100",
    ),
)
BLEU: dict[str, TextMetric] = {metric.name: metric for metric in _METRICS}


def resolve_bleu(name: str) -> TextMetric:
    r"""A member of the BLEU family, from "BLEU: a Method for Automatic Evaluation of Machine Translation".

    .. math::
        \mathrm{BLEU} = \min(1, e^{1 - r / c}) \cdot \exp \sum_{n} w_n \log p_n

    with the lengths :math:`c` of the hypothesis and :math:`r` of the reference, and the share :math:`p_n` of
    the hypothesis' n-grams that the reference has. All are fractions and take one reference a hypothesis. An
    empty hypothesis scores 0.

    - ``bleu2_none``, ``bleu2_method1``, ``bleu2_method3``, ``bleu2_method4``, ``bleu2_method7``:
      :math:`w = (.5, .5)`, the mean over hypotheses, with NLTK's smoothing methods, from "A Systematic
      Comparison of Smoothing Techniques for Sentence-Level BLEU". ``bleu2_method7`` is what papers on
      dialogues often use: it averages each :math:`p_n` with its neighbours, gives credit where nothing but a
      word fits, and **exceeds 1 on perfect copies**.
    - ``bleu2_corpus``: :math:`p_n, c, r` from sums over all hypotheses, not smoothed. NLTK counts one n-gram
      where a hypothesis has none.
    - ``sacrebleu``: BLEU-4 over the corpus by sacreBLEU, on words joined by spaces.

    Words shared by all are enough for a score: print that of shuffled replies beside it
    (:func:`graphdep.metrics.generation_floors`).

    Raises:
        ValueError: If there is no such member; lists all.
    """
    if name not in BLEU:
        raise ValueError(f"no BLEU {name!r}; choose one of {', '.join(BLEU)}")
    return BLEU[name]
