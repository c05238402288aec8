"""Spans of words as a label for each word, and back: ``B-X`` begins a span, ``I-X`` goes on with it, ``O`` is
outside of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

OUTSIDE = "O"
Span = tuple[int, int, str]
"""First word from 0, the word behind the last, label."""


def spans_of(labels: Sequence[str | None]) -> list[Span]:
    """The spans that labels stand for, from left to right.

    As CoNLL's scripts read them, an ``I-X`` that nothing of its label comes before begins a span, as ``B-X``
    would: no label is lost, and a model that leaves out ``B-X`` is not wrong for that alone.

    Args:
        labels: A label for each word; :obj:`None`, a word that is not scored, is in no span and ends the one
            before it.

    Raises:
        ValueError: If a label is none of BIO; the message has the word, from 1, and the label.

    Example:
        >>> from graphdep.datasets.labels.bio import spans_of
        >>> spans_of(["B-ARG0", "I-ARG0", None, "I-ARG1", "B-ARG1", "O"])
        [(0, 2, 'ARG0'), (3, 4, 'ARG1'), (4, 5, 'ARG1')]
    """
    spans: list[Span] = []
    before = ""  # the label of the span that the word before is in
    for word, label in enumerate(labels):
        if label is None or label == OUTSIDE:
            before = ""
            continue
        tag, name = label[:2], label[2:]
        if tag not in ("B-", "I-") or not name:
            raise ValueError(
                f"'labels' of spans must be O, B-LABEL or I-LABEL (got {label!r}, word {word + 1})"
            )
        if tag == "I-" and name == before:
            start, *_ = spans.pop()
            spans.append((start, word + 1, name))
        else:
            spans.append((word, word + 1, name))
        before = name
    return spans


def check_bio(labels: Sequence[str | None]) -> None:
    """Raises :class:`ValueError` unless the labels are spans to the letter (IOB2): each is ``O``, ``B-X`` or
    ``I-X``, and ``I-X`` stands right behind ``B-X`` or ``I-X``. The message has the word, from 1, and the
    label. :obj:`None`, a word that is not scored, ends the span before it.
    """
    spans_of(labels)
    before: str | None = None
    for word, label in enumerate(labels, 1):
        if label is not None and label.startswith("I-") and (before or "")[1:] != label[1:]:
            there = "nothing" if word == 1 else "a word without label" if before is None else repr(before)
            raise ValueError(
                f"word {word}: {label!r} must stand behind B-{label[2:]} or {label} (got {there})"
            )
        before = label


def bio_of(spans: Iterable[Span], length: int) -> list[str]:
    """The labels of ``length`` words that stand for some spans; :func:`spans_of` gives them back.

    Args:
        spans: The spans, in any order.
        length: The number of words.

    Raises:
        ValueError: If a span is empty, outside of the sentence, without label, or has a word in common with
            another; the message has the span.

    Example:
        >>> from graphdep.datasets.labels.bio import bio_of
        >>> bio_of([(0, 2, "ARG0"), (3, 4, "ARG1")], 5)
        ['B-ARG0', 'I-ARG0', 'O', 'B-ARG1', 'O']
    """
    labels = [OUTSIDE] * length
    for start, end, label in spans:
        if not 0 <= start < end <= length:
            raise ValueError(f"'spans' must lie in {length} words (got {(start, end, label)})")
        if not label:
            raise ValueError(f"'spans' must have labels (got {(start, end, label)})")
        if any(there != OUTSIDE for there in labels[start:end]):
            raise ValueError(f"'spans' must have no word in common (got {(start, end, label)})")
        labels[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return labels


def with_insides(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels with ``I-X`` for each ``B-X``, since spans of one word in training may be longer elsewhere. All
    that are added stand behind the others, by name.

    Args:
        labels: The labels, none of them twice.

    Example:
        >>> from graphdep.datasets.labels.bio import with_insides
        >>> with_insides(["O", "B-ARG0", "B-ARG1", "I-ARG0"])
        ('O', 'B-ARG0', 'B-ARG1', 'I-ARG0', 'I-ARG1')
    """
    known = tuple(labels)
    insides = {f"I-{label[2:]}" for label in known if label.startswith("B-")}
    return (*known, *sorted(insides.difference(known)))
