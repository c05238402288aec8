"""Formats of files of trees: told by their content, and read as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from xml.etree import ElementTree

from graphdep.io.files import LineError, json_value, place_error
from graphdep.io.limits import plural
from graphdep.sentence.conllu import COLUMNS, ConlluError, read_blocks
from graphdep.sentence.exchange import PAGE, read_dicts
from graphdep.sentence.ptb import PtbError, read_brackets
from graphdep.sentence.tree import Found, Raw

FORMATS = ("conllu", "conllu-plus", "ptb", "json", "xml")
Lines = Iterable[tuple[int, str]]

_ID = re.compile(r"[0-9]{1,9}([-.][0-9]{1,9})?")
_PLUS = re.compile(r"#\s*global\.columns\s*=(.*)")
# How the first line that is no comment, and lines after it, begin.
_STARTS = {
    "json": re.compile(r'\s*(\[\s*){0,3}\{\s*"(?:[^"\\]|\\.)*"\s*:'),
    "xml": re.compile(r"\s*<(\?xml\b|root>)"),
    "ptb": re.compile(r"\s*\((?:[^\s()a-z]*\s*\(\s*)+[^\s()a-z]+\s+[^\s()]+\)"),
}
_LOOK = 100  # lines to look at: JSON and brackets may have a word a line


def recognise(lines: Iterable[str]) -> str:
    """What some lines are, of which no more are taken than tell it.

    Returns:
        ``"conllu"``, ``"conllu-plus"``, ``"ptb"`` (brackets), ``"json"`` (or JSON Lines), ``"xml"``;
        ``"columns"`` for a treebank in columns of another format; or ``"text"``.

    Example:
        >>> from graphdep.io.formats import recognise
        >>> recognise(["(ROOT (S (NP (PRP She)) (VP (VBZ sings))))"]), recognise(["She sings."])
        ('ptb', 'text')
    """
    head, looked, plus = "", 0, False
    for line in lines:
        if line.startswith("#"):
            names = _PLUS.match(line)
            plus = plus or bool(names and names[1].split() != [*map(str.upper, COLUMNS)])
            if line.startswith("#begin document"):
                return "columns"
        elif line.strip():
            if not head and (name := _of_columns(line, plus)):
                return name
            head, looked = f"{head}{line}\n", looked + 1
            if head.lstrip()[0] not in "[{<(" or looked > _LOOK:
                return "text"
            if name := next((name for name, start in _STARTS.items() if start.match(head)), ""):
                return name
    return "text"


def _of_columns(line: str, plus: bool) -> str:
    """The format of a line of a word; empty where it is none."""
    values = line.rstrip("\r\n").split("\t")
    if plus and len(values) > 1:
        return "conllu-plus"
    if len(values) > 5 and _ID.fullmatch(values[0]):
        return "conllu" if len(values) == len(COLUMNS) else "columns"
    words = line.split()
    by_spaces = len(words) == len(COLUMNS) and words[0] == "1" and words.count("_") > 1
    return "columns" if by_spaces else ""


def recognised(lines: Lines) -> tuple[str, Iterator[tuple[int, str]]]:
    """What some numbered lines are, and all of them."""
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
        name: What :func:`recognise` says that it is.
        lines: Its numbered lines.
        path: What it is called in messages.
        max_words: Refuse a longer sentence; :obj:`None` for no limit.
        headless: Whether CoNLL-U may leave HEAD out, ``_``: governor -1.

    Raises:
        ValueError: If the format is none that is read, the file is damaged, has no sentence, or has hardly
            a word: treebanks without licence for their texts have ``_`` in place of words.
    """
    if name in ("conllu", "conllu-plus"):
        rows = lines if name == "conllu" else _ten_columns(lines, path)
        found = Found([*read_blocks(rows, path, max_words=max_words, headless=headless)], False)
    elif name in _READERS:
        found = _READERS[name]([*lines], path)
    else:
        raise _unreadable(name, lines, path)
    if not found.raws:
        raise ConlluError("no sentence in the file", path, 1)
    for raw in found.raws:
        if max_words is not None and len(raw.columns["form"]) > max_words:
            count = len(raw.columns["form"])
            raise place_error(raw.place, f"sentence of more than max_words={max_words} words", count)
    words = [form for raw in found.raws for form in raw.columns["form"]]
    if (withheld := words.count("_")) > 0.9 * len(words):
        raise ValueError(
            f"{path}: {withheld} of {plural(len(words), 'word')} are '_': the words of this treebank are "
            "withheld, as the licence of its texts wants it; its README says how to put them in"
        )
    return found


