"""Reader of CoreNLP's JSON, XML and protobuf sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from graphdep.io.files import LineError, place_error
from graphdep.io.limits import shown
from graphdep.sentence.ptb import PtbError, read_brackets
from graphdep.sentence.tree import PAGE, Raw

# A node is the number of its word and of its copy (0 for the word itself).
Node = tuple[int, int]
Edge = tuple[Node, str, Node]
_ROOT: Node = (0, 0)
# Keys of the basic tree in the JSON of CoreNLP 3.6 and later, and of earlier versions.
_BASIC = ("basicDependencies", "basic-dependencies")
_GRAPHS = ("enhancedPlusPlusDependencies", "enhancedDependencies")


def is_corenlp(value: object) -> bool:
    """Whether a value is a sentence in CoreNLP's JSON."""
    tokens = value.get("tokens") if isinstance(value, Mapping) else None
    if not isinstance(tokens, list) or not tokens:
        return False
    return all(isinstance(token, Mapping) and "word" in token for token in tokens)


def read_sentence(answer: Mapping[str, Any], place: str = "") -> Raw:
    """Reads a sentence in CoreNLP's JSON: the basic tree; the arcs of enhanced++, or of enhanced if the JSON
    merges copy nodes; and the constituents of ``parse``.

    Raises:
        ValueError: If a token has no word or an unexpected index, there is no basic tree, or an arc names no
            word.
    """
    for number, token in enumerate(answer["tokens"]):
        word, place_of = token["word"], token.get("index", number + 1)
        if not isinstance(word, str) or not word or place_of != number + 1:
            raise ValueError(
                f"'tokens[{number}]' must have a text as its word and the index {number + 1} "
                f"(got {shown(token)})"
            )
    columns = word_columns(answer["tokens"])
    size = len(columns["form"])
    basic = next((answer[name] for name in _BASIC if name in answer), None)
    if basic is None:
        raise ValueError(f"no {_BASIC[0]!r} among the keys {sorted(map(str, answer))}: add depparse")
    arcs = _checked(basic, _BASIC[0], size)
    twice = [word for word, count in Counter(arc["dependent"] for arc in arcs).items() if count > 1]
    if twice:
        raise ValueError(f"{_BASIC[0]!r} has several governors for word {twice[0]}")
    columns["head"], columns["deprel"] = basic_tree(columns["form"], arcs)
    found = ((name, _checked(answer[name], name, size)) for name in _GRAPHS if answer.get(name))
    if edges := next((edges for _, edges in found if not merged_copies(edges)), None):
        columns |= graph_columns(columns, json_edges(edges))
    parse = answer.get("parse")
    if isinstance(parse, str) and parse.lstrip().startswith("("):  # SENTENCE_SKIPPED_OR_UNPARSABLE
        columns["constituents"] = _constituents(parse, size, place)
    return Raw(columns, place)


def _constituents(text: str, size: int, place: str) -> list[tuple[str, int, int]]:
    try:
        trees = [*read_brackets(enumerate(text.splitlines(), start=1), place, functions=True)]
    except PtbError as error:
        raise ValueError(f"'parse': {error.message}") from None
    if [len(tree.form) for tree in trees] != [size]:
        raise ValueError(f"'parse' is not one tree of {size} words (got {shown(text)})")
    return trees[0].constituents


def _checked(edges: Any, name: str, size: int) -> list[Mapping[str, Any]]:
    """The arcs, after a check that each goes from a word or 0 to a word."""
    for number, edge in enumerate(edges if isinstance(edges, list) else [edges]):
        right = isinstance(edge, Mapping) and isinstance(edge.get("dep"), str)
        ends = [edge.get("governor"), edge.get("dependent")] if right else []
        if not right or any(type(end) is not int or not 0 <= end <= size for end in ends) or not ends[1]:
            raise ValueError(f"'{name}[{number}]' must have governor, dependent and dep (got {shown(edge)})")
    return list(edges)


