"""Files of columns: a word a line, its label in the last column, a blank line behind each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from graphdep.datasets.base.raw import read_lines, row_error
from graphdep.datasets.labels.labelled_words import LabelledWords

UNSCORED_CELL = "_"
"""In the place of a label, of a word that is not scored."""
_DOCUMENT = "-DOCSTART-"
_COMMENT = re.compile(r"#\s*(\S+\s*=|new(doc|par)\b)")
Line = tuple[int, list[str]]
"""Line number, columns; none where the sentence ends."""


def read_word_columns(path: Path) -> tuple[list[LabelledWords], int]:
    """The sentences of a file such as those of `CoNLL-2003 <https://aclanthology.org/W03-0419/>`_, and the
    number of lines that were left out.

    Columns are separated by a tab each if the first row has one, else by blanks. The first is the word, the
    last its label, and those between are not read; ``_`` in place of a label is a word that is not scored.
    One blank line or several separate sentences. Left out are lines whose first column is ``-DOCSTART-``,
    which end a sentence as well, and comments: lines that begin with ``#``, before the first word of a
    sentence, and are no row, or have the form ``# key = value``, ``# newdoc`` or ``# newpar``.

    Raises:
        ValueError: If a row has one column or another number of them than the first, no word or no label,
            the file has no sentence, is not UTF-8 or has control characters, with file, line and value.
    """
    rows = [(line, text) for line, text in read_lines(path)]
    separator, width = _layout(path, rows)
    lines: list[Line] = []
    skipped = 0
    for line, text in rows:
        cells = _cells(text, separator)
        if not text.strip():
            lines.append((line, []))
        elif cells[0] == _DOCUMENT:
            lines.append((line, []))
            skipped += 1
        elif _is_comment(text, len(cells) == width, separator) and not (lines and lines[-1][1]):
            skipped += 1
        else:
            lines.append((line, _row(path, line, text, cells, width)))
    return [_sentence(path, sentence) for sentence in _sentences(lines)], skipped


def _layout(path: Path, rows: list[tuple[int, str]]) -> tuple[str, int]:
    """What separates the columns of the first row, and how many there are."""
    for line, text in rows:
        if not text.strip() or text.startswith((_DOCUMENT, "#")):
            continue
        separator = "\t" if "\t" in text else " "
        width = len(_cells(text, separator))
        if width < 2:
            raise row_error(path, line, "a row must be a word, a tab or a blank, and its label", text)
        return separator, width
    raise row_error(path, 1, "no sentence in the file")


def _cells(text: str, separator: str) -> list[str]:
    cells = [cell.strip(" ") for cell in text.split(separator)]
    return cells if separator == "\t" else [cell for cell in cells if cell] or [""]


def _is_comment(text: str, has_columns: bool, separator: str) -> bool:
    """Whether a line that begins with ``#`` is no row."""
    if not text.startswith("#"):
        return False
    return not has_columns or (separator == " " and _COMMENT.match(text) is not None)


def _row(path: Path, line: int, text: str, cells: list[str], width: int) -> list[str]:
    if len(cells) != width:
        raise row_error(path, line, f"{len(cells)} columns instead of {width}, as the first row has", text)
    if not cells[0].strip():
        raise row_error(path, line, "a label for no word", text)
    if not cells[-1]:
        raise row_error(path, line, f"no label; {UNSCORED_CELL} is that of a word that is not scored", text)
    return cells


def _sentences(lines: list[Line]) -> Iterator[list[Line]]:
    for filled, rows in groupby(lines, key=lambda row: bool(row[1])):
        if filled:
            yield list(rows)


def _sentence(path: Path, rows: list[Line]) -> LabelledWords:
    labels = [None if cells[-1] == UNSCORED_CELL else cells[-1] for _, cells in rows]
    return LabelledWords([cells[0] for _, cells in rows], labels, place=f"{path}:{rows[0][0]}")
