"""Rows with marked spans."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from graphdep.datasets.base.raw import LIST, Form, check_forms
from graphdep.datasets.base.rows import (
    OBJECTS,
    TREE,
    TREE_COLUMNS,
    TextRow,
    check_keys,
    check_label,
    check_tree,
    row_raw,
    row_words,
    taken,
)
from graphdep.io.files import placed
from graphdep.io.limits import MAX_WORDS, shown
from graphdep.parsing.parser import ALONE, WordLimit
from graphdep.sentence.intake import Intake
from graphdep.sentence.sentence import Sentence

MAX_ARCS = 4
"""A way of more arcs is far."""


def span_key(tree: Sentence, spans: Sequence[tuple[int, int]]) -> str:
    """The way through the tree from the first span to the second, of at most four arcs; of a span that is
    alone, its top word.

    A span is its top word, the one nearest to the root, the first of several. A way is written as its arcs,
    ``<label`` for one up to the governor and ``>label`` for one down to a dependent: ``<nsubj>obj`` leads
    from a verb's subject to its object. One of more arcs is ``far``, and so is one between two trees; one to
    the same word has no arc. The way has no words, so that it is what the tree alone says.

    Args:
        tree: The tree.
        spans: One span or two, each the number of its first word, from 0, and that behind its last one.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.datasets.spans.rows import span_key
        >>> tree = Sentence(["A", "storm", "caused", "it"], [2, 3, 0, 3], ["det", "nsubj", "root", "obj"])
        >>> span_key(tree, [(0, 2), (3, 4)]), span_key(tree, [(3, 4), (0, 2)]), span_key(tree, [(0, 2)])
        ('<nsubj>obj', '<obj>nsubj', 'storm')
    """
    head = [governor - 1 for governor in tree.head]
    tops = [_top(head, range(*span)) for span in spans]
    if len(tops) == 1:
        return tree.form[tops[0]]
    first, second = (_upwards(head, top) for top in tops)
    above = set(second)
    shared = next((word for word in first if word in above), None)
    if shared is None:
        return "far"
    up, down = first[: first.index(shared)], second[: second.index(shared)]
    if len(up) + len(down) > MAX_ARCS:
        return "far"
    arcs = [f"<{tree.deprel[word]}" for word in up] + [f">{tree.deprel[word]}" for word in reversed(down)]
    return "".join(arcs)


def _top(head: Sequence[int], words: Sequence[int]) -> int:
    return min(words, key=lambda word: len(_upwards(head, word)))


def _upwards(head: Sequence[int], word: int) -> list[int]:
    """A word and all above it, up to a root."""
    found = []
    while word >= 0:
        found.append(word)
        word = head[word]
    return found


NONE = "none"
"""CoNLL04's class of two entities without relation."""
RELATIONS = (
    "Cause-Effect",
    "Component-Whole",
    "Content-Container",
    "Entity-Destination",
    "Entity-Origin",
    "Instrument-Agency",
    "Member-Collection",
    "Message-Topic",
    "Product-Producer",
)
OTHER = "Other"
LABELS = (*(f"{name}({ends})" for name in RELATIONS for ends in ("e1,e2", "e2,e1")), OTHER)
UNDIRECTED = (*RELATIONS, OTHER)


MAX_SPANS = 2


@dataclass(frozen=True)
class SpanExample:
    """The words of a sentence, one or two marked spans of them, and one label.

    Args:
        words: The words.
        spans: One span or two, each the number of its first word, from 0, and that behind its last one. Their
            order is kept: the label may say something of the first that it does not say of the second. Two
            spans may have words in common.
        label: The label; :obj:`None` for none. (default: :obj:`None`)
        tree: The corpus' own tree of these words. (default: :obj:`None`)
        place: Where it stands, ``FILE:LINE``, for messages. (default: ``""``)
        number: The corpus' own number of the example. (default: :obj:`None`)

    Example:
        >>> from graphdep.datasets.spans.rows import SpanExample
        >>> SpanExample(["Smoking", "causes", "cancer"], [(0, 1), (2, 3)], "Cause-Effect").marks
        [1, 0, 2]
    """

    words: Sequence[str]
    spans: Sequence[tuple[int, int]]
    label: str | None = None
    tree: Sentence | None = None
    place: str = ""
    number: int | None = None

    def __post_init__(self) -> None:
        with placed(self.place):
            check_spans(self.spans, len(self.words), "words")
        check_tree(self.place, self.words, self.tree)
        check_label(self.place, self.label)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def marks(self) -> list[int]:
        """A number for each word: 1 in the first span, 2 in the second, 3 in both, 0 in none."""
        marks = [0] * len(self.words)
        for number, (start, stop) in enumerate(self.spans):
            for word in range(start, stop):
                marks[word] += 1 << number
        return marks

    def error(self, message: str) -> ValueError:
        """An error that begins with the place of the example."""
        return ValueError(f"{self.place}: {message}" if self.place else message)


