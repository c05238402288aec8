"""Rows with marked spans."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from graphdep.datasets.base.raw import LIST, Form, check_forms
from graphdep.datasets.base.rows import (
    OBJECTS,
    TREE,
    TREE_COLUMNS,
    TextRow,
    are_texts,
    check_keys,
    check_label,
    check_tree_words,
    row_raw,
    row_words,
    taken,
)
from graphdep.io.files import placed
from graphdep.io.limits import MAX_WORDS, shown
from graphdep.parsing.parser import WordLimit
from graphdep.sentence.intake import Intake
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Raw, are_side_by_side

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
Range = tuple[int, int]


@dataclass(frozen=True)
class SpanExample:
    """The words of a sentence or of several, one or two marked spans of them, and one label.

    Args:
        words: The words; of a text those between white space, until it is parsed.
        spans: One span or two, each the number of its first word, from 0, and that behind its last one; of
            a text the same of characters. Their order is kept: the label may say something of the first that
            it does not say of the second. Two spans may have words in common.
        label: The label; :obj:`None` for none. (default: :obj:`None`)
        tree: The corpus' own tree of these words; of several sentences with several roots.
            (default: :obj:`None`)
        place: Where it stands, ``FILE:LINE``, for messages. (default: ``""``)
        number: The corpus' own number of the example. (default: :obj:`None`)
        lengths: The number of words of each sentence; none if there is one sentence. (default: none)
        text: The text, whose words are those of the parser. (default: :obj:`None`)

    Example:
        >>> from graphdep.datasets.spans.rows import SpanExample
        >>> SpanExample(["Smoking", "causes", "cancer"], [(0, 1), (2, 3)], "Cause-Effect").tagged
        '<e1>Smoking</e1> causes <e2>cancer</e2>'
    """

    words: Sequence[str]
    spans: Sequence[Range]
    label: str | None = None
    tree: Sentence | None = None
    place: str = ""
    number: int | None = None
    lengths: Sequence[int] = ()
    text: str | None = None

    @classmethod
    def of_text(
        cls,
        text: str,
        spans: Sequence[Range],
        label: str | None = None,
        *,
        place: str = "",
        number: int | None = None,
    ) -> SpanExample:
        """An example of a text, with spans of its characters."""
        return cls(text.split(), spans, label, place=place, number=number, text=text)

    def __post_init__(self) -> None:
        with placed(self.place):
            if self.text is None:
                check_spans(self.spans, len(self.words), "words")
            else:
                check_ranges(self.spans, self.text)
        check_tree_words(self.place, self.words, self.tree)
        check_label(self.place, self.label)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def sentences(self) -> list[Sequence[str]]:
        """The words of each sentence."""
        ends = [*accumulate(self.lengths, initial=0)] if self.lengths else [0, len(self)]
        return [self.words[start:stop] for start, stop in pairwise(ends)]

    @property
    def tagged(self) -> str:
        """The text with tags around the spans, so that :func:`read_tags` finds these; spans that overlap
        overlap.
        """
        starts = [*accumulate((len(word) + 1 for word in self.words), initial=0)]
        text = " ".join(self.words) if self.text is None else self.text
        tags = []
        for number, (start, stop) in enumerate(self.spans, 1):
            ends = (start, stop) if self.text is not None else (starts[start], starts[stop] - 1)
            tags += [(ends[0], f"<e{number}>"), (ends[1], f"</e{number}>")]
        for place, tag in sorted(tags, reverse=True):
            text = text[:place] + tag + text[place:]
        return " ".join(text.split())

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


def check_ranges(spans: Sequence[Any], text: str) -> None:
    """Raises :class:`ValueError` if spans are none of the characters of a text, or one is of white space."""
    check_spans(spans, len(text), "characters")
    for number, span in enumerate(spans, 1):
        if not (inside := text[slice(*span)]).strip():
            raise ValueError(f"span {number} has no word (got {inside!r})")


def marks_of(spans: Sequence[Range], size: int) -> list[int]:
    """A number for each of so many words: 1 in the first span, 2 in the second, 3 in both, 0 in none."""
    marks = [0] * size
    for number, (start, stop) in enumerate(spans):
        for word in range(start, stop):
            marks[word] += 1 << number
    return marks


EXAMPLE_ROWS = (
    'a row is {"words": ["Rain", "makes", "mud"], "spans": [[0, 1], [2, 3]], "label": "cause"} or '
    '{"text": "<e1>Rain</e1> makes <e2>mud</e2>.", "label": "cause"}'
)
"""What a row looks like, for messages."""
_TAG = re.compile(r"<(/?)e([0-9]{1,3})>")


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
    for start, end in zip(opened, closed):
        if end not in ends:
            raise ValueError(f"the tag {start} is not closed by {end}")
    if not right:
        raise ValueError(
            f"a text has <e1>...</e1>, or besides <e2>...</e2> (got {', '.join(ends) or 'none'})"
        )
    return plain, [(ends[first], ends[last]) for first, last in zip(opened, closed)]


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
    raws = [
        _several_trees(row_raw(row, list(one.words))) if is_lines(row.path) else None
        for row, one in zip(rows, found)
    ]
    trees, stay = taken(raws, intake)
    return [
        one if tree is None else dataclasses.replace(one, tree=tree)
        for one, tree, stays in zip(found, trees, stay)
        if stays
    ]


def _several_trees(raw: Raw | None) -> Raw | None:
    """Several roots are right where each has the words of a sentence."""
    if raw is None or raw.columns["head"].count(0) < 2 or not are_side_by_side(raw.columns["head"]):
        return raw
    return raw._replace(columns={**raw.columns, "multiroot": True})


def is_lines(path: Path) -> bool:
    """Whether a file has objects, not cells."""
    return path.suffix.lower() in OBJECTS


def _span_row(row: TextRow, text_column: str, label_column: str | None, max_words: int | None) -> SpanExample:
    """The example of a row, without its own tree."""
    if is_lines(row.path):
        check_keys(
            row,
            [*_WORDS, text_column, "spans", *([label_column] if label_column else []), *TREE_COLUMNS],
            ["label", "sentence"],
        )
        label = None if label_column is None else row.values[label_column]
        return _of_object(row, text_column, label, max_words)
    label = None if label_column is None else row.label(label_column)
    return _of_tags(row, text_column, label, max_words)


def _of_tags(row: TextRow, text_column: str, label: Any, max_words: int | None) -> SpanExample:
    text = row.text(text_column)
    with placed(row.place, value=text):
        plain, ranges = read_tags(text)
    check_forms(row.place, {text_column: plain}, {text_column: _text_form(max_words)})
    return SpanExample.of_text(plain, ranges, label, place=row.place)


def _of_object(row: TextRow, text_column: str, label: Any, max_words: int | None) -> SpanExample:
    has = [name for name in (*_WORDS, text_column) if row.values.get(name) is not None]
    own = [name for name in (*TREE, "edges") if row.values.get(name) is not None]
    takes = {"words": own, "sentences": ["edges"]}
    if len(has) != 1 or not {*own} <= {*takes.get(has[0], ())}:
        there = " and ".join(map(repr, [*has, *own])) or "neither"
        raise row.error(
            f"'words', 'sentences' or {text_column!r} must be there, 'head' and 'deprel' with 'words', "
            f"'edges' without {text_column!r} (got {there})"
        )
    if "spans" not in row.values:
        if not _TAG.search(row.text(text_column)):
            raise row.error(f"no 'spans', and no <e1>...</e1> in {text_column!r}; {EXAMPLE_ROWS}")
        return _of_tags(row, text_column, label, max_words)
    spans = row.value("spans", LIST)
    if has == ["words"]:
        words = row_words(row, max_words)
        return SpanExample(words, spans, label, place=row.place)
    if has == ["sentences"]:
        sentences = row.value("sentences", _sentences_form(max_words))
        words = [word for sentence in sentences for word in sentence]
        return SpanExample(words, spans, label, place=row.place, lengths=[*map(len, sentences)])
    # White space at the ends stays, since spans count it.
    text = row.value(text_column, _text_form(max_words))
    with placed("", value=text):
        return SpanExample.of_text(text, spans, label, place=row.place)


_WORDS = ("words", "sentences")


def _sentences_form(max_words: int | None) -> Form:
    most = math.inf if max_words is None else max_words
    limit = "" if max_words is None else f", of {max_words} words at most"

    def holds(sentences: Any) -> bool:
        listed = isinstance(sentences, list) and sentences != []
        return listed and all(map(are_texts, sentences)) and sum(map(len, sentences)) <= most

    return Form(f"a list of lists of words, none of them blank{limit}", holds)


def _text_form(max_words: int | None) -> Form:
    limit = None if max_words is None else WordLimit(max_words)
    what = "a text with at least one word" if max_words is None else f"a text of 1 to {max_words} words"

    def holds(text: Any) -> bool:
        return isinstance(text, str) and text.strip() != "" and (limit is None or limit.holds(text))

    return Form(what, holds)
