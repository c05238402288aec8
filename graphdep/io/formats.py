"""Formats of tree files: detection by content, and reading."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from graphdep.io.files import json_value, place_error
from graphdep.sentence.conllu import COLUMNS, ConlluError, read_blocks
from graphdep.sentence.corenlp import read_xml
from graphdep.sentence.exchange import COLUMN_NAMES, read_dicts
from graphdep.sentence.ptb import PtbError, begins_tree, read_brackets
from graphdep.sentence.tree import PAGE, Found, Raw

FORMATS = ("conllu", "conllu-plus", "ptb", "json", "xml")
Lines = Iterable[tuple[int, str]]

_ID = re.compile(r"[0-9]{1,9}([-.][0-9]{1,9})?")
_PLUS = re.compile(r"#\s*global\.columns\s*=(.*)")
_DOCUMENT = re.compile(r"#\s*begin document\s*(\(|$|\s\S+\s*$)")
_TEXT = r'"(?:[^"\\]|\\.)*"\s*'
# The beginnings of XML, and of JSON with sentences or lists of words.
_STARTS = {
    "json": re.compile(
        rf'\s*(\[\s*){{0,3}}\{{\s*{_TEXT}:\s*(["\[{{0-9-]|(true|false|null)\b)'
        rf'|\s*(\[\s*){{1,3}}{_TEXT}(,\s*"|\]\s*(,\s*\[|[\]\s]*$))'
    ),
    "xml": re.compile(r"\s*<(\?xml\s+version\b|root>\s*<document\b)"),
}
_MAX_LINES = 100  # lines to inspect: JSON and brackets may have one word per line


def recognise(lines: Iterable[str]) -> str:
    """The format of some lines; reads only as many lines as needed.

    Returns:
        ``"conllu"``, ``"conllu-plus"``, ``"ptb"`` (brackets), ``"json"`` (or JSON Lines), ``"xml"``;
        ``"columns"`` for words in columns of another format; or ``"text"``.

    Example:
        >>> from graphdep.io.formats import recognise
        >>> recognise(["(ROOT (S (NP (PRP She)) (VP (VBZ sings))))"]), recognise(["She sings."])
        ('ptb', 'text')
    """
    head, rows, looked, plus = "", list[str](), 0, False
    for line in lines:
        if line.startswith("#") and not rows:
            names = _PLUS.match(line)
            plus = plus or bool(names and names[1].split() != [*map(str.upper, COLUMNS)])
            if _DOCUMENT.match(line):
                return "columns"
        elif line.strip():
            if not head and not rows and (name := _format_of_word(line, plus)):
                return name
            if not head and (name := _format_of_rows([*rows, line])) != "text":
                if name:
                    return name
                rows.append(line)
                continue
            head, looked = f"{head}{line}\n", looked + 1
            if rows or head.lstrip()[0] not in "[{<(" or looked > _MAX_LINES:
                return "text"
            if name := next((name for name, start in _STARTS.items() if start.match(head)), ""):
                return name
            if head.lstrip()[0] == "(" and (bracketed := begins_tree(head)) is not None:
                return "ptb" if bracketed else "text"
    return "text"


def _format_of_word(line: str, plus: bool) -> str:
    """The format by one line of a word; empty if the line is ambiguous."""
    values = line.rstrip("\r\n").split("\t")
    if plus and len(values) > 1:
        return "conllu-plus"
    if len(values) > 5 and _ID.fullmatch(values[0]):
        return "conllu" if len(values) == len(COLUMNS) else "columns"
    words = line.split()
    by_spaces = len(words) == len(COLUMNS) and words[0] == "1" and words.count("_") > 1
    return "columns" if by_spaces or words[0] == "-DOCSTART-" else ""


def _format_of_rows(rows: Sequence[str]) -> str:
    """Whether lines are words in columns; empty if more lines are needed."""
    tabs = [row.rstrip("\r\n").split("\t") for row in rows]
    cells = {
        True: tabs if all(cell.split() for row in tabs for cell in row) else [[]],
        False: [*map(str.split, rows)],
    }
    undecided = False
    for by_tabs, width, enough, are_columns in _ROW_FORMATS:
        found = cells[by_tabs]
        fit = len(found[0]) >= width and len({*map(len, found)}) == 1
        if fit and not any(len(cell.split()) > 1 for row in found for cell in row) and are_columns(found):
            if len(rows) >= enough:
                return "columns"
            undecided = True
    return "" if undecided else "text"


def _counts_from_one(cells: Sequence[Sequence[str]]) -> bool:
    """Whether the first cells count from 1 in each sentence."""
    numbers = [int(row[0]) if _NUMBER.fullmatch(row[0]) else 0 for row in cells]
    return all(number in (1, before + 1) for before, number in zip([0, *numbers], numbers))


def _column_matches(pattern: str, some: str = "") -> Callable[[Sequence[Sequence[str]]], bool]:
    """Whether all cells of a column after the first match the pattern, and at least one contains ``some``."""
    match = re.compile(pattern).fullmatch
    return lambda cells: any(all(map(match, own)) and some in "".join(own) for own in [*zip(*cells)][1:])


_NUMBER = re.compile(r"[0-9]{1,9}")
_has_number = _column_matches(_NUMBER.pattern)
_has_tag = _column_matches(r"O|[BIESLMU]-\S+")
_has_bracket = _column_matches(r"(\([^\s()*]+)*\*\)*", "(")
# Tab-separated or not, least number of columns and of rows, and a test of the rows.
_ROW_FORMATS: tuple[tuple[bool, int, int, Callable[[Sequence[Sequence[str]]], bool]], ...] = (
    (True, 3, 2, _counts_from_one),
    (False, 4, 3, lambda cells: _counts_from_one(cells) and _has_number(cells)),
    (False, 2, 3, _has_tag),
    (False, 3, 3, _has_bracket),
    (True, 2, 5, _column_matches(r"[^\sa-z0-9]+")),
)


def recognised(lines: Lines) -> tuple[str, Iterator[tuple[int, str]]]:
    """The format of numbered lines, and all of the lines."""
    seen: list[tuple[int, str]] = []
    rest = iter(lines)

    def watched() -> Iterator[str]:
        for number, line in rest:
            seen.append((number, line))
            yield line

    return recognise(watched()), chain(seen, rest)


def read_format(name: str, lines: Lines, path: str, *, max_words: int | None, headless: bool) -> Found:
    """The sentences of a file.

    Args:
        name: The format from :func:`recognise`.
        lines: Its numbered lines.
        path: Its name in messages.
        max_words: The longest allowed sentence; :obj:`None` for no limit.
        headless: Whether words may lack a HEAD (``_`` in CoNLL-U), which gives governor -1.

    Raises:
        ValueError: If the format is not supported, or the file is damaged or has no sentence or hardly any
            words: treebanks whose texts are not free have ``_`` instead of words.
    """
    if name in ("conllu", "conllu-plus"):
        rows = lines if name == "conllu" else _ten_columns(lines, path)
        found = Found([*read_blocks(rows, path, max_words=max_words, headless=headless)], False)
    elif name in _READERS:
        found = _READERS[name]([*lines], path, headless)
    else:
        raise _unreadable(name, lines, path)
    if not found.raws:
        raise ConlluError("no sentence in the file", path, 1)
    for raw in found.raws:
        if max_words is not None and len(raw.columns["form"]) > max_words:
            count = len(raw.columns["form"])
            raise place_error(raw.place, f"sentence of more than max_words={max_words} words", count)
    check_words_there(path, (raw.columns["form"] for raw in found.raws))
    return found


WITHHELD = ("_", "[WORD]")
"""Placeholders for words in corpora whose texts are not free."""


def check_words_there(path: str | os.PathLike[str], sentences: Iterable[Sequence[str]]) -> None:
    """Raises :class:`ValueError` if nearly all words of a file are placeholders."""
    total = withheld = 0
    for words in sentences:
        total += len(words)
        withheld += sum(word in WITHHELD for word in words)
    if withheld > 0.9 * total:
        raise ValueError(
            f"{path}: {withheld} of {total} words are {' or '.join(WITHHELD)}: they are withheld, as "
            "the licence of the texts wants it; the README of the corpus says how to put them in"
        )


def _unreadable(name: str, lines: Lines, path: str) -> ConlluError:
    rows = ((number, line) for number, line in lines if line.strip() and not line.startswith("#"))
    number, line = next(rows, (1, ""))
    message = _UNSUPPORTED.get(name, "no tree in any known format")
    if name == "columns" and _ID.fullmatch(line.split()[0] if line else ""):
        count = len(line.split("\t"))
        columns = f"{count} columns" if count > 1 else "columns without tabs"
        message = (
            f"a treebank of {columns}, but CoNLL-U has 10, separated by tabs: a first line such as "
            "'# global.columns = ID FORM XPOS HEAD DEPREL' names other columns"
        )
    return ConlluError(f"{message}; {PAGE} lists what is read", path, number, line)


# Why a file is not supported, and what to do instead.
_UNSUPPORTED = {
    "columns": "words in columns without trees: use --task labels, or graphdep parse --words with one "
    "sentence per line and spaces between the words",
    "docs": "a DocBin of spaCy, which only --task labels reads: use the to_json() output of each Doc instead",
    "table": "a table, which only graphdep predict reads: for other commands write its texts to a .txt file, "
    "one per line",
}


def _ten_columns(lines: Lines, path: str) -> Iterator[tuple[int, str]]:
    """CoNLL-U Plus as CoNLL-U: further columns go to MISC, as ``NAME=value``."""
    names: list[str] = []
    ten = [*map(str.upper, COLUMNS)]
    for number, line in lines:
        if line.startswith("#"):
            match = _PLUS.match(line)
            names = match[1].split() if match else names
            if not match:
                yield number, line
            missing = {"ID", "FORM"} - {*names} if match else ()
            if missing or len({*names}) < len(names):
                raise ConlluError(
                    "columns must be named once each, ID and FORM among them", path, number, line
                )
            continue
        values = line.split("\t")
        if not line.strip():
            yield number, line
            continue
        if len(values) != len(names):
            message = f"{len(values)} tab-separated columns instead of {len(names)}, as global.columns has"
            raise ConlluError(message, path, number, line)
        given = dict(zip(names, values))
        others = [f"{name}={value}" for name, value in given.items() if name not in ten and value != "_"]
        misc = [given["MISC"]] if given.get("MISC", "_") != "_" else []
        given["MISC"] = "|".join([*misc, *others]) or "_"
        yield number, "\t".join(given.get(name, "_") for name in ten)


def _read_ptb(lines: Sequence[tuple[int, str]], path: str, headless: bool) -> Found:
    """Sentences from brackets, which have no governors: -1."""
    raws = []
    for tree in read_brackets(lines, path):
        size = len(tree.form)
        columns = {"form": tree.form, "head": [-1] * size, "deprel": ["_"] * size}
        tags = None if set(tree.tag) == {"_"} else tree.tag
        raws.append(Raw({**columns, "xpos": tags, "constituents": tree.constituents}, f"{path}:{tree.line}"))
    if not raws:
        raise PtbError("no tree", path, 1)
    return Found(raws, False)


def _read_json(lines: Sequence[tuple[int, str]], path: str, headless: bool) -> Found:
    """Sentences from one JSON value, or from JSON Lines."""
    filled = [(number, line) for number, line in lines if line.strip()]
    values: Iterable[tuple[str, Any]]
    if len(filled) > 1 and _is_json(filled[0][1]):
        values = ((f"{path}:{number}", json_value(line, f"{path}:{number}")) for number, line in filled)
    else:
        values = [(path, json_value("\n".join(line for _, line in lines), path))]
    return _read_values((place, _with_heads(value, place, headless)) for place, value in values)


def _with_heads(value: Any, place: str, headless: bool) -> Any:
    """A JSON value in which each word has a governor, -1 if it has none."""
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        if not headless:
            message = f"words without a tree: graphdep parse --words parses them ({PAGE})"
            raise place_error(place, message, value)
        if any(len(word.split()) != 1 for word in value):
            message = "a word of a list is blank or has white space: texts are a line each of a .txt file"
            raise place_error(place, message, value)
        value = {"form": value}
    elif isinstance(value, list):
        return [_with_heads(each, place, headless) for each in value]
    if headless and isinstance(value, Mapping) and not any(value.get(name) for name in COLUMN_NAMES["head"]):
        columns = (value.get(name) for name in COLUMN_NAMES["form"])
        words: list[Any] = next((column for column in columns if isinstance(column, list)), [])
        if words and all(isinstance(word, str) for word in words):
            return {**value, "head": [-1] * len(words), "deprel": ["_"] * len(words)}
    return value


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _read_values(values: Iterable[tuple[str, Any]]) -> Found:
    found = []
    for place, value in values:
        try:
            found.append(read_dicts(value, place))
        except TypeError as error:
            raise place_error(place, str(error)) from None
    labels = frozenset[str]().union(*(each.labels for each in found))
    return Found([raw for each in found for raw in each.raws], False, labels)


def _read_corenlp_xml(lines: Sequence[tuple[int, str]], path: str, headless: bool) -> Found:
    text = "\n".join(line for _, line in lines)
    return _read_values(read_xml(text, path))


_READERS = {"ptb": _read_ptb, "json": _read_json, "xml": _read_corenlp_xml}
