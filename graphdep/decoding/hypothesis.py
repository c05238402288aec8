"""A response, as decoding gives it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One response to a context.

    Args:
        ids: Ids of its words, without ``[EOU]``.
        score: Log-probability of its tokens, ``[EOU]`` included, divided by their number to the power of
            ``length_penalty``.
        finished: Whether it came to ``[EOU]``; otherwise it was cut at the greatest length.

    Example:
        >>> from graphdep import Vocab
        >>> from graphdep.decoding import Hypothesis
        >>> best = Hypothesis(ids=(5, 6), score=-0.7, finished=True)
        >>> Vocab(["She", "sings"]).words_of(best.ids)
        ['She', 'sings']
    """

    ids: tuple[int, ...]
    score: float
    finished: bool
