"""Sentences with marked spans as Python has them: lists of words, trees, and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphdep.datasets.spans.rows import SpanExample, mark_text, read_tags
from graphdep.io.limits import check_list, check_text, shown
from graphdep.sentence import Sentence
from graphdep.training.estimator import plain


def span_sentences(sentences: Any, spans: Any = None) -> list[SpanExample]:
    """Examples without labels.

    Args:
        sentences: Texts, lists of words, or parsed sentences.
        spans: For each of them one ``(start, end)`` or two, from 0, the end not included: of characters of a
            text, of words of the others; :obj:`None` for texts that have them marked, ``<e1>Rain</e1> makes
            <e2>mud</e2>.`` (default: :obj:`None`)

    Raises:
        TypeError: If something is no such thing; the message has its position.
        ValueError: If there is none, a text has no word or no tags, a span is empty, reaches beyond the
            sentence or ends inside a word, or there are more or fewer spans than sentences.
    """
    rows = listed("sentences", sentences)
    if not rows:
        raise ValueError("'sentences' is empty: there must be at least one")
    marks = [None] * len(rows) if spans is None else listed("spans", spans)
    if len(marks) != len(rows):
        raise ValueError(f"'spans' must have those of each of {len(rows)} sentences (got {len(marks)})")
    return [_example(f"sentences[{n}]", f"spans[{n}]", *pair) for n, pair in enumerate(zip(rows, marks))]


def listed(name: str, values: Any) -> list[Any]:
    """A list, array or Series as a list."""
    values = values.tolist() if hasattr(values, "tolist") else values
    check_list(name, values)
    return list(values)


def _example(place: str, of_spans: str, sentence: Any, spans: Any) -> SpanExample:
    if isinstance(sentence, str):
        check_text(place, sentence, "text")
        return _of_text(place, sentence, None if spans is None else _ends(of_spans, spans))
    if spans is None:
        message = "must be given where sentences are no texts with <e1>...</e1>"
        raise ValueError(f"{of_spans!r} {message} (got None)")
    if isinstance(sentence, Sentence):
        if sentence.head.count(0) > 1:
            raise ValueError(f"{place!r} must be one tree (got {sentence.head.count(0)} roots)")
        return SpanExample(sentence.form, _ends(of_spans, spans), tree=sentence, place=repr(place))
    words = [str(word) if isinstance(word, str) else word for word in listed(place, sentence)]
    for number, word in enumerate(words):
        check_text(f"{place}[{number}]", word, "sentence")
    return SpanExample(words, _ends(of_spans, spans), place=repr(place))


def _of_text(place: str, text: str, spans: list[Any] | None) -> SpanExample:
    try:
        text, spans = read_tags(text) if spans is None else (text, spans)
        marked = mark_text(text, spans)
    except ValueError as error:
        raise ValueError(f"{place!r}: {error}") from None
    if marked.inside:
        found = ", ".join(repr(text[start:stop]) for start, stop in spans)
        raise ValueError(f"{place!r}: a span begins or ends inside of a word (got {found})")
    return SpanExample(marked.words, marked.spans, place=repr(place))


def _ends(place: str, spans: Any) -> list[Any]:
    """Spans as pairs of numbers of Python, whatever arrays they were in; checked where they are used."""
    spans = spans.tolist() if hasattr(spans, "tolist") else spans
    if isinstance(spans, str) or not isinstance(spans, Sequence):
        raise TypeError(f"{place!r} must be a list of (start, end) (got {shown(spans)})")
    return [[plain(end) for end in span] if isinstance(span, (list, tuple)) else span for span in spans]
