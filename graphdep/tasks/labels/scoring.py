"""From numbers of labels, word by word, to scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from graphdep.datasets.base.rows import UNKNOWN
from graphdep.datasets.labels.words import OUTSIDE, spans_of
from graphdep.metrics.scores import EXACT, NOTHING, SPAN, WORD_ACCURACY, WORD_F1, WORD_MACRO_F1, label_table

SCHEMES = ("words", "bio")


class ScoredWords(NamedTuple):
    """The scored words of a split, all of them ``[N]``."""

    target: np.ndarray
    """Numbers of labels; -1 for one that training does not have."""
    example: np.ndarray
    """Number of the example."""
    group: np.ndarray
    """Number that examples share which are right as a whole or not at all."""
    place: np.ndarray
    """Number of the word in its example."""


@dataclass(frozen=True)
class LabelScoring:
    """What labels are worth: single ones, or spans in BIO.

    Args:
        labels: The labels by their numbers.
        outside: The label that stands for no finding, which F1 leaves out; it is the first of
            :obj:`labels`, or none of them. (default: :obj:`None`)
        scheme: ``"words"``, or ``"bio"`` for labels that say where spans begin and go on. (default:
            ``"words"``)

    Raises:
        ValueError: If the scheme is unknown, or a label is none of BIO.

    Example:
        >>> import numpy as np
        >>> from graphdep.tasks.labels.scoring import LabelScoring, ScoredWords
        >>> scoring = LabelScoring(("O", "A", "B"), outside="O")
        >>> words = ScoredWords(np.array([0, 1, 2]), *np.zeros((3, 3), int))
        >>> scoring.scores(np.array([1, 1, 0]), words)["f1"]
        0.5
    """

    labels: tuple[Any, ...]
    outside: str | None = None
    scheme: str = "words"

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"'scheme' must be one of {', '.join(SCHEMES)} (got {self.scheme!r})")
        if self.scheme == "bio":
            spans_of([str(label) for label in self.labels])

    @property
    def names(self) -> tuple[str, ...]:
        """What is found, by the number it has in a code, from 1."""
        if self.scheme == "bio":
            return tuple(sorted({str(label)[2:] for label in self.labels if label != OUTSIDE}))
        return tuple(str(label) for label in self.labels if label != self.outside)

    def scores(self, prediction: np.ndarray, words: ScoredWords) -> dict[str, float]:
        """Accuracy, micro and macro F1, and the share of examples that are right as a whole.

        Args:
            prediction: Numbers of labels ``[N]``; -2 for none.
            words: What is there.
        """
        found, there = self.codes(prediction, words), self.codes(words.target, words)
        scores = {metric.name: metric(found, there) for metric in (WORD_F1, WORD_MACRO_F1)}
        # Of spans, too, each word's label counts alone.
        scores["accuracy"] = WORD_ACCURACY(prediction, words.target)
        scores["exact"] = EXACT(*self.exact(prediction, words))
        return scores

    def exact(self, prediction: np.ndarray, words: ScoredWords) -> tuple[np.ndarray, np.ndarray]:
        """For each group 1 if all of its words are right, else 0, and as many 1 to compare them with."""
        groups, number = np.unique(words.group, return_inverse=True)
        wrong = np.bincount(number, weights=prediction != words.target, minlength=len(groups))
        return (wrong == 0).astype(np.int64), np.ones(len(groups), dtype=np.int64)

    def table(self, prediction: np.ndarray, words: ScoredWords) -> list[dict[str, Any]]:
        """A row for each label that is there or found, by name, with its counts, precision, recall and F1."""
        rows = label_table(self.codes(prediction, words), self.codes(words.target, words))
        names = ("(unknown)", *self.names)
        told = [{**row, "label": names[max(0, int(row["label"]))]} for row in rows]
        return sorted(told, key=lambda row: str(row["label"]))

    def codes(self, numbers: np.ndarray, words: ScoredWords) -> np.ndarray:
        """What is found at each word: 0 for nothing, else a code of its label; of spans, which stand at their
        first word, of label and length. Labels that training does not have are -1, no prediction is -2.
        """
        if self.scheme == "words":
            first = 0 if self.labels and self.labels[0] == self.outside else 1
            return np.where(numbers < 0, numbers, numbers + first)
        return self._span_codes(numbers, words)

    def _span_codes(self, numbers: np.ndarray, words: ScoredWords) -> np.ndarray:
        codes = np.where(numbers == NOTHING, NOTHING, np.zeros_like(numbers))
        number = {name: place for place, name in enumerate(self.names, 1)}
        tags: list[str | None] = [_UNKNOWN_TAG if n == UNKNOWN else self._tag(n) for n in numbers.tolist()]
        for start, end in _runs(words):
            for first, last, name in spans_of(tags[start:end]):
                code = UNKNOWN if name == _UNKNOWN_NAME else number[name] * SPAN + (last - first)
                codes[start + first] = code
        return codes

    def _tag(self, number: int) -> str | None:
        return None if number < 0 else str(self.labels[number])


_UNKNOWN_NAME = "\x00"  # no label has a control character
_UNKNOWN_TAG = f"I-{_UNKNOWN_NAME}"


def _runs(words: ScoredWords) -> list[tuple[int, int]]:
    """Where scored words that follow each other without a gap begin and end."""
    if not len(words.place):
        return []
    apart = (np.diff(words.place) != 1) | (np.diff(words.example) != 0)
    bounds = [0, *(np.flatnonzero(apart) + 1).tolist(), len(words.place)]
    return list(pairwise(bounds))


def bio_tables(labels: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Which of BIO's labels may follow which ``[C, C]``, and which may come first ``[C]``: ``I-X`` only
    behind ``B-X`` or ``I-X``.
    """
    names = [str(label) for label in labels]
    goes_on = np.array([name.startswith("I-") for name in names])
    same = np.array([[a[2:] == b[2:] and a != OUTSIDE for b in names] for a in names])
    return ~goes_on[None, :] | same, ~goes_on
