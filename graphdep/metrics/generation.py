"""The metrics of a table of generated responses, and what references and shuffled replies get."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphdep.metrics.bleu import resolve_bleu
from graphdep.metrics.distinct import resolve_distinct
from graphdep.metrics.text_metric import TextMetric, Texts


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
        hypotheses: Generated responses, lists of words without special ones.
        references: The right responses, one for each.
        metrics: Which ones. (default: ``bleu2_method7``, ``bleu2_method1``, ``sacrebleu``, ``dist1``,
            ``dist2``, ``mean_length``)

    Raises:
        ValueError: If there are none, their numbers differ, or one is a string instead of a list of words.
    """
    return {metric.name: metric(hypotheses, references) for metric in metrics}


def generation_floors(
    references: Sequence[Sequence[str]],
    seed: int = 0,
    metrics: Sequence[TextMetric] = GENERATION_METRICS,
    constant: Sequence[str] | None = None,
) -> dict[str, dict[str, float]]:
    """What goes beside every table of generated responses.

    - ``reference``: the references as outputs. Their Distinct is what people's responses have; BLEU is that
      of perfect copies, the most there is.
    - ``shuffled``: each context gets the reference of another one: human responses without any skill. A BLEU
      that is not above it says nothing.
    - ``constant``, if given: always the same words. With smoothing, the most frequent ones get a higher BLEU
      than human responses to other contexts.

    Args:
        references: The right responses, at least two.
        seed: Seed of the shuffling. (default: :obj:`0`)
        metrics: As in :func:`generation_metrics`.
        constant: The words of a constant response. (default: :obj:`None`)

    Raises:
        ValueError: If there are fewer than two references, or one is a string instead of a list of words.
    """
    if len(references) < 2:
        raise ValueError(f"'references' must hold at least 2 to be shuffled (got {len(references)})")
    # One cycle through all: a permutation that leaves none in its place.
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