def read_xml(text: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The sentences of CoreNLP's XML in the form of its JSON, each with its place."""
    if re.search(r"<!(DOCTYPE|ENTITY)", text):
        raise ValueError(f"{path}: XML with a DOCTYPE or entities, which CoreNLP never writes")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise LineError(f"no XML: {error}", path, error.position[0]) from None
    sentences = root.findall("document/sentences/sentence")
    if not sentences:
        raise LineError(f"XML without sentences of CoreNLP: {PAGE} lists what is read", path, 1)
    for number, sentence in enumerate(sentences, start=1):
        place = f"{path}: sentence {number}"
        yield place, _xml_sentence(sentence, place)


# JSON keys by the names in the XML.
_OF_XML = {
    "basic-dependencies": "basicDependencies",
    "enhanced-dependencies": "enhancedDependencies",
    "enhanced-plus-plus-dependencies": "enhancedPlusPlusDependencies",
}
_TAGS = {
    "word": "word",
    "lemma": "lemma",
    "pos": "POS",
    "characterOffsetBegin": "CharacterOffsetBegin",
    "characterOffsetEnd": "CharacterOffsetEnd",
}


def _xml_sentence(sentence: ElementTree.Element, place: str) -> dict[str, Any]:
    tokens = []
    for number, token in enumerate(sentence.iterfind("tokens/token"), start=1):
        named = token.get("id", str(number))
        values = {name: token.findtext(tag) for name, tag in _TAGS.items() if token.find(tag) is not None}
        tokens.append({"index": int(named) if named.isdecimal() else named, "word": None, **values})
    graphs = {
        _OF_XML[graph.get("type", "")]: [_xml_edge(dep, place) for dep in graph.iterfind("dep")]
        for graph in sentence.iterfind("dependencies")
        if graph.get("type") in _OF_XML
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


def word_columns(tokens: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of the tokens, and the spaces between them."""
    form = [str(token.get("originalText") or token["word"]) for token in tokens]
    after = [_space_after(token, following) for token, following in zip(tokens, [*tokens[1:], {}])]
    line = " ".join("".join(f + " " * space for f, space in zip(form, after)).split())
    return {
        "form": form,
        "lemma": _column([token.get("lemma") for token in tokens]),
        "xpos": _column([token.get("pos") for token in tokens]),
        "misc": _column(["_" if space else "SpaceAfter=No" for space in after]),
        "comments": [f"# text = {line}"],
    }


def _space_after(token: Mapping[str, Any], following: Mapping[str, Any]) -> bool:
    if "after" in token:
        return bool(token["after"])
    end, start = token.get("characterOffsetEnd"), following.get("characterOffsetBegin")
    return end is None or end != start


def _column(values: Sequence[Any]) -> list[str] | None:
    filled = ["_" if value in (None, "") else str(value) for value in values]
    return None if set(filled) == {"_"} else filled


def basic_tree(form: Sequence[str], edges: Iterable[Mapping[str, Any]]) -> tuple[list[int], list[str]]:
    """Heads and relations from the JSON edges of a basic tree.

    Some models leave punctuation out of the tree: such words depend on the first root; without a root they
    have no governor (-1).
    """
    of_word = {int(e["dependent"]): (int(e["governor"]), _label(int(e["governor"]), e["dep"])) for e in edges}
    root = next((word for word, (governor, _) in of_word.items() if governor == 0), -1)
    missing = [(root, "dep" if any(map(str.isalnum, word)) else "punct") for word in form]
    pairs = [of_word.get(word, missing[word - 1]) for word in range(1, len(form) + 1)]
    return [governor for governor, _ in pairs], [label for _, label in pairs]


def merged_copies(edges: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the JSON of a graph merges copy nodes with their words: both have the same number."""
    return any(edge["governor"] == edge["dependent"] and "governorCopy" not in edge for edge in edges)


def json_edges(edges: Iterable[Mapping[str, Any]]) -> list[Edge]:
    """The edges of a graph in JSON, which has no copies, or in XML, which numbers them."""
    return [
        (
            (int(e["governor"]), e.get("governorCopy", 0)),
            e["dep"],
            (int(e["dependent"]), e.get("dependentCopy", 0)),
        )
        for e in edges
    ]


def protobuf_edges(graph: Any) -> list[Edge]:
    """The edges of a graph in a protobuf message, with copies."""
    edges: list[Edge] = [
        ((e.source, _number(e, "source")), e.dep, (e.target, _number(e, "target"))) for e in graph.edge
    ]
    return [(_ROOT, "root", (word, 0)) for word in graph.root] + edges


def _number(edge: Any, end: str) -> int:
    # A node is either a copy of a word or an empty node after a word.
    return int(getattr(edge, f"{end}Copy") or getattr(edge, f"{end}Empty"))


def graph_columns(columns: Mapping[str, Any], edges: Sequence[Edge]) -> dict[str, Any]:
    """Enhanced arcs, and copies as empty nodes, for a sentence with these columns."""
    words = range(1, len(columns["form"]) + 1)
    pairs: dict[Node, set[tuple[Node, str]]] = {(word, 0): set() for word in words}
    for governor, label, dependent in edges:
        pairs.setdefault(dependent, set()).add((governor, _label(governor[0], label)))
        if governor != _ROOT:
            pairs.setdefault(governor, set())
    names = _names(pairs)
    deps = {node: [(names[g], label) for g, label in sorted(pairs[node])] for node in pairs}
    empty = [_empty_row(columns, node, names[node], deps[node]) for node in sorted(pairs) if node[1]]
    return {"deps": [deps[word, 0] for word in words], "empty": empty}


def _names(nodes: Iterable[Node]) -> dict[Node, str]:
    """Ids of the nodes; copies are numbered from 1 without gaps, as CoNLL-U requires."""
    names, copies = {_ROOT: "0"}, {0: 0}
    for word, copy in sorted(nodes):
        copies[word] = copies[word] + 1 if copy else 0
        names[word, copy] = f"{word}.{copies[word]}" if copy else str(word)
    return names


def _empty_row(
    columns: Mapping[str, Any], node: Node, name: str, deps: list[tuple[str, str]]
) -> tuple[str, ...]:
    word = node[0] - 1
    lemma, xpos = (columns[n][word] if columns.get(n) else "_" for n in ("lemma", "xpos"))
    arcs = "|".join(f"{governor}:{label}" for governor, label in deps) or "_"
    return (name, columns["form"][word], lemma, "_", xpos, "_", "_", "_", arcs, f"CopyOf={node[0]}")


def _label(governor: int, label: str) -> str:
    return "root" if governor == 0 else label
