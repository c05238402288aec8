"""Semantic roles in columns: a column of labels or of bracketed spans for each predicate of a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from graphdep.datasets.base.raw import check_width, row_error
from graphdep.datasets.labels.bio import Span, bio_of
from graphdep.datasets.labels.words import LabelledWords
from graphdep.io.trees import parse_ptb
from graphdep.sentence.conllu import read_blocks
from graphdep.sentence.intake import Intake
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Constituent

Row = tuple[int, list[str]]
"""Line number, columns."""
PREDICATE = ("V", "C-V")
"""Labels of the predicate itself and of a separate part of it."""


def marked_rows(
    path: Path, rows: Sequence[Row], column: int, none: Sequence[str], columns: int
) -> list[tuple[int, int, str]]:
    """Word, line and cell of each predicate; raises unless there is a column of roles for each."""
    marked = [(word, line, row[column]) for word, (line, row) in enumerate(rows) if row[column] not in none]
    if len(marked) != columns:
        line, value = marked[columns][1:] if len(marked) > columns else (rows[0][0], None)
        message = f"{len(marked)} predicates in the sentence, but {columns} columns for them"
        raise row_error(path, line, message, value)
    return marked


_CELL = re.compile(r"((?:\([^\s()*]+)*)\*((?:[^\s()*]*\))*)")


def bracketed_spans(path: Path, rows: Sequence[Row], column: int) -> list[Span]:
    """The spans of a column, outer before inner ones: ``(LABEL*`` begins a span, ``*)`` ends it, and
    ``(LABEL*)`` is a span of one word.
    """
    spans: list[Span] = []
    opened: list[tuple[int, int, int, str]] = []  # place among the spans, line, first word, label
    for word, (line, row) in enumerate(rows):
        cell = _CELL.fullmatch(row[column])
        labels, ends = (cell[1].split("(")[1:], cell[2].count(")")) if cell else ([], 0)
        if cell is None or ends > len(opened) + len(labels):
            raise row_error(
                path,
                line,
                f"column {column + 1} must have *, (LABEL*) or (LABEL*, or *) in a span",
                row[column],
            )
        for label in labels:
            opened.append((len(spans), line, word, label))
            spans.append((word, word, label))
        for _ in range(ends):
            place, _, start, label = opened.pop()
            spans[place] = (start, word + 1, label)
    if opened:
        _, line, _, label = opened[-1]
        raise row_error(path, line, f"column {column + 1} has a span {label} that does not end")
    return spans


def outer_spans(spans: Sequence[Span]) -> list[Span]:
    """The spans that are not inside another one."""
    found: list[Span] = []
    for span in spans:
        if not found or span[0] >= found[-1][1]:
            found.append(span)
    return found


def role_labels(spans: Sequence[Span], words: int, predicate: int) -> list[str | None]:
    """The labels of a predicate's arguments in IOB2; words of the predicate have :obj:`None`."""
    arguments = [span for span in spans if span[2] not in PREDICATE]
    labels: list[str | None] = [*bio_of(arguments, words)]
    for word in (predicate, *own_words(spans)):
        labels[word] = None
    return labels


def own_words(spans: Sequence[Span]) -> list[int]:
    """The words of ``V`` and ``C-V``."""
    return [word for start, end, label in spans if label in PREDICATE for word in range(start, end)]


@dataclass(frozen=True)
class DependencyLayout:
    """Columns of a format with a tree and a column of labels for each predicate.

    Args:
        name: The format.
        tree: Indices of the columns of CoNLL-U; :obj:`None` for a missing column.
        marker: The column that marks predicates.
        first: The first column of labels.
    """

    name: str
    tree: tuple[int | None, ...]
    marker: int
    first: int

    @property
    def word(self) -> int:
        """The column of the words."""
        return self.tree[1] or 0

    def tree_line(self, row: list[str]) -> str:
        """A row as a line of CoNLL-U."""
        return "\t".join("_" if column is None else row[column] or "_" for column in self.tree)


