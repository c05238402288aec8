"""Conversion between sentences and spaCy, Stanza, conllu, NetworkX and plain dictionaries."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from operator import index
from typing import TYPE_CHECKING, Any

from graphdep.io.extras import check_extra
from graphdep.io.files import placed
from graphdep.io.limits import check_choice, check_length, near_key, shown
from graphdep.sentence.conllu import read_blocks
from graphdep.sentence.corenlp import is_corenlp, read_sentence
from graphdep.sentence.tree import PAGE, Found, Raw, chain_columns, is_from, parse_deps

if TYPE_CHECKING:
    from graphdep.sentence import Sentence


# Names of each column in other libraries, CoNLL-U's own first.
_NAMES = (
    ("id",),
    ("form", "text", "word", "token"),
    ("lemma",),
    ("upos", "upostag"),
    ("xpos", "xpostag", "tag"),
    ("feats", "morph"),
    ("head",),
    ("deprel", "dep", "rel"),
    ("deps",),
    ("misc",),
)


def word_lines(words: Iterable[Mapping[str, Any]], comments: Iterable[str] = ()) -> list[str]:
    """The CoNLL-U lines of a sentence; words without an ``id`` are numbered."""
    lines, words = [*comments], [*words]
    pos = _tag_set(word.get("pos") for word in words)
    columns = [(*names, "pos") if pos in names else names for names in _NAMES]
    for number, word in enumerate(words, start=1):
        values = [next((word[name] for name in names if name in word), None) for names in columns]
        for name, place in (("form", 1), ("deprel", 7)):
            if word.get("head") is not None and values[place] is None:
                raise ValueError(f"word {number}: no {name!r} among the keys {sorted(map(str, word))}")
        values[0] = _id(values[0] if values[0] is not None else number)
        lines.append("\t".join(_text(value) for value in values))
    return lines


def without_lost_arcs(lines: Iterable[str]) -> list[str]:
    """CoNLL-U lines without enhanced arcs from missing empty nodes, which stanza leaves if it does not read
    these nodes; a word without another enhanced arc gets its basic one.
    """
    rows = [line.split("\t") for line in lines]
    known = {row[0] for row in rows}
    for row in rows:
        if len(row) == 10 and "." in row[8]:
            arcs = [(head, label) for head, label in parse_deps(row[8]) if "." not in head or head in known]
            row[8] = "|".join(f"{head}:{label}" for head, label in arcs or [(row[6], row[7])])
    return ["\t".join(row) for row in rows]


def _tag_set(tags: Iterable[Any]) -> str:
    """The column of tags named ``pos``: UPOS if all are universal tags, else XPOS."""
    return "upos" if {tag or "_" for tag in tags} <= _UPOS else "xpos"


def _id(value: Any) -> str:
    """``3``, ``3-4`` or ``3.1``, from a number, stanza's (3,), (3, 4) or (3, 1), or conllu's (3, "-", 4)."""
    if not isinstance(value, tuple | list):
        return str(value)
    if len(value) != 2:
        return "".join(map(str, value))
    first, second = value
    return f"{first}-{second}" if 0 < first < second else f"{first}.{second}"


def _text(value: Any) -> str:
    """A value in CoNLL-U format; ``_`` for a missing value."""
    if isinstance(value, Mapping):
        pairs = (f"{key}={item}" if item is not None else str(key) for key, item in value.items())
        return "|".join(pairs) or "_"
    if isinstance(value, list | tuple):  # conllu's enhanced arcs: (label, head)
        return "|".join(f"{_id(head)}:{label}" for label, head in value) or "_"
    return "_" if value is None or value == "" else str(value)


def read_token_lists(parsed: Any) -> Found:
    """The sentences of one ``TokenList`` or of several."""
    single = is_token_list(parsed)
    found = [parsed] if single else list(parsed) if _may_be_list(parsed) else [parsed]
    raws: list[Raw] = []
    for number, tokens in enumerate(found):
        _check_kind(is_token_list(tokens), _CONLLU_TAKES, tokens)
        if not len(tokens):
            raise ValueError(f"sentence {number}: a TokenList without a word")
        comments = (f"# {key}" + ("" if value is None else f" = {value}") for key, value in _metadata(tokens))
        lines = enumerate(word_lines(tokens, comments), start=1)
        raws += read_blocks(lines, f"sentence {number}")
    return Found(raws, single)


_CONLLU_TAKES = (
    "from_conllu takes a TokenList of the package conllu, or several (text is for "
    "graphdep.io.parse_conllu, a file for graphdep.io.read_conllu)"
)


def _check_kind(right: bool, takes: str, value: object) -> None:
    if not right:
        raise TypeError(f"{takes} (got {shown(value)})")


def is_token_list(parsed: object) -> bool:
    """Whether a value is a ``TokenList`` of the package conllu."""
    return is_from(parsed, "conllu", "TokenList")


def _may_be_list(parsed: object) -> bool:
    return isinstance(parsed, Iterable) and not isinstance(parsed, str | bytes | dict)


def _metadata(tokens: Any) -> Iterable[tuple[str, str | None]]:
    return (tokens.metadata or {}).items()


# Accepted keys of each column; the first is the argument of Sentence. TACRED's keys begin with stanford_.
COLUMN_NAMES = {
    "form": ("form", "words", "tokens", "token", "word"),
    "head": ("head", "heads", "stanford_head", "predicted_heads"),
    "deprel": ("deprel", "deprels", "stanford_deprel", "predicted_dependencies"),
    "lemma": ("lemma", "lemmas"),
    "upos": ("upos",),
    "xpos": ("xpos", "stanford_pos"),
    "feats": ("feats",),
    "misc": ("misc",),
}
_OTHER_NAMES = tuple(name for names in COLUMN_NAMES.values() for name in names)
_FURTHER = ("pos", "deps", "edges", "constituents", "comments", "multiword", "empty")
_UPOS = frozenset("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _".split())
_DICT_TAKES = (
    "from_dict takes a mapping with 'form' (or 'words', 'tokens', 'token', 'word'), 'head' and 'deprel', a "
    "list of words that are mappings with 'id', 'text', 'head' and 'deprel', what CoreNLP and spaCy write as "
    f"JSON, or a list of these ({PAGE})"
)


def key_of(values: Mapping[str, Any], name: str) -> str | None:
    """The key of a column in a mapping.

    Raises:
        ValueError: If several keys of the column have different values.
    """
    keys = [key for key in COLUMN_NAMES[name] if values.get(key) is not None]
    contents = [_comparable(values[key]) for key in keys]
    for key, content in zip(keys, contents):
        if content != contents[0]:
            raise ValueError(f"{keys[0]!r} and {key!r} are the same column, and differ: leave one out")
    return keys[0] if keys else None


def _comparable(values: Any) -> Any:
    return [*map(str, values)] if isinstance(values, Iterable) and not isinstance(values, str) else values


def read_dicts(parsed: Any, place: str = "") -> Found:
    """The sentence of a mapping or of a list of words, or all sentences of a list or document."""
    if isinstance(parsed, Mapping):
        return _read_mapping(parsed, place)
    if is_words(parsed):
        return Found(_read_words(parsed, place or "sentence 0"), True)
    _check_kind(isinstance(parsed, Sequence) and not isinstance(parsed, str | bytes), _DICT_TAKES, parsed)
    found = []
    for number, each in enumerate(parsed):
        _check_kind(isinstance(each, Mapping) or is_words(each), _DICT_TAKES, each)
        found.append(read_dicts(each, f"{place}: sentence {number}" if place else f"sentence {number}"))
    raws = [raw for each in found for raw in each.raws]
    return Found(raws, False, frozenset[str]().union(*(each.labels for each in found)))


def _read_mapping(parsed: Mapping[str, Any], place: str) -> Found:
    with placed(place):
        if _is_spacy_json(parsed):
            return _read_spacy_json(parsed, place)
        if is_corenlp(parsed):
            return Found([read_sentence(parsed, place)], True)
    if isinstance(parsed.get("sentences"), list) and not parsed.keys() & {*COLUMN_NAMES["head"]}:
        return dataclasses.replace(read_dicts(parsed["sentences"], place), single=False)
    with placed(place):
        return Found([Raw(_columns(parsed), place)], True)


def _read_words(words: Iterable[Mapping[str, Any]], place: str) -> list[Raw]:
    lines = enumerate(without_lost_arcs(word_lines(words)), start=1)
    return [*read_blocks(lines, place)]


def is_words(value: object) -> bool:
    """Whether a value is a list of words, not of sentences: a word has a single governor."""
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(word, Mapping) and _is_governor(word.get("head")) for word in value)
        and any("head" in word for word in value)
    )


def _is_governor(head: Any) -> bool:
    """Whether a value is the governor of one word, valid or not, and not a column of governors."""
    return isinstance(head, str | float | None) or _as_int(head) is not None


def _columns(sentence: Mapping[str, Any]) -> dict[str, Any]:
    keys = {name: key_of(sentence, name) for name in COLUMN_NAMES}
    found: dict[str, Any] = {name: None if key is None else sentence[key] for name, key in keys.items()}
    lists = [str(key) for key, value in sentence.items() if isinstance(value, list | tuple)]
    if message := near_key(lists, [*COLUMN_NAMES, *_FURTHER], _OTHER_NAMES):
        raise ValueError(message)
    alone = sentence.get("edges") is not None and found["head"] is found["deprel"] is None
    if alone and found["form"] is not None:  # a parser will give the tree
        head, deprel = chain_columns(len(_rows("form", found["form"])))
        found |= {"head": head, "deprel": deprel}
    missing = [name for name in ("form", "head", "deprel") if found[name] is None]
    if missing:
        raise ValueError(f"no {missing[0]!r} among the keys {sorted(map(str, sentence))}: {_DICT_TAKES}")
    tags: Any = sentence.get("pos")
    tags = tags.tolist() if hasattr(tags, "tolist") else tags
    if isinstance(tags, str):
        raise ValueError(f"'pos' must be a list (got {shown(tags)})")
    if isinstance(tags, list | tuple) and all(isinstance(tag, str | None) for tag in tags):
        name = _tag_set(tags)
        found[name] = tags if found[name] is None else found[name]
    columns: dict[str, Any] = {n: _texts(n, values) for n, values in found.items() if n != "head"}
    columns["head"] = [
        _governor_of(word, value) for word, value in enumerate(_rows("head", found["head"]), start=1)
    ]
    for name in found:
        if columns[name] is not None:
            check_length(name, columns[name], len(columns["form"]), "words")
    _check_ids(sentence.get("id"), len(columns["form"]))
    if sentence.get("edges") is not None:
        if sentence.get("deps") is not None:
            raise ValueError("'edges' and 'deps' are both arcs of a graph: leave one of them out")
        columns["deps"] = _arcs(sentence["edges"], len(columns["form"]))
    elif deps := _rows("deps", sentence.get("deps")):
        columns["deps"] = [_deps(word, value) for word, value in enumerate(deps, start=1)]
    if sentence.get("constituents") is not None:
        columns["constituents"] = _tuples("constituents", sentence["constituents"])
    columns["comments"] = _comments(sentence)
    for name in ("multiword", "empty"):
        columns[name] = _tuples(name, sentence.get(name))
    several = check_choice("multiroot", sentence.get("multiroot"), (True, False, None))
    columns["multiroot"] = bool(several) and columns["head"].count(0) > 1
    return columns | ({"tree_from": "chain"} if alone else {})


def _check_ids(ids: Any, words: int) -> None:
    """Raises :class:`ValueError` if ids do not number the words from 1."""
    if isinstance(ids, list | tuple) and [*map(str, ids)] != [str(n) for n in range(1, words + 1)]:
        raise ValueError(f"'id' must number the words from 1 in their order (got {shown(ids)})")


def _rows(name: str, values: Any) -> list[Any]:
    """A column as a list; empty if it is missing."""
    if isinstance(values, str) or not isinstance(values, Iterable | None):
        raise ValueError(f"{name!r} must be a list (got {shown(values)})")
    return [] if values is None else [*values]


def _tuples(name: str, values: Any) -> list[tuple[Any, ...]]:
    rows = _rows(name, values)
    for number, row in enumerate(rows):
        if not isinstance(row, list | tuple):
            raise ValueError(f"'{name}[{number}]' must be a list (got {shown(row)})")
    return [tuple(row) for row in rows]


def _texts(name: str, values: Any) -> list[str] | None:
    if values is None:
        return None
    rows = _rows(name, values)
    texts = ["_" if value is None or value == "" else value for value in rows]
    for word, text in enumerate(texts, start=1):
        if not isinstance(text, str) or (name == "form" and not rows[word - 1]):
            raise ValueError(f"word {word}: {name!r} must be text (got {shown(rows[word - 1])})")
    return texts if name in ("form", "deprel") or set(texts) != {"_"} else None


_DIGITS = 10  # more than any sentence has


def _governor_of(word: int, value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < _DIGITS:
        return int(value)
    if (number := _as_int(value)) is None:
        raise ValueError(f"word {word}: 'head' must be a whole number from 0 (got {shown(value)})")
    return number


def _as_int(value: Any) -> int | None:
    """A whole number, even one of NumPy, as a Python int; :obj:`None` for anything else."""
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:  # NumPy arrays have an __index__ that raises
        return None


def _deps(word: int, value: Any) -> list[tuple[str, str]]:
    """``"2:nsubj|4:conj"``, or pairs of head and label, as pairs."""
    if value is None:
        return []
    pairs = parse_deps(value) if isinstance(value, str) else value
    try:
        return [(str(head), str(label)) for head, label in pairs]
    except (TypeError, ValueError):
        raise ValueError(
            f"word {word}: 'deps' must be pairs of head and label (got {shown(value)})"
        ) from None


def _arcs(edges: Any, words: int) -> list[list[tuple[str, str]]]:
    """``[source, target, label]`` by target word; words count from 1, source 0 is the root."""
    deps: list[list[tuple[str, str]]] = [[] for _ in range(words)]
    for number, edge in enumerate(_rows("edges", edges)):
        edge = edge.tolist() if hasattr(edge, "tolist") else edge
        three = isinstance(edge, list | tuple) and len(edge) == 3
        source, target, label = (_as_int(edge[0]), _as_int(edge[1]), edge[2]) if three else (None, None, "")
        named = isinstance(label, str) and label != ""
        known = source in range(words + 1) and target in range(1, words + 1)
        if source is None or target is None or not (named and known):
            raise ValueError(
                f"'edges[{number}]' must be [source, target, label], with words from 1 to {words} and 0 for "
                f"the root as source (got {shown(edge)})"
            )
        deps[target - 1].append((str(source), label))
    return deps


def _comments(sentence: Mapping[str, Any]) -> list[str]:
    comments = _rows("comments", sentence.get("comments"))
    text = sentence.get("text")
    return comments if comments or not isinstance(text, str) else [f"# text = {' '.join(text.split())}"]


def read_spacy(parsed: Any) -> Found:
    """The sentences of a ``Doc``, or the sentence of a ``Span``."""
    _check_kind(is_spacy(parsed), "from_spacy takes a Doc or a Span of spaCy", parsed)
    single = is_from(parsed, "spacy.tokens", "Span")
    doc = parsed.doc if single else parsed
    if len(doc) and not doc.has_annotation("DEP"):
        raise ValueError(f"the Doc {doc.text[:60]!r} has no parse: give it to a pipeline with a parser")
    spans = [parsed] if single else list(doc.sents) if len(doc) else []
    if single:
        _check_tree(parsed)
    sentences = [[token for token in span if not token.is_space] for span in spans]
    raws = [
        Raw({**word_columns(tokens, text=True), **tree_columns(tokens)}) for tokens in sentences if tokens
    ]
    labels = {token.dep_ for token in doc}
    if doc.lang_ == "en" and not labels.isdisjoint(_NO_UD):
        labels.add("pobj")  # spaCy's English parsers use CLEAR, never UD 1, which shares labels
    return Found(raws, single, frozenset(labels))


_NO_UD = ("auxpass", "csubjpass", "dobj", "neg", "nsubjpass")


@dataclasses.dataclass
class _Token:
    """The parts of spaCy's ``Token`` that a sentence needs, from JSON."""

    doc: list[_Token] = dataclasses.field(repr=False)
    i: int
    text: str
    whitespace_: str
    governor: int
    lemma_: str
    pos_: str
    tag_: str
    morph: str
    dep_: str

    @property
    def is_space(self) -> bool:
        return self.text.isspace()

    @property
    def head(self) -> _Token:
        return self.doc[self.governor]