def _unreadable(name: str, lines: Lines, path: str) -> ConlluError:
    rows = ((number, line) for number, line in lines if line.strip() and not line.startswith("#"))
    number, line = next(rows, (1, ""))
    count = len(line.split("\t"))
    columns = plural(count, "column") if count > 1 else "columns that no tabs separate"
    what = f"a treebank of {columns}, and CoNLL-U has 10 with tabs between them"
    message = what if name == "columns" else "no tree in any format that is known"
    return ConlluError(f"{message}: {PAGE} lists what is read", path, number, line)


def _ten_columns(lines: Lines, path: str) -> Iterator[tuple[int, str]]:
    """CoNLL-U Plus as CoNLL-U: columns that this does not have go to MISC, as ``NAME=value``."""
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


def _read_ptb(lines: Sequence[tuple[int, str]], path: str) -> Found:
    """Brackets have no governors: -1."""
    raws = []
    for tree in read_brackets(lines, path):
        size = len(tree.form)
        columns = {"form": tree.form, "head": [-1] * size, "deprel": ["_"] * size}
        tags = None if set(tree.tag) == {"_"} else tree.tag
        raws.append(Raw({**columns, "xpos": tags, "constituents": tree.constituents}, f"{path}:{tree.line}"))
    if not raws:
        raise PtbError("no tree", path, 1)
    return Found(raws, False)


def _read_json(lines: Sequence[tuple[int, str]], path: str) -> Found:
    """One value, or JSON Lines."""
    filled = [(number, line) for number, line in lines if line.strip()]
    values: Iterable[tuple[str, Any]]
    if len(filled) > 1 and _is_json(filled[0][1]):
        values = ((f"{path}:{number}", json_value(line, f"{path}:{number}")) for number, line in filled)
    else:
        values = [(path, json_value("\n".join(line for _, line in lines), path))]
    return _of_values(values)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _of_values(values: Iterable[tuple[str, Any]]) -> Found:
    found = []
    for place, value in values:
        try:
            found.append(read_dicts(value, place))
        except TypeError as error:
            raise place_error(place, str(error)) from None
    labels = frozenset[str]().union(*(each.labels for each in found))
    return Found([raw for each in found for raw in each.raws], False, labels)


_GRAPHS = {
    "basic-dependencies": "basicDependencies",
    "enhanced-dependencies": "enhancedDependencies",
    "enhanced-plus-plus-dependencies": "enhancedPlusPlusDependencies",
}


def _read_xml(lines: Sequence[tuple[int, str]], path: str) -> Found:
    """CoreNLP's XML, as its JSON is."""
    text = "\n".join(line for _, line in lines)
    if re.search(r"<!(DOCTYPE|ENTITY)", text):
        raise ValueError(f"{path}: XML with a DOCTYPE or entities, which CoreNLP writes none of")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise LineError(f"no XML: {error}", path, error.position[0]) from None
    sentences = root.findall("document/sentences/sentence")
    if not sentences:
        raise LineError(f"XML without sentences of CoreNLP: {PAGE} lists what is read", path, 1)
    places = ((f"{path}: sentence {number}", each) for number, each in enumerate(sentences, start=1))
    return _of_values((place, _xml_sentence(each, place)) for place, each in places)


_XML = {
    "word": "word",
    "lemma": "lemma",
    "pos": "POS",
    "characterOffsetBegin": "CharacterOffsetBegin",
    "characterOffsetEnd": "CharacterOffsetEnd",
}


def _xml_sentence(sentence: ElementTree.Element, place: str) -> Mapping[str, Any]:
    tokens = [
        {name: token.findtext(tag) for name, tag in _XML.items() if token.find(tag) is not None}
        for token in sentence.iterfind("tokens/token")
    ]
    graphs = {
        _GRAPHS[graph.get("type", "")]: [_xml_edge(dep, place) for dep in graph.iterfind("dep")]
        for graph in sentence.iterfind("dependencies")
        if graph.get("type") in _GRAPHS
    }
    parse = sentence.findtext("parse")
    return {"tokens": tokens, **graphs, **({} if parse is None else {"parse": parse})}


def _xml_edge(dep: ElementTree.Element, place: str) -> dict[str, Any]:
    edge: dict[str, Any] = {"dep": dep.get("type", "")}
    for name in ("governor", "dependent"):
        end = dep.find(name)
        number, copy = ("", "0") if end is None else (end.get("idx", ""), end.get("copy", "0"))
        if not (number + copy).isdecimal() or not number:
            raise place_error(place, f"a {name} must have the number of a word as its idx", number)
        edge |= {name: int(number), f"{name}Copy": int(copy)}
    return edge


_READERS = {"ptb": _read_ptb, "json": _read_json, "xml": _read_xml}
