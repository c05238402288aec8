"""Rows of files with marked spans: objects of JSON lines, and tables with tags in their texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphdep.datasets.base.raw import row_error
from graphdep.datasets.base.row_keys import check_keys
from graphdep.datasets.base.row_words import TREE, row_tree, row_words
from graphdep.datasets.base.text_rows import OBJECTS, TextRow, read_text_rows
from graphdep.datasets.spans.marked_text import mark_text, read_tags
from graphdep.datasets.spans.span_example import SpanExample
from graphdep.io.limits import MAX_WORDS
from graphdep.parsing.parser import WordLimit


def read_span_rows(path: Path, text_column: str, label_column: str) -> list[SpanExample]:
    """The examples of a file, each with its label; errors as of :func:`span_row`."""
    rows = read_text_rows(path, [column_of(path, text_column), label_column])
    return [span_row(row, text_column, label_column) for row in rows]


def column_of(path: Path, text_column: str) -> str:
    """The column that every row of a file has."""
    return "spans" if is_lines(path) else text_column


def is_lines(path: Path) -> bool:
    """Whether a file has objects, not cells."""
    return path.suffix.lower() in OBJECTS


def span_row(
    row: TextRow, text_column: str, label_column: str | None = None, max_words: int | None = MAX_WORDS
) -> SpanExample:
    """The example of a row, in the layouts of :class:`~graphdep.datasets.OwnSpans`.

    Args:
        row: The row.
        text_column: Name of the texts.
        label_column: Name of the labels; :obj:`None` reads none. (default: :obj:`None`)
        max_words: Words of a sentence at most; :obj:`None` for no limit. (default: :obj:`10_000`)

    Raises:
        ValueError: If the row is none of these, with file, line and value.
    """
    if is_lines(row.path):
        check_keys(
            row, ["words", text_column, "spans", *([label_column] if label_column else []), *TREE], ["label"]
        )
        label = None if label_column is None else row.values[label_column]
        return _of_object(row, text_column, label, max_words)
    text = row.text(text_column)
    try:
        plain, ranges = read_tags(text)
    except ValueError as error:
        raise row_error(row.path, row.line, str(error), text) from None
    _check_words(row, text_column, plain, max_words)
    return _of_text(row, plain, ranges, None if label_column is None else row.label(label_column))


def _of_object(row: TextRow, text_column: str, label: Any, max_words: int | None) -> SpanExample:
    has = [name for name in ("words", text_column) if row.values.get(name) is not None]
    if len(has) != 1:
        both = " and ".join(map(repr, has)) or "neither"
        raise row_error(row.path, row.line, f"'words' or {text_column!r} must be there (got {both})")
    spans = row.values["spans"]
    if not isinstance(spans, list):
        raise row_error(row.path, row.line, "'spans' must be a list of [start, end]", repr(spans))
    if has == ["words"]:
        words = row_words(row, max_words)
        return SpanExample(words, spans, label, row_tree(row, words), f"{row.path}:{row.line}")
    if any(row.values.get(name) is not None for name in TREE):
        raise row_error(row.path, row.line, "'head' and 'deprel' are of 'words', which are not there")
    _ = row.text(text_column)  # a text with a word; its white space stays, since spans count it
    _check_words(row, text_column, row.values[text_column], max_words)
    return _of_text(row, row.values[text_column], spans, label)


def _check_words(row: TextRow, column: str, text: str, max_words: int | None) -> None:
    if max_words is not None and not WordLimit(max_words).holds(text):
        raise row_error(row.path, row.line, f"{column!r} has more than {max_words} words", text)


def _of_text(row: TextRow, text: str, spans: Sequence[Any], label: Any) -> SpanExample:
    place = f"{row.path}:{row.line}"
    try:
        marked = mark_text(text, spans)
    except ValueError as error:
        raise row_error(row.path, row.line, str(error)) from None
    if marked.inside:
        shown = ", ".join(repr(text[start:stop]) for start, stop in spans)
        raise row_error(row.path, row.line, f"a span begins or ends inside of a word (got {shown})", text)
    return SpanExample(marked.words, marked.spans, label, place=place)