def _is_spacy_json(parsed: Mapping[str, Any]) -> bool:
    tokens = parsed.get("tokens")
    words = isinstance(tokens, list) and all(isinstance(t, Mapping) and "start" in t for t in tokens)
    return words and isinstance(parsed.get("text"), str)


def _read_spacy_json(parsed: Mapping[str, Any], place: str) -> Found:
    """The sentences of ``Doc.to_json()``: character offsets, and governors numbered across the document."""
    tokens, text = parsed["tokens"], parsed["text"]
    if any("head" not in token or not token.get("dep") for token in tokens):
        raise ValueError(f"the Doc {text[:60]!r} has no parse: give it to a pipeline with a parser")
    starts = [_start(f"tokens[{number}]", token, text) for number, token in enumerate(tokens)]
    doc: list[_Token] = []
    for number, token in enumerate(tokens):
        governor, end = token["head"], token["end"]
        if type(governor) is not int or not 0 <= governor < len(tokens):
            raise ValueError(f"'tokens[{number}]': 'head' is not a token number (got {shown(governor)})")
        space = " " if text[end : end + 1] == " " else ""
        tags = [str(token.get(name) or "") for name in ("lemma", "pos", "tag", "morph", "dep")]
        doc.append(_Token(doc, number, text[starts[number] : end], space, governor, *tags))
    raws, left = [], {token.i for token in doc if not token.is_space}
    for number, sent in enumerate(_rows("sents", parsed.get("sents")) or [{"start": 0, "end": len(text)}]):
        first = _start(f"sents[{number}]", sent, text)
        inside = [t for t, start in zip(doc, starts) if first <= start < sent["end"] and not t.is_space]
        if not left.issuperset(token.i for token in inside):
            raise ValueError(f"'sents[{number}]' has tokens of another sentence (got {shown(sent)})")
        left -= {token.i for token in inside}
        columns = {**word_columns(inside, text=True), **tree_columns(inside)}
        if inside:
            raws.append(Raw(columns, f"{place}: sentence {number}" if place else f"sentence {number}"))
    if left:
        raise ValueError(f"'tokens[{min(left)}]' is in none of 'sents' (got {doc[min(left)].text!r})")
    return Found(raws, False, frozenset(token.dep_ for token in doc))


