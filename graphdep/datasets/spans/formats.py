"""Layouts of files with marked spans: TACRED, aspects, and entities with relations."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from graphdep.datasets.base.raw import LIST, WHOLE, Form, check_forms, check_there
from graphdep.datasets.base.rows import (
    Draw,
    TextRow,
    are_texts,
    check_columns,
    iter_text_rows,
    read_text_rows,
)
from graphdep.datasets.labels.bio import spans_of
from graphdep.datasets.spans.rows import (
    EXAMPLE_ROWS,
    NONE,
    Range,
    SpanExample,
    check_spans,
    is_lines,
    wrong_spans,
)
from graphdep.io.files import place_error, placed
from graphdep.io.limits import MAX_WORDS, plural
from graphdep.sentence.exchange import COLUMN_NAMES, key_of

MAX_ENTITIES = 256
"""The largest number of entities in a sentence, all of which are paired."""

_WORDS, _HEADS, _LABELS = (COLUMN_NAMES[name] for name in ("form", "head", "deprel"))
_ARCS = "dependencies"
_TAGS = ("stanford_pos", "pos", "tags")
_TEXT = "sentence"
_ENDS = ("subj_start", "subj_end", "obj_start", "obj_end")
SPAN_ENDS = ("auto", "last", "behind")
_ENDS_ARE = {
    "last": "the last words of their spans (span_end=last)",
    "behind": "behind the last words of their spans, as in Hugging Face's copy (span_end=behind)",
}


class Read(NamedTuple):
    """The rows of a file.

    Args:
        rows: One row per example, in the layout of :class:`~graphdep.datasets.OwnSpans`.
        notes: Notes about the file. (default: none)
        paired: Whether the rows are pairs of entities, most of which have the label ``"none"``.
            (default: :obj:`False`)
    """

    rows: list[TextRow]
    notes: Sequence[str] = ()
    paired: bool = False


@dataclass
class Reading:
    """How to read a file, and counts of its peculiarities by their descriptions.

    Args:
        label: The key of labels in the rows. (default: ``"label"``)
        by_word: Whether relations name an entity by the index of one of its words, not by its own index.
            (default: :obj:`False`)
        span_end: Whether the ends of TACRED's spans are the ``"last"`` words, or the words ``"behind"`` them.
            (default: ``"last"``)
    """

    label: str = "label"
    by_word: bool = False
    span_end: str = "last"
    counts: Counter[str] = field(default_factory=Counter)

    def notes(self) -> list[str]:
        """The counts as texts."""
        return [f"{what}: {count}" for what, count in self.counts.items() if count]


class Layout(NamedTuple):
    """A layout of objects.

    Args:
        keys: The keys of its objects, for messages.
        known: Whether an object has this layout.
        rows: Makes the rows of an object.
        paired: As for :class:`Read`. (default: :obj:`False`)
    """

    keys: str
    known: Callable[[Mapping[str, Any]], bool]
    rows: Callable[[TextRow, Reading], Iterable[dict[str, Any]]]
    paired: bool = False


def read_rows(path: Path, text_column: str, label_column: str | None = None, span_end: str = "auto") -> Read:
    """The rows of a file, whose first object decides the layout.

    Args:
        path: The file.
        text_column: Name of the column of texts.
        label_column: Name of the column of labels; :obj:`None` if optional. (default: :obj:`None`)
        span_end: As for :class:`Reading`; ``"auto"`` for :func:`span_end_of` the file. (default: ``"auto"``)

    Raises:
        ValueError: If a row is damaged, with file and line, or the layout is unknown; the message has the
            keys of the file and the known layouts.
    """
    if not is_lines(path):
        return Read(read_text_rows(path, _columns(text_column, label_column)))
    objects = read_text_rows(path, [])
    layout = _layout(objects[0], text_column)
    if layout is None:
        for row in objects:
            _check_own(row, text_column, label_column)
        return Read(objects)
    by_word = layout is _ENTITIES and names_words((row.place, row.values) for row in objects)
    ends = (span_end_of([path]) or "last") if span_end == "auto" else span_end
    reading = Reading(label_column or "label", by_word, ends)
    rows = [
        row._replace(values={name: value for name, value in values.items() if name != text_column})
        for row in objects
        for values in layout.rows(row, reading)
    ]
    for row in rows:
        if label_column and row.values.get(label_column) is None:
            raise row.error("an example without a label")
    if not rows:
        raise place_error(str(path), f"no example: {'; '.join(reading.notes())}")
    said = [f"'subj_end' and 'obj_end' are {_ENDS_ARE[ends]}"] if layout is _TACRED else []
    return Read(rows, [*said, *reading.notes()], layout.paired)


def _columns(text_column: str, label_column: str | None) -> list[str]:
    return [text_column, *([label_column] if label_column else [])]


def check_first_row(path: Path, text_column: str, label_column: str) -> None:
    """Raises as :func:`read_rows` does for the first row."""
    if not is_lines(path):
        check_columns(path, _columns(text_column, label_column))
    elif (first := check_columns(path, [])) is not None and _layout(first, text_column) is None:
        _check_own(first, text_column, label_column)


def _check_own(row: TextRow, text_column: str, label_column: str | None) -> None:
    """Raises :class:`ValueError` if an object has no spans, or lacks a required label."""
    if "spans" not in row.values and text_column not in row.values:
        there = ", ".join(sorted(map(str, row.values))[:20]) or "none"
        raise row.error(f"no 'spans' and no {text_column!r}: the keys are {there}; {EXAMPLE_ROWS}")
    if label_column:
        check_there(row.path, row.line, row.values, [label_column])


def _layout(row: TextRow, text_column: str) -> Layout | None:
    """The layout of an object; :obj:`None` for that of :class:`~graphdep.datasets.OwnSpans`."""
    if "spans" in row.values:
        return None
    for layout in LAYOUTS:
        if layout.known(row.values):
            return layout
    if text_column in row.values:
        return None
    known = "; ".join(layout.keys for layout in LAYOUTS)
    there = ", ".join(sorted(map(str, row.values))[:20]) or "none"
    if "text" in row.values:
        raise row.error(f"no key {text_column!r}, which --text-columns names; the keys are {there}")
    raise row.error(
        f"unknown layout: the keys are {there}; {EXAMPLE_ROWS}; other known keys are {known} "
        "(datasets/README.md)"
    )


def _row(
    place: str, values: Mapping[str, Any], spans: Sequence[Any], read: Iterable[str], **own: Any
) -> dict[str, Any]:
    """The row of an object with its words, its tree if there is one, and its other keys."""
    words = _words(values)
    tree = _tree(place, values, len(words))
    done = {*_WORDS, *_HEADS, *_LABELS, *_TAGS, _ARCS, _TEXT, *read}
    rest = {key: value for key, value in values.items() if key not in done}
    tags = next((values[name] for name in _TAGS if name not in read and values.get(name) is not None), None)
    more = tree if tags is None else tree | {"pos": tags}
    return rest | {"words": words, **more, "spans": spans} | own


def _words(values: Mapping[str, Any]) -> list[str]:
    return values[key_of(values, "form") or _WORDS[0]]


def _check_words(place: str, values: Mapping[str, Any]) -> list[str]:
    """Returns the words of an object, which must have some."""
    with placed(place):
        name = key_of(values, "form") or _WORDS[0]
    check_forms(place, values, {name: _TEXTS})
    return values[name]


def _tree(place: str, values: Mapping[str, Any], size: int) -> dict[str, Any]:
    """``head`` and ``deprel`` of an object, from two lists or from arcs; empty without a tree."""
    with placed(place):
        keys = [key_of(values, name) for name in ("head", "deprel")]
    head, deprel = (None if key is None else values[key] for key in keys)
    if head is None and deprel is None:
        return {} if values.get(_ARCS) is None else _tree_of_arcs(place, values, size)
    return {"head": head, "deprel": deprel}


def _tree_of_arcs(place: str, values: Mapping[str, Any], size: int) -> dict[str, Any]:
    """The tree of arcs ``[label, governor, word]``, and all arcs if any word has several governors.

    In the tree, the governor is the first one that is connected to the root, or -1 if there is none.
    """
    what = f"a list of [label, governor, word], numbers of {size} words from 1"
    arcs = Form(what, lambda found: isinstance(found, list) and all(_is_arc(arc, size) for arc in found))
    check_forms(place, values, {_ARCS: arcs})
    of_word: list[list[tuple[int, str]]] = [[] for _ in range(size)]
    for label, governor, word in values[_ARCS]:
        of_word[word - 1].append((governor, label))
    chosen = [own[0] if own else (-1, "dep") for own in of_word]
    reached = {0}
    while len(reached) <= size:
        before = len(reached)
        for word, (governor, _) in enumerate(chosen, 1):
            if governor in reached:
                reached.add(word)
        if len(reached) > before:
            continue
        # In a cycle, the first word with another governor gets that one.
        options = ((word, arc) for word, own in enumerate(of_word, 1) if word not in reached for arc in own)
        found = next(((word, arc) for word, arc in options if arc[0] in reached), None)
        if found is None:
            break
        chosen[found[0] - 1] = found[1]
    tree = {"head": [governor for governor, _ in chosen], "deprel": [label for _, label in chosen]}
    return tree | ({"deps": of_word} if any(len(own) > 1 for own in of_word) else {})


_TEXTS = Form(f"a list of 1 to {MAX_WORDS} words", lambda words: are_texts(words) and len(words) <= MAX_WORDS)


def _is_arc(arc: Any, size: int) -> bool:
    if not (isinstance(arc, list) and len(arc) == 3 and isinstance(arc[0], str)):
        return False
    _, governor, word = arc
    return type(governor) is int and type(word) is int and 0 <= governor <= size and 1 <= word <= size


def _has_words(values: Mapping[str, Any]) -> bool:
    return any(name in values for name in _WORDS)


# So many rows without a subject or object of one word mean "behind".
_ENOUGH = 200


def span_end_of(paths: Iterable[Path]) -> str | None:
    """Whether ends of TACRED's spans are the ``"last"`` words, or ``"behind"`` them: ``"last"`` if any equals
    its start, and ``"behind"`` if any equals the number of words. Else 200 rows are ``"behind"``, and fewer
    are ``"last"``. :obj:`None` if no file has this layout.
    """
    count = 0
    for path in paths:
        for row in iter_text_rows(path, []) if is_lines(path) and path.is_file() else ():
            if not any(name in row.values for name in _ENDS):
                break
            first, last, other, end = ends = [row.values.get(name) for name in _ENDS]
            if any(type(one) is not int for one in ends):
                continue
            if first == last or other == end:
                return "last"
            words = next((row.values[name] for name in _WORDS if row.values.get(name)), ())
            if len(words) in (last, end):
                return "behind"
            count += 1
    return None if not count else "behind" if count >= _ENOUGH else "last"


def _tacred_rows(row: TextRow, reading: Reading) -> Iterator[dict[str, Any]]:
    """The row of a subject and an object."""
    words = _check_words(row.place, row.values)
    check_forms(row.place, row.values, dict.fromkeys(_ENDS, WHOLE))
    further = 1 if reading.span_end == "last" else 0
    first, last, other, end = (row.values[name] for name in _ENDS)
    spans = [[first, last + further], [other, end + further]]
    if wrong := wrong_spans(spans, len(words), "word"):
        raise row.error(f"{wrong}; 'subj_end' and 'obj_end' are {_ENDS_ARE[reading.span_end]}")
    named = {reading.label: row.values["relation"]} if row.values.get("relation") is not None else {}
    yield _row(row.place, row.values, spans, (*_ENDS, "relation"), **named)


_ASPECT = {"from": WHOLE, "to": WHOLE}


def _aspect_rows(row: TextRow, reading: Reading) -> Iterator[dict[str, Any]]:
    """One row per aspect, ``{"term", "from", "to", "polarity"}``."""
    check_forms(row.place, row.values, {"aspects": LIST})
    for number, aspect in enumerate(row.values["aspects"]):
        check_forms(f"{row.place}: aspect {number}", aspect, _ASPECT)
    found = [
        (one.get("term"), [one["from"], one["to"]], one.get("polarity")) for one in row.values["aspects"]
    ]
    yield from _rows_of_terms(row, reading, found, ("aspects",))


_PAIRS = Form(
    "a list of pairs",
    lambda pairs: isinstance(pairs, list) and all(isinstance(p, list) and len(p) == 2 for p in pairs),
)


def _term_rows(row: TextRow, reading: Reading) -> Iterator[dict[str, Any]]:
    """One row per aspect, if terms and their words are in two lists."""
    check_forms(row.place, row.values, {"aspect_sentiment": _PAIRS, "from_to": _PAIRS})
    terms, spans = row.values["aspect_sentiment"], row.values["from_to"]
    if len(terms) != len(spans):
        raise row.error(f"{plural(len(terms), 'aspect')}, but {plural(len(spans), 'span')} in 'from_to'")
    found = [(term, span, polarity) for (term, polarity), span in zip(terms, spans)]
    yield from _rows_of_terms(row, reading, found, ("aspect_sentiment", "from_to"))


def _rows_of_terms(
    row: TextRow, reading: Reading, found: Sequence[tuple[Any, Any, Any]], read: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """One row per term; terms without words, which occur in published files, are counted instead."""
    words = _check_words(row.place, row.values)
    reading.counts["sentences without an aspect"] += not found
    for term, span, polarity in found:
        start, stop = span
        if type(start) is not int or type(stop) is not int or not 0 <= start < stop <= len(words):
            reading.counts["aspects without words, left out"] += 1
            continue
        named = {} if polarity is None else {reading.label: polarity}
        written = "".join(term) if are_texts(term) else term
        other = isinstance(written, str) and _letters(written) != _letters("".join(words[start:stop]))
        reading.counts["aspects that differ from the words that they mark"] += other
        yield _row(
            row.place, row.values, [[start, stop]], read, **named, **({} if term is None else {"term": term})
        )


def _letters(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


Pair = tuple[Range, Range, str | None]
_RELATION = Form(
    "the name of a relation", lambda kind: isinstance(kind, str) and kind.strip() not in ("", NONE)
)


def all_pairs(
    entities: Mapping[Any, Range], relations: Mapping[tuple[Any, Any], str] | None
) -> Iterator[Pair]:
    """Each ordered pair of entities with its relation or ``"none"``, or :obj:`None` if relations are unknown.

    Args:
        entities: The spans of the entities, by their names in the relations.
        relations: The relations of ordered pairs.
    """
    for first, span in entities.items():
        for second, other in entities.items():
            if first != second:
                yield span, other, None if relations is None else relations.get((first, second), NONE)


def sentence_pairs(place: str, sentence: Any, reading: Reading) -> tuple[list[str], list[Pair]]:
    """The words and the ordered pairs of entities of ``{"tokens", "entities", "relations"}``, or with BILOU
    tags instead of entities. The first relation of a pair is used, and further ones are counted.
    """
    check_forms(place, sentence, {})
    words = _check_words(place, sentence)
    tags = _tags(sentence)
    check_forms(place, sentence, {"relations": _MAYBE_LIST} | ({"entities": _SOME} if tags is None else {}))
    if tags is None:
        own = enumerate(sentence["entities"])
        entities = [_entity(f"{place}: entity {number}", one, len(words)) for number, one in own]
    else:
        entities = tagged_spans(place, tags, len(words))
    given = sentence.get("relations")
    relations = None if given is None else _relations(place, given, entities, reading)
    reading.counts[FEW] += len(entities) < 2
    reading.counts[FURTHER] += len(given or ()) - len(relations or ())
    return words, list(all_pairs(dict(enumerate(entities)), relations))


def draw_negatives(pairs: list[SpanExample], share: float, seed: int) -> tuple[list[SpanExample], str]:
    """The pairs with a relation and drawn pairs without one, and a note about the draw."""
    without = [number for number, pair in enumerate(pairs) if pair.label == NONE]
    related = len(pairs) - len(without)
    most = int(min(related * share, len(without))) if related else 0
    drawn = set(Draw(random.Random(seed)).shuffled(without)[:most])
    kept = [pair for number, pair in enumerate(pairs) if pair.label != NONE or number in drawn]
    told = f"{len(drawn)} of {len(without)} pairs without relation, drawn with seed {seed}"
    return kept, told if share else f"pairs without relation, left out (negatives): {len(without)}"


FEW = "sentences with fewer than two entities, without example"
FURTHER = "further relations of the same entities, left out"
_MAYBE_LIST = Form("a list", lambda value: value is None or isinstance(value, list))
_SOME = Form(
    f"a list of at most {MAX_ENTITIES}", lambda found: isinstance(found, list) and len(found) <= MAX_ENTITIES
)


def _tags(sentence: Mapping[str, Any]) -> Any:
    """The tags of a sentence without entities."""
    if sentence.get("entities") is not None:
        return None
    return next((sentence[name] for name in ("tags", "bilou") if sentence.get(name) is not None), None)


def _entity(place: str, entity: Any, size: int) -> Range:
    check_forms(place, entity, {"start": WHOLE, "end": WHOLE})
    ends = entity["start"], entity["end"]
    with placed(place):
        check_spans([ends], size, "word")
    return ends


_AS_BIO = str.maketrans("ESLU", "IBIB")


def tagged_spans(place: str, tags: Any, size: int) -> list[Range]:
    """The spans of BILOU tags (L for the last word, U for a single word); BIO and BIOES are read as well.

    Example:
        >>> from graphdep.datasets.spans.formats import tagged_spans
        >>> tagged_spans("", ["B-Peop", "L-Peop", "O", "U-Loc"], 4)
        [(0, 2), (3, 4)]
    """
    if not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) and len(tags) == size):
        raise place_error(place, f"the tags must be a list of {size} texts", tags)
    with placed(place):
        return [span[:2] for span in spans_of([tag[:1].translate(_AS_BIO) + tag[1:] for tag in tags])]


def names_words(sentences: Iterable[tuple[str, Any]]) -> bool:
    """Whether the relations of a file of tags name entities by words, as numbers are too large for entities.

    Args:
        sentences: The place of each sentence, and its object.
    """
    for place, values in sentences:
        tags = _tags(values) if isinstance(values, dict) else None
        relations = values.get("relations") if tags is not None else None
        if isinstance(tags, list) and isinstance(relations, list):
            count = len(tagged_spans(place, tags, len(tags)))
            ends = [one.get(end) for one in relations if isinstance(one, dict) for end in ("head", "tail")]
            if any(type(end) is int and end >= count for end in ends):
                return True
    return False


def _relations(
    place: str, relations: list[Any], entities: Sequence[Range], reading: Reading
) -> dict[tuple[int, int], str]:
    """The first relation of each ordered pair of entity indices."""
    called = {number: number for number in range(len(entities))}
    what = f"one of {len(entities)} entities, from 0"
    if reading.by_word:
        called = {word: number for number, span in enumerate(entities) for word in range(*span)}
        what = f"a word of {what}"
    known = Form(what, lambda end: type(end) is int and end in called)
    found: dict[tuple[int, int], str] = {}
    for number, relation in enumerate(relations):
        own = f"{place}: relation {number}"
        check_forms(own, relation, {"type": _RELATION, "head": known, "tail": known})
        head, tail = called[relation["head"]], called[relation["tail"]]
        if head == tail:
            raise place_error(own, f"entity {head} with itself")
        found.setdefault((head, tail), relation["type"])
    return found


def _pair_rows(row: TextRow, reading: Reading) -> Iterator[dict[str, Any]]:
    """One row per ordered pair of entities."""
    for first, second, label in sentence_pairs(row.place, row.values, reading)[1]:
        named = {} if label is None else {reading.label: label}
        read = ("entities", "tags", "bilou", "relations")
        yield _row(row.place, row.values, [[*first], [*second]], read, **named)


_SENTENCES = Form(
    "a list of lists of words",
    lambda found: isinstance(found, list) and any(found) and all(map(_are_texts, found)),
)


def _are_texts(words: Any) -> bool:
    return isinstance(words, list) and all(isinstance(word, str) for word in words)


_NOT_READ = ("clusters", "events", "event_clusters")
_NAMES = ("doc_key", "doc_id", "dataset")
BLANK = "_"
"""Replaces a word of white space, which some tokenizers make, so that word indices remain valid."""


def _document_rows(row: TextRow, reading: Reading) -> Iterator[dict[str, Any]]:
    """One row per pair of entities in a sentence, and per relation of other pairs, such as across sentences;
    word indices run through the document.
    """
    check_forms(row.place, row.values, {"sentences": _SENTENCES})
    sentences = [[word if word.strip() else BLANK for word in words] for words in row.values["sentences"]]
    blank = sum(not word.strip() for words in row.values["sentences"] for word in words)
    reading.counts[f"words of white space, read as {BLANK}"] += blank
    starts = [0, *accumulate(map(len, sentences))]
    known = {name: value for name, value in row.values.items() if name in _NAMES}
    entities, relations = _lists(row, "ner", 3, starts), _lists(row, "relations", 5, starts)
    for name in _NOT_READ:
        some = row.values.get(name)
        reading.counts[f"{name.replace('_', ' ')}, not read"] += _num_found(some, nested=name == "events")
    for number in range(len(starts) - 1):
        place = f"{row.place}: sentence {number + 1}"
        spans = [(first, last + 1) for first, last, *_ in entities[number]] if entities else []
        check_forms(place, {"ner": spans}, {"ner": _SOME})
        named = None if relations is None else _named(place, relations[number], reading)
        pairs = list(all_pairs(dict(zip(spans, spans)), named))
        inside = {pair[:2] for pair in pairs}
        pairs += [(*ends, name) for ends, name in (named or {}).items() if ends not in inside]
        reading.counts[FEW] += not pairs
        for first, second, label in pairs:
            values = _document_row(sentences, starts, (first, second), reading)
            yield known | values if label is None else known | values | {reading.label: label}


def _num_found(value: Any, nested: bool) -> int:
    if not isinstance(value, list):
        return 0
    return sum(len(own) for own in value if isinstance(own, list)) if nested else len(value)


def _lists(row: TextRow, name: str, width: int, starts: Sequence[int]) -> list[list[Any]] | None:
    """The entities or relations of each sentence: first and last words of spans, and their label."""
    if row.values.get(name) is None:
        return None
    size, count = starts[-1], len(starts) - 1

    def holds(one: Any) -> bool:
        if not isinstance(one, list) or len(one) < width:
            return False
        numbers = one[: width - 1]
        whole = all(type(number) is int and 0 <= number < size for number in numbers)
        return whole and all(first <= last for first, last in zip(numbers[::2], numbers[1::2]))

    what = f"a list for each of {count} sentences, of lists of {width - 1} numbers below {size} and a name"
    lists = Form(
        what,
        lambda found: (
            isinstance(found, list)
            and len(found) == count
            and all(isinstance(own, list) and all(map(holds, own)) for own in found)
        ),
    )
    check_forms(row.place, row.values, {name: lists})
    return row.values[name]


def _named(place: str, relations: Sequence[Any], reading: Reading) -> dict[tuple[Range, Range], str]:
    """The first relation of each ordered pair of spans."""
    found: dict[tuple[Range, Range], str] = {}
    for number, (first, last, other, end, name, *_) in enumerate(relations):
        check_forms(f"{place}: relation {number}", {"name": name}, {"name": _RELATION})
        found.setdefault(((first, last + 1), (other, end + 1)), name)
    reading.counts[FURTHER] += len(relations) - len(found)
    return found


def _document_row(
    sentences: Sequence[Sequence[str]], starts: Sequence[int], spans: tuple[Range, Range], reading: Reading
) -> dict[str, Any]:
    """The sentences from that of the first span to that of the second."""
    first, last = min(start for start, _ in spans), max(stop for _, stop in spans)
    inside = [
        number for number, (start, stop) in enumerate(pairwise(starts)) if start < last and first < stop
    ]
    reading.counts["relations across sentences"] += len(inside) > 1
    begin = starts[inside[0]]
    own = [[start - begin, stop - begin] for start, stop in spans]
    read = [sentences[number] for number in inside if sentences[number]]
    return {"sentence": inside[0], "sentences": read, "spans": own}


_ENTITIES = Layout(
    "'tokens', 'entities' (or 'tags') and 'relations'",
    lambda values: _has_words(values) and ("entities" in values or _tags(values) is not None),
    _pair_rows,
    paired=True,
)
_TACRED = Layout(
    "'token', 'subj_start', 'subj_end', 'obj_start' and 'obj_end' (TACRED)",
    lambda values: _has_words(values) and any(name in values for name in _ENDS),
    _tacred_rows,
)
LAYOUTS = (
    _TACRED,
    Layout("'token' and 'aspects'", lambda values: _has_words(values) and "aspects" in values, _aspect_rows),
    Layout(
        "'tokens', 'aspect_sentiment' and 'from_to'",
        lambda values: _has_words(values) and "from_to" in values,
        _term_rows,
    ),
    Layout(
        "'sentences', 'ner' and 'relations' (SciERC)",
        lambda values: "sentences" in values and ("ner" in values or "relations" in values),
        _document_rows,
        paired=True,
    ),
    _ENTITIES,
)
"""The known layouts of other corpora."""
