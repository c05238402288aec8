"""CoNLL-U: writing sentences as text, and reading text as columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from graphdep.io.files import LineError
from graphdep.sentence.ptb import PtbError, comment_ptb, read_brackets
from graphdep.sentence.tree import EMPTY_ID, RANGE_ID, Constituent, Raw, Row, parse_deps

if TYPE_CHECKING:
    from graphdep.sentence import Sentence


COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_WORD = re.compile(r"[1-9][0-9]{0,8}")
_HEAD = re.compile(r"0|[1-9][0-9]{0,8}")
_CONSTITUENCY = re.compile(r"#\s*constituency\s*=\s*(?=\()(.*)")  # the format of stanza


class ConlluError(LineError):
    """A line that is not CoNLL-U, or a sentence whose heads are not a tree."""


def format_conllu(sentence: Sentence) -> str:
    """One sentence as CoNLL-U text that ends in a line break, without the blank line after it.

    Constituents are the last comment, ``# constituency = (ROOT ...)``.
    """
    before: dict[int, list[Row]] = {}
    after: dict[int, list[Row]] = {}
    for row in sentence.multiword:
        before.setdefault(int(row[0].partition("-")[0]), []).append(row)
    for row in sentence.empty:
        after.setdefault(int(row[0].partition(".")[0]), []).append(row)
    rows = list(after.get(0, []))
    for number in range(1, len(sentence) + 1):
        rows += [*before.get(number, []), _row(sentence, number), *after.get(number, [])]
    comments = [*map(_check_comment, sentence.comments)]
    if sentence.constituents is not None:
        comments = [line for line in comments if not _CONSTITUENCY.fullmatch(line)]
        comments.append(f"# constituency = {comment_ptb(sentence)}")
    return "".join(f"{line}\n" for line in [*comments, *map(_join, rows)])


def _row(sentence: Sentence, number: int) -> Row:
    def at(column: list[str] | None) -> str:
        return "_" if column is None else column[number - 1]

    deps = sentence.deps[number - 1] if sentence.deps else []
    return (
        str(number),
        sentence.form[number - 1],
        at(sentence.lemma),
        at(sentence.upos),
        at(sentence.xpos),
        at(sentence.feats),
        str(sentence.head[number - 1]),
        sentence.deprel[number - 1],
        "|".join(f"{head}:{label}" for head, label in deps) or "_",
        at(sentence.misc),
    )


def _join(row: Row) -> str:
    for name, value in zip(COLUMNS, row):
        if not value or any(c in value for c in "\t\n\r"):
            raise ValueError(f"column {name.upper()} cannot be written as CoNLL-U: {value!r} (word {row[0]})")
    return "\t".join(row)


def _check_comment(comment: str) -> str:
    if not comment.startswith("#") or "\n" in comment or "\r" in comment:
        raise ValueError(f"a comment must be one line that starts with '#' (got {comment!r})")
    return comment


def read_blocks(
    lines: Iterable[tuple[int, str]], path: str, *, max_words: int | None = None, headless: bool = False
) -> Iterator[Raw]:
    """The sentences in numbered lines, whose governors may not be a tree; with ``headless`` a HEAD may be
    ``_``, which gives governor -1.

    Raises:
        ConlluError: If a line is not CoNLL-U.
    """
    block = _Block(path, max_words, headless)
    for number, line in lines:
        if line.strip(" ") == "":
            if block:
                yield block.raw()
            block = _Block(path, max_words, headless)
        else:
            block.add(number, line)
    if block:
        yield block.raw()


class _Block:
    """The lines of one sentence while it is read."""

    def __init__(self, path: str, max_words: int | None, headless: bool) -> None:
        self.path, self.max_words, self.headless = path, max_words, headless
        self.comments: list[str] = []
        self.constituency: tuple[int, str] | None = None
        self.words: list[Row] = []
        self.multiword: list[Row] = []
        self.empty: list[Row] = []
        self.line_of: dict[str, int] = {}
        self.first_line = 0

    def __bool__(self) -> bool:
        return self.first_line > 0

    def add(self, number: int, line: str) -> None:
        self.first_line = self.first_line or number
        if line.startswith("#"):
            alone = not self.line_of and "\r" not in line
            self._check(alone, "a comment inside a sentence, or with a line break in it", number, line)
            if match := _CONSTITUENCY.fullmatch(line):
                self._check(self.constituency is None, "a second tree of constituents", number, line)
                self.constituency = number, match[1]
            else:
                self.comments.append(line)
            return
        row = tuple(line.split("\t"))
        count = len(row)
        self._check(count == len(COLUMNS), f"{count} tab-separated columns instead of 10", number, line)
        if "" in row or "\r" in line:
            name = next(name for name, value in zip(COLUMNS, row) if not value or "\r" in value)
            self._check(False, f"column {name.upper()} is empty or holds a line break", number, line)
        first = self.line_of.get(row[0])
        self._check(first is None, f"duplicate id, first on line {first}", number, row[0])
        self._add_row(number, row)
        self.line_of[row[0]] = number

    def _add_row(self, number: int, row: Row) -> None:
        if _WORD.fullmatch(row[0]):
            self._add_word(number, row)
        elif match := RANGE_ID.fullmatch(row[0]):
            first, last = map(int, match.groups())
            fits = self._range_end() < first == len(self.words) + 1 and first < last
            message = "a multiword range must stand before its first word, not overlap"
            self._check(fits, message, number, row[0])
            self.multiword.append(row)
        else:
            match = EMPTY_ID.fullmatch(row[0])
            message = "an id must be a word (3), a range (3-4) or an empty node (3.1)"
            self._check(match, message, number, row[0])
            follows = match and int(match[1]) == len(self.words) and int(match[2]) == self._empty_here() + 1
            message = f"an empty node out of order after word {len(self.words)}"
            self._check(follows, message, number, row[0])
            self.empty.append(row)

    def _add_word(self, number: int, row: Row) -> None:
        this, most = len(self.words) + 1, self.max_words
        self._check(int(row[0]) == this, f"word id out of order, expected {this}", number, row[0])
        short = most is None or this <= most
        self._check(short, f"sentence of more than max_words={most} words", number, row[0])
        none = row[6] == "_"
        advice = "; graphdep parse --words parses words without heads" if none else ""
        known = none if none and self.headless else _HEAD.fullmatch(row[6])
        self._check(known, f"HEAD must be a word id or 0{advice}", number, row[6])
        self.words.append(row)

    def _range_end(self) -> int:
        return int(self.multiword[-1][0].partition("-")[2]) if self.multiword else 0

    def _empty_here(self) -> int:
        word, _, number = self.empty[-1][0].partition(".") if self.empty else ("-1", "", "0")
        return int(number) if int(word) == len(self.words) else 0

    def raw(self) -> Raw:
        self._check(self.words, "comments or empty nodes without a word", self.first_line)
        if self.multiword:
            number, size = self.multiword[-1][0], len(self.words)
            message = f"range ends after the last word {size}"
            self._check(self._range_end() <= size, message, self.line_of[number], number)
        column = {name: self._column(i) for i, name in enumerate(COLUMNS) if i in (2, 3, 4, 5, 9)}
        columns = {
            "form": [row[1] for row in self.words],
            "head": [-1 if row[6] == "_" else int(row[6]) for row in self.words],
            "deprel": [row[7] for row in self.words],
            "deps": self._deps(),
            "comments": self.comments,
            "multiword": self.multiword,
            "empty": self.empty,
            "constituents": self._constituents(),
            **column,
        }
        return Raw(columns, self.path, [self.line_of[row[0]] for row in self.words])

    def _constituents(self) -> list[Constituent] | None:
        if self.constituency is None:
            return None
        number, text = self.constituency
        try:
            trees = [*read_brackets([self.constituency], self.path, functions=True, traces=True)]
        except PtbError as error:
            message = f"constituency: {error.message}"
            raise ConlluError(message, self.path, number, error.value or text) from None
        sizes = [len(tree.form) for tree in trees]
        found = " and ".join(map(str, sizes))
        message = f"constituency: not one tree of {len(self.words)} words but of {found}"
        self._check(sizes == [len(self.words)], message, number, text)
        return trees[0].constituents

    def _column(self, i: int) -> list[str] | None:
        column = [row[i] for row in self.words]
        return None if all(value == "_" for value in column) else column

    def _deps(self) -> list[list[tuple[str, str]]] | None:
        known = {"0", *self.line_of} - {row[0] for row in self.multiword}
        for row in self.empty:
            self._parse_deps(row, known)
        deps = [self._parse_deps(row, known) for row in self.words]
        return deps if any(deps) else None

    def _parse_deps(self, row: Row, known: set[str]) -> list[tuple[str, str]]:
        deps = parse_deps(row[8])
        for head, label in deps:
            message = "DEPS must be head:label pairs with existing heads"
            self._check(head in known and label, message, self.line_of[row[0]], f"{head}:{label}")
        return deps

    def _check(self, right: object, message: str, line: int, value: str = "") -> None:
        if not right:
            raise ConlluError(message, self.path, line, value)