def _start(name: str, span: Mapping[str, Any], text: str) -> int:
    """The start of a token or sentence, after a check that its offsets are within the text."""
    start, end = (span.get(name) if isinstance(span, Mapping) else None for name in ("start", "end"))
    if type(start) is int and type(end) is int and 0 <= start < end <= len(text):
        return start
    raise ValueError(f"{name!r} is not in the text of {len(text)} characters (got {shown(span)})")


def is_spacy(parsed: object) -> bool:
    """Whether a value is spaCy's ``Doc`` or ``Span``."""
    return is_from(parsed, "spacy.tokens", "Doc", "Span")


def word_columns(tokens: list[Any], *, text: bool) -> dict[str, Any]:
    """The columns of a sentence besides its tree; with ``text`` also the spaces between words."""
    columns: dict[str, Any] = {
        "form": [token.text for token in tokens],
        "lemma": _column([token.lemma_ for token in tokens]),
        "upos": _column([token.pos_ for token in tokens]),
        "xpos": _column([token.tag_ for token in tokens]),
        "feats": _column([str(token.morph) for token in tokens]),
    }
    if text:
        columns["misc"] = _column(["_" if _space_after(token) else "SpaceAfter=No" for token in tokens])
        line = "".join(token.text + (" " if _space_after(token) else "") for token in tokens)
        columns["comments"] = [f"# text = {' '.join(line.split())}"]
    return columns


