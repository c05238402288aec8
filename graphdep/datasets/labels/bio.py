"""Labels of spans (BIO), and their encodings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

OUTSIDE = "O"
Span = tuple[int, int, str]
"""Start, end and label."""


def spans_of(labels: Sequence[str | None]) -> list[Span]:
    """The spans of a sequence of labels, from left to right.

    As in CoNLL's scripts, an ``I-X`` that continues no span of X begins one, as ``B-X`` does, so that no
    label is lost.

    Args:
        labels: A label for each word; a word with :obj:`None`, which is not scored, ends a span.

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


def bio_of(spans: Iterable[Span], length: int) -> list[str]:
    """The labels of ``length`` words with given spans, the inverse of :func:`spans_of`.

    Args:
        spans: The spans, in any order.
        length: The number of words.

    Example:
        >>> from graphdep.datasets.labels.bio import bio_of
        >>> bio_of([(0, 2, "ARG0"), (3, 4, "ARG1")], 5)
        ['B-ARG0', 'I-ARG0', 'O', 'B-ARG1', 'O']
    """
    labels = [OUTSIDE] * length
    for start, end, label in spans:
        if not label or not 0 <= start < end <= length or {*labels[start:end]} != {OUTSIDE}:
            got = f"(got {(start, end, label)})"
            raise ValueError(f"'spans' must have labels and lie in {length} words, none in two {got}")
        labels[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return labels


def with_insides(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels with an ``I-X`` for each ``B-X``, since spans of one word in training may be longer
    elsewhere. Added labels follow the others, sorted by name.

    Args:
        labels: Distinct labels.

    Example:
        >>> from graphdep.datasets.labels.bio import with_insides
        >>> with_insides(["O", "B-ARG0", "B-ARG1", "I-ARG0"])
        ('O', 'B-ARG0', 'B-ARG1', 'I-ARG0', 'I-ARG1')
    """
    known = tuple(labels)
    insides = {f"I-{label[2:]}" for label in known if label.startswith("B-")}
    return (*known, *sorted(insides.difference(known)))


_LETTERS = {"IOB2": "BIIB", "IOB1": "IIII", "BIOES": "BIES", "BILOU": "BILU"}
"""Prefixes of the first word of a span, of inner words, of the last word, and of a single word."""
ENCODINGS = tuple(_LETTERS)
_AS_IOB = str.maketrans("ESLU", "IBIB")


def recoded(labels: Sequence[str | None], source: str, target: str = "IOB2") -> list[str | None]:
    """Converts the labels of spans to another encoding.

    ==========  ======================================================================================
    ``IOB2``    ``B-X`` at the first word of a span, ``I-X`` at further words, ``O`` outside
    ``IOB1``    ``I-X`` at all words; ``B-X`` at the first word if a span of X ends just before it. Since
                corpora have other redundant ``B-X``, these are accepted
    ``BIOES``   as IOB2, with ``E-X`` at the last word, and ``S-X`` at a single word
    ``BILOU``   as BIOES, with ``L-X`` and ``U-X`` for ``E-X`` and ``S-X``
    ==========  ======================================================================================

    Args:
        labels: A label for each word; a word with :obj:`None`, which is not scored, ends a span.
        source, target: The encodings, of :data:`ENCODINGS`. (default target: ``"IOB2"``)

    Raises:
        ValueError: If a label cannot occur in its place; the message has the word, from 1.

    Example:
        >>> from graphdep.datasets.labels.bio import recoded
        >>> recoded(["I-PER", "I-PER", "B-PER", "O", "I-LOC"], "IOB1")
        ['B-PER', 'I-PER', 'B-PER', 'O', 'B-LOC']
        >>> recoded(["B-PER", "I-PER", "B-PER"], "IOB2", "BIOES")
        ['B-PER', 'E-PER', 'S-PER']
    """
    ends = source in ("BIOES", "BILOU")
    plain = [label[:1].translate(_AS_IOB) + label[1:] if label and ends else label for label in labels]
    spans = spans_of(plain)
    for word, (label, right) in enumerate(zip(labels, _encoded(spans, labels, source)), 1):
        if label != right and (source, (label or "")[:1]) != ("IOB1", "B"):
            raise ValueError(f"word {word}: {label!r} is invalid here in {source}; {right!r} would be valid")
    return _encoded(spans, labels, target)


def _encoded(spans: Iterable[Span], labels: Sequence[str | None], encoding: str) -> list[str | None]:
    first, inner, last, only = (*_LETTERS[encoding],)
    found: list[str | None] = [None if label is None else OUTSIDE for label in labels]
    before: tuple[int, str] | None = None
    for start, end, name in spans:
        letters = [first, *inner * (end - start - 2), last] if end - start > 1 else [only]
        if encoding == "IOB1" and before == (start, name):
            letters[0] = "B"
        found[start:end] = [f"{letter}-{name}" for letter in letters]
        before = end, name
    return found


def encoding_of(sentences: Sequence[Sequence[str | None]]) -> str:
    """The encoding in which the fewest sentences of a file have an invalid label.

    Example:
        >>> from graphdep.datasets.labels.bio import encoding_of
        >>> encoding_of([["O", "I-PER"], ["B-PER", "O"]]), encoding_of([["O", "S-PER"]])
        ('IOB2', 'BIOES')
    """
    letters = {label[0] for labels in sentences for label in labels if label and label[1:2] == "-"}
    for encoding, own in (("BIOES", "ES"), ("BILOU", "LU")):
        if letters.intersection(own) and letters.issubset({*"BI", *own}):
            return encoding
    return min(
        ("IOB2", "IOB1"), key=lambda encoding: sum(not _holds(labels, encoding) for labels in sentences)
    )


def _holds(labels: Sequence[str | None], encoding: str) -> bool:
    try:
        return recoded(recoded(labels, encoding), "IOB2", encoding) == [*labels]
    except ValueError:
        return False