@dataclass(frozen=True)
class SpanLayout:
    """Columns of a format with bracketed spans for each predicate.

    Args:
        name: The format.
        word, parse: Columns of the words and of the bracketed constituents; :obj:`None` for no such column.
        marker: The column that marks predicates.
        first: The first column of spans.
        behind: Number of columns after the spans. (default: :obj:`0`)
    """

    name: str
    word: int
    parse: int | None
    marker: int
    first: int
    behind: int = 0


Layout = DependencyLayout | SpanLayout
_2009 = DependencyLayout("CoNLL-2009", (0, 1, 2, None, 4, 6, 8, 10, None, None), 12, 14)
_2009_PREDICTED = DependencyLayout(
    "CoNLL-2009 (PHEAD and PDEPREL, as HEAD is empty)", (0, 1, 3, None, 5, 7, 9, 11, None, None), 12, 14
)
_2008 = DependencyLayout("CoNLL-2008", (0, 5, 6, None, 7, None, 8, 9, None, None), 10, 11)
_2012 = SpanLayout("CoNLL-2012", 3, 5, 7, 11, behind=1)
_PROPBANK = SpanLayout("PropBank", 3, 5, 7, 8)
_NUMBER = re.compile("[0-9]+")


def role_layout(blocks: Sequence[list[Row]]) -> Layout | None:
    """The layout of the sentences of a file; :obj:`None` without columns of roles."""
    for number, rows in enumerate(blocks):
        cells = [row for _, row in rows]
        width = len(cells[0])
        if any(len(row) != width for row in cells):
            return None
        if number == 0 and (layout := _fixed_layout(cells, width)):
            return layout
        if layout := _of_2005(cells, width):
            return layout
        if not all(row[-1] == "-" for row in cells):  # as a sentence without predicates has
            return None
    return None


def _fixed_layout(cells: list[list[str]], width: int) -> Layout | None:
    def numbers(column: int, *others: str) -> bool:
        return all(_NUMBER.fullmatch(row[column]) or row[column] in others for row in cells)

    counted = [row[0] for row in cells[:2]] == ["1", "2"][: len(cells)]
    if counted and width >= 14 and numbers(8, "_") and numbers(9, "_") and _only(cells, 12, "Y", "_", ""):
        return _2009_PREDICTED if _only(cells, 8, "_") and numbers(9) else _2009
    if counted and width >= 11 and numbers(8) and not numbers(9, "_"):
        return _2008
    if width >= 8 and numbers(1) and numbers(2) and all("*" in row[5] or row[5] == "-" for row in cells):
        return (
            _PROPBANK if width == 8 or all("*" in row[8] for row in cells) else _2012 if width >= 12 else None
        )
    return None


def _only(cells: list[list[str]], column: int, *values: str) -> bool:
    return all(row[column] in values for row in cells)


def _of_2005(cells: list[list[str]], width: int) -> SpanLayout | None:
    """The layout of CoNLL-2005: word, constituents, predicates, spans."""
    for marker in range(1, width - 1):
        marked = [word for word, row in enumerate(cells) if row[marker] != "-"]
        props = range(marker + 1, width)
        if len(marked) == len(props) and all("(V*" in cells[w][c] for w, c in zip(marked, props)):
            return SpanLayout("CoNLL-2005", 0, _parse_column(cells, marker), marker, marker + 1)
    return None


def _parse_column(cells: list[list[str]], end: int) -> int | None:
    """The column with most brackets, since there are also columns of chunks and clauses."""
    brackets = [column for column in range(1, end) if all(_CELL.fullmatch(row[column]) for row in cells)]
    count = {column: sum(row[column].count("(") for row in cells) for column in brackets}
    found = max(brackets, key=count.__getitem__, default=None)
    return found if found is not None and count[found] else None


class RoleSentences(NamedTuple):
    """The predicates of a file.

    Args:
        examples: One per predicate.
        columns: The line of the first word and the column of roles of each example.
        without: Number of sentences without a predicate.
        inner: Number of spans inside another span of the same predicate, which are left out.
    """

    examples: list[LabelledWords]
    columns: list[tuple[int, int]]
    without: int
    inner: int