def tree_columns(tokens: list[Any]) -> dict[str, Any]:
    """Governors and relations; ``ROOT`` becomes ``root``."""
    head = token_heads(tokens)
    labels = [
        "root" if governor == 0 else token.dep_ if token.dep_ not in ("", "ROOT") else "dep"
        for governor, token in zip(head, tokens)
    ]
    return {"head": head, "deprel": labels}


def token_heads(tokens: list[Any]) -> list[int]:
    """The governor of each token of a sentence, from 1, 0 for a root. The dependents of skipped white space
    move to its governor, or, if it was the root, to the first of them.
    """
    number = {token.i: i for i, token in enumerate(tokens, start=1)}
    tops = [_governor(token, number) for token in tokens]
    head = [number.get(top.i, 0) for top in tops]
    head = [0 if governor == i else governor for i, governor in enumerate(head, start=1)]
    lost = [i for i, top in enumerate(tops) if top.is_space and top.i not in number]
    roots = [i for i, governor in enumerate(head) if governor == 0 and i not in lost] or lost[:1]
    for other in lost:
        head[other] = 0 if other in roots else roots[0] + 1
    return head


def _governor(token: Any, number: dict[int, int]) -> Any:
    """The nearest ancestor that was not skipped."""
    governor = token.head
    while governor.i not in number and governor.head.i != governor.i:
        governor = governor.head
    return governor


