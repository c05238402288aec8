"""Files of Universal PropBank: CoNLL-U with further columns for predicates and heads of arguments."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphdep.datasets.base.raw import read_lines, row_error
from graphdep.io import trees as conllu
from graphdep.sentence import Sentence

NONE = ("_", "")
"""Cells that say nothing. Release 1.0 leaves cells empty where a sentence has no predicate."""
HEADS = "UP:ARGHEADS"
_TREE, _SHORT = 10, 8
_ROLE = re.compile(r"(.+):([0-9]{1,9})")
Row = tuple[int, list[str]]
"""Line number, columns."""


@dataclass(frozen=True)
class UPPredicate:
    """A predicate of a sentence.

    Args:
        word: The word, from 0.
        line: Its line.
        roleset: Its sense, such as ``"give.01"``.
        labels: For each word of the sentence the label of its role, ``"_"`` for none.
    """

    word: int
    line: int
    roleset: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class UPSentence:
    """A sentence with its predicates.

    Args:
        tree: Words and tree.
        predicates: The predicates from left to right.
        second_roles: Roles that are left out, as the word has another one of the same predicate.
    """

    tree: Sentence
    predicates: tuple[UPPredicate, ...]
    second_roles: int = 0

    @property
    def annotated(self) -> bool:
        """Whether it is not one that ``# propbank = no-up`` says to be without annotation."""
        comments = (comment.lstrip("#").partition("=") for comment in self.tree.comments)
        return not any((key.strip(), value.strip()) == ("propbank", "no-up") for key, _, value in comments)


def read_up(path: Path) -> list[UPSentence]:
    """The sentences of a file, in one of three layouts, which the file itself shows.

    =====================  =================================================================================
    ten columns and more   CoNLL-U, the roleset, and a column of labels for each predicate of the sentence
    eight and more         CoNLL-U without DEPS and MISC, ``Y`` at predicates, the roleset, and columns of
                           labels likewise (the other languages of release 1.0)
    ``global.columns``     CoNLL-U Plus with the columns ``UP:PRED`` and ``UP:ARGHEADS`` (release 2.0, merged
                           with its treebank), whose cells are ``LABEL:WORD|LABEL:WORD``; of two roles of one
                           word the first counts
    =====================  =================================================================================

    Raises:
        graphdep.ConlluError: If the columns of CoNLL-U are damaged, with file, line and value.
        ValueError: Likewise, if a row has other columns than its sentence's first one, there are more or
            fewer predicates than columns for them, or a role is that of no word.
    """
    rows = [(line, text.split("\t")) for line, text in read_lines(path)]
    names = _global_columns(path, rows)
    short = not names and _is_short(rows)
    kept = _SHORT if short else _TREE
    tree_rows = ("\t".join(_tree_row(row, kept)) for _, row in rows)
    trees = conllu.parse_conllu("\n".join(tree_rows), name=str(path))
    blocks = [list(block) for filled, block in itertools.groupby(rows, key=_is_filled) if filled]
    words = [[row for row in block if row[1][0].isdecimal()] for block in blocks]
    if names:
        found = [_listed(path, tree, block, names) for tree, block in zip(trees, words, strict=True)]
    else:
        roleset = _TREE - short
        found = [_columns(path, tree, block, roleset) for tree, block in zip(trees, words, strict=True)]
    return found


def _is_filled(row: Row) -> bool:
    return len(row[1]) > 1 or row[1][0].strip(" ") != ""


def _global_columns(path: Path, rows: Sequence[Row]) -> list[str]:
    """The names of the columns where the first line has them."""
    line, row = rows[0]
    key, _, value = "\t".join(row).lstrip("#").partition("=")
    names = value.split() if row[0].startswith("#") and key.strip() == "global.columns" else []
    if names and [name.lower() for name in names[:_TREE]] != list(conllu.COLUMNS):
        message = (
            "the columns of CoNLL-U must come first: merge the file with its treebank (UP's merge_ud_up.py)"
        )
        raise row_error(path, line, message, value.strip())
    for name in ("UP:PRED", HEADS) if names else ():
        if name not in names:
            raise row_error(path, line, f"no column {name}", value.strip())
    return names


def _is_short(rows: Sequence[Row]) -> bool:
    """Whether the ninth column is no DEPS, but has ``Y`` at predicates."""
    cells = {row[_SHORT] for _, row in rows if len(row) > _SHORT and not row[0].startswith("#")}
    return "Y" in cells and cells <= {"Y", "_"}


def _tree_row(row: list[str], kept: int) -> list[str]:
    """The columns of CoNLL-U; comments, blank lines and rows that are too short stay as they are."""
    if row[0].startswith("#") or len(row) < kept:
        return row
    return [*row[:kept], *["_"] * (_TREE - kept)]


def _columns(path: Path, tree: Sentence, rows: list[Row], roleset: int) -> UPSentence:
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) <= roleset or len(row) != width:
            message = f"{len(row)} columns, but {width} in the sentence's first row (line {rows[0][0]})"
            message = message if len(row) != width else f"{len(row)} columns, but none for predicates"
            raise row_error(path, line, message, "\t".join(row))
    marked = [(word, line, row[roleset]) for word, (line, row) in enumerate(rows) if row[roleset] not in NONE]
    columns = range(roleset + 1, width)
    # Where there is no predicate, one column may stand all the same, with nothing in it.
    if not marked and all(row[column] in NONE for _, row in rows for column in columns):
        return UPSentence(tree, ())
    if len(marked) != len(columns):
        line, value = marked[len(columns)][1:] if len(marked) > len(columns) else (rows[0][0], None)
        message = f"{len(marked)} predicates in the sentence, but {len(columns)} columns for them"
        raise row_error(path, line, message, value)
    predicates = (
        UPPredicate(*predicate, tuple(row[column] or "_" for _, row in rows))
        for predicate, column in zip(marked, columns)
    )
    return UPSentence(tree, tuple(predicates))


def _listed(path: Path, tree: Sentence, rows: list[Row], names: list[str]) -> UPSentence:
    predicates, second = [], 0
    for word, (line, row) in enumerate(rows):
        if len(row) != len(names):
            message = f"{len(row)} columns instead of {len(names)}, which the first line names"
            raise row_error(path, line, message, "\t".join(row))
        roleset, cell = row[names.index("UP:PRED")], row[names.index(HEADS)]
        if roleset in NONE:
            if cell not in NONE:
                raise row_error(path, line, "arguments of a word that is no predicate", cell)
            continue
        labels = ["_"] * len(tree)
        for role in cell.split("|") if cell not in NONE else ():
            match = _ROLE.fullmatch(role)
            label, number = (match[1], int(match[2])) if match else ("", 0)
            if label in NONE or not 0 < number <= len(tree):
                raise row_error(path, line, f"{HEADS} must be LABEL:WORD of {len(tree)} words", role)
            if labels[number - 1] == "_":
                labels[number - 1] = label
            else:
                second += 1
        predicates.append(UPPredicate(word, line, roleset, tuple(labels)))
    return UPSentence(tree, tuple(predicates), second)