def read_head_roles(
    path: Path, blocks: list[list[Row]], layout: DependencyLayout, intake: Intake, outside: str
) -> RoleSentences:
    """The predicates of sentences with trees; ``outside`` is the label of words without a role."""
    lines: list[tuple[int, str]] = []
    for rows in blocks:
        check_width(path, rows, len(rows[0][1]), layout.first)
        lines += [*((line, layout.tree_line(row)) for line, row in rows), (rows[-1][0] + 1, "")]
    trees = intake.sentences([*read_blocks(lines, str(path))])
    examples, columns, without = [], [], 0
    for group, (rows, tree) in enumerate(zip(blocks, trees, strict=True)):
        width = len(rows[0][1])
        while width > layout.first and not any(row[width - 1] for _, row in rows):
            width -= 1  # in tables padded to the width of the longest row
        marked = marked_rows(path, rows, layout.marker, ("_", ""), width - layout.first)
        without += not marked
        for (word, line, _), column in zip(marked, range(layout.first, width)) if tree else ():
            assert tree is not None
            labels = [outside if row[column] in ("_", "") else row[column] for _, row in rows]
            examples.append(
                LabelledWords(tree.form, labels, mark=word, tree=tree, group=group, place=f"{path}:{line}")
            )
            columns.append((rows[0][0], column))
    return RoleSentences(examples, columns, without, 0)


def read_span_roles(
    path: Path, blocks: list[list[Row]], layout: SpanLayout, constituents: bool
) -> RoleSentences:
    """The predicates of sentences with bracketed spans."""
    examples, columns, without, inner = [], [], 0, 0
    for group, rows in enumerate(blocks):
        width = len(rows[0][1])
        check_width(path, rows, width, layout.first + layout.behind)
        words = [row[layout.word] for _, row in rows]
        bracketed = _constituents(path, rows, layout, words) if constituents else None
        props = range(layout.first, width - layout.behind)
        without += not props
        for column in props:
            found = bracketed_spans(path, rows, column)
            own = own_words([span for span in found if span[2] == "V"])
            if not own:
                raise row_error(
                    path, rows[0][0], f"column {column + 1} has no span V, which is the predicate"
                )
            word = next((word for word in own if rows[word][1][layout.marker] != "-"), own[0])
            arguments = outer_spans([span for span in found if span[2] not in PREDICATE])
            inner += sum(span[2] not in PREDICATE for span in found) - len(arguments)
            spans = [*arguments, *(span for span in found if span[2] in PREDICATE)]
            labels = role_labels(spans, len(words), word)
            place = f"{path}:{rows[word][0]}"
            examples.append(
                LabelledWords(words, labels, mark=word, group=group, place=place, constituents=bracketed)
            )
            columns.append((rows[0][0], column))
    return RoleSentences(examples, columns, without, inner)


def _constituents(
    path: Path, rows: list[Row], layout: SpanLayout, words: list[str]
) -> list[Constituent] | None:
    pieces = [row[layout.parse] if layout.parse is not None else "-" for _, row in rows]
    if not any("(" in piece for piece in pieces):
        return None
    leaves = (word.replace("(", "-LRB-").replace(")", "-RRB-") for word in words)
    text = " ".join(piece.replace("*", f" (X {word}) ") for piece, word in zip(pieces, leaves))
    return parse_ptb(text, name=f"{path}:{rows[0][0]}", sentences=[Sentence.chain(words)])[0].constituents


def bracketed_cells(spans: Sequence[Span], words: int) -> list[str]:
    """The cells of a column of spans; :func:`bracketed_spans` reads them."""
    begins: dict[int, str] = {start: f"({label}" for start, _, label in spans}
    ends = {end - 1 for _, end, _ in spans}
    return [f"{begins.get(word, '')}*{')' if word in ends else ''}" for word in range(words)]


def sentences_of(rows: Sequence[Row]) -> list[list[Row]]:
    """Groups the rows between blank rows, which have no columns."""
    return [list(block) for filled, block in groupby(rows, key=lambda row: bool(row[1])) if filled]