def _check_tree(span: Any) -> None:
    """Checks that a Span, which may be a part of a sentence, is one tree."""
    words = [token for token in span if not token.is_space]
    tops = [t.text for t in span if t.head.i == t.i or not span.start <= t.head.i < span.end]
    if not words or len(tops) > 1:
        raise ValueError(
            f"the Span {span.text[:60]!r} is not one tree: {', '.join(map(repr, tops[:5]))} hang from "
            "nothing in it (a sentence is one of doc.sents)"
        )


def _space_after(token: Any) -> bool:
    last = token.i + 1 == len(token.doc)
    return bool(token.whitespace_) or last or token.doc[token.i + 1].is_space


def _column(values: list[str]) -> list[str] | None:
    filled = [value or "_" for value in values]
    return None if set(filled) == {"_"} else filled


def read_stanza(parsed: Any) -> Found:
    """The sentences of a ``Document``, or the sentence of a ``Sentence``."""
    _check_kind(is_stanza(parsed), "from_stanza takes a Document or a Sentence of stanza", parsed)
    single = is_from(parsed, "stanza", "Sentence")
    raws: list[Raw] = []
    for number, sentence in enumerate([parsed] if single else parsed.sentences):
        if any(word.head is None for word in sentence.words):
            raise ValueError(
                f"stanza's sentence {str(sentence.text)[:60]!r} has no parse: its pipeline needs 'depparse'"
            )
        lines = enumerate(without_lost_arcs(f"{sentence:C-o}".split("\n")), start=1)
        raws += read_blocks(lines, f"sentence {number}")
    return Found(raws, single)


