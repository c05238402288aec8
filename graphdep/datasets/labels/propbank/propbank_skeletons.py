"""PropBank's skeletons: CoNLL columns of predicates and arguments, without the words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphdep.datasets.base.raw import read_lines, row_error
from graphdep.datasets.labels.bio import Span

COLUMNS = ("document", "sentence", "token", "word", "POS", "parse", "lemma", "roleset")
_SENTENCE, _TOKEN, _POS, _PARSE, _ROLESET = 1, 2, 4, 5, 7
_NONE = "-"
_CELL = re.compile(r"(?:\((?P<label>[^\s()*]+))?\*(?P<close>\))?")
_NUMBER = re.compile(r"[0-9]{1,9}")
Row = tuple[int, list[str]]
"""Line number, columns."""


@dataclass(frozen=True)
class SkeletonPredicate:
    """A predicate of a sentence, and the spans of its column.

    Args:
        word: The token whose row has the roleset, from 0.
        line: The line of that row.
        roleset: Its sense, such as ``"give.01"``.
        spans: The spans from left to right, the predicate's own among them: ``V``, and ``C-V`` for a part of
            it that stands apart. None has a token in common with another.
    """

    word: int
    line: int
    roleset: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class SkeletonSentence:
    """A sentence of a skeleton.

    Args:
        number: Its number in the document, from 0.
        line: Its first line.
        tags: The part-of-speech tag of each token.
        parse: The part of the bracketed constituents that stands at each token, as it is.
        predicates: The predicates in the order of their columns.
    """

    number: int
    line: int
    tags: tuple[str, ...]
    parse: tuple[str, ...]
    predicates: tuple[SkeletonPredicate, ...]

    def __len__(self) -> int:
        return len(self.tags)


def read_skeletons(path: Path) -> list[SkeletonSentence]:
    """The sentences of a ``.gold_skel`` file.

    Blank lines separate sentences; white space separates columns, eight and one for each predicate of the
    sentence. The n-th of these belongs to the n-th row with a roleset.

    Raises:
        ValueError: If a row has too few columns or others than its neighbours, there are more or fewer
            predicates than columns for them, numbers are not in order, a span does not end, does not begin or
            is within another, or a predicate has no span ``V``; the message has file, line and value.
    """
    blocks = itertools.groupby(
        ((line, text.split()) for line, text in read_lines(path)), key=lambda row: bool(row[1])
    )
    sentences: list[SkeletonSentence] = []
    for filled, rows in blocks:
        if filled:
            sentences.append(_sentence(path, list(rows)))
            _check_order(path, sentences)
    if not sentences:
        raise row_error(path, 1, "no sentence in the file")
    return sentences


def _check_order(path: Path, sentences: Sequence[SkeletonSentence]) -> None:
    *before, last = sentences[-2:]
    if any(last.number <= other.number for other in before):
        message = f"the sentence's number must be above {before[0].number}, that of the one before"
        raise row_error(path, last.line, message, str(last.number))


def _sentence(path: Path, rows: list[Row]) -> SkeletonSentence:
    for token, (line, row) in enumerate(rows):
        _check_row(path, line, row, token, rows[0])
    line, first = rows[0]
    return SkeletonSentence(
        int(first[_SENTENCE]),
        line,
        tuple(row[_POS] for _, row in rows),
        tuple(row[_PARSE] for _, row in rows),
        _predicates(path, rows, len(first) - len(COLUMNS)),
    )


def _check_row(path: Path, line: int, row: list[str], token: int, first: Row) -> None:
    if len(row) < len(COLUMNS):
        message = f"{len(row)} columns instead of {len(COLUMNS)} or more"
        raise row_error(path, line, message, " ".join(row))
    if len(row) != len(first[1]):
        message = f"{len(row)} columns, but {len(first[1])} in the sentence's first row (line {first[0]})"
        raise row_error(path, line, message, " ".join(row))
    if row[_TOKEN] != str(token):
        raise row_error(path, line, f"the token's number must be {token}", row[_TOKEN])
    if row[_SENTENCE] != first[1][_SENTENCE] or not _NUMBER.fullmatch(row[_SENTENCE]):
        message = f"the sentence's number must be one number in all of its rows, as in line {first[0]}"
        raise row_error(path, line, message, row[_SENTENCE])


def _predicates(path: Path, rows: list[Row], columns: int) -> tuple[SkeletonPredicate, ...]:
    marked = [
        (token, line, row[_ROLESET]) for token, (line, row) in enumerate(rows) if row[_ROLESET] != _NONE
    ]
    if len(marked) != columns:
        line, value = (marked[columns][1:]) if len(marked) > columns else (rows[0][0], None)
        message = f"{len(marked)} predicates in the sentence, but {columns} columns for them"
        raise row_error(path, line, message, value)
    return tuple(
        SkeletonPredicate(*predicate, _spans(path, rows, len(COLUMNS) + number))
        for number, predicate in enumerate(marked)
    )


def _spans(path: Path, rows: list[Row], column: int) -> tuple[Span, ...]:
    """The spans of a column: ``(LABEL*`` begins one, ``*)`` ends it, ``(LABEL*)`` is one of one token."""
    name = f"column {column + 1}"
    spans: list[Span] = []
    start, label = -1, None
    for token, (line, row) in enumerate(rows):
        cell = _CELL.fullmatch(row[column])
        if cell is None:
            message = f"{name} must have *, (LABEL*, (LABEL*) or *)"
            raise row_error(path, line, message, row[column])
        if cell["label"]:
            if label is not None:
                message = f"in {name} a span begins within another, of line {rows[start][0]}"
                raise row_error(path, line, message, row[column])
            start, label = token, cell["label"]
        if cell["close"]:
            if label is None:
                raise row_error(path, line, f"in {name} a span ends that does not begin", row[column])
            spans.append((start, token + 1, label))
            label = None
    if label is not None:
        line, row = rows[start]
        raise row_error(path, line, f"in {name} a span does not end in its sentence", row[column])
    if not any(name == "V" for *_, name in spans):
        raise row_error(path, rows[0][0], f"{name} has no span V, which is the predicate")
    return tuple(spans)