def wrong_spans(spans: Sequence[Any], size: int, what: str) -> str:
    """What is wrong with the spans of so many words or characters; nothing if they are right."""
    if not 1 <= len(spans) <= MAX_SPANS:
        return f"an example has one or two spans (got {len(spans)})"
    for number, span in enumerate(spans, 1):
        ends = list(span) if isinstance(span, Sequence) and not isinstance(span, str) else [span]
        if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, int) for end in ends):
            return f"span {number} must be two whole numbers (got {shown(span)})"
        start, stop = ends
        if start >= stop:
            return f"span {number} is empty: its end is not behind its start (got {ends})"
        if start < 0 or stop > size:
            return f"span {number} reaches beyond the {size} {what} (got {ends})"
    return ""


def check_spans(spans: Sequence[Any], size: int, what: str) -> None:
    """Raises :class:`ValueError` if spans are none of so many words or characters."""
    wrong = wrong_spans(spans, size, what)
    if wrong:
        raise ValueError(wrong)


Range = tuple[int, int]
_TAG = re.compile(r"<(/?)e([0-9]{1,3})>")
# In the order in which they are tried. "don't" is "do" and "n't", "dog's" is "dog" and "'s", as in UD.
_WORD = re.compile(
    rf"""[{ALONE}]                                  # Chinese characters and kana have no spaces between words
    | n['\u2019]t\b
    | [^\W{ALONE}]+?(?=n['\u2019]t\b)
    | (?<=\w)['\u2019](?:s|m|d|re|ve|ll)\b
    | \d+(?:[.,:/]\d+)+(?!\w)                       # 1,000.50 and 12:30
    | (?:[^\W\d_{ALONE}]\.){{2,}}                   # e.g., U.S.
    | [^\W{ALONE}]+
    | ([^\w\s])\1*                                  # ... and --
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class MarkedText:
    """The words of a text, and the ranges of words that its marks are on.

    Args:
        words: The words.
        spans: The number of each span's first word, from 0, and that behind its last one.
        inside: How many ends of spans are where the text would have no end of a word without them.
    """

    words: list[str]
    spans: list[Range]
    inside: int


def mark_text(text: str, ranges: Sequence[Range]) -> MarkedText:
    """Splits a text into words, so that each end of a span is the end of a word.

    A word is a run of letters and digits, of which *n't* and *'s, 'm, 'd, 're, 've, 'll* are words of their
    own; a number with points, commas, colons or slashes in it; an abbreviation like *e.g.*; a Chinese
    character or a kana; any other sign, equal ones in a row as one. All parsers thus get the same words, and
    no mark falls on a part of one.

    Args:
        text: The text.
        ranges: The spans by characters, end exclusive.

    Example:
        >>> from graphdep.datasets.spans.rows import mark_text
        >>> mark_text("The dog's bone.", [(4, 7), (10, 14)])
        MarkedText(words=['The', 'dog', "'s", 'bone', '.'], spans=[(1, 2), (3, 4)], inside=0)
    """
    check_spans(ranges, len(text), "characters")
    ends = sorted({end for span in ranges for end in span})
    places = word_places(text, ends)
    spans = [_words_in(text, places, span, number) for number, span in enumerate(ranges, 1)]
    own = word_places(text)
    inside = sum(start < end < stop for end in ends for start, stop in own)
    return MarkedText([text[start:stop] for start, stop in places], spans, inside)


def with_tags(words: Sequence[str], spans: Sequence[Range]) -> str:
    """Words with tags around spans of them, so that :func:`read_tags` finds these; spans that overlap
    overlap.

    Example:
        >>> from graphdep.datasets.spans.rows import with_tags
        >>> with_tags(["Rain", "makes", "big", "floods"], [(0, 1), (2, 4)])
        '<e1>Rain</e1> makes <e2>big floods</e2>'
    """
    tagged = list(words)
    for number, (start, stop) in enumerate(spans, 1):
        tagged[start] = f"<e{number}>{tagged[start]}"
        tagged[stop - 1] = f"{tagged[stop - 1]}</e{number}>"
    return " ".join(tagged)


def word_places(text: str, borders: Sequence[int] = ()) -> list[Range]:
    """Where the words of a text begin and end; none of them is on both sides of a border."""
    plain = text
    if not text.isascii():  # to Python, vowel signs and accents of their own are no part of a word
        plain = "".join("a" if unicodedata.category(char)[0] == "M" else char for char in text)
    cuts = [0, *borders, len(text)]
    return [match.span() for start, stop in pairwise(cuts) for match in _WORD.finditer(plain, start, stop)]


def read_tags(text: str) -> tuple[str, list[Range]]:
    """A text without its tags ``<e1>...</e1>`` and ``<e2>...</e2>``, and what they enclose, by characters."""
    plain, last = "", 0
    ends: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        plain += text[last : tag.start()]
        last = tag.end()
        wrong = "is there twice" if tag[0] in ends else "closes what is not open"
        right = tag[0] not in ends and (not tag[1] or f"<e{tag[2]}>" in ends)
        if not right:
            raise ValueError(f"the tag {tag[0]} {wrong}")
        ends[tag[0]] = len(plain)
    plain += text[last:]
    opened = sorted(name for name in ends if "/" not in name)
    closed = [name.replace("<", "</") for name in opened]
    right = {*closed} <= ends.keys() and opened in (["<e1>"], ["<e1>", "<e2>"])
    if not right:
        raise ValueError(
            f"a text has <e1>...</e1>, or besides <e2>...</e2> (got {', '.join(ends) or 'none'})"
        )
    return plain, [(ends[first], ends[last]) for first, last in zip(opened, closed)]


def _words_in(text: str, places: Sequence[Range], span: Range, number: int) -> Range:
    inside = [word for word, (start, stop) in enumerate(places) if span[0] <= start and stop <= span[1]]
    if not inside:
        raise ValueError(f"span {number} has no word (got {text[slice(*span)]!r})")
    return inside[0], inside[-1] + 1


def span_rows(
    rows: Sequence[TextRow],
    text_column: str,
    label_column: str | None = None,
    max_words: int | None = MAX_WORDS,
    *,
    intake: Intake,
) -> list[SpanExample]:
    """The examples of rows, in the layouts of :class:`~graphdep.datasets.OwnSpans`.

    Args:
        rows: The rows.
        text_column: Name of the texts.
        label_column: Name of the labels; :obj:`None` reads none. (default: :obj:`None`)
        max_words: Words of a sentence at most; :obj:`None` for no limit. (default: :obj:`10_000`)
        intake: What takes in their trees.
    """
    found = [_span_row(row, text_column, label_column, max_words) for row in rows]
    raws = [row_raw(row, list(one.words)) if is_lines(row.path) else None for row, one in zip(rows, found)]
    trees, stay = taken(raws, intake)
    return [
        one if tree is None else dataclasses.replace(one, tree=tree)
        for one, tree, stays in zip(found, trees, stay)
        if stays
    ]


def column_of(path: Path, text_column: str) -> str:
    """The column that every row of a file has."""
    return "spans" if is_lines(path) else text_column


def is_lines(path: Path) -> bool:
    """Whether a file has objects, not cells."""
    return path.suffix.lower() in OBJECTS


def _span_row(row: TextRow, text_column: str, label_column: str | None, max_words: int | None) -> SpanExample:
    """The example of a row, without its own tree."""
    if is_lines(row.path):
        check_keys(
            row,
            ["words", text_column, "spans", *([label_column] if label_column else []), *TREE_COLUMNS],
            ["label"],
        )
        label = None if label_column is None else row.values[label_column]
        return _of_object(row, text_column, label, max_words)
    text = row.text(text_column)
    with placed(row.place, value=text):
        plain, ranges = read_tags(text)
    check_forms(row.place, {text_column: plain}, {text_column: _text_form(max_words)})
    return _of_text(row, plain, ranges, None if label_column is None else row.label(label_column))


def _of_object(row: TextRow, text_column: str, label: Any, max_words: int | None) -> SpanExample:
    has = [name for name in ("words", text_column) if row.values.get(name) is not None]
    has_tree = any(row.values.get(name) is not None for name in TREE)
    if len(has) != 1 or (has_tree and has != ["words"]):
        there = " and ".join(map(repr, [*has, *(TREE if has_tree else ())])) or "neither"
        raise row.error(
            f"'words' or {text_column!r} must be there, 'head' and 'deprel' with 'words' (got {there})"
        )
    spans = row.value("spans", LIST)
    if has == ["words"]:
        words = row_words(row, max_words)
        return SpanExample(words, spans, label, place=row.place)
    # White space at the ends stays, since spans count it.
    return _of_text(row, row.value(text_column, _text_form(max_words)), spans, label)


def _text_form(max_words: int | None) -> Form:
    limit = None if max_words is None else WordLimit(max_words)
    what = "a text with at least one word" if max_words is None else f"a text of 1 to {max_words} words"

    def holds(text: Any) -> bool:
        return isinstance(text, str) and text.strip() != "" and (limit is None or limit.holds(text))

    return Form(what, holds)


def _of_text(row: TextRow, text: str, spans: Sequence[Any], label: Any) -> SpanExample:
    with placed(row.place, value=text):
        marked = mark_text(text, spans)
    if marked.inside:
        parts = ", ".join(repr(text[start:stop]) for start, stop in spans)
        raise row.error(f"a span begins or ends inside of a word (got {parts})", text)
    return SpanExample(marked.words, marked.spans, label, place=row.place)