def is_stanza(parsed: object) -> bool:
    """Whether a value is stanza's ``Document`` or ``Sentence``."""
    return is_from(parsed, "stanza", "Document", "Sentence")


def networkx_graph(sentence: Sentence, arcs: str, root: bool) -> Any:
    """The tree as a graph, or with ``arcs="enhanced"`` the enhanced graph."""
    check_choice("arcs", arcs, ("basic", "enhanced"))
    if arcs == "enhanced" and sentence.deps is None:
        raise ValueError("the sentence has no enhanced graph: 'deps' is None")
    check_extra("to_networkx", "networkx")
    networkx = import_module("networkx")
    graph = networkx.MultiDiGraph() if arcs == "enhanced" else networkx.DiGraph()
    graph.graph["text"] = sentence.text
    if root:
        graph.add_node(0, form="ROOT")
    for word, attributes in enumerate(_attributes(sentence), start=1):
        graph.add_node(word, **attributes)
    if arcs == "basic":
        for word, (governor, label) in enumerate(zip(sentence.head, sentence.deprel), start=1):
            if root or governor:
                graph.add_edge(governor, word, deprel=label)
        return graph
    for row in sentence.empty:
        graph.add_node(row[0], form=row[1])
    for head, node, label in sentence.enhanced_arcs:
        if root or head != "0":
            graph.add_edge(_node(head), _node(node), deprel=label)
    return graph


def _attributes(sentence: Sentence) -> list[dict[str, str]]:
    names = ("form", "lemma", "upos", "xpos", "feats", "misc")
    columns = {name: getattr(sentence, name) for name in names if getattr(sentence, name) is not None}
    return [{name: values[word] for name, values in columns.items()} for word in range(len(sentence))]


def _node(word: str) -> int | str:
    """A word as its number; an empty node as a string such as ``"8.1"``."""
    return word if "." in word else int(word)


def spacy_doc(sentence: Sentence, vocab: Any) -> Any:
    """The ``Doc`` of one sentence."""
    check_extra("to_spacy", "spacy")
    tokens = import_module("spacy.tokens")
    columns = {
        "lemmas": sentence.lemma,
        "pos": sentence.upos,
        "tags": sentence.xpos,
        "morphs": sentence.feats,
    }
    given = {name: ["" if v == "_" else v for v in values] for name, values in columns.items() if values}
    return tokens.Doc(
        import_module("spacy.vocab").Vocab() if vocab is None else vocab,
        words=sentence.form,
        spaces=_spaces(sentence),
        heads=[governor - 1 if governor else word for word, governor in enumerate(sentence.head)],
        deps=[
            label if governor or label != "root" else "ROOT"
            for label, governor in zip(sentence.deprel, sentence.head)
        ],
        **given,
    )


def _spaces(sentence: Sentence) -> list[bool]:
    """Whether a space follows each word: by column MISC, and never inside a multiword token that is the
    concatenation of its words, as in *do* + *n't*.
    """
    spaces = ["SpaceAfter=No" not in misc.split("|") for misc in sentence.misc or ["_"] * len(sentence)]
    for row in sentence.multiword:
        first, last = map(int, row[0].split("-"))
        whole = "".join(sentence.form[first - 1 : last]) == row[1]
        spaces[first - 1 : last - 1] = [not whole] * (last - first)
        spaces[last - 1] = "SpaceAfter=No" not in row[9].split("|")
    return spaces
